//! What machine the facts are from.

use std::fs;

use serde::{Deserialize, Serialize};

/// A machine, as far as it decides what is measured on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// The kernel's release, as uname(2) gives it.
    pub kernel: String,
    /// The distribution's own name for itself: PRETTY_NAME in os-release(5). None where there is
    /// no such file, as in a container from scratch.
    pub system: Option<String>,
    /// The processor: the first `model name` in /proc/cpuinfo.
    pub processor: Option<String>,
    /// How many processors this process may run on.
    pub cores: usize,
}

impl Machine {
    /// This machine. What it does not say is left out.
    pub fn here() -> Self {
        let kernel = nix::sys::utsname::uname()
            .map(|name| name.release().to_string_lossy().into_owned())
            .unwrap_or_default();
        Machine {
            kernel,
            system: field("/etc/os-release", "PRETTY_NAME", '='),
            processor: field("/proc/cpuinfo", "model name", ':'),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The value of the first line `NAME sign VALUE` of a file, without quotes.
fn field(path: &str, name: &str, sign: char) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(sign)?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// As in `Linux 6.1, Debian GNU/Linux 12, 2 cores of AMD EPYC`.
impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linux {}", self.kernel)?;
        if let Some(system) = &self.system {
            write!(f, ", {system}")?;
        }
        let cores = if self.cores == 1 { "core" } else { "cores" };
        write!(f, ", {} {cores}", self.cores)?;
        match &self.processor {
            Some(processor) => write!(f, " of {processor}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_names_its_kernel_and_has_a_core() {
        let here = Machine::here();
        assert!(
            here.kernel.starts_with(|c: char| c.is_ascii_digit()),
            "{here}"
        );
        assert!(here.cores >= 1);
        assert!(
            here.to_string()
                .starts_with(&format!("Linux {}", here.kernel))
        );
    }
}
