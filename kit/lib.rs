//! Counts, attributes and times everything that a program does between `execve` and its exit.
//!
//! A measurement goes one way: a [`Subject`] is what to run, under a fixed, recorded
//! environment; an observer runs it and answers one question with plain facts; a view
//! prints facts. Observers never print, views never measure.

pub mod assertions;
pub mod count;
mod deadline;
pub mod error;
pub mod exit;
pub mod image;
pub mod machine;
pub mod peers;
pub mod report;
mod spawn;
pub mod subject;
pub mod trace;
pub mod view;

pub use count::count;
pub use error::{Error, Result};
pub use exit::Exit;
pub use image::image;
pub use subject::{Stream, Subject};
pub use trace::trace;
