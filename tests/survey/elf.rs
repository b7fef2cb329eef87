//! Writes ELF files that ask for what a linker would not: for x86-64, with one segment and a
//! dynamic table. Layouts and numbers are those of elf(5).

/// A program with that interpreter, or a library; with these `DT_NEEDED` and that `DT_RPATH`.
pub fn file(interpreter: Option<&str>, needed: &[String], rpath: &str) -> Vec<u8> {
    const HEADER: usize = 64;
    const SEGMENT: usize = 56;
    let segments = 2 + usize::from(interpreter.is_some());
    let start = HEADER + segments * SEGMENT;
    let mut bytes = vec![0; start];

    // The interpreter's path, and the strings: the first is empty.
    let path = bytes.len();
    let path_bytes = interpreter.map_or(0, |path| path.len() + 1);
    if let Some(interpreter) = interpreter {
        bytes.extend(interpreter.as_bytes());
        bytes.push(0);
    }
    let strings = bytes.len();
    bytes.push(0);
    let mut string = |text: &str| {
        let at = (bytes.len() - strings) as u64;
        bytes.extend(text.as_bytes());
        bytes.push(0);
        at
    };
    // DT_NEEDED 1, DT_RPATH 15, DT_STRTAB 5, DT_STRSZ 10, DT_NULL 0.
    let mut table: Vec<[u64; 2]> = needed.iter().map(|name| [1, string(name)]).collect();
    table.push([15, string(rpath)]);
    table.push([5, strings as u64]);
    table.push([10, (bytes.len() - strings) as u64]);
    table.push([0, 0]);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let dynamic = bytes.len();
    bytes.extend(table.iter().flatten().flat_map(|word| word.to_le_bytes()));

    // ET_DYN 3, EM_X86_64 62.
    bytes[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    bytes[20] = 1;
    bytes[32] = HEADER as u8;
    bytes[52] = HEADER as u8;
    bytes[54] = SEGMENT as u8;
    bytes[56] = segments as u8;
    let whole = bytes.len();
    // PT_LOAD 1, PT_DYNAMIC 2, PT_INTERP 3; readable.
    let mut all = vec![(1, 0, whole), (2, dynamic, whole - dynamic)];
    all.extend(interpreter.map(|_| (3, path, path_bytes)));
    for (index, (kind, offset, length)) in all.into_iter().enumerate() {
        let at = HEADER + index * SEGMENT;
        bytes[at] = kind;
        bytes[at + 4] = 4;
        for (place, word) in [(8, offset), (16, offset), (32, length), (40, length)] {
            bytes[at + place..][..8].copy_from_slice(&(word as u64).to_le_bytes());
        }
    }
    bytes
}
