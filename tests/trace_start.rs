//! What a subject starts with. Alone in its file: it makes the whole process a careless parent.

use std::fs;
use std::time::Duration;

use barest::Stream;
use barest::exit::Exit;

mod subjects;
use subjects::{run, writing};

#[test]
fn a_program_starts_with_its_streams_and_nothing_else() {
    // What a careless parent leaves to its children.
    // SAFETY: a descriptor number that nothing else uses, and a signal that nobody sends.
    unsafe {
        assert_eq!(libc::dup2(2, 300), 300);
        libc::signal(libc::SIGUSR2, libc::SIG_IGN);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
    let (subject, out) = writing("start");
    let mut tries = vec![
        [Stream::Closed, Stream::Pipe, Stream::Null],
        [Stream::Pipe, Stream::Closed, Stream::Tty],
    ];
    tries.extend(
        [
            Stream::Null,
            Stream::Pipe,
            Stream::File,
            Stream::Tty,
            Stream::Closed,
        ]
        .map(|one| [one; 3]),
    );
    for [stdin, stdout, stderr] in tries {
        let subject = subject.clone().stdin(stdin).stdout(stdout).stderr(stderr);
        let seen = run(&subject.timeout(Duration::from_secs(20)));
        assert_eq!(seen.exit, Exit::Exited(0));
        let letter = |stream| match stream {
            Stream::Null => 'c',
            Stream::Pipe => 'p',
            Stream::File => 'f',
            Stream::Tty => 't',
            _ => '-',
        };
        let streams = String::from_iter([stdin, stdout, stderr].map(letter));
        let bytes = seen.program.as_os_str().len();
        assert_eq!(
            fs::read_to_string(&out).unwrap(),
            format!("{streams} end=1 others=0 signals=0 blocked=0 argc=1 bytes={bytes}\n")
        );
    }
}
