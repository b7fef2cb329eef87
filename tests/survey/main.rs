//! How a whole system links, asked of trees that are made here: each question has a file.

#[path = "../common/mod.rs"]
mod common;

mod cache;
mod cli;
mod elf;
mod exposure;
mod libraries;
mod link;
mod sizes;
mod symbols;
mod tree;
mod walk;
