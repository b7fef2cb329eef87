//! A program that somebody still has open for writing. In a process of its own, since a child that
//! another test forks would have it open as well.

use std::fs;
use std::thread;
use std::time::Duration;

use barest::Subject;
use barest::exit::Exit;
use barest::trace::trace;

#[allow(dead_code, reason = "each test uses a part of it")]
mod subjects;
use subjects::{compile, run, scratch};

#[test]
fn a_program_that_is_still_being_written_is_waited_for_but_not_for_long() {
    let program = scratch("written");
    fs::copy(compile("hello", &[]), &program).unwrap();
    let open = || fs::OpenOptions::new().write(true).open(&program).unwrap();
    let writer = open();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(writer);
        });
        assert_eq!(run(&Subject::new(&program)).exit, Exit::Exited(0));
    });
    let _writer = open();
    let error = trace(&Subject::new(&program)).unwrap_err().to_string();
    assert!(
        error.ends_with("open for writing elsewhere; close it there"),
        "{error}"
    );
}
