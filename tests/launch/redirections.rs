//! Redirections and ranges of descriptors: the calls, and the target's descriptors.
//!
//! What the launcher itself needs is never seen there: a case fails for a descriptor too many.

use std::fs;

use crate::case::{launch, words};
use crate::message::line;
use crate::place::{folder, out};

/// How a word opens a file: the operator, what the target sees, and the descriptor by default.
const OPENS: [(&str, &str, u32); 5] = [
    ("<", "read", 0),
    (">", "write", 1),
    (">|", "write", 1),
    (">>", "write append", 1),
    ("<>", "read-write", 0),
];

#[test]
fn a_file_is_two_calls_whatever_its_operator() {
    for (operator, access, fd) in OPENS {
        let file = out();
        let name = file.to_str().unwrap();
        launch([format!("{operator}{name}")])
            .calls(["openat", "dup3"])
            .sees_file(fd, access, &file)
            .holds();
        launch([format!("7{operator}{name}")])
            .calls(["openat", "dup3"])
            .sees_file(7, access, &file)
            .holds();
        launch([format!("123{operator}{name}")])
            .calls(["openat", "dup3"])
            .sees_file(123, access, &file)
            .holds();
    }
}

#[test]
fn a_file_that_opens_where_it_is_wanted_is_two_calls_too() {
    for (operator, access, _) in OPENS {
        let file = out();
        launch([format!("3{operator}{}", file.display())])
            .calls(["openat", "fcntl"])
            .sees_file(3, access, &file)
            .holds();
    }
    let file = out();
    launch([format!("<{}", file.display())])
        .before(["close=0"])
        .calls(["openat", "fcntl"])
        .sees_file(0, "read", &file)
        .holds();
}

#[test]
fn a_file_that_opens_below_where_it_is_wanted_leaves_nothing_there() {
    let file = out();
    launch([format!("7>{}", file.display())])
        .before(["close=0"])
        .calls(["openat", "dup3"])
        .sees_file(7, "write", &file)
        .holds();
}

#[test]
fn files_are_created_cut_or_kept_as_in_a_shell() {
    let folder = folder();
    let create = folder.join("created");
    let mode = {
        let create = create.clone();
        move || {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&create).unwrap().permissions().mode() & 0o777;
            fs::remove_file(&create).unwrap();
            mode
        }
    };
    for operator in [">", ">>", "<>", ">|"] {
        let mode = mode.clone();
        // The mode is 0666 less the umask; the descriptor is checked elsewhere, as the file is
        // gone when it would be here.
        launch(words![
            "--umask",
            "027",
            format!("9{operator}{}", create.display()),
            "9>&-"
        ])
        .calls(["umask", "openat", "dup3", "close"])
        .sees("umask", "027")
        .and(move |_| assert_eq!(mode(), 0o640))
        .holds();
    }
    for (operator, left) in [
        (">", ""),
        (">|", ""),
        (">>", "kept"),
        ("<>", "kept"),
        ("<", "kept"),
    ] {
        let file = folder.join("kept");
        fs::write(&file, "kept").unwrap();
        launch([format!("9{operator}{}", file.display())])
            .calls(["openat", "dup3"])
            .sees_file(
                9,
                OPENS.iter().find(|open| open.0 == operator).unwrap().1,
                &file,
            )
            .and(move |_| assert_eq!(fs::read_to_string(&file).unwrap(), left))
            .holds();
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_the_end() {
    launch(["</nowhere/x"])
        .calls(["openat"])
        .fails(125, &line("</nowhere/x", "ENOENT"));
    launch(["5>/"])
        .calls(["openat"])
        .fails(125, &line("5>/", "EISDIR"));
}

#[test]
fn a_duplicate_is_one_call() {
    let file = out();
    let open = format!(">{}", file.display());
    for word in ["4>&1", "4<&1"] {
        launch([&open, word])
            .calls(["openat", "dup3", "dup3"])
            .sees_file(1, "write", &file)
            .sees_file(4, "write", &file)
            .holds();
    }
    // Without a number, as in a shell: of stdin and of stdout.
    launch(["<&3"])
        .before(["fd=3"])
        .calls(["dup3"])
        .sees_file(0, "read-write", "/dev/null")
        .holds();
    launch([">&3"])
        .before(["fd=3"])
        .calls(["dup3"])
        .sees_file(1, "read-write", "/dev/null")
        .holds();
    launch(["3>&3"]).before(["fd=3"]).calls(["fcntl"]).holds();
}

#[test]
fn a_duplicate_of_what_is_closed_is_the_end() {
    for word in ["1>&9", "9>&9"] {
        let call = if word == "1>&9" { "dup3" } else { "fcntl" };
        launch([word])
            .calls([call])
            .fails(125, &line(word, "EBADF"));
    }
}

#[test]
fn a_close_is_one_call_whatever_was_there() {
    for word in ["3>&-", "3<&-"] {
        launch([word])
            .before(["fd=3"])
            .calls(["close"])
            .sees_closed(3)
            .holds();
        launch([word]).calls(["close"]).holds();
    }
    launch(["<&-"]).calls(["close"]).sees_closed(0).holds();
    launch([">&-"]).calls(["close"]).sees_closed(1).holds();
}

#[test]
fn overwriting_stderr_is_one_call_more_once() {
    let file = out();
    let to_file = format!("2>{}", file.display());
    launch(["2>&1"])
        .calls(["fcntl", "dup3"])
        .sees_file(2, "write", "/dev/null")
        .holds();
    launch(["2>&-"])
        .calls(["fcntl", "close"])
        .sees_closed(2)
        .holds();
    launch([&to_file, "2>&-", "2>&1"])
        .calls(["fcntl", "openat", "dup3", "close", "dup3"])
        .sees_file(2, "write", "/dev/null")
        .holds();
    launch([&to_file])
        .calls(["fcntl", "openat", "dup3"])
        .sees_file(2, "write", &file)
        .holds();
}

#[test]
fn a_stderr_that_was_closed_from_the_start_can_be_given() {
    let file = out();
    launch([format!("2>{}", file.display())])
        .before(["close=2"])
        .calls(["fcntl", "openat", "fcntl"])
        .sees_file(2, "write", &file)
        .holds();
    launch(["2>&1"])
        .before(["close=2"])
        .calls(["fcntl", "dup3"])
        .sees_file(2, "write", "/dev/null")
        .holds();
}

#[test]
fn close_from_is_one_call() {
    let opened = ["fd=3", "fd=4", "fd=500", "fd=9"];
    launch(["--close-from", "4"])
        .before(opened)
        .calls(["close_range"])
        .sees_closed(4)
        .sees_closed(9)
        .sees_closed(500)
        .holds();
    launch(["--close-from=3"])
        .before(opened)
        .calls(["close_range"])
        .sees_closed(3)
        .sees_closed(4)
        .sees_closed(9)
        .sees_closed(500)
        .holds();
    launch(["--close-from", "2"])
        .before(["fd=3"])
        .calls(["close_range"])
        .sees_closed(2)
        .sees_closed(3)
        .holds();
    launch(["--close-from", "0"])
        .calls(["close_range"])
        .sees_closed(0)
        .sees_closed(1)
        .sees_closed(2)
        .holds();
}

#[test]
fn after_stderr_was_moved_close_from_is_still_one_call() {
    launch(["2>&-", "--close-from", "3"])
        .before(["fd=3", "fd=20"])
        .calls(["fcntl", "close", "close_range"])
        .sees_closed(2)
        .sees_closed(3)
        .sees_closed(20)
        .holds();
}

#[test]
fn cloexec_from_is_one_call() {
    launch(["--cloexec-from", "3"])
        .before(["fd=3", "fd=77"])
        .calls(["close_range"])
        .sees_closed(3)
        .sees_closed(77)
        .holds();
    launch(["--cloexec-from=1"])
        .calls(["close_range"])
        .sees_closed(1)
        .sees_closed(2)
        .holds();
}

#[test]
fn redirections_are_done_from_left_to_right() {
    let (one, two) = (out(), out());
    let one_word = format!(">{}", one.display());
    launch([&one_word, "2>&1"])
        .calls(["openat", "dup3", "fcntl", "dup3"])
        .sees_file(1, "write", &one)
        .sees_file(2, "write", &one)
        .holds();
    launch(["2>&1", &one_word])
        .calls(["fcntl", "dup3", "openat", "dup3"])
        .sees_file(1, "write", &one)
        .sees_file(2, "write", "/dev/null")
        .holds();
    launch([&one_word, &format!(">{}", two.display())])
        .calls(["openat", "dup3", "openat", "dup3"])
        .sees_file(1, "write", &two)
        .holds();
    // Swaps stdout and stdin.
    launch(["3>&1", "1>&0", "0>&3", "3>&-"])
        .before(["close=0", "fd=0"])
        .calls(["dup3", "dup3", "dup3", "close"])
        .sees_file(0, "write", "/dev/null")
        .sees_file(1, "read-write", "/dev/null")
        .holds();
}

#[test]
fn a_descriptor_that_the_launcher_used_for_itself_is_not_there_for_the_next() {
    let file = out();
    let open = format!("5<{}", file.display());
    launch([&open, "6<&3"])
        .calls(["openat", "dup3"])
        .fails(125, &line("6<&3", "EBADF"));
    launch([&open, "3<&3"])
        .calls(["openat", "dup3"])
        .fails(125, &line("3<&3", "EBADF"));
    launch([&open, "3<&5"])
        .calls(["openat", "dup3", "dup3"])
        .sees_file(5, "read", &file)
        .sees_file(3, "read", &file)
        .holds();
}

#[test]
fn what_was_closed_from_a_number_on_is_closed_for_the_next_actions_too() {
    launch(["--close-from", "2", "1>&2"])
        .calls(["close_range"])
        .fails(125, &line("1>&2", "EBADF"));
    launch(["--close-from", "3", "1>&4"])
        .before(["fd=4"])
        .calls(["close_range", "dup3"])
        .fails(125, &line("1>&4", "EBADF"));
    // What is opened afterwards stays.
    let file = out();
    launch(["--close-from=0", &format!("4>{}", file.display()), "0<&4"])
        .calls(["close_range", "openat", "dup3", "dup3"])
        .sees_file(0, "write", &file)
        .sees_closed(1)
        .sees_closed(2)
        .sees_file(4, "write", &file)
        .holds();
}

#[test]
fn a_name_of_a_file_may_hold_any_byte() {
    use std::os::unix::ffi::OsStringExt;
    let folder = folder();
    let mut word = b">".to_vec();
    word.extend(folder.join("x").into_os_string().into_vec());
    word.extend(b" >&-=\n\xff");
    let file = std::ffi::OsString::from_vec(word[1..].to_vec());
    launch([std::ffi::OsString::from_vec(word)])
        .calls(["openat", "dup3"])
        .sees_file(1, "write", file)
        .holds();
}
