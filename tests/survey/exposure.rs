//! What a flaw in a library reaches, in hand-made systems: their libraries and programs are built
//! by gcc without a C library, and their package data are written here.

use crate::common;

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin_cmd;
use barest::survey::advisories::{self, Advisory};
use barest::survey::exposure::{Exposure, Is, Reach, Update, exposure};
use barest::survey::{Root, packages};
use common::{folder, succeed};
use predicates::prelude::*;

/// A system in a folder: `/lib` and `/bin` are links into `/usr`, libraries are in `/usr/lib/own`.
///
/// | program | names | loads through others |
/// |---|---|---|
/// | openssl | libcrypto, libssl, libc | |
/// | curl | libssl, libz, libc | libcrypto |
/// | gz | libz, libc | |
/// | caf\xe9 | libz | libc |
/// | plain | libc | |
/// | fixed | (static) | |
struct System {
    folder: PathBuf,
}

/// A program's name that is no text.
const CAFE: &[u8] = b"caf\xe9";

impl System {
    fn new(name: &str) -> Self {
        let system = System {
            folder: folder(name),
        };
        for name in ["usr/bin", "usr/lib/own", "usr/lib64", "src"] {
            fs::create_dir_all(system.folder.join(name)).unwrap();
        }
        for name in ["bin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), system.at(name)).unwrap();
        }
        fs::copy(loader(), system.at("usr/lib64/ld-linux-x86-64.so.2")).unwrap();
        system.write("src/lib.c", "int number(void) { return 1; }\n");
        system.write("src/main.c", "void start(void) { for (;;) ; }\n");

        system.library("libc.so.6", "libc.so.6", &[]);
        system.library("libm.so.6", "libm.so.6", &["libc.so.6"]);
        system.library("libz.so.1.2.13", "libz.so.1", &["libc.so.6"]);
        symlink("libz.so.1.2.13", system.at("usr/lib/own/libz.so.1")).unwrap();
        system.library("libcrypto.so.3", "libcrypto.so.3", &["libc.so.6"]);
        system.library(
            "libssl.so.3",
            "libssl.so.3",
            &["libcrypto.so.3", "libc.so.6"],
        );
        system.library("plugin.so", "plugin.so", &["libcrypto.so.3"]);

        let program = |name: &str, needed: &[&str]| system.program(OsStr::new(name), needed);
        program("openssl", &["libcrypto.so.3", "libssl.so.3", "libc.so.6"]);
        program("curl", &["libssl.so.3", "libz.so.1", "libc.so.6"]);
        program("gz", &["libz.so.1", "libc.so.6"]);
        program("plain", &["libc.so.6"]);
        system.program(OsStr::from_bytes(CAFE), &["libz.so.1"]);
        system.gcc(&[
            "-static",
            "-Wl,-e,start",
            "-o",
            "usr/bin/fixed",
            "src/main.c",
        ]);
        system.write(
            "usr/bin/script",
            "#!/bin/sh\nexec openssl version # libcrypto.so.3\n",
        );
        fs::set_permissions(system.at("usr/bin/script"), Permissions::from_mode(0o755)).unwrap();
        system
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn gcc(&self, arguments: &[impl AsRef<OsStr>]) {
        succeed(
            Command::new("gcc")
                .args([
                    "-nostdlib",
                    "-Wl,--no-as-needed",
                    "-Wl,--allow-shlib-undefined",
                ])
                .arg("-Wl,-rpath-link,usr/lib/own")
                .args(arguments)
                .current_dir(&self.folder),
        );
    }

    fn needed(needed: &[&str]) -> Vec<OsString> {
        let files = needed
            .iter()
            .map(|name| format!("usr/lib/own/{name}").into());
        files
            .chain(["-Wl,--enable-new-dtags,-rpath,/usr/lib/own".into()])
            .collect()
    }

    fn library(&self, file: &str, soname: &str, needed: &[&str]) {
        let mut arguments: Vec<OsString> = ["-shared", "-fPIC", "-o"].map(Into::into).into();
        arguments.push(format!("usr/lib/own/{file}").into());
        arguments.push("src/lib.c".into());
        arguments.push(format!("-Wl,-soname,{soname}").into());
        arguments.extend(Self::needed(needed));
        self.gcc(&arguments);
    }

    fn program(&self, name: &OsStr, needed: &[&str]) {
        let mut arguments: Vec<OsString> = [
            "-pie",
            "-fPIE",
            "-Wl,-e,start",
            "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2",
            "-o",
        ]
        .map(Into::into)
        .into();
        arguments.push(Path::new("usr/bin").join(name).into());
        arguments.push("src/main.c".into());
        arguments.extend(Self::needed(needed));
        self.gcc(&arguments);
    }

    /// dpkg's data: names of several architectures, a list that says `/lib`, a diversion, a
    /// removed package, and a source of several packages.
    fn dpkg(self) -> Self {
        self.write(
            "var/lib/dpkg/status",
            "Package: libssl3\nStatus: install ok installed\nInstalled-Size: 10\n\
             Architecture: amd64\nMulti-Arch: same\nSource: openssl\nVersion: 3.0-1\n\
             Description: two libraries\n Package: of no stanza\n\n\
             Package: openssl\nStatus: install ok installed\nInstalled-Size: 20\n\
             Architecture: amd64\nMulti-Arch: foreign\nVersion: 3.0-1\n\n\
             Package: zlib1g\nStatus: install ok installed\nInstalled-Size: 30\n\
             Architecture: amd64\nMulti-Arch: same\nSource: zlib (1:1.2)\nVersion: 1:1.2-1\n\n\
             Package: libc6\nStatus: hold ok installed\nInstalled-Size: 40\n\
             Architecture: amd64\nMulti-Arch: same\nSource: glibc\nVersion: 2.36\n\n\
             Package: curl\nStatus: install ok installed\nInstalled-Size: 50\n\
             Architecture: amd64\nVersion: 8\n\n\
             Package: gzip\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n\
             Package: gz-ng\nStatus: install ok installed\nInstalled-Size: 70\n\
             Architecture: all\nVersion: 2\n\n\
             Package: libssl1\nStatus: deinstall ok config-files\nSource: openssl\n\
             Architecture: amd64\nVersion: 1\n",
        );
        let list = |name: &str, files: &[&str]| {
            self.write(
                &format!("var/lib/dpkg/info/{name}.list"),
                "/.\n".to_owned() + &files.join("\n") + "\n",
            );
        };
        list(
            "libssl3:amd64",
            &[
                "/lib/own",
                "/lib/own/libcrypto.so.3",
                "/usr/lib/own/libssl.so.3",
            ],
        );
        list("openssl", &["/usr/bin/openssl", "/usr/lib/own/plugin.so"]);
        list(
            "zlib1g:amd64",
            &["/lib/own/libz.so.1", "/lib/own/libz.so.1.2.13"],
        );
        list(
            "libc6:amd64",
            &[
                "/lib64/ld-linux-x86-64.so.2",
                "/lib/own/libc.so.6",
                "/lib/own/libm.so.6",
            ],
        );
        list("curl", &["/bin/curl", "/usr/share/doc/curl"]);
        list("gzip", &["/usr/bin/gz"]);
        list("gz-ng", &["/usr/bin/gz"]);
        self.write(
            "var/lib/dpkg/diversions",
            "/usr/bin/gz\n/usr/bin/gz.distrib\ngz-ng\n",
        );
        self.write(
            "var/lib/apt/lists/deb_main_binary-amd64_Packages",
            "Package: libssl3\nArchitecture: amd64\nVersion: 3.0-1\nSize: 1001\n\n\
             Package: openssl\nArchitecture: amd64\nVersion: 3.0-2\nSize: 1002\n\n\
             Package: curl\nArchitecture: i386\nVersion: 8\nSize: 5\n\n\
             Package: curl\nArchitecture: amd64\nVersion: 8\nSize: 1003\n",
        );
        self
    }

    /// apk's data, of the same files.
    fn apk(self) -> Self {
        self.write(
            "lib/apk/db/installed",
            "C:Q1\nP:libcrypto3\nV:3.3-r0\nA:x86_64\nS:2001\nI:4096\no:openssl\n\
             F:lib\nF:lib/own\nR:libcrypto.so.3\na:0:0:755\nZ:Q1\nF:usr/lib/own\nR:libssl.so.3\n\n\
             C:Q1\nP:musl\nV:1.2\nA:x86_64\nS:2002\nI:8192\no:musl\nF:usr/lib/own\nR:libc.so.6\n\n\
             C:Q1\nP:curl\nV:8\nA:x86_64\nS:2003\nI:8193\nF:usr/bin\nR:curl\nR:openssl\n\n",
        );
        self
    }

    fn bytes(&self, files: &[&str]) -> u64 {
        let bytes = files
            .iter()
            .map(|file| fs::metadata(self.at(file)).unwrap().len());
        bytes.sum()
    }

    fn ask_all(&self, names: &[&str], advisories: &[Advisory]) -> Exposure {
        let names: Vec<OsString> = names.iter().map(OsString::from).collect();
        let root = Root::at(&self.folder).unwrap();
        exposure(&root, &names, advisories, &["/usr/bin".into()], &|_| ()).unwrap()
    }

    fn ask(&self, names: &[&str]) -> Exposure {
        self.ask_all(names, &[])
    }
}

/// This machine's loader: its copy in a folder is read, and never run.
fn loader() -> PathBuf {
    let mut gcc = Command::new("gcc");
    succeed(gcc.arg("-print-file-name=ld-linux-x86-64.so.2"))
        .trim()
        .into()
}

/// The programs that are reached, and whether they link directly.
fn reached(found: &Exposure, reach: &Reach) -> Vec<(PathBuf, bool)> {
    let members = reach.programs.iter();
    members
        .map(|member| (found.programs[member.program].path.clone(), member.direct))
        .collect()
}

fn bin(name: &str, direct: bool) -> (PathBuf, bool) {
    (Path::new("/usr/bin").join(name), direct)
}

fn cafe(direct: bool) -> (PathBuf, bool) {
    (Path::new("/usr/bin").join(OsStr::from_bytes(CAFE)), direct)
}

fn paths(found: &Exposure, reach: &Reach) -> Vec<String> {
    let libraries = reach.libraries.iter();
    libraries
        .map(|library| found.libraries[*library].path.to_str().unwrap().to_owned())
        .collect()
}

/// Files, their bytes, packages, unowned files; then installed and download bytes, each with how
/// many are unknown.
fn update(update: &Update) -> [u64; 8] {
    [
        update.files as u64,
        update.bytes,
        update.packages as u64,
        update.unowned as u64,
        update.installed_bytes,
        update.installed_unknown as u64,
        update.download_bytes,
        update.download_unknown as u64,
    ]
}

#[test]
fn a_soname_reaches_programs_directly_and_through_others() {
    let system = System::new("exposure_soname").dpkg();
    let found = system.ask(&["libcrypto.so.3"]);
    let named = &found.names[0];
    assert_eq!(named.is, Is::Soname);
    assert_eq!(paths(&found, &named.reach), ["/usr/lib/own/libcrypto.so.3"]);
    assert_eq!(
        reached(&found, &named.reach),
        [bin("curl", false), bin("openssl", true)]
    );
    assert_eq!((named.reach.direct, named.reach.through_others), (1, 1));
    assert_eq!(
        named.reach.bytes,
        system.bytes(&["usr/bin/curl", "usr/bin/openssl"])
    );
    assert_eq!(named.reach.share, 2.0 / 6.0);
    assert_eq!(found.population.programs, 6);
    assert_eq!(
        (found.population.dynamic, found.population.r#static),
        (5, 1)
    );
    assert_eq!(
        (found.population.scripts, found.population.incomplete),
        (1, 0)
    );
    assert_eq!(found.static_programs, [Path::new("/usr/bin/fixed")]);
    assert!(found.unknown.is_empty());
    assert_eq!(found.unread, []);
}

#[test]
fn downloads_are_those_of_the_owning_packages_today_and_were_all_static() {
    let system = System::new("exposure_downloads").dpkg();
    let found = system.ask(&["libcrypto.so.3"]);
    let reach = &found.names[0].reach;
    let library = system.bytes(&["usr/lib/own/libcrypto.so.3"]);
    assert_eq!(
        update(&reach.today),
        [1, library, 1, 0, 10 * 1024, 0, 1001, 0]
    );
    // The list has another version of openssl than the one that is installed.
    assert_eq!(
        update(&reach.all_static),
        [2, reach.bytes, 2, 0, 70 * 1024, 0, 1003, 1]
    );
    let owners: Vec<_> = found
        .packages
        .iter()
        .map(|owner| (owner.package.name.as_str(), owner.programs, owner.libraries))
        .collect();
    assert_eq!(
        owners,
        [("curl", 1, 0), ("libssl3", 0, 1), ("openssl", 1, 0)]
    );
    let libssl3 = &found.packages[1].package;
    assert_eq!(
        (&*libssl3.source, &*libssl3.version, &*libssl3.architecture),
        ("openssl", "3.0-1", "amd64")
    );
}

#[test]
fn a_package_stands_for_the_libraries_it_owns_and_a_source_for_those_of_all_its_packages() {
    let system = System::new("exposure_package").dpkg();
    let found = system.ask(&["libssl3", "libssl3:amd64", "openssl", "libssl3:i386"]);
    let own = |name: &str| format!("/usr/lib/own/{name}");
    let both = [own("libcrypto.so.3"), own("libssl.so.3")];
    for named in &found.names[..2] {
        assert_eq!(named.is, Is::Package);
        assert_eq!(named.packages, ["libssl3"]);
        assert_eq!(paths(&found, &named.reach), both);
    }
    let openssl = &found.names[2];
    assert_eq!(openssl.packages, ["libssl3", "openssl"]);
    assert_eq!(
        paths(&found, &openssl.reach),
        [&both[..], &[own("plugin.so")]].concat()
    );
    assert_eq!(
        reached(&found, &openssl.reach),
        [bin("curl", true), bin("openssl", true)]
    );
    let plugin = &found.libraries[2];
    assert_eq!((plugin.direct, plugin.through_others), (0, 0));
    assert_eq!(found.unknown[0].name, "libssl3:i386");
}

#[test]
fn a_path_is_a_library_by_any_of_its_names() {
    let system = System::new("exposure_path");
    for name in [
        "/usr/lib/own/libz.so.1",
        "/lib/own/libz.so.1.2.13",
        "libz.so.1",
        "libz.so.1.2.13",
    ] {
        let found = system.ask(&[name]);
        assert_eq!(
            paths(&found, &found.total),
            ["/usr/lib/own/libz.so.1.2.13"],
            "{name}"
        );
        let all = [cafe(true), bin("curl", true), bin("gz", true)];
        assert_eq!(reached(&found, &found.total), all, "{name}");
    }
    for (name, is) in [
        ("/usr/lib/own/plugin.so", Is::Path),
        ("plugin.so", Is::Soname),
    ] {
        let found = system.ask(&[name]);
        assert_eq!(found.names[0].is, is);
        assert_eq!(paths(&found, &found.total), ["/usr/lib/own/plugin.so"]);
        assert_eq!(found.total.programs, []);
    }
}

#[test]
fn a_diverted_file_is_owned_by_who_diverted_it() {
    let system = System::new("exposure_diversion").dpkg();
    system.program(OsStr::new("gz.distrib"), &["libz.so.1"]);
    let found = system.ask(&["zlib1g"]);
    let owner = |name: &str| {
        let program = found
            .programs
            .iter()
            .find(|p| p.path == Path::new("/usr/bin").join(name));
        let package = program.unwrap().package.unwrap();
        found.packages[package].package.name.clone()
    };
    assert_eq!(owner("gz"), "gz-ng");
    assert_eq!(owner("gz.distrib"), "gzip");
}

#[test]
fn all_but_libc_leaves_out_what_the_package_of_libc_owns() {
    let system = System::new("exposure_libc").dpkg();
    let found = system.ask(&["glibc", "zlib"]);
    assert_eq!(found.libc.packages, ["libc6"]);
    assert_eq!(found.libc.by_name, Vec::<PathBuf>::new());
    let everything = [
        cafe(true),
        bin("curl", true),
        bin("gz", true),
        bin("openssl", true),
        bin("plain", true),
    ];
    // The loader is of that package, and all are started by it.
    assert_eq!(reached(&found, &found.total), everything);
    assert_eq!(
        paths(&found, &found.without_libc),
        ["/usr/lib/own/libz.so.1.2.13"]
    );
    let with_libz = [cafe(true), bin("curl", true), bin("gz", true)];
    assert_eq!(reached(&found, &found.without_libc), with_libz);
    // libm, which no program loads, is among the libraries of the package.
    assert_eq!(found.names[0].reach.libraries.len(), 3);
}

#[test]
fn without_package_data_libc_is_told_by_names_and_files_and_bytes_are_answered() {
    let system = System::new("exposure_no_data");
    let found = system.ask(&["libc.so.6", "libm.so.6", "libz.so.1"]);
    assert!(found.databases.is_empty());
    assert!(found.packages.is_empty());
    let names = ["/usr/lib/own/libc.so.6", "/usr/lib/own/libm.so.6"];
    assert_eq!(found.libc.by_name, names.map(PathBuf::from));
    assert_eq!(
        (
            found.names[0].reach.direct,
            found.names[0].reach.through_others
        ),
        (4, 1)
    );
    let files = ["usr/bin/curl", "usr/bin/gz"].map(|file| system.bytes(&[file]));
    let cafe = fs::metadata(system.at("usr/bin").join(OsStr::from_bytes(CAFE)))
        .unwrap()
        .len();
    assert_eq!(found.without_libc.bytes, files.iter().sum::<u64>() + cafe);
    assert_eq!(
        update(&found.without_libc.all_static)[2..],
        [0, 3, 0, 0, 0, 0]
    );
    assert!(
        found
            .unseen
            .iter()
            .any(|line| line.starts_with("packages: "))
    );
}

#[test]
fn apk_names_packages_their_origin_and_their_downloads() {
    let system = System::new("exposure_apk").apk();
    let found = system.ask(&["openssl"]);
    let named = &found.names[0];
    assert_eq!(named.packages, ["libcrypto3"]);
    assert_eq!(
        reached(&found, &named.reach),
        [bin("curl", true), bin("openssl", true)]
    );
    let libraries = system.bytes(&["usr/lib/own/libcrypto.so.3", "usr/lib/own/libssl.so.3"]);
    assert_eq!(
        update(&named.reach.today),
        [2, libraries, 1, 0, 4096, 0, 2001, 0]
    );
    assert_eq!(
        update(&named.reach.all_static),
        [2, named.reach.bytes, 1, 0, 8193, 0, 2003, 0]
    );
    assert_eq!(found.libc.packages, ["musl"]);
}

/// An `rpm` that prints what rpm-queryformat(7) says that the real one prints; it stands in for
/// the real one, which the tests do not need.
#[test]
fn rpm_is_asked_with_its_own_tool_and_its_absence_is_said() {
    let system = System::new("exposure_rpm");
    system.write("usr/lib/sysimage/rpm/rpmdb.sqlite", "");
    fs::create_dir_all(system.at("tools")).unwrap();
    let ask = || {
        let mut barest = cargo_bin_cmd!("barest");
        barest
            .args([
                "survey", "exposure", "--path", "/usr/bin", "--format", "json", "--root",
            ])
            .arg(&system.folder)
            .env("PATH", system.at("tools"));
        barest
    };
    ask()
        .arg("libz.so.1")
        .assert()
        .success()
        .stdout(predicate::str::contains(
            "rpm, which alone can read it, is not in PATH; install rpm",
        ));

    let database = system.at("usr/lib/sysimage/rpm");
    system.write(
        "tools/rpm",
        format!(
            "#!/bin/sh\n[ \"$1 $2 $3 $4\" = '--dbpath {} -qa --queryformat' ] || exit 9\n\
             printf 'P\\tzlib\\t1.2.11-40.el9\\tx86_64\\tzlib-ng-compat-1.2.11-40.el9.src.rpm\\t200\\t100\\n'\n\
             printf 'F\\t/lib/own/libz.so.1\\nF\\t/lib/own/libz.so.1.2.13\\n'\n\
             printf 'P\\tkey\\t1:2-3\\t(none)\\t(none)\\t0\\t(none)\\n'\n",
            database.display()
        ),
    );
    fs::set_permissions(system.at("tools/rpm"), Permissions::from_mode(0o755)).unwrap();
    let output = ask().arg("zlib-ng-compat").assert().success();
    let json: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let facts = &json["facts"][0];
    assert_eq!(json["schema"], "barest.survey-exposure/1");
    assert_eq!(facts["databases"][0]["manager"], "rpm");
    assert_eq!(facts["databases"][0]["packages"], 2);
    assert_eq!(facts["names"][0]["packages"][0], "zlib");
    assert_eq!(facts["names"][0]["reach"]["direct"], 3);
    assert_eq!(facts["names"][0]["reach"]["today"]["download_bytes"], 100);
    assert_eq!(facts["programs"][0]["path"], r"/usr/bin/caf\xe9");

    system.write("tools/rpm", "#!/bin/sh\necho broken >&2; exit 3\n");
    ask()
        .arg("libz.so.1")
        .assert()
        .success()
        .stdout(predicate::str::contains("exit status: 3, and said: broken"));
}

#[test]
fn a_name_that_fits_nothing_says_what_was_tried_and_the_others_are_still_answered() {
    let system = System::new("exposure_unknown").dpkg();
    system.program(OsStr::new("lacking"), &["libssl.so.3"]);
    let mut barest = cargo_bin_cmd!("barest");
    barest
        .args([
            "survey",
            "exposure",
            "libnone.so.1",
            "libz.so.1",
            "/none",
            "/usr/bin/plain",
        ])
        .args(["--path", "/usr/bin", "--root"])
        .arg(&system.folder)
        .assert()
        .code(2)
        .stdout(predicate::str::contains(
            "A flaw in this library would reach 3 of 7 programs",
        ))
        .stderr(predicate::str::contains(
            "barest: libnone.so.1: none of the 5 libraries that 6 programs load has this SONAME or \
             file name, none beside them either, and none of 7 packages or their sources is called \
             so; name a SONAME, a library's path or a package\n",
        ))
        .stderr(predicate::str::contains(
            "barest: /none: No such file or directory (os error 2); check the path\n",
        ))
        .stderr(predicate::str::contains(
            "barest: /usr/bin/plain: not a library; name a shared object\n",
        ));

    fs::remove_file(system.at("usr/lib/own/libssl.so.3")).unwrap();
    let found = system.ask(&["libssl.so.3"]);
    assert_eq!(found.population.incomplete, 3);
    assert!(
        found.unknown[0]
            .tried
            .starts_with("asked for by 3 of the programs"),
        "{found:?}"
    );
}

fn parse(file: &str) -> Vec<Advisory> {
    advisories::parse(file.as_bytes()).unwrap()
}

const ONE: &str = r#"{"id": "CVE-1", "aliases": ["X-1"], "severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N"}],
  "affected": [{"package": {"ecosystem": "Debian:12", "name": "openssl"}, "ranges": []},
               {"package": {"ecosystem": "Debian:11", "name": "openssl"}},
               {"package": {"ecosystem": "PyPI", "name": "zlib"}},
               {"ranges": [{"type": "GIT"}]}]}"#;

const TWO: &str = r#"{"id": "CVE-2", "affected": [{"package": {"ecosystem": "Debian", "name": "zlib"},
  "ecosystem_specific": {"urgency": "high"}}, {"package": {"ecosystem": "Debian", "name": "absent"}}]}"#;

#[test]
fn advisories_are_read_as_a_list_an_object_lines_an_array_and_an_answer() {
    let list = parse("# mine\nCVE-1 openssl libz.so.1 openssl # twice\n\n  CVE-2\tzlib\r\n");
    assert_eq!(list.len(), 2);
    let names: Vec<_> = list[0]
        .affected
        .iter()
        .map(|a| (&*a.name, &a.ecosystem))
        .collect();
    assert_eq!(names, [("openssl", &None), ("libz.so.1", &None)]);
    assert_eq!(
        (&*list[1].id, &*list[1].affected[0].name),
        ("CVE-2", "zlib")
    );

    let one = parse(ONE);
    assert_eq!(one[0].severity.as_deref(), Some("CVSS_V3 CVSS:3.1/AV:N"));
    assert_eq!(one[0].aliases, ["X-1"]);
    let names: Vec<_> = one[0]
        .affected
        .iter()
        .map(|a| (&*a.name, a.ecosystem.as_deref()))
        .collect();
    assert_eq!(
        names,
        [("openssl", Some("Debian:12")), ("zlib", Some("PyPI"))]
    );

    let two = parse(TWO);
    assert_eq!(two[0].severity.as_deref(), Some("high"));
    let both = [one, two].concat();
    let one_line = ONE.replace('\n', " ") + "\n" + &TWO.replace('\n', " ") + "\n";
    for file in [
        format!("[{ONE}, {TWO}]"),
        format!("{{\"vulns\": [{ONE}, {TWO}]}}"),
        one_line,
    ] {
        assert_eq!(parse(&file), both, "{file}");
    }
    assert_eq!(parse("[]"), []);
}

#[test]
fn a_malformed_file_of_advisories_is_refused_by_its_line() {
    let no_id = format!("{}\n{{\"affected\":\n[]}}\n", TWO.replace('\n', " "));
    for (file, line, what) in [
        (
            "CVE-1 openssl\nCVE-2 # openssl\n",
            2,
            "`CVE-2` has no names; write `ID NAME…`",
        ),
        (
            "# nothing\n",
            1,
            "no advisory in the whole file; write `ID NAME…` a line, or JSON of OSV",
        ),
        (
            "",
            1,
            "no advisory in the whole file; write `ID NAME…` a line, or JSON of OSV",
        ),
        ("{\"id\": \"CVE-1\",\n\"affected\": 3}", 2, "invalid type"),
        (&*no_id, 3, "missing field `id`"),
        (
            "[{\"id\": \"a\"},\n{\"id\": 4}]",
            2,
            "invalid type: integer `4`",
        ),
        ("{\"vulns\":\n[{}]}", 2, "missing field `id`"),
        ("{\"id\": \"a\"}\n{\"id\"", 2, "EOF while parsing"),
        ("[", 1, "EOF while parsing"),
    ] {
        let wrong = advisories::parse(file.as_bytes()).unwrap_err();
        assert_eq!(wrong.line, line, "{file}: {wrong:?}");
        assert!(wrong.what.contains(what), "{file}: {wrong:?}");
    }
    let wrong = advisories::parse(b"CVE-1 a\nCVE-2 \xff\n").unwrap_err();
    assert_eq!(wrong.line, 2);

    let system = System::new("exposure_malformed");
    system.write("list", "CVE-1 a\nCVE-2\n");
    let list = system.at("list");
    cargo_bin_cmd!("barest")
        .args(["survey", "exposure", "--advisories"])
        .arg(&list)
        .assert()
        .code(2)
        .stdout("")
        .stderr(format!(
            "barest: {}: line 2: `CVE-2` has no names; write `ID NAME…`\n",
            list.display()
        ));
}

#[test]
fn advisories_are_answered_each_and_in_all_each_program_once() {
    let system = System::new("exposure_advisories").dpkg();
    let withdrawn = r#"{"id": "CVE-3", "withdrawn": "2020-01-01T00:00:00Z",
        "affected": [{"package": {"ecosystem": "Debian", "name": "glibc"}}]}"#;
    let file = format!("{ONE}\n{TWO}\n{withdrawn}");
    let found = system.ask_all(&["libcrypto.so.3"], &parse(&file));
    let one = &found.advisories[0];
    assert_eq!(one.installed[0].packages, ["libssl3", "openssl"]);
    assert_eq!(
        reached(&found, &one.reach),
        [bin("curl", true), bin("openssl", true)]
    );
    assert_eq!(one.not_installed[0].name, "zlib");
    assert_eq!(
        one.not_installed[0].reason,
        "PyPI is not what this system's packages are of"
    );
    let two = &found.advisories[1];
    assert_eq!(
        reached(&found, &two.reach),
        [cafe(true), bin("curl", true), bin("gz", true)]
    );
    assert_eq!(two.not_installed[0].name, "absent");
    let three = &found.advisories[2];
    assert_eq!((three.reach.libraries.len(), three.installed.len()), (0, 0));
    let all = [
        cafe(true),
        bin("curl", true),
        bin("gz", true),
        bin("openssl", true),
    ];
    assert_eq!(reached(&found, &found.total), all);
    assert!(found.unknown.is_empty());

    let list = parse("A libnone.so.1 libssl.so.3\nB absent\n");
    let found = system.ask_all(&[], &list);
    assert_eq!(found.advisories[0].installed[0].is, Is::Soname);
    assert_eq!(found.advisories[0].not_installed[0].name, "libnone.so.1");
    assert_eq!(found.advisories[1].reach, Reach::default());
    assert_eq!(found.total.programs, found.advisories[0].reach.programs);
}

#[test]
fn the_views_have_a_row_a_name_and_csv_one_for_each_name_and_program() {
    let system = System::new("exposure_views").dpkg();
    system.write("list", "CVE-1 zlib\nCVE-2 absent\n");
    let ask = |arguments: &[&str]| {
        let mut barest = cargo_bin_cmd!("barest");
        barest
            .args(["survey", "exposure", "--path", "/usr/bin", "--root"])
            .arg(&system.folder)
            .arg("libcrypto.so.3")
            .arg("--advisories")
            .arg(system.at("list"))
            .args(arguments);
        let output = barest.assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    let table = ask(&[]);
    assert!(
        table.starts_with(
            "A flaw in any of these 2 libraries would reach 4 of 6 programs (66.7 %): 4 link to \
             one themselves, 0 through other libraries. Their files have "
        ),
        "{table}"
    );
    for line in [
        "\nlibcrypto.so.3  library           1       1               1         2     33.3  ",
        "\nCVE-1           advisory          1       3               0         3     50.0  ",
        "\nall                               2       4               0         4     66.7  ",
        "\nlibc: the libraries of libc6.\n",
        "\n1 advisory about nothing that is installed, or withdrawn: CVE-2.\n",
        "\nStatic, so not seen into: /usr/bin/fixed.\n",
        "\nNot seen: what is loaded while a program runs (dlopen(3))",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let csv = ask(&["--format", "csv"]);
    let mut rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.remove(0), "program,name,links,bytes,package");
    rows.sort();
    let bytes = |name: &str| system.bytes(&[&format!("usr/bin/{name}")]);
    let cafe = fs::metadata(system.at("usr/bin").join(OsStr::from_bytes(CAFE)))
        .unwrap()
        .len();
    assert_eq!(
        rows,
        [
            format!(r"/usr/bin/caf\xe9,CVE-1,directly,{cafe},-"),
            format!("/usr/bin/curl,CVE-1,directly,{},curl", bytes("curl")),
            format!(
                "/usr/bin/curl,libcrypto.so.3,through others,{},curl",
                bytes("curl")
            ),
            format!("/usr/bin/gz,CVE-1,directly,{},gz-ng", bytes("gz")),
            format!(
                "/usr/bin/openssl,libcrypto.so.3,directly,{},openssl",
                bytes("openssl")
            ),
        ]
    );
    let plot = system.at("plot.svg");
    ask(&["--plot", plot.to_str().unwrap()]);
    let svg = fs::read_to_string(&plot).unwrap();
    for text in [
        "libcrypto.so.3",
        "CVE-1",
        "All of them reach 4 of 6 programs, 4 without libc.",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
}

#[test]
fn damaged_package_data_are_a_remark_and_never_a_panic() {
    let system = System::new("exposure_damaged").dpkg();
    fs::remove_file(system.at("var/lib/dpkg/info/curl.list")).unwrap();
    system.write(
        "var/lib/dpkg/diversions",
        "/usr/bin/gz\n/usr/bin/gz.distrib\n",
    );
    let read = || packages::read(&Root::at(&system.folder).unwrap());
    let found = read();
    assert_eq!(found.list.len(), 7);
    assert_eq!(
        found.databases[0].remarks,
        [
            "/var/lib/dpkg/diversions: its lines are no groups of three; not used",
            "/var/lib/dpkg/info/curl.list: No such file or directory (os error 2)",
        ]
    );
    // Neither fields nor lines that end, and numbers that are none.
    for status in [
        &b"\xff\xfe:\n:\n::\nPackage"[..],
        b"Package: a\nStatus: x y installed\nInstalled-Size: -1\n",
    ] {
        system.write("var/lib/dpkg/status", status);
        system.write("lib/apk/db/installed", status);
        for package in read().list {
            assert_eq!(package.installed_bytes, None);
        }
    }
}

/// The seed's way: `egrep -la` for the names, and `wc -c` of what matches. It matches text, so it
/// also counts what only mentions a name, and misses what is reached through other libraries.
#[test]
fn the_seeds_own_pipeline_agrees_but_for_mentions_and_what_is_reached_through_others() {
    let system = System::new("exposure_seed");
    let seed = |pattern: &str| -> (Vec<String>, u64) {
        let mut shell = Command::new("sh");
        shell.current_dir(system.at("usr/bin")).env("LC_ALL", "C");
        let files =
            succeed(shell.args(["-c", &format!("grep -Ela '{pattern}' c[u]* g* o* p* s*")]));
        let files: Vec<String> = files.lines().map(str::to_owned).collect();
        let mut count = Command::new("wc");
        let count = succeed(
            count
                .current_dir(system.at("usr/bin"))
                .arg("-c")
                .args(&files),
        );
        let total = count
            .lines()
            .last()
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap();
        (files, total.parse().unwrap())
    };
    let ours = |name: &str| {
        let found = system.ask(&[name]);
        let names = reached(&found, &found.total).into_iter();
        let names = names.filter(|(path, _)| path.to_str().is_some());
        let names: Vec<_> = names
            .map(|(path, direct)| {
                (
                    path.file_name().unwrap().to_str().unwrap().to_owned(),
                    direct,
                )
            })
            .collect();
        (names, found.total.bytes)
    };

    // Where nothing is reached through others and nothing mentions the name, the same.
    let (files, bytes) = seed("libssl.so");
    assert_eq!(files, ["curl", "openssl"]);
    assert_eq!(ours("libssl.so.3").1, bytes);

    // The script mentions libcrypto; curl has it through libssl.
    let (files, bytes) = seed("libcrypto.so");
    assert_eq!(files, ["openssl", "script"]);
    let (names, our_bytes) = ours("libcrypto.so.3");
    assert_eq!(
        names,
        [("curl".to_owned(), false), ("openssl".to_owned(), true)]
    );
    let curl = system.bytes(&["usr/bin/curl"]);
    let script = system.bytes(&["usr/bin/script"]);
    assert_eq!(our_bytes, bytes - script + curl);
}
