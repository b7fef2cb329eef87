//! How the answers about a machine are shown: a row a question, and what to do about each no.

use super::steps::time;
use super::{Page, Table, text, yes_no};
use crate::doctor::{Ability, Doctor};

/// The page of these machines.
pub fn page(doctors: &[Doctor]) -> Page {
    doctors
        .iter()
        .fold(Page::new(), |page, doctor| page.page(one(doctor)))
}

fn one(doctor: &Doctor) -> Page {
    let mut table = Table::new([text("question"), text("answer"), text("what to do")]);
    let mut row = |question: &str, ability: &Ability, yes: &str| {
        let (answer, remedy) = match (&ability.reason, &ability.remedy) {
            (Some(reason), Some(remedy)) => (format!("no: {reason}"), remedy.clone()),
            _ => (yes.to_owned(), String::new()),
        };
        table.row([question.to_owned(), answer, remedy]);
    };
    row("may it trace", &doctor.trace, "yes");
    row("may it pin to a processor", &doctor.pin, "yes");
    let set = match doctor.randomization {
        Some(0) => "; off for all",
        Some(1) => "; on for all but the heap",
        Some(_) => "; on for others",
        None => "",
    };
    row(
        "may it turn ASLR off",
        &doctor.fixed_addresses,
        &format!("yes{set}"),
    );
    row("is there seccomp", &doctor.seccomp, "yes");
    row("do 32-bit programs run", &doctor.ia32, "yes");
    row("are there counters (PMU)", &doctor.counters, "yes");
    let noise = &doctor.noise;
    let load = match noise.load {
        Some(load) => format!(", load average {load:.2}"),
        None => String::new(),
    };
    row(
        "is it quiet now",
        &noise.quiet,
        &format!(
            "yes: the same work takes up to {:.2} times as long{load}",
            noise.spread
        ),
    );
    let cost = time(doctor.cpuid_cost);
    let traps = match doctor.cpuid_traps {
        true => "a hypervisor traps it: the start of a libc that asks often is slow here",
        false => "nothing traps it",
    };
    Page::new()
        .table(table)
        .note(format!("one CPUID takes {cost}: {traps}"))
        .note(doctor.machine.to_string())
        .note(format!(
            "count, trace and steps work: {}",
            yes_no(doctor.trace.able)
        ))
}
