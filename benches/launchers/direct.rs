//! `launch --direct` on targets of several kinds, beside an execve of the same.

use barest::time::{Plan, Timing, time};
use barest::trace::trace;
use barest::view::{Table, number, text};
use barest::{Error, Result, Subject};

use crate::common::{self, Figure};
use crate::ours::{Baked, bake, launch};
use crate::place::Place;

/// `true` in what runtimes a target can be of: a name, and whose program it is.
const TARGETS: [(&str, Option<&str>); 6] = [
    ("minimal static", None),
    ("musl, static", Some("musl-static")),
    ("musl, dynamic", Some("musl-dynamic")),
    ("glibc, static", Some("glibc-static")),
    ("glibc, static-PIE", Some("glibc-static-pie")),
    ("glibc, dynamic", Some("glibc-dynamic")),
];

/// A target, by the places in the timing of the ways to start it.
struct Target {
    name: &'static str,
    alone: usize,
    through_an_execve: Option<usize>,
    direct: Option<usize>,
    baked: Option<usize>,
    /// How many calls `launch` makes between its own execve and the target's first call.
    calls: Option<usize>,
}

/// All targets, timed in one run.
pub struct Direct {
    targets: Vec<Target>,
    timing: Timing,
    /// A line on each that is missing, and on how it was timed.
    pub notes: Vec<String>,
}

impl Direct {
    pub fn measure(place: &Place, plan: &Plan) -> Result<Self> {
        let (mut targets, mut subjects, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |subject: Subject| {
            subjects.push(subject);
            subjects.len() - 1
        };
        let wrapper = common::peer("gas", "exec")?;
        for (at, (name, id)) in TARGETS.into_iter().enumerate() {
            let program = match id {
                None => Some(common::ours("true")),
                Some(id) => common::peer(id, "true")?,
            };
            let Some(program) = program else {
                notes.push(format!("{name}: not installed (make deps)"));
                continue;
            };
            let file = place.file(&format!("target-{at}"));
            place.copy(&program, &file)?;
            let alone = Subject::new(&file);
            let as_it_is = trace(&alone)?;
            // How many calls it takes, if it takes no execve but its own.
            let mut calls = |way: &str, subject: &Subject| {
                let seen = trace(subject)?;
                if seen.exit != as_it_is.exit {
                    return Err(Error::NotMeasured {
                        subject: subject.to_string(),
                        reason: format!("{}, and the target {}", seen.exit, as_it_is.exit),
                    });
                }
                let direct = seen.names().filter(|call| call == "execve").count() == 1;
                if !direct {
                    notes.push(format!("{way} of {name}: not measured: handed to execve"));
                }
                Ok(direct.then(|| seen.count() - as_it_is.count()))
            };
            let direct = launch(["--direct".into(), file.clone().into_os_string()]);
            let calls_direct = calls("launch --direct", &direct)?;
            let baked = match bake(place, &format!("direct-{at}"), ["--direct".into()], &file) {
                Baked::As(baked) => {
                    let baked = Subject::new(baked);
                    calls("baked --direct", &baked)?.map(|_| baked)
                }
                Baked::Not(why) => {
                    let line = format!("baked --direct: not measured: {why}");
                    if !notes.contains(&line) {
                        notes.push(line);
                    }
                    None
                }
            };
            targets.push(Target {
                name,
                alone: add(alone),
                through_an_execve: wrapper
                    .as_ref()
                    .map(|path| add(Subject::new(path).arg(&file))),
                direct: calls_direct.map(|_| add(direct)),
                baked: baked.map(&mut add),
                calls: calls_direct,
            });
        }
        let timing = time(&subjects, plan)?;
        notes.push(common::conditions("--direct", &timing));
        Ok(Direct {
            targets,
            timing,
            notes,
        })
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new([
            text("target"),
            number("through an execve"),
            number("calls"),
            number("launch --direct"),
            number("baked --direct"),
        ]);
        for target in &self.targets {
            let ratio = |of: Option<usize>| {
                let ratio = self.timing.ratio(of?, target.alone)?;
                Some(ratio.to_string())
            };
            let cells = [
                ratio(target.through_an_execve),
                target.calls.map(|calls| calls.to_string()),
                ratio(target.direct),
                ratio(target.baked),
            ];
            let cells = cells.map(|cell| cell.unwrap_or("-".into()));
            table.row([target.name.to_owned()].into_iter().chain(cells));
        }
        table
    }

    /// What is asked of it.
    pub fn figure(&self) -> Figure {
        let minimal = self
            .targets
            .iter()
            .find(|target| target.name == TARGETS[0].0);
        let ratio = minimal.and_then(|it| self.timing.ratio(it.direct?, it.alone));
        let what = "launch --direct of a minimal static target, against the target alone";
        Figure::at_most(what, 1.20, ratio)
    }
}
