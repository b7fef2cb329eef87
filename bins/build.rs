//! Lays out the programs: the museum piece by its own script, all others alike.

use linker_scripts::{Layout, link_bin};

fn main() {
    let layout = Layout::of_profile();
    for program in ["true", "false", "hello", "exec", "stack"] {
        link_bin(program, layout);
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
