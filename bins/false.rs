//! `false`: exits with 1.
//!
//! System calls: execve, exit_group. Three instructions.

#![no_std]
#![no_main]

shims::entry!(exit 1);
