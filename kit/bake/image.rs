//! A baked launcher's file: an engine, the tape behind it, and back.

use launcher::action::Does;

use super::decode::{Operand, Step};
use super::recipe::{Argv0, Recipe};
use super::records::{Record, records};
use super::strings::Tape;
use super::tape::{COUNT, INHERIT, RUN, SET};
use super::{errors, line};
use crate::error::{Error, Result};
use crate::subject::escape;

/// The engines, by their names in bins/baked and in build.rs.
const EXEC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/exec"));
const FEW: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/few"));
const ARGUMENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/arguments"));
const ALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/all"));

/// How the line in a baked launcher starts: what it is, then `launch: ` and its words.
const LINE: &str = concat!("barest ", env!("CARGO_PKG_VERSION"), " baked ");
const PREFIX: &str = "launch: ";

/// The longest that a path can be for the kernel, its NUL included: PATH_MAX.
const PATH_MAX: usize = 4096;

impl Recipe {
    /// The file's bytes.
    pub(super) fn image(&self) -> Result<Vec<u8>> {
        let target = &self.target;
        let program = target.program.as_bytes();
        if program.len() >= PATH_MAX {
            return Err(Error::NotBaked {
                words: escape(self.program()),
                reason: format!("too long; a path has at most {} bytes", PATH_MAX - 1),
            });
        }
        let alone = target.before.is_empty() && target.after.is_empty();
        let small = program.contains(&b'/') && !target.resolve;
        let records = records(&self.steps).filter(|_| small);
        match (records, &target.argv0) {
            (Some(records), Argv0::Program) if alone && records.is_empty() => Ok(self.exec()),
            (Some(records), Argv0::Program | Argv0::Text(_)) if alone => Ok(self.few(&records)),
            (Some(records), _) => Ok(self.arguments(&records)),
            (None, _) => Ok(self.all()),
        }
    }

    fn exec(&self) -> Vec<u8> {
        let program = self.target.program.as_bytes();
        let mut tape = tape(EXEC);
        tape.put_address_behind(PREFIX.as_bytes(), program);
        tape.put(((PREFIX.len() + program.len()) as u16).to_le_bytes());
        tape.put(errors::table(program, []));
        finish(EXEC, tape, self)
    }

    fn few(&self, records: &[Record]) -> Vec<u8> {
        let mut tape = tape(FEW);
        let place = tape.put_place();
        tape.put(errors::table(
            self.target.program.as_bytes(),
            calls(records),
        ));
        tape.here(place);
        self.put_records(&mut tape, records);
        finish(FEW, tape, self)
    }

    fn arguments(&self, records: &[Record]) -> Vec<u8> {
        let mut tape = tape(ARGUMENTS);
        let place = tape.put_place();
        tape.put(self.room(0).to_le_bytes());
        tape.put(errors::table(
            self.target.program.as_bytes(),
            calls(records),
        ));
        tape.here(place);
        self.put_list(&mut tape);
        self.put_records(&mut tape, records);
        finish(ARGUMENTS, tape, self)
    }

    fn all(&self) -> Vec<u8> {
        let adds = |step: &&Step| {
            use Does::*;
            matches!(step.does, Set | Assign | Default | Prefix | Suffix)
        };
        let mut tape = tape(ALL);
        let place = tape.put_place();
        tape.put(
            self.room(self.steps.iter().filter(adds).count())
                .to_le_bytes(),
        );
        tape.here(place);
        self.put_list(&mut tape);
        for step in &self.steps {
            put_action(&mut tape, step);
        }
        let program = self.target.program.as_bytes();
        put_action(
            &mut tape,
            &Step {
                does: Does::Run,
                with: [
                    Operand::Text(program.to_vec()),
                    Operand::Number(self.target.resolve.into()),
                    Operand::Number(0),
                ],
                words: program.to_vec(),
            },
        );
        finish(ALL, tape, self)
    }

    /// How much lower the target's argv starts than the caller's: a place for each argument that is
    /// added, and each variable.
    fn room(&self, variables: usize) -> u32 {
        let places = self.target.before.len() + self.target.after.len() + variables;
        (8 * places).next_multiple_of(16) as u32
    }

    fn put_list(&self, tape: &mut Tape) {
        match &self.target.argv0 {
            Argv0::Program => tape.put_address(self.target.program.as_bytes()),
            Argv0::Text(text) => tape.put_address(text.as_bytes()),
            Argv0::Inherit => tape.put(INHERIT.to_le_bytes()),
        }
        for part in [&self.target.before, &self.target.after] {
            for argument in part {
                tape.put_address(argument.as_bytes());
            }
            tape.put([0; 4]);
        }
    }

    fn put_records(&self, tape: &mut Tape, records: &[Record]) {
        for record in records {
            put_record(tape, record);
        }
        let program = self.target.program.as_bytes();
        let argv0 = match &self.target.argv0 {
            Argv0::Text(text) => text.as_bytes(),
            Argv0::Program | Argv0::Inherit => program,
        };
        put_record(
            tape,
            &Record {
                number: shims::arch::number::EXECVE as u16,
                special: RUN,
                with: [program, argv0]
                    .map(|text| Operand::Text(text.to_vec()))
                    .to_vec(),
                words: program.to_vec(),
            },
        );
    }
}

fn calls(records: &[Record]) -> impl Iterator<Item = usize> {
    let calls = records.iter().filter(|record| record.special != SET);
    calls.map(|record| record.number.into())
}

fn put_record(tape: &mut Tape, record: &Record) {
    let count = (record.with.len() - 1) as u16;
    tape.put((record.number | count << COUNT | record.special).to_le_bytes());
    for operand in &record.with {
        put_operand(tape, operand);
    }
    tape.put_text(&[PREFIX.as_bytes(), &record.words].concat());
}

fn put_action(tape: &mut Tape, step: &Step) {
    for operand in &step.with {
        match operand {
            Operand::Number(number) => tape.put(number.to_le_bytes()),
            address => {
                put_operand(tape, address);
                tape.put([0; 4]);
            }
        }
    }
    tape.put_address(&step.words);
    tape.put([step.does as u8]);
}

fn put_operand(tape: &mut Tape, operand: &Operand) {
    match operand {
        // Numbers that do not fit are those of calls that take 32 bits of them.
        Operand::Number(number) => tape.put((*number as u32).to_le_bytes()),
        Operand::Text(text) => tape.put_address(text),
        Operand::Bytes(bytes) => tape.put_address_of(bytes),
    }
}

// Elf64_Ehdr and Elf64_Phdr (elf(5)): where the first segment's fields are, as bare.ld has them.
const P_VADDR: usize = 64 + 16;
const P_FILESZ: usize = 64 + 32;
const P_MEMSZ: usize = 64 + 40;

/// The tape of an engine, empty.
fn tape(engine: &[u8]) -> Tape {
    let mut image = [0; 8];
    image.copy_from_slice(&engine[P_VADDR..P_VADDR + 8]);
    // An engine's image is below 2 GiB.
    Tape::new((u64::from_le_bytes(image) as usize + engine.len()) as u32)
}

/// The file: the engine, whose segment becomes longer by the tape.
fn finish(engine: &[u8], tape: Tape, recipe: &Recipe) -> Vec<u8> {
    let line = format!("{LINE}{PREFIX}{recipe}");
    let mut bytes = [engine, &tape.finish(&line)].concat();
    let length = (bytes.len() as u64).to_le_bytes();
    for field in [P_FILESZ, P_MEMSZ] {
        bytes[field..field + 8].copy_from_slice(&length);
    }
    bytes
}

/// The recipe of a file, or why there is none.
pub fn recipe_of(bytes: &[u8]) -> std::result::Result<Recipe, String> {
    let none = || "no baked launcher: it has no line that says so".to_owned();
    let last = bytes.strip_suffix(b"\0").ok_or_else(none)?;
    let start = last.iter().rposition(|byte| matches!(byte, b'\n' | 0));
    let line = start.and_then(|at| str::from_utf8(&last[at + 1..]).ok());
    let line = line.ok_or_else(none)?;
    let Some(words) = line.strip_prefix(LINE) else {
        let version = line
            .strip_prefix("barest ")
            .and_then(|rest| rest.split_once(" baked "));
        return Err(match version {
            Some((version, _)) => format!(
                "baked by barest {}, and this is {}; its line says of what: see `strings`",
                escape(version.as_ref()),
                env!("CARGO_PKG_VERSION")
            ),
            None => none(),
        });
    };
    let changed =
        || "no baked launcher, or changed since: its words bake to another file".to_owned();
    let words = words.strip_prefix(PREFIX).and_then(line::split);
    let recipe = Recipe::new(words.ok_or_else(changed)?).map_err(|_| changed())?;
    match recipe.image() {
        Ok(image) if image == bytes => Ok(recipe),
        _ => Err(changed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_no_larger_than_the_page_says() {
        let page = include_str!("../../docs/bake.md");
        for (name, engine) in [
            ("exec", EXEC),
            ("few", FEW),
            ("arguments", ARGUMENTS),
            ("all", ALL),
        ] {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{name}` |")));
            let size = row
                .unwrap()
                .rsplit('|')
                .nth(1)
                .unwrap()
                .trim()
                .replace(',', "");
            let size: usize = size.parse().unwrap();
            assert!(engine.len() <= size, "{name}: {}", engine.len());
        }
    }
}
