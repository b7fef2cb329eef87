//! What `image` says of files that gcc makes, that nobody makes, and that are broken.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::image::{Endian, Image, Linkage, Relro, Stack};
use barest::{Error, image};
use tempfile::TempDir;

const SOURCE: &str = "int shared(int x) { return x + 1; }\nint main(void) { return shared(-1); }\n";

/// What gcc makes of [`SOURCE`] with these flags.
fn built(dir: &TempDir, flags: &[&str]) -> PathBuf {
    let source = dir.path().join("source.c");
    fs::write(&source, SOURCE).unwrap();
    let file = dir.path().join("built");
    let gcc = Command::new("gcc")
        .args(flags)
        .arg("-o")
        .args([&file, &source])
        .output()
        .unwrap();
    assert!(
        gcc.status.success(),
        "gcc {flags:?}: {}",
        String::from_utf8_lossy(&gcc.stderr)
    );
    file
}

fn image_of(flags: &[&str]) -> Image {
    let dir = TempDir::new().unwrap();
    let image = image(built(&dir, flags)).unwrap();
    assert_eq!(image.remarks, [""; 0], "{flags:?}");
    image
}

fn refusal(path: &Path) -> String {
    match image(path) {
        Err(error @ Error::BadFile { .. }) => {
            let line = error.to_string();
            assert!(!line.contains('\n'), "{line:?}");
            line
        }
        other => panic!("{}: {other:?}", path.display()),
    }
}

fn segment_kinds(image: &Image) -> Vec<&str> {
    image
        .segments
        .iter()
        .map(|segment| segment.kind.as_str())
        .collect()
}

/// The number that a command of binutils prints for a file, by a filter of its lines.
fn lines_of(tool: &str, flag: &str, file: &Path, keep: impl Fn(&str) -> bool) -> usize {
    let output = Command::new(tool).arg(flag).arg(file).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter(|line| keep(line))
        .count()
}

#[test]
fn a_static_program_has_no_interpreter_and_a_fixed_address() {
    let image = image_of(&["-static", "-no-pie"]);
    assert_eq!(
        (image.linkage, image.kind.as_str(), image.pie),
        (Linkage::Static, "EXEC", false)
    );
    assert_eq!((image.interpreter, image.needed), (None, vec![]));
    assert_eq!(
        (image.machine.as_str(), image.bits, image.endian),
        ("x86_64", 64, Endian::Little)
    );
    assert_eq!(image.dynamic_symbols, Some(0));
    assert!(image.entry > 0x400000);
    // IRELATIVE ones, which its C library applies itself.
    assert!(image.relocations > 0);
}

#[test]
fn a_static_pie_is_no_shared_object() {
    let image = image_of(&["-static-pie"]);
    assert_eq!(
        (image.linkage, image.kind.as_str(), image.pie),
        (Linkage::StaticPie, "DYN", true)
    );
    assert_eq!((image.interpreter, image.needed), (None, vec![]));
}

#[test]
fn a_dynamic_pie_names_its_loader_and_its_libraries() {
    let image = image_of(&["-pie", "-Wl,--build-id=0x0123abcd"]);
    assert_eq!(
        (image.linkage, image.kind.as_str(), image.pie),
        (Linkage::Dynamic, "DYN", true)
    );
    assert_eq!(
        image.interpreter,
        Some("/lib64/ld-linux-x86-64.so.2".into())
    );
    assert_eq!(image.needed, ["libc.so.6"]);
    assert_eq!(image.build_id.as_deref(), Some("0123abcd"));
    assert_eq!(image.soname, None);
}

#[test]
fn a_dynamic_program_at_a_fixed_address_is_no_pie() {
    let image = image_of(&["-no-pie"]);
    assert_eq!(
        (image.linkage, image.kind.as_str(), image.pie),
        (Linkage::Dynamic, "EXEC", false)
    );
}

#[test]
fn a_shared_object_keeps_its_whole_soname() {
    let image = image_of(&["-shared", "-fPIC", "-Wl,-soname,libm.n-2.4.so.0"]);
    assert_eq!((image.linkage, image.pie), (Linkage::SharedObject, false));
    assert_eq!(image.soname, Some("libm.n-2.4.so.0".into()));
}

#[test]
fn the_loader_and_libc_are_shared_objects_though_they_can_be_run() {
    let program = image_of(&["-pie"]);
    let loader = image(PathBuf::from(program.interpreter.unwrap())).unwrap();
    assert_eq!((loader.linkage, loader.pie), (Linkage::SharedObject, false));
    assert_eq!(loader.interpreter, None);
    let libc = image("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
    assert_eq!((libc.linkage, libc.pie), (Linkage::SharedObject, false));
    assert!(libc.interpreter.is_some());
}

#[test]
fn an_object_file_for_32_bits_says_what_it_is() {
    let image = image_of(&["-m32", "-c"]);
    assert_eq!(
        (image.linkage, image.kind.as_str()),
        (Linkage::Object, "REL")
    );
    assert_eq!(
        (image.machine.as_str(), image.bits, image.endian),
        ("i386", 32, Endian::Little)
    );
    assert_eq!(
        (image.segments.len(), image.pie, image.stripped),
        (0, false, false)
    );
    assert_eq!(image.relocations, 0);
}

#[test]
fn relro_is_none_partial_or_full() {
    assert_eq!(image_of(&["-pie", "-Wl,-z,norelro"]).relro, Relro::None);
    assert_eq!(
        image_of(&["-pie", "-Wl,-z,relro,-z,lazy"]).relro,
        Relro::Partial
    );
    assert_eq!(
        image_of(&["-pie", "-Wl,-z,relro,-z,now"]).relro,
        Relro::Full
    );
}

#[test]
fn the_stack_is_executable_only_where_the_file_asks_for_it() {
    assert_eq!(image_of(&["-Wl,-z,noexecstack"]).stack, Stack::Nx);
    let image = image_of(&["-Wl,-z,execstack"]);
    assert_eq!(image.stack, Stack::Executable);
    assert!(image.write_xor_execute, "a stack is no segment of the file");
}

#[test]
fn one_segment_with_all_rights_breaks_write_xor_execute() {
    assert!(image_of(&["-pie"]).write_xor_execute);
    let image = image_of(&["-static", "-no-pie", "-nostdlib", "-Wl,-N,-e,main"]);
    assert!(!image.write_xor_execute);
    assert!(
        image
            .segments
            .iter()
            .any(|s| s.kind == "LOAD" && s.flags.to_string() == "rwx")
    );
}

#[test]
fn counts_are_those_of_binutils() {
    let dir = TempDir::new().unwrap();
    for flags in ["-pie", "-static-pie", "-static"] {
        let file = built(&dir, &[flags]);
        let image = image(&file).unwrap();
        let relocations = lines_of("readelf", "-rW", &file, |line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            first.len() >= 12 && u64::from_str_radix(first, 16).is_ok()
        });
        assert!(relocations > 0, "{flags}");
        assert_eq!(image.relocations, relocations, "{flags}");
        let sections = lines_of("readelf", "-SW", &file, |line| {
            line.trim_start().starts_with('[') && !line.contains("[Nr]")
        });
        assert_eq!(image.sections, Some(sections), "{flags}");
        let symbols = lines_of("nm", "-a", &file, |_| true);
        assert_eq!(image.symbols, Some(symbols), "{flags}");
        assert!(!image.stripped, "{flags}");
    }
}

#[test]
fn packed_relocations_count_one_by_one() {
    let plain = image_of(&["-pie", "-Wl,-z,nopack-relative-relocs"]);
    let packed = image_of(&["-pie", "-Wl,-z,pack-relative-relocs"]);
    assert!(plain.relocations > 0);
    assert_eq!(packed.relocations, plain.relocations);
}

#[test]
fn a_stripped_program_keeps_its_dynamic_symbols() {
    let whole = image_of(&["-pie"]);
    let stripped = image_of(&["-pie", "-s"]);
    assert_eq!((whole.stripped, stripped.stripped), (false, true));
    assert_eq!(stripped.symbols, Some(0));
    assert_eq!(stripped.dynamic_symbols, whole.dynamic_symbols);
    assert!(stripped.dynamic_symbols > Some(1));
}

#[test]
fn a_file_of_debug_information_is_neither_program_nor_library() {
    let dir = TempDir::new().unwrap();
    let whole = built(&dir, &["-g", "-pie"]);
    let debug = dir.path().join("debug");
    let objcopy = Command::new("objcopy")
        .arg("--only-keep-debug")
        .args([&whole, &debug])
        .status();
    assert!(objcopy.unwrap().success());
    let image = image(debug).unwrap();
    assert_eq!((image.linkage, image.pie), (Linkage::Other, false));
    assert_eq!(
        image.remarks,
        ["its segments were emptied: a file of debug information"]
    );
}

/// A big-endian program for s390x: the headers and one segment, nothing else.
fn foreign() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x02\x01".to_vec();
    file.resize(16, 0);
    for half in [2u16, 22] {
        file.extend(half.to_be_bytes());
    }
    file.extend(1u32.to_be_bytes());
    for word in [0x1000078u64, 64, 0] {
        file.extend(word.to_be_bytes());
    }
    file.extend(0u32.to_be_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend(half.to_be_bytes());
    }
    for word in [1u32, 5] {
        file.extend(word.to_be_bytes());
    }
    for word in [0u64, 0x1000000, 0x1000000, 120, 120, 0x1000] {
        file.extend(word.to_be_bytes());
    }
    file
}

/// The 73-byte program whose one program header begins at byte 12, within its ELF header.
/// Most of e_ident is its code, so its class and its byte order are no such thing.
fn overlapped() -> Vec<u8> {
    let mut file = vec![0; 73];
    file[..4].copy_from_slice(b"\x7fELF");
    // xor edi, edi; mov al, 60; syscall
    file[4..10].copy_from_slice(&[0x31, 0xff, 0xb0, 0x3c, 0x0f, 0x05]);
    file[12] = 1; // PT_LOAD
    file[16] = 3; // ET_DYN, and with the next the segment's flags
    file[18] = 62; // EM_X86_64
    file[20] = 12; // e_version, p_offset
    file[28] = 12; // e_entry's upper half, p_vaddr
    file[32] = 12; // e_phoff
    file[44] = 61; // p_filesz
    file[54] = 56; // e_phentsize
    file[56] = 1; // e_phnum
    file[71..].copy_from_slice(&[0xeb, 0xbb]); // jmp 4
    file
}

fn written(dir: &TempDir, bytes: &[u8]) -> PathBuf {
    let file = dir.path().join("written");
    fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn a_big_endian_program_for_another_machine_is_read_in_its_own_order() {
    let dir = TempDir::new().unwrap();
    let image = image(written(&dir, &foreign())).unwrap();
    assert_eq!(
        (image.machine.as_str(), image.bits, image.endian),
        ("s390", 64, Endian::Big)
    );
    assert_eq!(
        (image.linkage, image.entry, image.bytes),
        (Linkage::Static, 0x1000078, 120)
    );
    assert_eq!(segment_kinds(&image), ["LOAD"]);
    assert_eq!(image.segments[0].address, 0x1000000);
    assert_eq!(image.segments[0].flags.to_string(), "r-x");
    assert_eq!(
        (image.sections, image.symbols, image.stripped),
        (Some(0), Some(0), true)
    );
    assert_eq!(image.stack, Stack::Unstated);
}

#[test]
fn a_program_header_within_the_elf_header_is_read_as_the_kernel_reads_it() {
    let dir = TempDir::new().unwrap();
    let image = image(written(&dir, &overlapped())).unwrap();
    assert_eq!(
        (image.bytes, image.bits, image.kind.as_str()),
        (73, 64, "DYN")
    );
    assert_eq!((image.linkage, image.entry), (Linkage::StaticPie, 12 << 32));
    assert_eq!(segment_kinds(&image), ["LOAD"]);
    assert_eq!(image.segments[0].address, 12 << 32 | 12);
    assert_eq!(image.segments[0].flags.to_string(), "-wx");
    assert!(!image.write_xor_execute);
    assert_eq!(
        image.remarks,
        [
            "e_ident is overwritten; read as the kernel does, by e_machine",
            "section headers: named, but not within the file",
        ]
    );
}

#[test]
fn lost_section_headers_are_a_remark_for_the_kernel_reads_none() {
    let dir = TempDir::new().unwrap();
    let mut bytes = fs::read(built(&dir, &["-pie"])).unwrap();
    bytes[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    let image = image(written(&dir, &bytes)).unwrap();
    assert_eq!((image.linkage, image.needed.len()), (Linkage::Dynamic, 1));
    assert_eq!(
        (image.sections, image.symbols, image.dynamic_symbols),
        (None, None, None)
    );
    assert_eq!(
        image.remarks,
        ["section headers: named, but not within the file"]
    );
}

#[test]
fn what_is_no_elf_file_is_refused_in_one_line() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("text"), "hello\n").unwrap();
    fs::write(at("script"), "#!/bin/sh\n").unwrap();
    fs::write(at("magic"), b"\x7fELF").unwrap();
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, reason) in [
        ("missing", "no such file; check the path"),
        ("empty", "empty; name an ELF file"),
        (
            "text",
            "not an ELF file; name a compiled program, a library or an object",
        ),
        ("script", "a script, not an ELF file; name its interpreter"),
        (
            "magic",
            "damaged: its ELF header names no class and no byte order",
        ),
        ("fifo", "a FIFO, not a file; name an ELF file"),
        ("socket", "a socket, not a file; name an ELF file"),
    ] {
        assert_eq!(
            refusal(&at(name)),
            format!("{}: {reason}", at(name).display())
        );
    }
    assert!(refusal(dir.path()).ends_with(": a directory, not a file; name an ELF file"));
    assert!(refusal(Path::new("/dev/zero")).ends_with(": a device, not a file; name an ELF file"));
}

#[test]
fn a_name_that_is_no_text_is_escaped_in_the_refusal() {
    let name = OsString::from_vec(b"/nowhere/a\xff\nb".to_vec());
    let line = refusal(Path::new(&name));
    assert_eq!(line, r"/nowhere/a\xff\x0ab: no such file; check the path");
}

#[test]
fn a_file_cut_anywhere_before_its_last_segment_ends_is_refused() {
    let dir = TempDir::new().unwrap();
    let whole = fs::read(built(&dir, &["-pie", "-s"])).unwrap();
    let end = image(written(&dir, &whole))
        .unwrap()
        .segments
        .iter()
        .map(|segment| segment.offset + segment.file_bytes)
        .max()
        .unwrap() as usize;
    assert!(end > 4096);
    for length in (0..2048).chain((2048..end).step_by(61)).chain([end - 1]) {
        let line = refusal(&written(&dir, &whole[..length]));
        assert!(line.contains(": "), "{length}: {line}");
    }
    assert!(image(written(&dir, &whole[..end])).is_ok());
}

#[test]
fn a_damaged_byte_gives_facts_or_one_line_and_never_a_panic() {
    let dir = TempDir::new().unwrap();
    for whole in [
        fs::read(built(&dir, &["-pie", "-s", "-Wl,-z,pack-relative-relocs"])).unwrap(),
        fs::read(built(&dir, &["-m32", "-c"])).unwrap(),
        overlapped(),
        foreign(),
    ] {
        let dynamic = image(written(&dir, &whole))
            .unwrap()
            .segments
            .iter()
            .find(|segment| segment.kind == "DYNAMIC")
            .map_or(0..0, |s| {
                s.offset as usize..(s.offset + s.file_bytes) as usize
            });
        let sections = whole.len().saturating_sub(2048)..whole.len();
        for at in (0..whole.len().min(1024)).chain(dynamic).chain(sections) {
            for value in [0x00, 0x7f, 0x80, 0xff, whole[at] ^ 1] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                match image(written(&dir, &bytes)) {
                    Ok(image) => assert_eq!(image.bytes, whole.len() as u64),
                    Err(error) => assert!(!error.to_string().contains('\n'), "{at}: {error}"),
                }
            }
        }
    }
}
