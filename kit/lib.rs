//! Counts, attributes and times everything that a program does between `execve` and its exit.
//!
//! A measurement goes one way: a [`Subject`] is what to run, under a fixed, recorded
//! environment; an observer runs it and answers one question with plain facts; a view
//! prints facts. Observers never print, views never measure.

pub mod assertions;
pub mod bake;
pub mod baseline;
pub mod count;
mod deadline;
pub mod doctor;
pub mod error;
pub mod exit;
pub mod figure;
pub mod image;
pub mod machine;
pub mod memory;
mod nanoseconds;
pub mod peers;
pub mod report;
mod spawn;
pub mod start;
pub mod steps;
pub mod subject;
pub mod survey;
pub mod time;
pub mod trace;
pub mod view;
pub mod who;
pub mod whole;

/// The page on the kit: its examples are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/kit.md")]
struct Page;

/// The page on baked launchers.
#[cfg(doctest)]
#[doc = include_str!("../docs/bake.md")]
struct BakePage;

pub use count::count;
pub use doctor::doctor;
pub use error::{Error, Result};
pub use exit::Exit;
pub use image::image;
pub use memory::memory;
pub use start::start;
pub use steps::steps;
pub use subject::{SetUp, Stream, Subject};
pub use time::time;
pub use trace::trace;
pub use who::who;
