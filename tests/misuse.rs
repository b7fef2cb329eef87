//! What cannot work does not build, and the message says how to mend it.

mod common;

use common::outside::{BUILD, MANIFEST, Outside};

const LINKERS: [&str; 2] = ["lld", "bfd"];

#[test]
fn a_program_without_an_entry_is_told_to_write_one() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         use shims as _;
         #[panic_handler]
         fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }",
    );
    for linker in LINKERS {
        let said = program.refusal(&["--release"], linker);
        assert!(
            said.contains("barest: no _start: write shims::entry!(main)"),
            "{said}"
        );
    }
}

#[test]
fn a_writable_static_is_refused_with_what_to_do() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         use core::sync::atomic::{AtomicU8, Ordering};
         shims::entry!(main);
         static COUNT: AtomicU8 = AtomicU8::new(1);
         fn main(_: shims::Stack) -> u8 { COUNT.fetch_add(1, Ordering::Relaxed) }",
    );
    for linker in LINKERS {
        for args in [&["--release"][..], &[]] {
            let said = program.refusal(args, linker);
            assert!(
                said.contains("barest: writable data: make each `static mut`"),
                "{said}"
            );
        }
    }
}

#[test]
fn zeroed_statics_are_writable_data_too() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         use core::sync::atomic::{AtomicU64, Ordering};
         shims::entry!(main);
         static COUNT: AtomicU64 = AtomicU64::new(0);
         fn main(_: shims::Stack) -> u8 { COUNT.fetch_add(1, Ordering::Relaxed) as u8 }",
    );
    for linker in LINKERS {
        let said = program.refusal(&["--release"], linker);
        assert!(said.contains("barest: writable data"), "{said}");
    }
}

#[test]
fn a_section_of_another_name_is_refused_rather_than_put_anywhere() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         shims::entry!(main);
         #[unsafe(link_section = \".mine\")]
         static MINE: [u8; 3] = *b\"abc\";
         fn main(stack: shims::Stack) -> u8 { MINE[stack.argc() % 3] }",
    );
    for linker in LINKERS {
        let said = program.refusal(&["--release"], linker);
        assert!(
            said.contains("barest: a section that the layout does not know"),
            "{said}"
        );
    }
}

#[test]
fn a_program_with_the_standard_library_is_told_that_it_has_it() {
    let program = Outside::with_main(
        "#![no_main]
         shims::entry!(main);
         fn main(_: shims::Stack) -> u8 { println!(\"hi\"); 0 }",
    );
    let said = program.refusal(&["--release"], "lld");
    assert!(said.contains("E0152"), "{said}");
    assert!(
        said.contains("first defined in crate `std` (which `mine` depends on)"),
        "{said}"
    );
}

#[test]
fn a_program_with_the_standard_library_and_its_own_start_is_told_by_the_layout() {
    let program = Outside::with_main(
        "#![no_main]
         #[unsafe(no_mangle)]
         extern \"C\" fn _start() -> ! { println!(\"hi\"); std::process::exit(0) }",
    );
    let said = program.refusal(&["--release"], "lld");
    assert!(
        said.contains("barest: the standard library is linked in: write #![no_std]"),
        "{said}"
    );
}

#[test]
fn a_main_of_the_wrong_type_is_named() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         shims::entry!(main);
         fn main() {}",
    );
    let said = program.refusal(&["--release"], "lld");
    assert!(
        said.contains("expected fn pointer `fn(Stack) -> u8`"),
        "{said}"
    );
}

#[test]
fn a_status_that_is_no_byte_is_refused() {
    let program = Outside::with_main("#![no_std]\n#![no_main]\nshims::entry!(exit 256);");
    let said = program.refusal(&["--release"], "lld");
    assert!(said.contains("literal out of range for `u8`"), "{said}");
}

#[test]
fn mold_is_told_which_linker_to_use_instead() {
    let program = Outside::with_main("#![no_std]\n#![no_main]\nshims::entry!(exit 0);");
    let said = program.refusal(&["--release"], "mold");
    let line = said
        .lines()
        .find(|line| line.contains("mold: fatal"))
        .unwrap_or(&said);
    assert!(line.contains("link with rust-lld or GNU ld"), "{said}");
    assert!(line.contains("-Clink-arg=-fuse-ld=lld"), "{said}");
}

#[test]
fn functions_of_a_library_by_gnu_ld_are_refused_rather_than_linked_to_wrong_addresses() {
    let program = Outside::with_main(
        "#![no_std]
         #![no_main]
         shims::entry!(main);
         fn main(stack: shims::Stack) -> u8 {
             let words = core::hint::black_box([stack.argc(); 100]);
             (core::hint::black_box(words) == words) as u8
         }",
    );
    let said = program.refusal(&["--release"], "bfd");
    assert!(
        said.contains("barest: GNU ld cannot link functions of libraries"),
        "{said}"
    );
    program.program(&["--release"], "lld");
}

#[test]
fn a_package_that_forgot_its_build_script_is_refused_by_the_c_compiler() {
    // Without the layout there are start files, which want a C `main`.
    let program = Outside::new(
        MANIFEST,
        &BUILD.replace("linker_scripts::link()", ""),
        "#![no_std]\n#![no_main]\nshims::entry!(exit 0);",
    );
    let said = program.refusal(&["--release"], "lld");
    assert!(said.contains("_start"), "{said}");
}
