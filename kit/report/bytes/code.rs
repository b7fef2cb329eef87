//! The instructions that the entry leads to, one after the other.
//!
//! What the processor executes depends on what it has computed; but little has been when a process
//! starts: all general registers are 0 and no arithmetic flag is set (kernel: `ELF_PLAT_INIT` and
//! `start_thread_common` of arch/x86). So the way is followed with no more than the value of `rax`,
//! as far as it is known, and whether the flags are still those of the start.

use std::collections::BTreeSet;

use iced_x86::{
    Code, ConditionCode, Decoder, DecoderOptions, FlowControl, Formatter, Instruction,
    InstructionInfoFactory, IntelFormatter, OpAccess, Register,
};

use super::headers::Load;
use super::{Piece, Role};
use crate::trace::Arch;

/// The instructions, as far as they lie in the file, each once.
pub(super) fn code(content: &[u8], loads: &[Load], entry: u64) -> Vec<Piece> {
    let mut seen = BTreeSet::new();
    let mut pieces = Vec::new();
    let start = State {
        at: entry,
        rax: Some(0),
        flags_of_start: true,
    };
    let mut ways = vec![start];
    while let Some(mut state) = ways.pop() {
        while let Some((offset, instruction)) = decode(content, loads, state.at)
            && seen.insert(offset)
        {
            let (next, means) = state.step(&instruction);
            pieces.push(Piece {
                offset,
                bytes: instruction.len(),
                role: Role::Code,
                name: text(&instruction),
                means,
            });
            let mut next = next.into_iter();
            let Some(first) = next.next() else { break };
            ways.extend(next);
            state = first;
        }
    }
    pieces
}

/// Where the processor is, and what is known there.
#[derive(Clone, Copy)]
struct State {
    at: u64,
    rax: Option<u64>,
    flags_of_start: bool,
}

impl State {
    /// Where an instruction leads to, and what it does.
    fn step(self, instruction: &Instruction) -> (Vec<State>, String) {
        let mut after = State {
            at: instruction.next_ip(),
            ..self
        };
        after.rax = match (instruction.code(), self.rax) {
            (Code::Mov_r32_imm32 | Code::Mov_r64_imm64 | Code::Mov_rm64_imm32, _)
                if instruction.op0_register().full_register() == Register::RAX =>
            {
                Some(instruction.immediate(1))
            }
            (Code::Mov_r8_imm8, Some(rax)) if instruction.op0_register() == Register::AL => {
                Some(rax & !0xff | u64::from(instruction.immediate8()))
            }
            (_, rax) => rax.filter(|_| !writes_rax(instruction)),
        };
        after.flags_of_start &= instruction.rflags_modified() == 0;
        let target = State {
            at: instruction.near_branch_target(),
            ..after
        };
        match instruction.flow_control() {
            // It is a call as well, of the kernel.
            _ if instruction.code() == Code::Syscall => {
                let name = self.rax.and_then(|number| {
                    let name = Arch::X86_64.name(i64::try_from(number).ok()?)?;
                    Some((name, number))
                });
                after.rax = None;
                match name {
                    Some((name @ ("exit" | "exit_group"), number)) => (
                        Vec::new(),
                        format!("{name}, call {number}: does not return"),
                    ),
                    Some((name, number)) => (vec![after], format!("{name}, call {number}")),
                    None => (vec![after], "a call whose number is computed".to_owned()),
                }
            }
            FlowControl::UnconditionalBranch => (vec![target], "goes on there".to_owned()),
            FlowControl::ConditionalBranch if self.flags_of_start => {
                match holds_without_flags(instruction.condition_code()) {
                    true => (
                        vec![target],
                        "no flag is set at the start: it jumps".to_owned(),
                    ),
                    false => (
                        vec![after],
                        "no flag is set at the start: it does not jump".to_owned(),
                    ),
                }
            }
            FlowControl::ConditionalBranch | FlowControl::Call => {
                (vec![after, target], String::new())
            }
            FlowControl::Return
            | FlowControl::IndirectBranch
            | FlowControl::Interrupt
            | FlowControl::Exception => (Vec::new(), String::new()),
            _ => (vec![after], String::new()),
        }
    }
}

fn writes_rax(instruction: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    info.used_registers().iter().any(|used| {
        used.register().full_register() == Register::RAX
            && !matches!(
                used.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::None
            )
    })
}

/// Whether a condition holds where no arithmetic flag is set: Intel 64 and IA-32 Architectures
/// Software Developer's Manual, volume 2, Jcc.
fn holds_without_flags(condition: ConditionCode) -> bool {
    use ConditionCode as C;
    matches!(
        condition,
        C::no | C::ae | C::ne | C::a | C::ns | C::np | C::ge | C::g
    )
}

/// The instruction at an address, and its offset in the file. None where there is none.
fn decode(content: &[u8], loads: &[Load], address: u64) -> Option<(usize, Instruction)> {
    let offset = loads.iter().find_map(|load| {
        // Whole pages are mapped, and the code may begin before its segment does.
        let offset = load.offset.wrapping_add(address.wrapping_sub(load.address));
        let end = load.offset.saturating_add(load.bytes);
        (offset < end).then_some(offset)
    })?;
    let offset = usize::try_from(offset).ok()?;
    let bytes = content.get(offset..)?;
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some((offset, instruction))
}

fn text(instruction: &Instruction) -> String {
    let mut text = String::new();
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_space_after_operand_separator(true);
    options.set_uppercase_hex(false);
    formatter.format(instruction, &mut text);
    text
}
