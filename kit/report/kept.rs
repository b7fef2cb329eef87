//! Sections that are measured, kept until the whole report is: what was stopped goes on from there.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Depth, Name, Plan, Section};
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::whole;

/// The sections that are kept, and under what they were measured.
pub(super) struct Kept {
    folder: Option<PathBuf>,
    under: Under,
}

/// What must be the same for a section to be taken as it was measured before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Under {
    version: String,
    machine: Machine,
    depth: Depth,
    /// When our programs were built.
    programs: Option<SystemTime>,
    peers: Option<SystemTime>,
}

#[derive(Serialize, Deserialize)]
struct File {
    under: Under,
    section: Section,
}

impl Kept {
    pub fn new(plan: &Plan) -> Result<Self> {
        let modified = |path: PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        Ok(Kept {
            folder: plan.kept.clone(),
            under: Under {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                machine: Machine::here(),
                depth: plan.depth,
                programs: modified(plan.programs.join("true")),
                peers: modified(plan.peers.clone()),
            },
        })
    }

    /// A section as it was kept. None where there is none, or where it was measured under
    /// something else; it is measured anew then.
    pub fn load(&self, name: Name) -> Option<Section> {
        let text = fs::read(self.path(name)?).ok()?;
        let file: File = serde_json::from_slice(&text).ok()?;
        (file.under == self.under && file.section.name == name).then_some(file.section)
    }

    /// Keeps a section: its file is whole or not there.
    pub fn save(&self, section: &Section) -> Result<()> {
        let Some((folder, path)) = self.folder.as_ref().zip(self.path(section.name)) else {
            return Ok(());
        };
        let failed = |e| Error::io(format!("write {}", path.display()), e);
        fs::create_dir_all(folder).map_err(failed)?;
        let file = File {
            under: self.under.clone(),
            section: section.clone(),
        };
        let text = serde_json::to_vec(&file).map_err(|e| failed(e.into()))?;
        whole::write(&path, 0o666, &text).map_err(failed)
    }

    /// Removes all of them.
    pub fn forget(&self) -> Result<()> {
        match &self.folder {
            Some(folder) if folder.exists() => fs::remove_dir_all(folder)
                .map_err(|e| Error::io(format!("remove {}", folder.display()), e)),
            _ => Ok(()),
        }
    }

    fn path(&self, name: Name) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.json", name.word())))
    }
}
