//! All ways to the target beside each other.

use barest::Result;
use barest::time::{Plan, Ratio, Timing, time};
use barest::view::{Table, number, text};

use crate::common::Figure;
use crate::way::{Run, Way};
use crate::{ASSEMBLER, BAKED, LAUNCH, VFORK};

/// All ways, timed in one run.
pub struct Comparison {
    /// Each with its places in the timing, just to run the target and for the job.
    pub ways: Vec<(Way, [Option<usize>; 2])>,
    pub timing: Timing,
}

impl Comparison {
    pub fn of(ways: Vec<Way>, plan: &Plan) -> Result<Self> {
        let mut plan = plan.clone();
        let mut subjects = Vec::new();
        let mut add = |run: &Option<Run>| {
            let run = run.as_ref()?;
            let at = subjects.len();
            subjects.push(run.subject.clone());
            plan.posix_spawn.extend(run.posix_spawn.then_some(at));
            Some(at)
        };
        let ways = ways.into_iter().map(|way| {
            let places = [add(&way.exec), add(&way.job)];
            (way, places)
        });
        let ways = ways.collect();
        let timing = time(&subjects, &plan)?;
        Ok(Comparison { ways, timing })
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new([
            text("launcher"),
            number("bytes").optional(),
            number("exec calls"),
            number("exec only"),
            number("job calls"),
            number("job"),
        ]);
        for (way, places) in &self.ways {
            let launchers = [&way.exec, &way.job].map(|run| run.as_ref()?.launcher);
            let calls = launchers.map(|it| Some(it?.1.to_string()));
            let mut bytes: Vec<_> = launchers.iter().flatten().map(|(bytes, _)| bytes).collect();
            bytes.dedup();
            let bytes: Vec<_> = bytes.into_iter().map(u64::to_string).collect();
            let bytes = (!bytes.is_empty()).then(|| bytes.join(", "));
            let ratios = places.map(|at| match at? {
                0 => Some("1".to_owned()),
                at => Some(self.timing.ratio(at, 0)?.to_string()),
            });
            let ([exec_calls, job_calls], [exec, job]) = (calls, ratios);
            let cells = [bytes, exec_calls, exec, job_calls, job];
            let cells = cells.map(|cell| cell.unwrap_or("-".to_owned()));
            table.row([way.name.clone()].into_iter().chain(cells));
        }
        table
    }

    /// Where the run of a way is in the timing.
    fn places(&self, name: &str) -> [Option<usize>; 2] {
        let way = self.ways.iter().find(|(way, _)| way.name == name);
        way.map_or([None; 2], |(_, places)| *places)
    }

    /// What is asked of ours.
    pub fn figures(&self) -> Vec<Figure> {
        let of = |name: &str, most_exec, most_job| {
            let exec = format!("{name}, exec only, against the assembler peer");
            let job = format!("{name}, job, against vfork + its calls + the assembler peer's part");
            [
                Figure::at_most(exec, most_exec, self.against_assembler(name)),
                Figure::at_most(job, most_job, self.against_least_job(name)),
            ]
        };
        [of(LAUNCH, 1.05, 1.06), of(BAKED, 1.05, 1.06)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn against_assembler(&self, name: &str) -> Option<Ratio> {
        let ([exec, _], [assembler, _]) = (self.places(name), self.places(ASSEMBLER));
        self.timing.ratio(exec?, assembler?)
    }

    /// Against the least that a launcher can take for the job: its calls, as the parent makes
    /// them in the child, and what the assembler peer adds to the target alone. Of one round each.
    fn against_least_job(&self, name: &str) -> Option<Ratio> {
        let ([_, job], [assembler, _]) = (self.places(name), self.places(ASSEMBLER));
        let [alone, inline] = self.places(VFORK);
        let places = [job?, alone?, inline?, assembler?];
        Some(self.timing.ratio_by(|round| {
            let [job, alone, inline, assembler] = places.map(|at| round[at] as f64);
            job / (inline + assembler - alone)
        }))
    }
}
