//! Lays out the programs: the museum piece by its own script, all others alike.

use std::env;

use linker_scripts::{ASIDE, Layout, link_bin, link_bin_at};

fn main() {
    let layout = Layout::of_profile();
    for program in ["true", "false", "hello", "exec", "stack"] {
        link_bin(program, layout);
    }
    // It starts others in place (`--direct`), and they are usually at the usual address.
    link_bin_at("launch", layout, ASIDE);
    println!("cargo::rustc-check-cfg=cfg(arguments)");
    if env::var_os("CARGO_FEATURE_ENGINES").is_some() {
        link_bin("engine-exec", layout);
        link_bin("engine-few", layout);
        link_bin_at("engine-all", layout, ASIDE);
    }
    link_bin(
        "golf",
        if layout == Layout::Bare {
            Layout::Golf
        } else {
            layout
        },
    );
}
