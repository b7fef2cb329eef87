//! What a subject started from, as one line under its facts.

use crate::subject::{FIXED_ENVIRONMENT, SetUp, Subject, escape};

/// The environment, the streams and the set-ups of a subject, as in `environment LC_ALL=C; stdin
/// null, …; set up: cd /tmp, setsid`.
pub fn footer(subject: &Subject) -> String {
    let environment = if subject.environment == FIXED_ENVIRONMENT {
        format!("fixed ({})", FIXED_ENVIRONMENT.join(" "))
    } else {
        let fixed = |var: &&std::ffi::OsString| FIXED_ENVIRONMENT.iter().any(|f| *f == **var);
        let others: Vec<_> = subject
            .environment
            .iter()
            .filter(|var| !fixed(var))
            .collect();
        match (subject.environment.len(), others.len()) {
            (0, _) => "empty".into(),
            (all, few @ 1..=3) if all == few + FIXED_ENVIRONMENT.len() => {
                let words: Vec<_> = others.iter().map(|var| escape(var)).collect();
                format!("fixed and {}", words.join(" "))
            }
            (all, _) => super::counted(all as u64, "variable"),
        }
    };
    let set_up = match subject.set_up.as_slice() {
        [] => String::new(),
        some => {
            let words: Vec<_> = some.iter().map(SetUp::to_string).collect();
            format!("; set up: {}", words.join(", "))
        }
    };
    format!(
        "environment: {environment}; stdin {}, stdout {}, stderr {}{set_up}",
        subject.stdin, subject.stdout, subject.stderr
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Stream;

    #[test]
    fn what_differs_from_the_fixed_start_is_named() {
        let streams = "; stdin null, stdout null, stderr null";
        let subject = Subject::new("/bin/true");
        assert_eq!(
            footer(&subject),
            format!(
                "environment: fixed ({}){streams}",
                FIXED_ENVIRONMENT.join(" ")
            )
        );
        let mut more = subject.clone().stdout(Stream::Tty);
        more.environment.push("A=1".into());
        assert_eq!(
            footer(&more),
            "environment: fixed and A=1; stdin null, stdout tty, stderr null"
        );
        let set_up = [
            SetUp::Directory("/a b".into()),
            SetUp::File {
                path: "out".into(),
                descriptor: 1,
            },
            SetUp::Duplicate { of: 0, to: 3 },
            SetUp::Close(2),
            SetUp::Session,
        ];
        let done = set_up.into_iter().fold(subject.clone(), Subject::set_up);
        assert_eq!(
            footer(&done),
            format!(
                "{}; set up: cd /a b, 1>out, 3<&0, 2<&-, setsid",
                footer(&subject)
            )
        );
        let one = subject.clone().environment(["A=1"]);
        assert_eq!(footer(&one), format!("environment: 1 variable{streams}"));
        let none = subject.environment([""; 0]);
        assert_eq!(footer(&none), format!("environment: empty{streams}"));
    }
}
