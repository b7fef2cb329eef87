//! The peers are what they claim, do what the programs do, and make the known number of calls.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;

use barest::image::Linkage;
use barest::peers::{self, Availability, Built, Peer};
use barest::steps::{Until, steps};
use barest::subject::Subject;
use barest::trace::Exit;
use serde::Deserialize;
use tempfile::TempDir;

/// The peers that no comparison can do without.
const INDISPENSABLE: [&str; 6] = [
    "gas",
    "musl-static",
    "musl-dynamic",
    "glibc-static",
    "glibc-static-pie",
    "glibc-dynamic",
];

/// Every program of every peer that this machine can build, built and checked. Those it cannot
/// are named on stderr: no test says anything about them.
static PROGRAMS: LazyLock<Vec<Built>> = LazyLock::new(|| {
    let peers = peers::load(&data("peers.toml")).unwrap();
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let answers = peers::prepare_all(&peers, &into, |_, _| ());
    let mut programs = Vec::new();
    for (peer, answer) in peers.iter().zip(answers) {
        match answer.unwrap_or_else(|e| panic!("{}: {e}", peer.id)) {
            Availability::Ready { programs: built } => programs.extend(built),
            missing => say(&format!("not tested: {}: {missing}", peer.name)),
        }
    }
    programs
});

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/peers")
        .join(name)
}

/// Says something on stderr, past the test runner, which keeps what a passed test prints.
fn say(line: &str) {
    io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}

/// Runs a program with nothing but the given environment.
fn run(program: &Path, args: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(program)
        .args(args)
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn all(program: &str) -> impl Iterator<Item = &'static Built> {
    PROGRAMS
        .iter()
        .filter(move |built| built.program == program)
}

#[test]
fn the_glibc_musl_and_assembler_peers_are_here() {
    for peer in INDISPENSABLE {
        for program in ["true", "hello", "exec"] {
            assert!(
                PROGRAMS
                    .iter()
                    .any(|built| built.peer == peer && built.program == program),
                "{program} of {peer} is missing; run make deps"
            );
        }
    }
}

#[test]
fn each_true_exits_with_0_and_says_nothing() {
    for built in all("true") {
        let output = run(&built.path, &[], &[]);
        assert_eq!(output.status.code(), Some(0), "{}", built.peer);
        assert_eq!(
            (output.stdout.len(), output.stderr.len()),
            (0, 0),
            "{}",
            built.peer
        );
    }
}

#[test]
fn each_hello_says_the_same_line() {
    for built in all("hello").chain(all("hello_puts")) {
        let output = run(&built.path, &[], &[]);
        assert_eq!(output.status.code(), Some(0), "{}", built.peer);
        assert_eq!(output.stdout, b"hello, world\n", "{}", built.peer);
        assert_eq!(output.stderr.len(), 0, "{}", built.peer);
    }
}

#[test]
fn each_exec_passes_arguments_and_environment_on() {
    let script = r#"printf '%s\n' "$0" "$@"; exec /usr/bin/env"#;
    let args = ["/bin/sh", "-c", script, "zero", "", "a b", "é"];
    for built in all("exec") {
        let direct = run(Path::new(args[0]), &args[1..], &[("A", "1"), ("B", "")]);
        let output = run(&built.path, &args, &[("A", "1"), ("B", "")]);
        assert_eq!(output.status.code(), Some(0), "{}", built.peer);
        assert!(
            output.stdout.starts_with("zero\n\na b\né\n".as_bytes()),
            "{}",
            built.peer
        );
        assert_eq!(output.stdout, direct.stdout, "{}", built.peer);
    }
}

#[test]
fn each_exec_that_fails_exits_as_env_does() {
    for built in all("exec") {
        let code = |args: &[&str]| run(&built.path, args, &[]).status.code().unwrap();
        assert_eq!(code(&[]), 125, "{}", built.peer);
        assert_eq!(code(&["/no/such/program"]), 127, "{}", built.peer);
        assert_eq!(code(&["/etc/passwd"]), 126, "{}", built.peer);
        assert_eq!(code(&["/"]), 126, "{}", built.peer);
    }
}

/// One entry of counts.toml.
#[derive(Deserialize)]
struct Counts {
    peers: Vec<String>,
    with: BTreeMap<String, String>,
    /// Of `true`, by the processor.
    #[serde(default)]
    cpuid: BTreeMap<String, u64>,
    #[serde(flatten)]
    calls: BTreeMap<String, usize>,
}

/// What counts.toml holds.
fn counts() -> Vec<Counts> {
    #[derive(Deserialize)]
    struct File {
        counts: Vec<Counts>,
    }
    let text = fs::read_to_string(data("counts.toml")).unwrap();
    toml::from_str::<File>(&text).unwrap().counts
}

/// The entry of the data file for a program, if its parts are of a version that it has.
fn known<'a>(built: &Built, counts: &'a [Counts]) -> Option<&'a Counts> {
    let parts: BTreeMap<_, _> = built
        .parts
        .iter()
        .map(|part| (part.name.clone(), part.version.clone()))
        .collect();
    counts
        .iter()
        .find(|entry| entry.peers.contains(&built.peer) && entry.with == parts)
}

/// How many calls a program makes, those of the program that it becomes left out.
fn count(path: &Path, args: &[&str]) -> usize {
    let trace = barest::trace::trace(&Subject::new(path).args(args)).unwrap();
    assert_eq!(trace.exit, Exit::Exited(0), "{}", path.display());
    let names: Vec<_> = trace.names().collect();
    let last_exec = names.iter().rposition(|name| name == "execve").unwrap();
    if args.is_empty() {
        names.len()
    } else {
        last_exec + 1
    }
}

#[test]
fn each_peer_makes_the_calls_known_for_its_versions() {
    let counts = counts();

    // Rust's count depends on the length of its path, so all run from a short one.
    let folder = TempDir::new_in("/tmp").unwrap();
    let target = all("true").find(|built| built.peer == "gas").unwrap();
    let mut wrong = Vec::new();
    let mut compared = Vec::new();
    for built in PROGRAMS.iter() {
        let known = known(built, &counts).map(|entry| entry.calls[&built.program]);
        let Some(known) = known else {
            let parts: Vec<_> = built.parts.iter().map(ToString::to_string).collect();
            let name = format!("{} of {}", built.program, built.peer);
            say(&format!(
                "not compared: {name}: no count is known for {}",
                parts.join(", ")
            ));
            continue;
        };
        let copy = folder.path().join("program");
        fs::copy(&built.path, &copy).unwrap();
        let args = match built.program.as_str() {
            "exec" => vec![target.path.to_str().unwrap()],
            _ => vec![],
        };
        let found = count(&copy, &args);
        compared.push((built.peer.as_str(), built.program.as_str()));
        if found != known {
            wrong.push(format!(
                "{} of {}: {found}, not {known}",
                built.program, built.peer
            ));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // The assembler has no version, so its counts are known anywhere.
    for program in ["true", "hello", "exec"] {
        assert!(compared.contains(&("gas", program)));
    }
}

/// This machine's processor: its vendor, family and model.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap();
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(key, _)| key.trim() == name).unwrap();
        value.trim()
    };
    ["vendor_id", "cpu family", "model"].map(field).join(" ")
}

#[test]
fn each_c_peer_executes_the_same_instructions_in_five_runs_and_the_known_cpuids() {
    let (counts, processor) = (counts(), processor());
    // Each on a processor of its own, as far as there are some.
    let compared: Vec<&str> = thread::scope(|scope| {
        let c = all("true").filter(|built| !built.peer.starts_with("rust"));
        let threads: Vec<_> = c
            .map(|built| (built, scope.spawn(|| cpuid_of_five_runs(built))))
            .collect();
        threads.into_iter().filter_map(|(built, thread)| {
            let found = thread.join().unwrap();
            let entry = known(built, &counts).map(|entry| &entry.cpuid);
            let Some(&known) = entry.and_then(|known| known.get("any").or_else(|| known.get(&processor))) else {
                say(&format!(
                    "not compared: {found} CPUID in true of {}: none is known for its versions on {processor}",
                    built.peer
                ));
                return None;
            };
            assert_eq!(found, known, "{}", built.peer);
            Some(built.peer.as_str())
        }).collect()
    });
    // That of these is known anywhere.
    assert!(compared.contains(&"gas"), "{compared:?}");
}

/// How many CPUID a program executes, which has the same instructions in five runs.
fn cpuid_of_five_runs(built: &Built) -> u64 {
    let subject = Subject::new(&built.path);
    let first = steps(&subject, Until::End).unwrap();
    assert_eq!(first.exit, Exit::Exited(0), "{}", built.peer);
    for _ in 1..5 {
        let next = steps(&subject, Until::End).unwrap();
        assert_eq!(next.images, first.images, "{}", built.peer);
    }
    first.total.cpuid
}

/// A peer of one program, in a folder of its own.
struct Single {
    folder: TempDir,
}

impl Single {
    fn new(claims: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(data("true.c"), folder.path().join("true.c")).unwrap();
        let single = Single { folder };
        single.write(claims);
        single
    }

    fn write(&self, claims: &str) {
        let peer = format!(
            "[[peer]]\nid = \"mine\"\nname = \"mine\"\nsource = \"{{program}}.c\"\n\
             programs = [\"true\"]\nneeds = []\n{claims}\n"
        );
        fs::write(self.folder.path().join("peers.toml"), peer).unwrap();
    }

    fn peer(&self) -> Peer {
        peers::load(&self.folder.path().join("peers.toml"))
            .unwrap()
            .remove(0)
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("out/mine/true")
    }

    fn prepare(&self) -> barest::Result<Availability> {
        peers::prepare(&self.peer(), &self.folder.path().join("out"))
    }

    /// What is said against the peer: one line that names its file.
    fn refused(claims: &str) -> String {
        let single = Single::new(claims);
        let error = single.prepare().unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        let file = format!("{}: not what mine claims: ", single.output().display());
        error
            .strip_prefix(&file)
            .unwrap_or_else(|| panic!("{error}"))
            .to_owned()
    }

    /// The file as the file system knows it: a new one has another number or time.
    fn identity(&self) -> (u64, i64, i64) {
        let file = fs::metadata(self.output()).unwrap();
        (file.ino(), file.mtime(), file.mtime_nsec())
    }
}

const MUSL_STATIC: &str = r#"
build = ["musl-gcc -Os -static -s -Wl,-t {source} -o {output}"]
linkage = "static"
libc = "musl""#;

#[test]
fn musl_gccs_static_pie_that_is_a_dynamic_one_is_refused() {
    let said = Single::refused(
        r#"
build = ["musl-gcc -Os -static-pie -s -Wl,-t {source} -o {output}"]
linkage = "static-pie"
libc = "musl""#,
    );
    assert_eq!(
        said,
        "it is \"dynamic\", not \"static-pie\", has the interpreter /lib/ld-musl-x86_64.so.1, \
         not none; mend its build command or its claim"
    );
}

#[test]
fn a_peer_of_another_libc_than_it_claims_is_refused() {
    let said = Single::refused(&MUSL_STATIC.replace("libc = \"musl\"", "libc = \"glibc\""));
    assert!(said.starts_with("the linker took musl from "), "{said}");
    assert!(said.ends_with("/libc.a, not glibc"), "{said}");

    let said = Single::refused(&MUSL_STATIC.replace("musl-gcc", "gcc"));
    assert!(said.starts_with("the linker took glibc from "), "{said}");

    let said = Single::refused(&MUSL_STATIC.replace("libc = \"musl\"", "libc = \"none\""));
    assert!(said.ends_with("/libc.a, not no libc"), "{said}");

    let said = Single::refused(&MUSL_STATIC.replace("-Wl,-t ", ""));
    assert!(
        said.starts_with("the linker named no libc, not musl"),
        "{said}"
    );
}

#[test]
fn a_peer_with_another_interpreter_or_library_than_it_claims_is_refused() {
    let dynamic = r#"
build = ["gcc -Os -fPIE -pie -s -Wl,-t {source} -o {output}"]
linkage = "dynamic"
pie = true
interpreter = "/lib/ld-musl-x86_64.so.1"
needed = "libc.so"
libc = "glibc""#;
    assert_eq!(
        Single::refused(dynamic),
        "it has the interpreter /lib64/ld-linux-x86-64.so.2, not /lib/ld-musl-x86_64.so.1, \
         needs [\"libc.so.6\"] and not libc.so; mend its build command or its claim"
    );
    let said = Single::refused(&dynamic.replace("-fPIE -pie", "-fno-PIE -no-pie"));
    assert!(said.starts_with("it is not a PIE, "), "{said}");
    let said = Single::refused(&dynamic.replace("-fPIE -pie", "-static"));
    assert!(
        said.contains("has no interpreter, not /lib/ld-musl-x86_64.so.1"),
        "{said}"
    );
}

#[test]
fn a_peer_is_built_again_only_when_what_it_is_made_of_changed() {
    let single = Single::new(MUSL_STATIC);
    single.prepare().unwrap();
    let first = single.identity();
    single.prepare().unwrap();
    assert_eq!(single.identity(), first);

    single.write(&MUSL_STATIC.replace("-Os", "-O2"));
    single.prepare().unwrap();
    let second = single.identity();
    assert_ne!(second, first);

    let source = single.folder.path().join("true.c");
    fs::write(&source, "int main(void) { return 7; }\n").unwrap();
    single.prepare().unwrap();
    assert_ne!(single.identity(), second);
    assert_eq!(run(&single.output(), &[], &[]).status.code(), Some(7));

    fs::remove_file(single.output()).unwrap();
    single.prepare().unwrap();
    assert_eq!(run(&single.output(), &[], &[]).status.code(), Some(7));
}

#[test]
fn a_failed_build_names_its_command_and_what_it_said_and_leaves_the_old_program() {
    let single = Single::new(MUSL_STATIC);
    single.prepare().unwrap();
    fs::write(
        single.folder.path().join("true.c"),
        "int main(void) { return x; }\n",
    )
    .unwrap();
    let error = single.prepare().unwrap_err().to_string();
    let source = single.peer().folder.join("true.c");
    assert_eq!(
        error,
        format!(
            "`musl-gcc -Os -static -s -Wl,-t {0} -o output`: exit status: 1: \
             {0}:1:25: error: 'x' undeclared (first use in this function)",
            source.display()
        )
    );
    assert_eq!(run(&single.output(), &[], &[]).status.code(), Some(0));
    let left: Vec<_> = fs::read_dir(single.output().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "the program and its record: {left:?}");
}

#[test]
fn a_peer_without_its_tool_is_not_installed_and_nothing_is_built() {
    let single = Single::new(MUSL_STATIC);
    let path = single.folder.path().join("peers.toml");
    let text = fs::read_to_string(&path).unwrap();
    let needs = r#"needs = [{ tool = "no-such-gcc", package = "no-such-package" }]"#;
    fs::write(&path, text.replace("needs = []", needs)).unwrap();
    let answer = single.prepare().unwrap();
    assert_eq!(
        answer.to_string(),
        "not installed: no-such-package (make deps)"
    );
    assert!(!single.output().exists());
}

#[test]
fn the_data_file_has_every_runtime_with_its_linkage() {
    let peers = peers::load(&data("peers.toml")).unwrap();
    let found: Vec<_> = peers
        .iter()
        .map(|peer| (peer.id.as_str(), peer.linkage))
        .collect();
    assert_eq!(
        found,
        [
            ("gas", Linkage::Static),
            ("dietlibc", Linkage::Static),
            ("klibc-static", Linkage::Static),
            ("klibc-shared", Linkage::Dynamic),
            ("musl-static", Linkage::Static),
            ("musl-dynamic", Linkage::Dynamic),
            ("glibc-static", Linkage::Static),
            ("glibc-static-pie", Linkage::StaticPie),
            ("glibc-dynamic", Linkage::Dynamic),
            ("rust-dynamic", Linkage::Dynamic),
            ("rust-crt-static", Linkage::StaticPie),
            ("rust-no-main", Linkage::Dynamic),
            ("rust-musl", Linkage::StaticPie),
        ]
    );
}
