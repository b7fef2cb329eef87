//! What the tests of the sections have in common: how they measure.

use std::path::{Path, PathBuf};

use barest::report::{Depth, Name, Plan};

use crate::common::{program, target};

/// A file of tests/peers.
pub fn data(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    folder.join(name)
}

/// One section, quickly, with all peers.
pub fn quick(section: Name) -> Plan {
    program("true");
    Plan {
        programs: target().join("bare"),
        peers: data("peers.toml"),
        build: target().join("peers"),
        sections: vec![section],
        depth: Depth::Quick,
        kept: None,
    }
}

/// The same with the peers of this list alone, which are built in that folder of these sources.
pub fn quick_with(section: Name, folder: &Path, sources: &[&str], peers: &str) -> Plan {
    for source in sources {
        std::fs::copy(data(source), folder.join(source)).unwrap();
    }
    let list = folder.join("peers.toml");
    std::fs::write(&list, peers).unwrap();
    Plan {
        peers: list,
        build: folder.join("build"),
        ..quick(section)
    }
}
