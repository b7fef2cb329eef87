//! How images are shown: everything about one file, a row a file for several.

use super::{Page, Table, counted, list, number, text, yes_no};
use crate::image::{Endian, Image, Linkage, Relro, Stack};
use crate::subject::escape;

/// The page of these images.
pub fn page(images: &[Image]) -> Page {
    match images {
        [image] => whole(image),
        images => Page::new().table(rows(images)),
    }
}

fn whole(image: &Image) -> Page {
    let mut facts = Table::new([text(""), text("")]);
    let optional = |text: &Option<_>| text.as_deref().map_or("none".into(), escape);
    let count = |count: Option<usize>| count.map_or("unknown".into(), |n| n.to_string());
    facts.row(["size", &counted(image.bytes, "byte")]);
    facts.row(["machine", &machine(image)]);
    facts.row([
        "linkage",
        &format!("{} ({})", linkage(image.linkage), image.kind),
    ]);
    if image.segments.is_empty() {
        facts.row(["segments", "none: nothing that can be loaded"]);
    } else {
        facts.row(["entry", &format!("{:#x}", image.entry)]);
        facts.row(["interpreter", &optional(&image.interpreter)]);
        if image.soname.is_some() {
            facts.row(["soname", &optional(&image.soname)]);
        }
        facts.row(["needed", &list(&image.needed)]);
        if image.rpath.is_some() {
            facts.row(["rpath", &optional(&image.rpath)]);
        }
        if image.runpath.is_some() {
            facts.row(["runpath", &optional(&image.runpath)]);
        }
        if image.nodeflib {
            facts.row(["default libraries", "no: DF_1_NODEFLIB"]);
        }
        facts.row(["PIE", yes_no(image.pie)]);
        facts.row(["RELRO", relro(image.relro)]);
        facts.row(["stack", stack(image)]);
        facts.row(["W^X", yes_no(image.write_xor_execute)]);
        facts.row(["relocations", &image.relocations.to_string()]);
    }
    facts.row(["sections", &count(image.sections)]);
    facts.row(["symbols", &count(image.symbols)]);
    facts.row(["dynamic symbols", &count(image.dynamic_symbols)]);
    facts.row(["stripped", yes_no(image.stripped)]);
    facts.row(["build id", image.build_id.as_deref().unwrap_or("none")]);

    let page = Page::new().heading(escape(image.path.as_os_str()));
    let page = page.table(facts).table(segments(image));
    image
        .remarks
        .iter()
        .fold(page, |page, remark| page.note(format!("note: {remark}")))
}

fn segments(image: &Image) -> Table {
    let mut table = Table::new([
        text("segment"),
        text("flags"),
        number("offset"),
        number("address"),
        number("in file"),
        number("in memory"),
        number("align"),
    ]);
    for segment in &image.segments {
        table.row([
            segment.kind.clone(),
            segment.flags.to_string(),
            format!("{:#x}", segment.offset),
            format!("{:#x}", segment.address),
            segment.file_bytes.to_string(),
            segment.memory_bytes.to_string(),
            format!("{:#x}", segment.align),
        ]);
    }
    table
}

fn rows(images: &[Image]) -> Table {
    let mut table = Table::new([
        text("file"),
        number("bytes"),
        text("machine"),
        text("linkage"),
        text("PIE"),
        text("RELRO"),
        text("stack"),
        text("W^X"),
        number("loads"),
        number("relocations"),
        text("needed"),
    ]);
    for image in images {
        table.row([
            escape(image.path.as_os_str()),
            image.bytes.to_string(),
            image.machine.clone(),
            linkage(image.linkage).into(),
            yes_no(image.pie).into(),
            relro(image.relro).into(),
            match image.stack {
                Stack::Nx => "NX",
                Stack::Executable => "executable",
                Stack::Unstated => "unstated",
            }
            .into(),
            yes_no(image.write_xor_execute).into(),
            image
                .segments
                .iter()
                .filter(|s| s.kind == "LOAD")
                .count()
                .to_string(),
            image.relocations.to_string(),
            list(&image.needed),
        ]);
    }
    table
}

fn machine(image: &Image) -> String {
    let endian = match image.endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    format!("{}, {}-bit, {endian}-endian", image.machine, image.bits)
}

fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Static => "static",
        Linkage::StaticPie => "static-pie",
        Linkage::Dynamic => "dynamic",
        Linkage::SharedObject => "shared object",
        Linkage::Object => "object file",
        Linkage::Core => "core dump",
        Linkage::Other => "none",
    }
}

fn relro(relro: Relro) -> &'static str {
    match relro {
        Relro::None => "none",
        Relro::Partial => "partial",
        Relro::Full => "full",
    }
}

fn stack(image: &Image) -> &'static str {
    match (image.stack, image.machine.as_str()) {
        (Stack::Nx, _) => "NX",
        (Stack::Executable, _) => "executable",
        (Stack::Unstated, "x86_64") => {
            "not stated (no PT_GNU_STACK): NX on Linux 5.8 and later, executable before"
        }
        (Stack::Unstated, "i386") => "not stated (no PT_GNU_STACK): executable on Linux",
        (Stack::Unstated, _) => "not stated (no PT_GNU_STACK): the kernel decides by the machine",
    }
}
