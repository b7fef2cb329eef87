//! One line to stdout by `println!`, as a Rust program writes one.

fn main() {
    println!("hello, world");
}
