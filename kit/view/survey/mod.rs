//! How surveys are shown, one file a question.

pub mod aslr;
pub mod exposure;
pub mod libraries;
pub mod sizes;
pub mod symbols;
