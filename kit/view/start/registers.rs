//! The registers.

use crate::start::{Address, Register, Start};
use crate::view::{Table, text};

/// Those that hold something, each; those that are zero, together.
pub(super) fn registers(start: &Start) -> Table {
    let mut table = Table::new([text("register"), text("value"), text("meaning")]);
    let (set, zero): (Vec<&Register>, Vec<&Register>) = start
        .registers
        .iter()
        .partition(|register| register.value != Address(0));
    for register in set {
        table.row([
            register.name.to_owned(),
            register.value.to_string(),
            register_meaning(register),
        ]);
    }
    if !zero.is_empty() {
        let names: Vec<_> = zero.iter().map(|register| register.name).collect();
        let names = names.join(" ");
        table.row([
            names.as_str(),
            "0",
            "cleared: nothing is left of the old program",
        ]);
    }
    table
}

fn register_meaning(register: &Register) -> String {
    let value = register.value.0;
    match register.name {
        "rip" | "eip" => "the first instruction".to_owned(),
        "rsp" | "esp" => "argc".to_owned(),
        "eflags" => flags(value),
        "cs" if value == 0x33 => "64-bit code of a user".to_owned(),
        "cs" if value == 0x23 => "32-bit code of a user".to_owned(),
        "ss" | "ds" | "es" if value == 0x2b => "data of a user".to_owned(),
        "orig_rax" if value == 59 => "the call that it comes out of: execve".to_owned(),
        "orig_eax" if value == 11 => "the call that it comes out of: execve".to_owned(),
        "orig_rax" | "orig_eax" => {
            "the call that it comes out of, by the number of its caller".to_owned()
        }
        _ => String::new(),
    }
}

/// The bits of eflags that are set, by name (Intel's manual, volume 1, 3.4.3).
fn flags(value: u64) -> String {
    let names = [
        (0, "CF"),
        (2, "PF"),
        (4, "AF"),
        (6, "ZF"),
        (7, "SF"),
        (8, "TF"),
        (9, "IF: interrupts are on"),
        (10, "DF"),
        (11, "OF"),
    ];
    let set = names.iter().filter(|(bit, _)| value >> bit & 1 == 1);
    let set: Vec<_> = set.map(|(_, name)| *name).collect();
    set.join(", ")
}
