//! A subject finds done what it is to find done, whoever starts it, and the kit's own descriptors
//! are not in its way.

#[allow(dead_code, reason = "each test uses a part of it")]
mod subjects;

use std::fs;
use std::path::{Path, PathBuf};

use barest::memory::memory;
use barest::steps::{Until, steps};
use barest::time::{Plan, time};
use barest::{Exit, SetUp, Subject, count, trace};
use subjects::scratch;

/// Exits with 0 when all is as [`job`] says, which it writes into stdout.
const SEES: &str = r#"
    test "$PWD" = "$1" && test -e /proc/self/fd/4 && ! test -e /proc/self/fd/3 || exit 9
    read -r pid name state parent group session rest </proc/$$/stat
    test "$session" = $$ && echo "all done"
"#;

/// A shell that looks for a directory, a file as stdout, one descriptor open and one closed, and
/// a session of its own.
fn job(directory: &Path) -> Subject {
    fs::create_dir_all(directory).unwrap();
    Subject::new("/bin/sh")
        .args(["-c", SEES, "sees"])
        .arg(directory)
        .set_up(SetUp::Duplicate { of: 0, to: 3 })
        .set_up(SetUp::Duplicate { of: 3, to: 4 })
        .set_up(SetUp::Directory(directory.to_owned()))
        .set_up(SetUp::File {
            path: "out".into(),
            descriptor: 1,
        })
        .set_up(SetUp::Close(3))
        .set_up(SetUp::Session)
}

fn few(posix_spawn: &[usize]) -> Plan {
    Plan {
        rounds: 3,
        warmup: 1,
        posix_spawn: posix_spawn.to_vec(),
        ..Plan::default()
    }
}

#[test]
fn every_observer_finds_it_done() {
    let directory = scratch("directory");
    let (subject, out) = (job(&directory), directory.join("out"));
    let said = || {
        let said = fs::read_to_string(&out).unwrap();
        fs::remove_file(&out).unwrap();
        said
    };
    let seen = trace(&subject).unwrap();
    assert_eq!(
        (&seen.exit, said().as_str()),
        (&Exit::Exited(0), "all done\n")
    );
    memory(&subject).unwrap();
    assert_eq!(said(), "all done\n");
    assert_eq!(steps(&subject, Until::End).unwrap().exit, Exit::Exited(0));
    assert_eq!(said(), "all done\n");
    for posix_spawn in [&[][..], &[0]] {
        let timing = time(std::slice::from_ref(&subject), &few(posix_spawn)).unwrap();
        let timed = &timing.subjects[0];
        assert_eq!(timed.exit, Exit::Exited(0));
        assert_eq!(timed.posix_spawn, !posix_spawn.is_empty());
        // Whichever is the last of all rounds: the start without a program opens the file anew.
        assert!(["", "all done\n"].contains(&said().as_str()));
    }
}

#[test]
fn what_is_set_up_is_no_call_of_the_subject() {
    let plain = Subject::new("/bin/true");
    let made = trace(&plain).unwrap().count();
    let directory = scratch("directory");
    let mut done = job(&directory);
    (done.program, done.argv) = (plain.program, plain.argv);
    let counted = count(&done, 2).unwrap();
    assert_eq!((counted.total.min, counted.total.max), (made, made));
}

/// Any number may be among those that the kit has open itself.
#[test]
fn every_descriptor_can_be_opened_and_closed() {
    const FULL: &str = "for n in 3 4 5 6 7 8 9; do test -e /proc/self/fd/$n || exit 9; done";
    let some = 3..64;
    let open = |subject, descriptor| {
        let to = descriptor;
        Subject::set_up(subject, SetUp::Duplicate { of: 2, to })
    };
    let close = |subject, descriptor| Subject::set_up(subject, SetUp::Close(descriptor));
    let full = Subject::new("/bin/sh").args(["-c", FULL]);
    let full = some.clone().fold(full, open);
    let closed = some.clone().fold(Subject::new("/bin/true"), close);
    for subject in [&full, &closed] {
        assert_eq!(trace(subject).unwrap().exit, Exit::Exited(0));
    }
    let timing = time(&[full.clone(), full, closed], &few(&[1])).unwrap();
    assert!(
        timing
            .subjects
            .iter()
            .all(|timed| timed.exit == Exit::Exited(0))
    );
}

#[test]
fn a_file_that_lands_on_its_descriptor_stays_open() {
    let out = scratch("out");
    let subject = Subject::new("/bin/echo").arg("here");
    let subject = subject.set_up(SetUp::Close(0)).set_up(SetUp::File {
        path: out.clone(),
        descriptor: 0,
    });
    // It is stdin now, so echo writes where stdin leads to.
    let subject = subject.set_up(SetUp::Duplicate { of: 0, to: 1 });
    assert_eq!(trace(&subject).unwrap().exit, Exit::Exited(0));
    assert_eq!(fs::read_to_string(&out).unwrap(), "here\n");
    let alone = Subject::new("/bin/sh")
        .args(["-c", "test -e /proc/self/fd/0"])
        .set_up(SetUp::Close(0))
        .set_up(SetUp::File {
            path: out,
            descriptor: 0,
        });
    for plan in [few(&[]), few(&[0])] {
        let timing = time(std::slice::from_ref(&alone), &plan).unwrap();
        assert_eq!(timing.subjects[0].exit, Exit::Exited(0));
    }
}

#[test]
fn a_program_is_named_from_where_the_caller_is() {
    let program = scratch("true");
    fs::copy("/bin/true", &program).unwrap();
    // By way of the root directory; from one that lies deeper the same words lead nowhere.
    let up = std::env::current_dir().unwrap();
    let up = up.components().skip(1).map(|_| "..");
    let relative = up
        .collect::<PathBuf>()
        .join(program.strip_prefix("/").unwrap());
    let deep = scratch("deep").join("1/2/3/4/5/6/7/8/9");
    fs::create_dir_all(&deep).unwrap();
    let subject = Subject::new(relative).set_up(SetUp::Directory(deep));
    assert_eq!(trace(&subject).unwrap().exit, Exit::Exited(0));
}

#[test]
fn what_cannot_be_set_up_is_an_error_that_says_what() {
    let missing = SetUp::Directory("/no/such".into());
    let no_file = SetUp::File {
        path: "/no/such/file".into(),
        descriptor: 1,
    };
    let not_open = SetUp::Duplicate { of: 9, to: 3 };
    for (set_up, what) in [
        (missing, "change to the subject's directory: No such file"),
        (no_file, "open a file for the subject: No such file"),
        (not_open, "duplicate a descriptor for the subject: Bad file"),
    ] {
        let subject = Subject::new("/bin/true").set_up(set_up);
        let errors = [
            trace(&subject).unwrap_err(),
            time(std::slice::from_ref(&subject), &few(&[])).unwrap_err(),
            time(std::slice::from_ref(&subject), &few(&[0])).unwrap_err(),
        ];
        for error in errors {
            assert!(error.to_string().starts_with(what), "{error}");
        }
    }
    // A second session is one too many: setsid(2), EPERM.
    let twice = Subject::new("/bin/true")
        .set_up(SetUp::Session)
        .set_up(SetUp::Session);
    let error = trace(&twice).unwrap_err().to_string();
    assert!(
        error.starts_with("make a session for the subject: "),
        "{error}"
    );
}

#[test]
fn posix_spawn_of_a_subject_that_is_not_there_is_an_error() {
    let error = time(&[Subject::new("/bin/true")], &few(&[1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "posix_spawn of subject B: no such subject; they are numbered from 0 in the order given"
    );
}

#[test]
fn a_ratio_of_sums_is_made_of_the_times_of_each_round() {
    let subjects = ["/bin/true", "/bin/true", "/bin/sh"].map(Subject::new);
    let timing = time(&subjects, &few(&[])).unwrap();
    assert_eq!(
        timing.ratio_by(|round| round[2] as f64 / round[0] as f64),
        timing.ratio(2, 0).unwrap()
    );
    let three = timing.ratio_by(|round| {
        assert_eq!(round.len(), 3);
        (3 * round[1]) as f64 / round[1] as f64
    });
    assert_eq!((three.ratio, three.low, three.high), (3.0, 3.0, 3.0));
}
