//! Every byte of a program has a meaning, and it is the right one.

use crate::common;

use std::fs;

use barest::report::Facts;
use barest::report::bytes::{Bytes, File, Role};
use barest::view::report::shown;
use common::fuzz::fuzz;
use common::{program, succeed};

fn file(name: &str) -> File {
    File::of(name, &fs::read(program(name)).unwrap()).unwrap()
}

/// The pieces of a role: offset, length and name.
fn pieces(file: &File, role: Role) -> Vec<(usize, usize, &str)> {
    let own = file.pieces.iter().filter(|piece| piece.role == role);
    own.map(|piece| (piece.offset, piece.bytes, piece.name.as_str()))
        .collect()
}

#[test]
fn true_is_two_headers_and_three_instructions_and_no_byte_is_two_things() {
    let file = file("true");
    assert_eq!(file.size(), 188);
    for offset in 0..file.size() {
        assert_eq!(file.at(offset).count(), 1, "{offset:#x}");
    }
    assert_eq!(
        pieces(&file, Role::Code),
        [
            (176, 5, "mov edi, 0"),
            (181, 5, "mov eax, 0xe7"),
            (186, 2, "syscall")
        ]
    );
    let call = file.pieces.last().unwrap();
    assert_eq!(call.means, "exit_group, call 231: does not return");
    assert_eq!(file.digits(call), "0f 05");
    assert_eq!(pieces(&file, Role::Rest), []);
    let sum = |role| {
        pieces(&file, role)
            .iter()
            .map(|(_, bytes, _)| bytes)
            .sum::<usize>()
    };
    assert_eq!((sum(Role::ElfHeader), sum(Role::ProgramHeader)), (64, 112));
}

#[test]
fn golf_runs_through_its_own_magic_number() {
    let file = file("golf");
    assert_eq!(file.size(), 73);
    assert_eq!(
        pieces(&file, Role::Code),
        [
            (0, 2, "jg short 0x0000000c00000047"),
            (4, 2, "xor edi, edi"),
            (6, 2, "mov al, 0x3c"),
            (8, 2, "syscall"),
            (71, 2, "jmp short 0x0000000c00000004"),
        ]
    );
    let at = |offset| file.at(offset).map(|piece| piece.role).collect::<Vec<_>>();
    assert_eq!(at(0), [Role::ElfHeader, Role::Code]);
    assert_eq!(at(12), [Role::ElfHeader, Role::ProgramHeader]);
    assert_eq!(at(72), [Role::Code]);
}

/// readelf takes the code in `golf`'s identification for a class of 32 bits, so not of that.
#[test]
fn fields_are_those_of_readelf() {
    for name in ["true", "hello"] {
        let read = succeed(
            std::process::Command::new("readelf")
                .arg("-hW")
                .arg(program(name)),
        );
        let of = |label: &str| {
            let line = read
                .lines()
                .find_map(|line| line.trim().strip_prefix(label));
            line.unwrap().trim().split(' ').next().unwrap().to_owned()
        };
        let file = file(name);
        let means = |field: &str| {
            let mut pieces = file.pieces.iter();
            pieces
                .find(|piece| piece.name == field)
                .unwrap()
                .means
                .clone()
        };
        assert_eq!(
            means("e_entry"),
            format!("the first instruction is at {}", of("Entry point address:"))
        );
        assert_eq!(
            means("e_phoff"),
            format!(
                "the program headers begin at offset {}",
                of("Start of program headers:")
            )
        );
        assert_eq!(
            means("e_phnum"),
            format!("there are {}", of("Number of program headers:"))
        );
    }
}

#[test]
fn sentences_change_when_the_bytes_do() {
    let facts = |files| {
        Facts::Bytes(Bytes {
            files,
            faults: Vec::new(),
        })
    };
    let whole = shown(&facts(vec![file("true")]));
    assert_eq!(
        whole.says,
        [
            "true has 188 bytes: 64 of the ELF header, 112 of program headers, 12 of code. \
          No byte is two things at once."
        ]
    );
    let mut longer = fs::read(program("true")).unwrap();
    longer.extend([0; 4]);
    let longer = shown(&facts(vec![File::of("true", &longer).unwrap()]));
    assert_eq!(
        longer.says,
        [
            "true has 192 bytes: 64 of the ELF header, 112 of program headers, 12 of code, \
          4 of data. No byte is two things at once."
        ]
    );
}

#[test]
fn facts_are_the_same_after_json() {
    let file = file("golf");
    let text = serde_json::to_string(&file).unwrap();
    assert_eq!(serde_json::from_str::<File>(&text).unwrap(), file);
}

#[test]
fn any_bytes_are_told_or_refused() {
    let originals = ["true", "golf", "hello"].map(|name| fs::read(program(name)).unwrap());
    let mut told = 0;
    fuzz("bytes", |random| {
        let mut bytes = originals[random.below(originals.len())].clone();
        let size = bytes.len();
        random.change(&mut bytes, size);
        if let Ok(file) = File::of("any", &bytes) {
            told += 1;
            for offset in 0..file.size() {
                assert!(file.at(offset).next().is_some(), "{offset:#x}");
            }
            assert!(
                file.pieces
                    .iter()
                    .all(|piece| piece.offset + piece.bytes <= bytes.len())
            );
        }
    });
    assert!(told > 0);
}
