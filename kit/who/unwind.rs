//! From a thread's registers to the frames of its stack, innermost first.
//!
//! Each step goes by the call frame information that covers the code ([`super::cfi`]). All sixteen
//! registers are followed, for a frame may be found by any of them. Where nothing covers the code
//! that makes the call, as in `clone3`, the address to return to may be on top of the stack; that is
//! so when a call of this very function is before it. Else the frame pointer is tried: a chain of saved `rbp`, each with a return address above it (psABI,
//! "The Stack Frame"). Code that uses `rbp` for something else breaks that chain, so each address that
//! it gives must lie behind an instruction that calls; when one does not, the stack is cut there.
//!
//! The stack is whole when it ends where stacks end: at the entry of a program or a loader, which
//! nobody calls, or at a frame that says so itself (its return address is undefined, as in a thread's
//! first function).

use std::rc::Rc;

use gimli::{
    CfaRule, Encoding, EndianSlice, EvaluationResult, LittleEndian, Location, Register,
    RegisterRule, UnwindExpression, Value, X86_64,
};
use libc::user_regs_struct;

use super::cfi::{Cfi, Rule};

/// The registers of a frame, those that are known. Numbered as DWARF does (psABI, "DWARF Register
/// Number Mapping"); the last is the address to return to.
#[derive(Clone, Debug)]
pub struct Registers([Option<u64>; COUNT]);

const COUNT: usize = 17;

/// Those that a function leaves as they were (psABI, "Register Usage").
const PRESERVED: [Register; 6] = [
    X86_64::RBX,
    X86_64::RBP,
    X86_64::R12,
    X86_64::R13,
    X86_64::R14,
    X86_64::R15,
];

/// A deeper stack than this is cut: a program that recurses without end has a million frames.
pub const DEEPEST: usize = 1024;

/// What is known of the code and the memory of a process.
pub trait Process {
    /// The code at an address. None when there is none.
    fn code(&mut self, address: u64) -> Option<Code<'_>>;
    /// Eight bytes of memory.
    fn word(&mut self, address: u64) -> Option<u64>;
    /// Where the function begins, in memory, that an address lies in; by its symbol, which has a
    /// size. None where there is none.
    fn function(&mut self, address: u64) -> Option<u64>;
    /// Some bytes of code. False when not all of them are there.
    fn bytes(&mut self, address: u64, into: &mut [u8]) -> bool;
}

/// The code at an address.
pub struct Code<'a> {
    /// The file that it is in.
    pub file: usize,
    /// What to take off an address to get the one that the file states.
    pub bias: u64,
    /// Where the file says that it begins to run; 0 when it does not say.
    pub entry: u64,
    /// Whether the code there is assembly that no call frame information covers, up to the first that
    /// is covered: as in glibc's loader.
    pub bare_entry: bool,
    /// How the file is unwound, if that can be known.
    pub cfi: Option<&'a mut Cfi>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The file that its code is in.
    pub file: usize,
    /// The instruction that it goes on with, in memory.
    pub address: u64,
    /// The same, or the byte before for one that is behind a call, as the file states it: what the
    /// function is looked up by.
    pub stated: u64,
    /// How far behind that the instruction is.
    pub behind: u64,
    /// Where the call frame information says that its function begins.
    pub function: Option<u64>,
}

/// The frames of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// Whether the outermost is the last one that there is.
    pub complete: bool,
    /// Whether one was found by a frame pointer, so that those of functions that keep none are
    /// left out.
    pub gaps: bool,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the instruction that makes a call, which is two bytes long.
    Call,
    /// Before an instruction, the first one of a program.
    Start,
}

impl Registers {
    /// Those of a stopped thread.
    pub fn of(registers: &user_regs_struct) -> Self {
        let r = registers;
        Registers(
            [
                r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11,
                r.r12, r.r13, r.r14, r.r15, r.rip,
            ]
            .map(Some),
        )
    }

    /// All of them, as DWARF numbers them.
    pub fn from(all: [u64; COUNT]) -> Self {
        Registers(all.map(Some))
    }

    fn get(&self, register: Register) -> Option<u64> {
        *self.0.get(usize::from(register.0))?
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        if let Some(place) = self.0.get_mut(usize::from(register.0)) {
            *place = value;
        }
    }
}

/// The stack of a thread.
pub fn unwind(mut registers: Registers, place: Place, process: &mut impl Process) -> Stack {
    /// The length of `syscall`, `sysenter` and `int 0x80`.
    const CALL: u64 = 2;
    let mut stack = Stack::default();
    let Some(mut address) = registers.get(X86_64::RA) else {
        return stack;
    };
    // What to look up is the instruction that is being executed: of a caller it is the call, which
    // ends just before the address to return to.
    let mut behind = match place {
        Place::Call => CALL,
        Place::Start => 0,
    };
    while stack.frames.len() < DEEPEST {
        let looked_up = address.wrapping_sub(behind);
        let Some(code) = process.code(looked_up) else {
            break;
        };
        let mut stated = looked_up.wrapping_sub(code.bias);
        let (file, entry, bare) = (code.file, code.entry, code.bare_entry);
        let cfi = code.cfi;
        let (rule, next) = match cfi {
            Some(cfi) => (cfi.rule(stated), cfi.next_function(entry)),
            None => (None, None),
        };
        // What a handler returns to was not called, and the C library lets the entry for it begin a
        // byte early, for those that look a byte before (glibc's sigaction.c for x86-64).
        let signal = rule.as_ref().is_some_and(|rule| rule.signal);
        if signal && !stack.frames.is_empty() {
            stated = stated.wrapping_add(behind);
            behind = 0;
        }
        let function = rule.as_ref().map(|rule| rule.function);
        stack.frames.push(Frame {
            file,
            address,
            stated,
            behind,
            function: function.map(|start| start.saturating_add(u64::from(signal))),
        });
        let at_entry = match &rule {
            Some(rule) => entry != 0 && rule.function == entry,
            None => bare && next.is_some_and(|next| (entry..next).contains(&stated)),
        };
        if at_entry || (place == Place::Start && stack.frames.len() == 1) {
            stack.complete = true;
            break;
        }
        let innermost = stack.frames.len() == 1;
        let step = match rule {
            Some(ref rule) => by_rule(rule, looked_up, &registers, innermost, process),
            None => {
                let own = innermost.then(|| by_return_address(looked_up, &registers, process));
                match own.flatten() {
                    Some(caller) => Step::Caller(caller, true),
                    None => {
                        let step = by_frame_pointer(&registers, process);
                        stack.gaps |= matches!(step, Step::Caller(..));
                        step
                    }
                }
            }
        };
        match step {
            Step::Caller(caller, after_call) => {
                let Some(next) = caller.get(X86_64::RA) else {
                    break;
                };
                registers = caller;
                address = next;
                behind = u64::from(after_call);
            }
            Step::End => {
                stack.complete = true;
                break;
            }
            Step::Lost => break,
        }
    }
    stack
}

/// From one frame to the next.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is used up at once"
)]
enum Step {
    /// The caller's registers, and whether it goes on behind a call, as all do but those that a signal
    /// has interrupted.
    Caller(Registers, bool),
    /// There is no caller.
    End,
    /// There may be one, but where is not known.
    Lost,
}

fn by_rule(
    rule: &Rc<Rule>,
    address: u64,
    registers: &Registers,
    innermost: bool,
    process: &mut impl Process,
) -> Step {
    match rule.row.register(X86_64::RA) {
        None | Some(RegisterRule::Undefined) => return Step::End,
        Some(_) => {}
    }
    let mut at = At {
        rule,
        address,
        registers,
        process,
    };
    let frame = match rule.row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => registers
            .get(*register)
            .map(|base| base.wrapping_add_signed(*offset)),
        CfaRule::Expression(expression) => at.evaluate(expression, None),
    };
    let Some(frame) = frame else {
        return Step::Lost;
    };
    let stack = registers.get(X86_64::RSP).unwrap_or(0);
    // Callers are above. But a handler can run on another stack than what it interrupted; and a
    // function can have taken its return address off the stack, as vfork does.
    let above = match innermost {
        true => frame >= stack,
        false => frame > stack,
    };
    if !above && !rule.signal {
        return Step::Lost;
    }
    let mut caller = Registers([None; COUNT]);
    for register in PRESERVED {
        caller.set(register, registers.get(register));
    }
    caller.set(X86_64::RSP, Some(frame));
    for (register, how) in rule.row.registers() {
        let value = at.value(*register, how, frame);
        caller.set(*register, value);
    }
    match caller.get(X86_64::RA) {
        Some(0) => Step::End,
        Some(_) => Step::Caller(caller, !rule.signal),
        None => Step::Lost,
    }
}

/// A rule in its place.
struct At<'a, P> {
    rule: &'a Rule,
    address: u64,
    registers: &'a Registers,
    process: &'a mut P,
}

impl<P: Process> At<'_, P> {
    fn value(&mut self, of: Register, how: &RegisterRule<usize>, frame: u64) -> Option<u64> {
        match how {
            RegisterRule::SameValue => self.registers.get(of),
            RegisterRule::Offset(offset) => self.process.word(frame.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(frame.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(*other),
            RegisterRule::Expression(expression) => {
                let place = self.evaluate(expression, Some(frame))?;
                self.process.word(place)
            }
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(frame)),
            RegisterRule::Constant(value) => Some(*value),
            RegisterRule::Undefined | RegisterRule::Architectural => None,
        }
    }

    /// The value of an expression (DWARF 5, "Call Frame Information", uses those of 2.5).
    fn evaluate(
        &mut self,
        expression: &UnwindExpression<usize>,
        first: Option<u64>,
    ) -> Option<u64> {
        /// More steps than any compiler or linker writes.
        const MOST: u32 = 100;
        let bytes: Vec<u8> = {
            let code = self.process.code(self.address)?;
            let cfi = code.cfi?;
            expression.get(&cfi.section()).ok()?.0.slice().to_vec()
        };
        run(
            &bytes,
            self.rule.encoding,
            first,
            MOST,
            self.registers,
            |address| self.process.word(address),
        )
    }
}

/// Runs an expression.
fn run(
    bytes: &[u8],
    encoding: Encoding,
    first: Option<u64>,
    most: u32,
    registers: &Registers,
    mut word: impl FnMut(u64) -> Option<u64>,
) -> Option<u64> {
    let expression = gimli::Expression(EndianSlice::new(bytes, LittleEndian));
    let mut evaluation = expression.evaluation(encoding);
    evaluation.set_max_iterations(most);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let word = word(address)?;
                let value = match size {
                    1..8 => word & ((1 << (8 * size)) - 1),
                    _ => word,
                };
                evaluation.resume_with_memory(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = registers.get(register)?;
                evaluation
                    .resume_with_register(Value::Generic(value))
                    .ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result().last()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}

/// The caller of the function that makes the call, where the stack pointer is still where it was at
/// its start, so that the address to return to lies there. That is so when the instruction before
/// that address calls this very function: what else happens to lie there does not.
fn by_return_address(
    address: u64,
    registers: &Registers,
    process: &mut impl Process,
) -> Option<Registers> {
    /// `call` with a distance of 32 bits, which counts from behind it.
    const CALL: u64 = 5;
    let stack = registers.get(X86_64::RSP)?;
    let back = process.word(stack)?;
    let mut bytes = [0; CALL as usize];
    if !process.bytes(back.checked_sub(CALL)?, &mut bytes) {
        return None;
    }
    let [0xe8, distance @ ..] = bytes else {
        return None;
    };
    let called = back.wrapping_add_signed(i32::from_le_bytes(distance).into());
    process.code(back.wrapping_sub(1))?;
    if process.function(address)? != called {
        return None;
    }
    let mut caller = registers.clone();
    caller.set(X86_64::RSP, Some(stack.checked_add(8)?));
    caller.set(X86_64::RA, Some(back));
    Some(caller)
}

/// The caller's frame by the chain of saved frame pointers.
fn by_frame_pointer(registers: &Registers, process: &mut impl Process) -> Step {
    let caller = || -> Option<Registers> {
        let (frame, stack) = (registers.get(X86_64::RBP)?, registers.get(X86_64::RSP)?);
        if frame % 8 != 0 || frame < stack {
            return None;
        }
        let (saved, back) = (process.word(frame)?, process.word(frame.checked_add(8)?)?);
        if !is_behind_a_call(back, process) {
            return None;
        }
        let mut caller = Registers([None; COUNT]);
        caller.set(X86_64::RBP, Some(saved));
        caller.set(X86_64::RSP, Some(frame.checked_add(16)?));
        caller.set(X86_64::RA, Some(back));
        Some(caller)
    };
    let mut caller = caller;
    match caller() {
        Some(caller) => Step::Caller(caller, true),
        None => Step::Lost,
    }
}

/// Whether code lies at an address, and a call before it: `call` with a distance of 32 bits (E8), or
/// by register or memory (FF /2), which is from two to seven bytes long, prefixes aside (Intel's
/// manual, volume 2, "CALL").
fn is_behind_a_call(address: u64, process: &mut impl Process) -> bool {
    const LONGEST: usize = 7;
    let mut bytes = [0; LONGEST];
    let Some(start) = address.checked_sub(LONGEST as u64) else {
        return false;
    };
    if process.code(address.wrapping_sub(1)).is_none() || !process.bytes(start, &mut bytes) {
        return false;
    }
    let direct = bytes[LONGEST - 5] == 0xe8;
    let indirect = (2..=LONGEST).any(|length| {
        let at = LONGEST - length;
        bytes[at] == 0xff && bytes[at + 1] >> 3 & 7 == 2 && length == indirect_length(&bytes[at..])
    });
    direct || indirect
}

/// How long a `call` by register or memory is, from its second and third byte: the addressing of
/// Intel's manual, volume 2, table 2-2.
fn indirect_length(bytes: &[u8]) -> usize {
    let (kind, base) = (bytes[1] >> 6, bytes[1] & 7);
    let scaled = kind != 3 && base == 4;
    let displacement = match (kind, base) {
        (0, 5) => 4,
        (0, 4) if bytes.get(2).is_some_and(|byte| byte & 7 == 5) => 4,
        (1, _) => 1,
        (2, _) => 4,
        _ => 0,
    };
    2 + usize::from(scaled) + displacement
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code from 0x1000 on without information, and a stack from 0x8000 on.
    struct Bare {
        code: Vec<u8>,
        stack: Vec<u64>,
    }

    impl Process for Bare {
        fn code(&mut self, address: u64) -> Option<Code<'_>> {
            let end = 0x1000 + self.code.len() as u64;
            (0x1000..end).contains(&address).then_some(Code {
                file: 0,
                bias: 0,
                entry: 0,
                bare_entry: false,
                cfi: None,
            })
        }

        fn word(&mut self, address: u64) -> Option<u64> {
            let at = address.checked_sub(0x8000)? / 8;
            self.stack.get(at as usize).copied()
        }

        fn function(&mut self, address: u64) -> Option<u64> {
            Some(address & !0xff)
        }

        fn bytes(&mut self, address: u64, into: &mut [u8]) -> bool {
            let Some(start) = address.checked_sub(0x1000) else {
                return false;
            };
            let start = start as usize;
            match self.code.get(start..start + into.len()) {
                Some(bytes) => {
                    into.copy_from_slice(bytes);
                    true
                }
                None => false,
            }
        }
    }

    fn registers(rip: u64, rsp: u64, rbp: u64) -> Registers {
        let mut registers = Registers([None; COUNT]);
        registers.set(X86_64::RA, Some(rip));
        registers.set(X86_64::RSP, Some(rsp));
        registers.set(X86_64::RBP, Some(rbp));
        registers
    }

    fn addresses(stack: &Stack) -> Vec<u64> {
        stack.frames.iter().map(|frame| frame.address).collect()
    }

    #[test]
    fn without_information_frame_pointers_are_followed_and_the_stack_is_cut_where_they_end() {
        let mut code = vec![0x90; 0x100];
        // call +0; call *%rax; call *8(%rsp)
        code[0x20..0x25].copy_from_slice(&[0xe8, 0, 0, 0, 0]);
        code[0x30..0x32].copy_from_slice(&[0xff, 0xd0]);
        code[0x40..0x44].copy_from_slice(&[0xff, 0x54, 0x24, 8]);
        let stack = vec![0x8010, 0x1025, 0x8020, 0x1032, 0x8030, 0x1044, 0, 0x1050];
        let mut process = Bare { code, stack };
        let seen = unwind(registers(0x1010, 0x8000, 0x8000), Place::Call, &mut process);
        // The last address of the chain is behind no call.
        assert_eq!(addresses(&seen), [0x1010, 0x1025, 0x1032, 0x1044]);
        assert!(!seen.complete);
        assert_eq!(seen.frames[0].stated, 0x100e);
        assert_eq!(seen.frames[1].stated, 0x1024);
    }

    #[test]
    fn the_caller_of_the_innermost_function_is_on_top_of_the_stack_when_it_calls_that_function() {
        let called = |distance: i32| {
            let mut code = vec![0x90; 0x200];
            code[0x150] = 0xe8;
            code[0x151..0x155].copy_from_slice(&distance.to_le_bytes());
            let stack = vec![0x1155, 0];
            let mut process = Bare { code, stack };
            let seen = unwind(registers(0x1012, 0x8000, 0), Place::Call, &mut process);
            addresses(&seen)
        };
        assert_eq!(called(0x1000 - 0x1155), [0x1012, 0x1155]);
        assert_eq!(called(0x1010 - 0x1155), [0x1012]);
    }

    #[test]
    fn a_register_that_holds_no_frame_pointer_ends_the_stack() {
        for rbp in [0, 1, 0x7000, 0x8004, 0x9000, u64::MAX, u64::MAX - 7] {
            let mut process = Bare {
                code: vec![0xe8; 0x100],
                stack: vec![0x8000; 8],
            };
            let seen = unwind(registers(0x1010, 0x8000, rbp), Place::Call, &mut process);
            assert_eq!(addresses(&seen), [0x1010], "{rbp:#x}");
            assert!(!seen.complete);
        }
    }

    #[test]
    fn a_chain_that_does_not_rise_is_left() {
        let mut process = Bare {
            code: vec![0xe8; 0x100],
            stack: vec![0x8000, 0x1010],
        };
        let seen = unwind(registers(0x1010, 0x8000, 0x8000), Place::Call, &mut process);
        assert_eq!(addresses(&seen), [0x1010, 0x1010]);
    }

    #[test]
    fn nothing_is_known_of_code_that_is_not_there() {
        let mut process = Bare {
            code: Vec::new(),
            stack: Vec::new(),
        };
        let seen = unwind(registers(0, 0, 0), Place::Call, &mut process);
        assert_eq!(seen, Stack::default());
    }

    #[test]
    fn the_length_of_an_indirect_call_is_by_its_addressing() {
        for (bytes, length) in [
            (&[0xff, 0xd0, 0x90][..], 2),
            (&[0xff, 0x10, 0x90], 2),
            (&[0xff, 0x50, 8], 3),
            (&[0xff, 0x14, 0x24], 3),
            (&[0xff, 0x15, 0, 0, 0, 0], 6),
            (&[0xff, 0x94, 0x24, 0, 0, 0, 0], 7),
            (&[0xff, 0x14, 0x25, 0, 0, 0, 0], 7),
        ] {
            assert_eq!(indirect_length(bytes), length, "{bytes:x?}");
        }
    }
}
