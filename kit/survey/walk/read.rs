//! What a file that may be executed is.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::super::root::{Inode, Root, Unread};
use super::find::File;
use super::{Kind, Program};
use crate::image::{self, Image, Linkage};

/// What is wrong with a file that is not what it was a moment ago.
const CHANGED: &str = "changed while it was read";

/// Opens and reads a file. One that cannot be read is a program all the same.
pub fn read(root: &Root, file: File) -> (Program, Option<Unread>) {
    let (kind, image, unread) = match content(root, &file) {
        Ok((kind, image)) => (kind, image.map(Arc::new), None),
        Err(reason) => (Kind::Other, None, Some(Unread::new(&file.path, reason))),
    };
    let program = Program {
        bytes: image.as_ref().map_or(file.bytes, |image| image.bytes),
        path: file.path,
        inode: file.inode,
        kind,
        secure: file.secure,
        image,
    };
    (program, unread)
}

fn content(root: &Root, file: &File) -> Result<(Kind, Option<Image>), String> {
    let failed = |error| reason(&error);
    let open = root.open(&file.path, libc::O_RDONLY).map_err(failed)?;
    let before = open.metadata().map_err(failed)?;
    if !before.is_file() || Inode::of(&before) != file.inode {
        return Err(CHANGED.into());
    }
    let watched = open.try_clone().map_err(failed)?;
    let content = parse(open, before.len(), &file.path);
    if state(&before) != state(&watched.metadata().map_err(failed)?) {
        return Err(CHANGED.into());
    }
    content
}

/// What differs once somebody has written to a file. Before Linux 6.13, its time goes on by clock
/// ticks of up to 10 ms (`multigrain-ts` of the kernel's documentation): of two writes within one
/// that leave the length as it was, the second is not seen.
fn state(meta: &Metadata) -> (u64, i64, i64) {
    (meta.len(), meta.mtime(), meta.mtime_nsec())
}

fn parse(file: fs::File, bytes: u64, path: &Path) -> Result<(Kind, Option<Image>), String> {
    let mut start = Vec::with_capacity(4);
    let read = (&file).take(4).read_to_end(&mut start);
    read.map_err(|error| reason(&error))?;
    if start.starts_with(b"#!") {
        return Ok((Kind::Script, None));
    }
    if start != *b"\x7fELF" {
        return Ok((Kind::Other, None));
    }
    let image = image::of_file(file, bytes, path)?;
    let kind = match image.linkage {
        Linkage::Dynamic => Kind::Dynamic,
        Linkage::Static => Kind::Static,
        Linkage::StaticPie => Kind::StaticPie,
        Linkage::SharedObject => Kind::Library,
        Linkage::Object | Linkage::Core | Linkage::Other => Kind::Other,
    };
    Ok((kind, Some(image)))
}

/// Why a file cannot be read, in the words of this kit where they say more than the system's.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "gone before it was read".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}
