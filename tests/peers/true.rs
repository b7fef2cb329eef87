//! Exits 0 and does nothing else, so all that it calls is Rust's runtime's and the C library's.

fn main() {}
