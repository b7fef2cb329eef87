//! What a launcher does: words, actions, system calls, then one execve.
//!
//! A launcher stands between a parent and a program: it changes a few things about its process
//! and becomes that program. Here it is in its parts:
//!
//! - [`words`] reads the command line: each action is a word or a few;
//! - an [`Action`](action::Action) is what they decode into. Most are one call of the kernel
//!   with constant arguments;
//! - [`run`] does them in order, and becomes the program: by execve(2), or in place
//!   ([`direct`]);
//! - [`environment`] is edited where the kernel put it, and so are the [`arguments`]: nothing is
//!   allocated, and nothing is asked of the kernel but the actions' own calls.
//!
//! `launch` of bins/ reads the actions from its arguments; a baked launcher carries them in its
//! file. Both run this code.

#![cfg_attr(not(test), no_std)]

pub mod action;
pub mod arguments;
pub mod direct;
pub mod environment;
mod exec;
mod names;
pub mod reasons;
pub mod room;
pub mod run;
pub mod text;
pub mod user;
pub mod words;
