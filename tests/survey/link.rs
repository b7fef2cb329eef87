//! What a program loads is what its loader loads: by glibc's rules, or by musl's.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use barest::image::Endian;
use barest::survey::Root;
use barest::survey::link::Linker;
use barest::survey::walk;

use crate::common;
use common::succeed;

use crate::cache;
use crate::elf;
use crate::tree;
use cache::Entry;
use tree::{Tree, by_name, same_as_glibc, set_user_id, told};

const RPATH: &str = "-Wl,--disable-new-dtags";
const RUNPATH: &str = "-Wl,--enable-new-dtags";
const LOADER: &str = "-Wl,--dynamic-linker=/ld/ld-linux-x86-64.so.2";

/// `-L folder` and the libraries there, after other arguments.
fn with<'a>(args: &[&'a str], libraries: &'a [String]) -> Vec<&'a str> {
    let libraries = libraries.iter().map(String::as_str);
    args.iter().copied().chain(libraries).collect()
}

/// `one/liba.so`, which needs `one/libb.so`; what `liba.so` is linked with besides.
fn a_needs_b(tree: &Tree, args: &[&str]) {
    tree.library("one/libb.so", &[]);
    tree.library("one/liba.so", &with(args, &by_name("one", &["libb.so"])));
}

#[test]
fn an_rpath_is_inherited_and_a_runpath_is_not() {
    let tree = Tree::new("inherited");
    a_needs_b(&tree, &[]);
    let needs = by_name("one", &["liba.so"]);
    let rpath = tree.program("rpath", &with(&[RPATH, "-Wl,-rpath,FOLDER/one"], &needs));
    let runpath = tree.program(
        "runpath",
        &with(&[RUNPATH, "-Wl,-rpath,FOLDER/one"], &needs),
    );

    let seen = tree.here(&rpath);
    assert_eq!(seen.libraries, ["one/liba.so", "one/libb.so"]);
    assert_eq!(seen.direct, ["one/liba.so"]);
    assert_eq!(seen.missing, [""; 0]);
    same_as_glibc(&rpath);

    let seen = tree.here(&runpath);
    assert_eq!(seen.libraries, ["one/liba.so"]);
    assert_eq!(
        seen.missing,
        ["libb.so, one/liba.so, through others: not found"]
    );
    same_as_glibc(&runpath);
}

#[test]
fn a_file_with_a_runpath_does_not_look_where_its_loader_does() {
    let tree = Tree::new("hides");
    a_needs_b(&tree, &[RUNPATH, "-Wl,-rpath,FOLDER/none"]);
    let needs = by_name("one", &["liba.so"]);
    let program = tree.program("program", &with(&[RPATH, "-Wl,-rpath,FOLDER/one"], &needs));
    let seen = tree.here(&program);
    assert_eq!(seen.libraries, ["one/liba.so"]);
    assert_eq!(
        seen.missing,
        ["libb.so, one/liba.so, through others: not found"]
    );
    same_as_glibc(&program);
}

#[test]
fn the_nearest_rpath_comes_first() {
    let tree = Tree::new("nearest");
    a_needs_b(&tree, &[RPATH, "-Wl,-rpath,FOLDER/two"]);
    tree.library("two/libb.so", &[]);
    let needs = by_name("one", &["liba.so"]);
    let program = tree.program("program", &with(&[RPATH, "-Wl,-rpath,FOLDER/one"], &needs));
    assert_eq!(
        tree.here(&program).libraries,
        ["one/liba.so", "two/libb.so"]
    );
    same_as_glibc(&program);
}

#[test]
fn origin_is_the_programs_own_folder_and_the_one_that_a_library_is_found_in() {
    let tree = Tree::new("origin");
    // The library is a link: its origin is the folder of the link.
    a_needs_b(&tree, &[RUNPATH, "-Wl,-rpath,${ORIGIN}"]);
    fs::create_dir_all(tree.path("lib")).unwrap();
    symlink("../one/liba.so", tree.path("lib/liba.so")).unwrap();
    let flags = [RUNPATH, "-Wl,-rpath,$ORIGIN/../lib"];
    let program = tree.program("bin/program", &with(&flags, &by_name("one", &["liba.so"])));
    let seen = tree.here(&program);
    assert_eq!(seen.libraries, ["one/liba.so"]);
    assert_eq!(
        seen.missing,
        ["libb.so, one/liba.so, through others: not found"]
    );
    same_as_glibc(&program);

    // A library that is found in that folder is found.
    tree.library("lib/libb.so", &[]);
    assert_eq!(
        tree.here(&program).libraries,
        ["one/liba.so", "lib/libb.so"]
    );

    // The program is run by a link: its origin is the folder of the file.
    fs::create_dir_all(tree.path("elsewhere/bin")).unwrap();
    let link = tree.path("elsewhere/bin/link");
    symlink(&program, &link).unwrap();
    assert_eq!(tree.here(&link).libraries, ["one/liba.so", "lib/libb.so"]);
    same_as_glibc(&link);
}

#[test]
fn an_empty_element_is_the_current_folder() {
    let tree = Tree::new("empty");
    a_needs_b(&tree, &[]);
    let needs = by_name("one", &["liba.so"]);
    let program = tree.program("program", &with(&[LOADER, "-Wl,-rpath,:/none"], &needs));
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    assert_eq!(tree.inside("/program").0.libraries, [""; 0]);
    fs::copy(tree.path("one/liba.so"), tree.path("liba.so")).unwrap();
    // A tree's own current folder is its root.
    assert_eq!(tree.inside("/program").0.libraries, ["liba.so"]);
    assert!(program.exists());
}

#[test]
fn what_is_missing_is_named_with_who_wants_it() {
    let tree = Tree::new("missing");
    a_needs_b(&tree, &[]);
    tree.library("one/libc1.so", &[]);
    let flags = ["-Wl,-rpath,FOLDER/one"];
    let program = tree.program(
        "program",
        &with(&flags, &by_name("one", &["libc1.so", "liba.so"])),
    );
    fs::remove_file(tree.path("one/libc1.so")).unwrap();
    let seen = tree.here(&program);
    assert_eq!(seen.libraries, ["one/liba.so"]);
    let missing = [
        "libc1.so, program: not found",
        "libb.so, one/liba.so, through others: not found",
    ];
    assert_eq!(seen.missing, missing);
    same_as_glibc(&program);
}

#[test]
fn libraries_that_need_each_other_are_loaded_once() {
    let tree = Tree::new("cycle");
    tree.library("one/libb.so", &[]);
    tree.library("one/liba.so", &with(&[], &by_name("one", &["libb.so"])));
    tree.library("one/libb.so", &with(&[], &by_name("one", &["liba.so"])));
    let flags = [RPATH, "-Wl,-rpath,FOLDER/one"];
    let program = tree.program("program", &with(&flags, &by_name("one", &["liba.so"])));
    assert_eq!(
        tree.here(&program).libraries,
        ["one/liba.so", "one/libb.so"]
    );
    same_as_glibc(&program);
}

#[test]
fn loading_goes_breadth_first() {
    let tree = Tree::new("breadth");
    for name in ["libd.so", "libe.so"] {
        tree.library(&format!("one/{name}"), &[]);
    }
    tree.library(
        "one/liba.so",
        &with(&[], &by_name("one", &["libe.so", "libd.so"])),
    );
    tree.library("one/libb.so", &with(&[], &by_name("one", &["libd.so"])));
    let flags = [RPATH, "-Wl,-rpath,FOLDER/one"];
    let needs = by_name("one", &["liba.so", "libb.so"]);
    let program = tree.program("program", &with(&flags, &needs));
    let libraries = ["one/liba.so", "one/libb.so", "one/libe.so", "one/libd.so"];
    let seen = tree.here(&program);
    assert_eq!(seen.libraries, libraries);
    assert_eq!(seen.direct, libraries[..2]);
    same_as_glibc(&program);
}

#[test]
fn two_versions_of_a_library_are_two_libraries() {
    let tree = Tree::new("versions");
    tree.library("one/libv.so.1", &[]);
    tree.library("one/libv.so.2", &[]);
    tree.library("one/liba.so", &with(&[], &by_name("one", &["libv.so.1"])));
    let flags = [RPATH, "-Wl,-rpath,FOLDER/one"];
    let needs = by_name("one", &["libv.so.2", "liba.so"]);
    let program = tree.program("program", &with(&flags, &needs));
    let libraries = ["one/libv.so.2", "one/liba.so", "one/libv.so.1"];
    assert_eq!(tree.here(&program).libraries, libraries);
    same_as_glibc(&program);
}

#[test]
fn one_file_by_several_names_and_a_name_that_is_a_soname_are_loaded_once() {
    let tree = Tree::new("names");
    tree.gcc("one/liba.so", "", &["-shared"]);
    tree.gcc("one/link.so", "", &["-shared"]);
    let flags = ["-Wl,-rpath,FOLDER/one", "-Lone", "-l:liba.so", "-l:link.so"];
    let program = tree.program("program", &flags);
    fs::remove_file(tree.path("one/link.so")).unwrap();
    fs::hard_link(tree.path("one/liba.so"), tree.path("one/link.so")).unwrap();
    assert_eq!(tree.here(&program).libraries, ["one/liba.so"]);
    same_as_glibc(&program);

    // Found as libreal.so, and from then on known as libname.so as well.
    for name in ["build/libreal.so", "build/libname.so", "one/libname.so"] {
        tree.gcc(name, "", &["-shared"]);
    }
    tree.gcc("one/libreal.so", "", &["-shared", "-Wl,-soname,libname.so"]);
    let needs = by_name("build", &["libreal.so", "libname.so"]);
    let program = tree.program("second", &with(&["-Wl,-rpath,FOLDER/one"], &needs));
    assert_eq!(tree.here(&program).libraries, ["one/libreal.so"]);
    same_as_glibc(&program);
}

#[test]
fn a_library_of_the_other_size_is_passed_over() {
    let tree = Tree::new("sizes");
    tree.library("narrow/liba.so", &["-m32"]);
    tree.library("wide/liba.so", &[]);
    let both = "-Wl,-rpath,FOLDER/narrow:FOLDER/wide";
    let wide = tree.program("wide/program", &[both, "-Lwide", "-l:liba.so"]);
    assert_eq!(tree.here(&wide).libraries, ["wide/liba.so"]);
    same_as_glibc(&wide);

    let turned = "-Wl,-rpath,FOLDER/wide:FOLDER/narrow";
    let narrow = ["-m32", turned, "-Lnarrow", "-l:liba.so"];
    let narrow = tree.program("narrow/program", &narrow);
    assert_eq!(tree.here(&narrow).libraries, ["narrow/liba.so"]);
    same_as_glibc(&narrow);

    let alone = tree.program(
        "alone",
        &["-Wl,-rpath,FOLDER/narrow", "-Lwide", "-l:liba.so"],
    );
    let missing = ["liba.so, alone: not found; passed over: /narrow/liba.so: a 32-bit file"];
    assert_eq!(tree.here(&alone).missing, missing);
    same_as_glibc(&alone);
}

#[test]
fn a_folder_for_a_better_cpu_comes_first_where_this_cpu_is_one() {
    let tree = Tree::new("hwcaps");
    tree.library("one/liba.so", &[]);
    tree.library("one/glibc-hwcaps/x86-64-v9/liba.so", &[]);
    let better = "one/glibc-hwcaps/x86-64-v2/liba.so";
    tree.library(better, &[]);
    let flags = ["-Wl,-rpath,FOLDER/one", "-Lone", "-l:liba.so"];
    let program = tree.program("program", &flags);
    let is_better = std::arch::is_x86_feature_detected!("sse4.2");
    let wanted = if is_better { better } else { "one/liba.so" };
    assert_eq!(tree.here(&program).libraries, [wanted]);
    same_as_glibc(&program);
}

/// Our own test programs with the C libraries of this machine: what is found in the cache and in
/// the folders that the loader was built with.
#[test]
fn the_c_library_is_found_as_the_loader_finds_it() {
    let tree = Tree::new("libc");
    let source = tree.write("main.c", "int main(void) { return 0; }");
    for (name, args) in [("wide", &["-lm"][..]), ("narrow", &["-m32", "-lm"])] {
        let program = tree.path(name);
        let needed = ["-Wl,--no-as-needed", "-o"];
        succeed(
            Command::new("gcc")
                .args(needed)
                .arg(&program)
                .arg(&source)
                .args(args),
        );
        let ((files, missing), unnamed) = told(&program);
        // libm, libc and the loader, which libc names.
        assert_eq!((files.len(), missing.len(), unnamed), (3, 0, None));
        same_as_glibc(&program);
    }
}

/// The program for the fake loader in a tree, which needs `liba.so`.
fn fake_program(tree: &Tree, path: &str, args: &[&str]) {
    tree.library("build/liba.so", &[]);
    let needs = by_name("build", &["liba.so"]);
    tree.program(path, &with(&[&[LOADER], args].concat(), &needs));
}

#[test]
fn the_default_folders_are_those_that_the_loader_was_built_with() {
    let tree = Tree::new("default");
    tree.glibc_loader(
        "ld/ld-linux-x86-64.so.2",
        ["/store/x-glibc/lib/", "/more/"],
        &[],
    );
    fake_program(&tree, "program", &[]);
    tree.library("lib/liba.so", &[]);
    tree.library("more/liba.so", &[]);
    assert_eq!(tree.inside("/program").0.libraries, ["more/liba.so"]);
    tree.library("store/x-glibc/lib/liba.so", &[]);
    let (seen, unread) = tree.inside("/program");
    assert_eq!(seen.libraries, ["store/x-glibc/lib/liba.so"]);
    assert_eq!(unread, [""; 0]);

    // NODEFLIB: neither they, nor what the cache has in them.
    fake_program(&tree, "without", &["-Wl,-z,nodefaultlib"]);
    assert_eq!(
        tree.inside("/without").0.missing,
        ["liba.so, without: not found"]
    );
    let entry = |path: &str| {
        let entry = Entry::new(0x303, "liba.so", path);
        tree.write("etc/ld.so.cache", cache::new(&[entry], &[], Endian::Little));
    };
    entry("/more/liba.so");
    assert_eq!(
        tree.inside("/without").0.missing,
        ["liba.so, without: not found"]
    );
    assert_eq!(tree.inside("/program").0.libraries, ["more/liba.so"]);
    entry("/lib/liba.so");
    assert_eq!(tree.inside("/without").0.libraries, ["lib/liba.so"]);
}

#[test]
fn folders_that_cannot_be_told_are_those_of_the_manual_and_that_is_said() {
    let tree = Tree::new("untold");
    fake_program(&tree, "program", &[]);
    let source = "const char preload[] = \"/etc/ld.so.preload\";";
    tree.gcc("ld/ld-linux-x86-64.so.2", source, &["-shared"]);
    tree.library("lib64/liba.so", &[]);
    let (seen, unread) = tree.inside("/program");
    assert_eq!(seen.libraries, ["lib64/liba.so"]);
    let said = "/ld/ld-linux-x86-64.so.2: the folders it was built with cannot be told; those of \
                ld.so(8) are searched";
    assert_eq!(unread, [said]);
}

#[test]
fn a_loader_that_is_not_known_is_said_and_nothing_is_guessed() {
    let tree = Tree::new("unknown");
    fake_program(&tree, "program", &[]);
    tree.library("lib/liba.so", &[]);
    let loader = tree.path("ld/ld-linux-x86-64.so.2");

    let missing = [
        "/ld/ld-linux-x86-64.so.2, program: not found",
        "liba.so, program: not looked for: the program's loader is missing",
    ];
    assert_eq!(tree.inside("/program").0.missing, missing);

    // It has the name of glibc's, and is another.
    tree.gcc("ld/ld-linux-x86-64.so.2", "", &["-shared"]);
    let unknown = "liba.so, program: not looked for: the rules of the loader \
                   /ld/ld-linux-x86-64.so.2 are not known";
    assert_eq!(tree.inside("/program").0.missing, [unknown]);

    fs::write(&loader, "#!").unwrap();
    let first = &tree.inside("/program").0.missing[0];
    assert_eq!(first, "/ld/ld-linux-x86-64.so.2, program: not an ELF file");

    tree.gcc("ld/ld-linux-x86-64.so.2", "", &["-shared", "-m32"]);
    let first = &tree.inside("/program").0.missing[0];
    assert_eq!(
        first,
        "/ld/ld-linux-x86-64.so.2, program: for another machine: i386, 32 bits"
    );
}

#[test]
fn both_layouts_of_the_cache_are_read_by_abi_and_cpu() {
    let tree = Tree::new("cache");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    fake_program(&tree, "program", &[]);
    for folder in ["narrow", "plain", "better", "best"] {
        tree.library(&format!("{folder}/liba.so"), &[]);
    }
    let entries = [
        Entry::new(0x303, "liba.so", "/best/liba.so").hwcap(9, 1),
        Entry::new(0x303, "liba.so", "/better/liba.so").hwcap(1, 0),
        Entry::new(3, "liba.so", "/narrow/liba.so"),
        Entry::new(0x303, "liba.so", "/plain/liba.so"),
    ];
    let names = ["x86-64-v2", "x86-64-v4"];
    let is_better = std::arch::is_x86_feature_detected!("sse4.2");
    let better = if is_better {
        "better/liba.so"
    } else {
        "plain/liba.so"
    };
    for (bytes, wanted) in [
        (cache::old(&entries[2..]), "plain/liba.so"),
        (
            cache::new(&entries[2..], &[], Endian::Little),
            "plain/liba.so",
        ),
        (cache::new(&entries, &names, Endian::Little), better),
        (cache::both(&entries, &names), better),
    ] {
        tree.write("etc/ld.so.cache", bytes);
        let (seen, unread) = tree.inside("/program");
        assert_eq!((seen.libraries, unread), (vec![wanted.to_owned()], vec![]));
    }
}

#[test]
fn a_damaged_cache_is_used_as_far_as_the_loader_uses_it_and_that_is_said() {
    let tree = Tree::new("damaged_cache");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    fake_program(&tree, "program", &[]);
    tree.library("plain/liba.so", &[]);
    let entries = [
        Entry::new(0x303, "liba.so", "/plain/liba.so"),
        Entry::new(0x303, "aaa.so", "/plain/aaa.so"),
    ];
    let whole = cache::new(&entries, &[], Endian::Little);
    let mut outside = whole.clone();
    outside[48 + 24 + 4..][..4].fill(0xff);
    let unused = "/etc/ld.so.cache: cut short: the loader does not use it; run ldconfig";
    let nothing = "liba.so, program: not found";
    for (bytes, found, said) in [
        (
            outside,
            true,
            "/etc/ld.so.cache: an entry's name or path lies after its end",
        ),
        (whole[..90].to_vec(), false, unused),
        (cache::old(&entries)[..30].to_vec(), false, unused),
        (
            cache::new(&entries, &[], Endian::Big),
            false,
            // How many entries there are is read first, in the wrong order.
            unused,
        ),
        (
            b"something else".to_vec(),
            false,
            "/etc/ld.so.cache: not a cache that a loader knows: it is not used; run ldconfig",
        ),
    ] {
        tree.write("etc/ld.so.cache", bytes);
        let (seen, unread) = tree.inside("/program");
        assert_eq!(unread, [said]);
        match found {
            true => assert_eq!(seen.libraries, ["plain/liba.so"]),
            false => assert_eq!(seen.missing, [nothing]),
        }
    }
}

#[test]
fn a_cache_that_ldconfig_writes_is_read() {
    let tree = Tree::new("ldconfig");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    fake_program(&tree, "program", &[]);
    tree.library("folder/liba.so", &[]);
    tree.library("narrow/liba.so", &["-m32"]);
    tree.write("etc/ld.so.conf", "/narrow\n/folder\n");
    let folder = tree.folder.to_str().unwrap();
    let ldconfig = [
        "-X",
        "-f",
        "/etc/ld.so.conf",
        "-C",
        "/etc/ld.so.cache",
        "-r",
        folder,
    ];
    let path = "/usr/sbin:/sbin:/usr/bin:/bin";
    succeed(Command::new("ldconfig").env("PATH", path).args(ldconfig));
    let (seen, unread) = tree.inside("/program");
    assert_eq!(
        (seen.libraries, unread),
        (vec!["folder/liba.so".to_owned()], vec![])
    );
}

#[test]
fn preloaded_libraries_come_first_and_one_that_cannot_be_is_said() {
    let tree = Tree::new("preload");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    fake_program(&tree, "program", &[]);
    for path in ["lib/liba.so", "lib/libfirst.so", "opt/libsecond.so"] {
        tree.library(path, &[]);
    }
    let list = "# all\nlibfirst.so:/opt/libsecond.so libnone.so # and so on\n";
    tree.write("etc/ld.so.preload", list);
    let (seen, unread) = tree.inside("/program");
    let libraries = ["lib/libfirst.so", "opt/libsecond.so", "lib/liba.so"];
    assert_eq!(seen.libraries, libraries);
    assert_eq!(seen.direct, ["lib/liba.so"]);
    let none = "/etc/ld.so.preload: libnone.so is not preloaded by /ld/ld-linux-x86-64.so.2: \
                not found";
    assert_eq!(unread, [none]);

    // Into a set-user-ID program only what is set-user-ID as well, or named by its path.
    let (seen, _) = tree.inside_as("/program", true);
    assert_eq!(seen.libraries, libraries[1..]);
    set_user_id(&tree.path("lib/libfirst.so"));
    assert_eq!(tree.inside_as("/program", true).0.libraries, libraries);
}

#[test]
fn a_set_user_id_program_takes_its_origin_only_into_a_default_folder() {
    let tree = Tree::new("secure");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    let into = ["-Wl,-rpath,$ORIGIN/../usr/lib/own"];
    let beside = ["-Wl,-rpath,$ORIGIN/../opt"];
    let after = ["-Wl,-rpath,/bin/$ORIGIN/../usr/lib/own"];
    for (name, flags) in [("into", into), ("beside", beside), ("after", after)] {
        fake_program(&tree, &format!("bin/{name}"), &flags);
    }
    tree.library("usr/lib/own/liba.so", &[]);
    tree.library("opt/liba.so", &[]);
    let missing = |name: &str| vec![format!("liba.so, bin/{name}: not found")];
    assert_eq!(tree.inside("/bin/beside").0.libraries, ["opt/liba.so"]);
    assert_eq!(
        tree.inside_as("/bin/beside", true).0.missing,
        missing("beside")
    );
    assert_eq!(
        tree.inside_as("/bin/into", true).0.libraries,
        ["usr/lib/own/liba.so"]
    );
    assert_eq!(
        tree.inside_as("/bin/after", true).0.missing,
        missing("after")
    );
    // The file's own mode says so as well.
    set_user_id(&tree.path("bin/beside"));
    assert_eq!(tree.inside("/bin/beside").0.missing, missing("beside"));
}

#[test]
fn names_that_are_no_text_are_kept_whole() {
    let tree = Tree::new("bytes");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    let name = OsStr::from_bytes(b"lib\xff.so");
    let library = tree.library("build/liba.so", &[]);
    fs::rename(&library, tree.path("build").join(name)).unwrap();
    let source = tree.write("main.c", "void _start(void) { for (;;); }");
    let mut gcc = Command::new("gcc");
    gcc.current_dir(&tree.folder)
        .args(["-nostdlib", "-Wl,--no-as-needed", LOADER]);
    gcc.args(["-Wl,-rpath,/build", "-o", "program"]).arg(source);
    // Without a SONAME of its own it is needed by the name that the linker is given.
    let shared = ["-shared", "-nostdlib", "-xc", "/dev/null", "-o"];
    succeed(
        Command::new("gcc")
            .args(shared)
            .arg(tree.path("build").join(name)),
    );
    succeed(gcc.arg("-Lbuild").arg(OsStr::from_bytes(b"-l:lib\xff.so")));

    let root = Root::at(&tree.folder).unwrap();
    let linker = Linker::new(&root);
    let linked = linker.link(&tree.inspect(&root, Path::new("/program")));
    assert_eq!(linked.missing, []);
    let path = &linked.libraries[0].library.path;
    assert_eq!(path.as_os_str().as_bytes(), b"/build/lib\xff.so");

    fs::remove_file(tree.path("build").join(name)).unwrap();
    let linker = Linker::new(&root);
    let linked = linker.link(&tree.inspect(&root, Path::new("/program")));
    assert_eq!(linked.missing[0].name, name);
}

#[test]
fn what_is_no_library_is_missing_with_the_reason() {
    let tree = Tree::new("no_library");
    a_needs_b(&tree, &[]);
    let flags = ["-Wl,-rpath,FOLDER/one", "-Lone", "-l:liba.so"];
    let program = tree.program("program", &flags);
    let path = tree.path("one/liba.so");
    let whole = fs::read(&path).unwrap();
    let mut other_order = whole.clone();
    other_order[5] = 2;
    let reason = |wanted: &str| {
        let missing = tree.here(&program).missing;
        let found = missing[0].strip_prefix("liba.so, program: /one/liba.so: ");
        let found = found.unwrap_or_else(|| panic!("{missing:?}"));
        assert!(found.contains(wanted), "{found}: {wanted}");
    };
    fs::write(&path, &whole[..40]).unwrap();
    reason("too short for an ELF header");
    fs::write(&path, &whole[..whole.len() / 4]).unwrap();
    reason("cut short or damaged");
    fs::write(&path, [b'x'; 100]).unwrap();
    reason("not an ELF file");
    fs::write(&path, other_order).unwrap();
    reason("its numbers are in another byte order");
    tree.program("one/liba.so", &["-static", "-no-pie"]);
    reason("a program, not a library");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    reason("a directory");
    fs::remove_dir(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    reason("a FIFO");
}

#[test]
fn musl_inherits_a_runpath_and_is_libc_by_many_names() {
    let tree = Tree::new("musl");
    a_needs_b(&tree, &[]);
    for name in ["libm.so", "libpthread.so.0", "libc.so.6"] {
        tree.library(&format!("build/{name}"), &[]);
    }
    let source = tree.write("main.c", "int main(void) { return 0; }");
    let program = tree.path("bin/program");
    fs::create_dir_all(tree.path("bin")).unwrap();
    let build = |flags: &[&str]| {
        let mut gcc = Command::new("musl-gcc");
        gcc.current_dir(&tree.folder)
            .args(["-Wl,--no-as-needed", "-o"]);
        gcc.arg(&program).arg(&source).arg(RUNPATH).args(flags);
        succeed(gcc.args(["-Wl,--allow-shlib-undefined", "-Lone", "-l:liba.so"]));
    };
    build(&[
        "-Wl,-rpath,$ORIGIN/../one",
        "-Lbuild",
        "-l:libm.so",
        "-l:libc.so.6",
    ]);
    let seen = tree.here(&program);
    assert_eq!(seen.libraries, ["one/liba.so", "one/libb.so"]);
    assert_eq!(seen.missing, [""; 0]);
    same_as_musl(&program);

    // A 32-bit library, first in its path, is none that it would pass over.
    tree.library("narrow/liba.so", &["-m32"]);
    build(&["-Wl,-rpath,$ORIGIN/../narrow:$ORIGIN/../one"]);
    let missing = "liba.so, bin/program: /bin/../narrow/liba.so: a 32-bit file";
    assert_eq!(tree.here(&program).missing, [missing]);

    // Another `$` leaves the whole list out.
    build(&["-Wl,-rpath,$LIB:$ORIGIN/../one"]);
    assert_eq!(
        tree.here(&program).missing,
        ["liba.so, bin/program: not found"]
    );
}

/// The loader of musl lists the same files. It lists itself first, and again by each name that it
/// answers to: its place is where it is first asked for.
fn same_as_musl(program: &Path) {
    let loader = barest::image::image(program).unwrap().interpreter.unwrap();
    let text = succeed(Command::new(&loader).env_clear().arg("--list").arg(program));
    let (_, without_first) = text.split_once('\n').unwrap();
    let listed = tree::listed(without_first);
    assert_eq!(told(program).0, listed);
}

#[test]
fn musl_looks_where_its_path_file_says() {
    let tree = Tree::new("musl_path");
    let flags = [
        "-Wl,--dynamic-linker=/opt/lib/ld-musl-x86_64.so.1",
        "-Lbuild",
        "-l:liba.so",
    ];
    tree.library("build/liba.so", &[]);
    tree.library("opt/lib/ld-musl-x86_64.so.1", &[]);
    tree.program("program", &flags);
    for folder in ["one", "two", "usr/local/lib"] {
        tree.library(&format!("{folder}/liba.so"), &[]);
    }
    let first = |wanted: &str| assert_eq!(tree.inside("/program").0.libraries[0], wanted);
    first("usr/local/lib/liba.so");
    let file = tree.write("opt/etc/ld-musl-x86_64.path", "/none\n/two:/one\n");
    first("two/liba.so");
    fs::write(&file, "").unwrap();
    assert_eq!(
        tree.inside("/program").0.missing,
        ["liba.so, program: not found"]
    );
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let (seen, unread) = tree.inside("/program");
    assert_eq!(seen.missing, ["liba.so, program: not found"]);
    assert_eq!(unread, ["/opt/etc/ld-musl-x86_64.path: not a regular file"]);
}

#[test]
fn glibc_and_musl_stand_side_by_side_and_share_what_is_read() {
    let tree = Tree::new("beside");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/glibc/", "/both/"], &[]);
    tree.library("ld/ld-musl-x86_64.so.1", &[]);
    tree.write("etc/ld-musl-x86_64.path", "/musl:/both");
    tree.library("build/liba.so", &[]);
    tree.library("build/libb.so", &[]);
    for path in ["glibc/liba.so", "musl/liba.so", "both/libb.so"] {
        tree.library(path, &[]);
    }
    let needs = by_name("build", &["liba.so", "libb.so"]);
    tree.program("bin/of_glibc", &with(&[LOADER], &needs));
    let musl = "-Wl,--dynamic-linker=/ld/ld-musl-x86_64.so.1";
    tree.program("bin/of_musl", &with(&[musl], &needs));

    let root = Root::at(&tree.folder).unwrap();
    let programs = walk::walk(&root, &["/bin".into()], &|_| ()).unwrap();
    let linker = Linker::new(&root);
    let paths = programs.list.iter().map(|program| {
        let libraries = linker.link(program).libraries;
        let paths = libraries
            .iter()
            .map(|l| l.library.path.to_str().unwrap().to_owned());
        paths.collect::<Vec<_>>()
    });
    let paths: Vec<_> = paths.collect();
    let glibc = [
        "/glibc/liba.so",
        "/both/libb.so",
        "/ld/ld-linux-x86-64.so.2",
    ];
    assert_eq!(paths[0], glibc);
    assert_eq!(paths[1][..2], ["/musl/liba.so", "/both/libb.so"]);
    // Both loaders, two libraries of the same name, and one that both load.
    assert_eq!(linker.libraries().len(), 5);
    let indexes = linker
        .libraries()
        .iter()
        .map(|l| l.index)
        .collect::<Vec<_>>();
    assert_eq!(indexes, [0, 1, 2, 3, 4]);
}

#[test]
fn a_path_of_the_tree_does_not_lead_out_of_it() {
    let tree = Tree::new("root");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    fake_program(&tree, "program", &["-Wl,-rpath,/../../outer"]);
    tree.library("inner/liba.so", &[]);
    symlink("/inner", tree.path("outer")).unwrap();
    let (seen, _) = tree.inside("/program");
    assert_eq!(seen.libraries, ["inner/liba.so"]);
}

#[test]
fn a_hundred_thousand_names_and_a_thousand_lists_of_folders_come_to_an_end() {
    let tree = Tree::new("many");
    tree.glibc_loader("ld/ld-linux-x86-64.so.2", ["/lib/", "/usr/lib/"], &[]);
    let names: Vec<_> = (0..100_000).map(|n| format!("lib{n}.so")).collect();
    let folders: Vec<_> = (0..20_000).map(|n| format!("/none/{n}")).collect();
    let interpreter = Some("/ld/ld-linux-x86-64.so.2");
    tree.write("many", elf::file(interpreter, &names, &folders.join(":")));
    // Each needs the next, and looks in a folder of its own first.
    for n in 0..1000 {
        let rpath = format!("/folder/{n}:/chain");
        let next = [format!("lib{}.so", n + 1)];
        tree.write(&format!("chain/lib{n}.so"), elf::file(None, &next, &rpath));
    }
    tree.write(
        "long",
        elf::file(interpreter, &["lib0.so".to_owned()], "/chain"),
    );
    for program in ["many", "long"] {
        fs::set_permissions(tree.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let missing = tree.inside("/many").0.missing;
    assert_eq!(missing.len(), names.len());
    assert_eq!(missing[99_999], "lib99999.so, many: not found");
    let seen = tree.inside("/long").0;
    assert_eq!(seen.libraries.len(), 1000);
    assert_eq!(seen.libraries[999], "chain/lib999.so");
    let missing = ["lib1000.so, chain/lib999.so, through others: not found"];
    assert_eq!(seen.missing, missing);
}
