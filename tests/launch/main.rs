//! What a launcher promises, by its command lines: the calls of each action, in order, and what
//! the target sees of it; the environment; the errors; and the bugs that users of others met.
//!
//! Each case holds for every [`launcher::Launcher`]. `state` and `before` (tests/subjects) are
//! the target that writes down what it sees, and the parent that leaves a mess.

#[path = "../common/mod.rs"]
mod common;
#[path = "../subjects/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod subjects;

mod capability;
mod case;
mod launcher;
mod message;
mod place;
mod run;
mod state;

mod actions;
mod combinations;
mod environment;
mod errors;
mod file;
mod ids;
mod limits;
mod redirections;
mod search;
mod signals;
mod stderr;
mod trackers;
mod usage;
