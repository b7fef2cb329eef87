//! What a subject started from, as one line under its facts.

use crate::subject::{FIXED_ENVIRONMENT, Subject, escape};

/// The environment and the streams of a subject, as in `environment LC_ALL=C; stdin null, …`.
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
    format!(
        "environment: {environment}; stdin {}, stdout {}, stderr {}",
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
        let one = subject.clone().environment(["A=1"]);
        assert_eq!(footer(&one), format!("environment: 1 variable{streams}"));
        let none = subject.environment([""; 0]);
        assert_eq!(footer(&none), format!("environment: empty{streams}"));
    }
}
