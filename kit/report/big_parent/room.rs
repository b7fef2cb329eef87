//! How much memory there is to be had, so that no measurement ever brings the system into need.
//!
//! The least counts of: what the system has (MemAvailable in proc_meminfo(5)), what the control
//! groups of this process leave (cgroups(7): version 2 has `memory.max`, version 1
//! `memory.limit_in_bytes`), and its own limits (RLIMIT_AS and RLIMIT_DATA in getrlimit(2)).

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// How much memory can be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// So many bytes.
    pub bytes: u64,
    /// What leaves no more, as in `MemAvailable`.
    pub by: String,
}

impl Room {
    /// What this process can have now; None where the system does not say what it has.
    pub fn here() -> Option<Self> {
        let mut all = in_control_groups(Path::new("/"));
        let available = field("/proc/meminfo", "MemAvailable")?;
        all.push(Room::of(available, "MemAvailable"));
        for (resource, name, used) in [
            (Resource::RLIMIT_AS, "RLIMIT_AS", "VmSize"),
            (Resource::RLIMIT_DATA, "RLIMIT_DATA", "VmData"),
        ] {
            let limit = getrlimit(resource).map_or(RLIM_INFINITY, |(soft, _)| soft);
            if limit != RLIM_INFINITY {
                let used = field("/proc/self/status", used).unwrap_or(0);
                all.push(Room::of(limit.saturating_sub(used), name));
            }
        }
        all.into_iter().min_by_key(|room| room.bytes)
    }

    fn of(bytes: u64, by: impl Into<String>) -> Self {
        Room {
            bytes,
            by: by.into(),
        }
    }
}

/// A number of kB in a file of lines `NAME: NUMBER kB`, in bytes.
fn field(file: &str, name: &str) -> Option<u64> {
    super::parent::kb_of(&fs::read_to_string(file).ok()?, name).map(|kb| kb.saturating_mul(1024))
}

/// What each control group that this process is in leaves, and those above it, as far as they are
/// to be seen; `root` is where /proc and the mounts are.
fn in_control_groups(root: &Path) -> Vec<Room> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut all = Vec::new();
    for line in groups.lines() {
        // proc_pid_cgroup(5): hierarchy:controllers:path
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let version = match controllers {
            "" => &VERSION_2,
            it if it.split(',').any(|it| it == "memory") => &VERSION_1,
            _ => continue,
        };
        let Some((within, mount)) = mounts.lines().find_map(|line| version.mounted(line)) else {
            continue;
        };
        // In a container the path may be one of the host, which is not to be seen from here.
        let below = Path::new(path)
            .strip_prefix(within)
            .unwrap_or(Path::new(""));
        let mount = root.join(mount.strip_prefix('/').unwrap_or(mount));
        let group = mount.join(below);
        let up = group.ancestors().take_while(|it| it.starts_with(&mount));
        all.extend(up.filter_map(|group| version.left(group)));
    }
    all
}

/// The names that a version of control groups has for things.
struct Version {
    file_system: &'static str,
    limit: &'static str,
    used: &'static str,
    /// What of it is a cache of files that nobody has used lately.
    cache: &'static str,
}

const VERSION_1: Version = Version {
    file_system: "cgroup",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};

const VERSION_2: Version = Version {
    file_system: "cgroup2",
    limit: "memory.max",
    used: "memory.current",
    cache: "inactive_file",
};

impl Version {
    /// Which group is mounted where, if a line of proc_pid_mountinfo(5) says so.
    fn mounted<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        if kind.next()? != self.file_system {
            return None;
        }
        let options = kind.nth(1).unwrap_or_default();
        let here = self.file_system == VERSION_2.file_system
            || options.split(',').any(|option| option == "memory");
        let mut mount = mount.split(' ').skip(3);
        here.then_some((mount.next()?, mount.next()?))
    }

    /// What the group in a folder leaves; None where it has no limit.
    fn left(&self, group: &Path) -> Option<Room> {
        let number = |file: &str| -> Option<u64> {
            fs::read_to_string(group.join(file))
                .ok()?
                .trim()
                .parse()
                .ok()
        };
        let limit = number(self.limit)?;
        let used = number(self.used).unwrap_or(0);
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache = stat.lines().find_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            (name == self.cache).then(|| bytes.parse::<u64>().ok())?
        });
        let used = used.saturating_sub(cache.unwrap_or(0));
        let file: PathBuf = group.join(self.limit);
        Some(Room::of(
            limit.saturating_sub(used),
            crate::subject::escape(file.as_os_str()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn least(root: &Path) -> Option<u64> {
        let all = in_control_groups(root);
        all.into_iter().map(|room| room.bytes).min()
    }

    const MOUNTS: &str = "\
29 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate
30 1 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 1 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
";

    #[test]
    fn the_narrowest_group_above_counts_and_its_cache_can_be_had() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mountinfo", MOUNTS),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "1000\n"),
            ("sys/fs/cgroup/a/memory.current", "700\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 100\n"),
            ("sys/fs/cgroup/memory.max", "5000\n"),
        ]);
        assert_eq!(least(root.path()), Some(400));
        let all = in_control_groups(root.path());
        assert!(all[0].by.ends_with("/a/memory.max"), "{all:?}");
    }

    #[test]
    fn in_a_container_of_version_1_the_mount_is_the_group_itself() {
        let files = [
            ("proc/self/mountinfo", MOUNTS),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "800\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n"),
        ];
        for path in ["/docker/abc", "/elsewhere"] {
            let group = format!("4:cpu:/x\n3:cpuset,memory:{path}\n");
            let root = tree(&[&files[..], &[("proc/self/cgroup", &group)]].concat());
            assert_eq!(least(root.path()), Some(0), "{path}");
        }
    }

    #[test]
    fn without_groups_or_limits_nothing_is_narrower() {
        assert_eq!(least(tree(&[]).path()), None);
        let root = tree(&[
            ("proc/self/cgroup", "0::/\nnonsense\n1:\n"),
            ("proc/self/mountinfo", MOUNTS),
            ("sys/fs/cgroup/memory.max", "max"),
        ]);
        assert_eq!(least(root.path()), None);
    }

    #[test]
    fn this_machine_has_some_memory() {
        let room = Room::here().unwrap();
        assert!(room.bytes > 0 && !room.by.is_empty(), "{room:?}");
    }
}
