//! The report: the command, and a file for each of its sections.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/forbid.rs"]
mod forbid;

mod bare_machine;
mod before_main;
mod big_parent;
mod bytes;
mod command;
mod plan;
mod programs;
mod self_exec;
mod start;
mod system;
mod wrapper;
