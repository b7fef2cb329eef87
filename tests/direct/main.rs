//! What `launch --direct` promises: a program that is started in place cannot tell, but where the
//! documentation says so; and what cannot be started so is left to execve, with its reason.

#[path = "../common/mod.rs"]
mod common;
#[path = "../subjects/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod subjects;

mod build;
mod outcome;

mod calls;
mod malformed;
mod peers;
mod process;
mod programs;
mod refusals;
