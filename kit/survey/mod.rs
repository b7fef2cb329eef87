//! How a whole system links: which libraries its programs load, how much of them they use, what a
//! fault in one of them would reach, how far their addresses move, and how large they are.
//!
//! Files are read, never run, and no loader is asked about them; [`aslr`] alone runs its subjects.

pub mod advisories;
pub mod aslr;
pub mod exposure;
#[doc(hidden)]
pub mod fuzz;
pub mod libraries;
pub mod link;
mod loader;
pub mod packages;
pub mod root;
pub mod sizes;
pub mod symbols;
pub mod walk;

pub use root::{Root, Unread};
