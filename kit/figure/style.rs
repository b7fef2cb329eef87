//! Colours, patterns and letters.

use super::svg::Svg;

/// How many categories have a colour of their own; further ones begin anew with another pattern.
pub(super) const COLOURS: usize = 8;

/// How many patterns there are, the plain one among them.
pub(super) const PATTERNS: usize = 7;

/// The CSS that figures are drawn by: once in the head of a page that has inline figures.
///
/// Colours are variables, which a page may set anew for `svg.figure`: `--figure-ink` (text),
/// `--figure-soft` (lesser text, at least 4.5:1 on the background as well), `--figure-line`
/// (axes), `--figure-grid`, `--figure-paper` (background) and `--figure-0` to `--figure-7` (the
/// categories, at least 3:1). Viewers that know no variables take the light colours.
pub const STYLE: &str = "\
svg.figure { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; \
font-size: 13px; max-width: 100%; height: auto;
  --figure-ink: #1b1f24; --figure-soft: #57606a; --figure-line: #8c959f; --figure-grid: #dde1e6; --figure-paper: #ffffff;
  --figure-0: #0a6cbd; --figure-1: #c2570c; --figure-2: #2e7d32; --figure-3: #8250df;
  --figure-4: #bf3989; --figure-5: #6e7781; --figure-6: #8a6a00; --figure-7: #0e7c86; }
@media (prefers-color-scheme: dark) { svg.figure {
  --figure-ink: #e6edf3; --figure-soft: #9ea7b3; --figure-line: #6e7681; --figure-grid: #2d333b; --figure-paper: #14181d;
  --figure-0: #58a6ff; --figure-1: #f0883e; --figure-2: #56d364; --figure-3: #bc8cff;
  --figure-4: #f778ba; --figure-5: #9ea7b3; --figure-6: #d9b02f; --figure-7: #39c5cf; } }
svg.figure text { fill: #1b1f24; fill: var(--figure-ink); }
svg.figure .soft { fill: #57606a; fill: var(--figure-soft); font-size: 12px; }
svg.figure .title { font-size: 17px; font-weight: 600; }
svg.figure .paper { fill: #ffffff; fill: var(--figure-paper); }
svg.figure .axis { stroke: #8c959f; stroke: var(--figure-line); fill: none; }
svg.figure .grid { stroke: #dde1e6; stroke: var(--figure-grid); fill: none; }
svg.figure .reference { stroke: #57606a; stroke: var(--figure-soft); stroke-dasharray: 4 3; fill: none; }
svg.figure .c0 { color: #0a6cbd; color: var(--figure-0); }
svg.figure .c1 { color: #c2570c; color: var(--figure-1); }
svg.figure .c2 { color: #2e7d32; color: var(--figure-2); }
svg.figure .c3 { color: #8250df; color: var(--figure-3); }
svg.figure .c4 { color: #bf3989; color: var(--figure-4); }
svg.figure .c5 { color: #6e7781; color: var(--figure-5); }
svg.figure .c6 { color: #8a6a00; color: var(--figure-6); }
svg.figure .c7 { color: #0e7c86; color: var(--figure-7); }
svg.figure .bar { stroke: currentColor; }
svg.figure .curve { stroke: currentColor; stroke-width: 2; fill: none; stroke-linejoin: round; }
svg.figure .stroke { stroke: currentColor; stroke-width: 2; fill: none; }
svg.figure .cloud { stroke: currentColor; stroke-width: 5; stroke-linecap: round; fill: none; }
svg.figure .dot { fill: currentColor; }
svg.figure .hatch { stroke: #ffffff; stroke: var(--figure-paper); stroke-width: 1.3; stroke-opacity: 0.75; fill: none; }
svg.figure .beside { stroke: #ffffff; stroke: var(--figure-paper); stroke-width: 3; paint-order: stroke; }
svg.figure .box { stroke: currentColor; fill: currentColor; fill-opacity: 0.22; }
svg.figure .ring { stroke: currentColor; fill: none; }
svg.figure .median { stroke: currentColor; stroke-width: 3; }
";

/// The class of a category's colour.
pub(super) fn colour(category: usize) -> String {
    format!("c{}", category % COLOURS)
}

/// What a mark of a category is filled with: its colour for the first, a pattern for the others.
pub(super) fn fill(id: &str, category: usize) -> String {
    match category % PATTERNS {
        0 => "currentColor".to_owned(),
        _ => format!("url(#{id}-{category})"),
    }
}

/// Defines the patterns of these categories: its colour with lines or dots of the background's.
pub(super) fn define(svg: &mut Svg, id: &str, categories: usize) {
    let patterned: Vec<usize> = (0..categories).filter(|n| n % PATTERNS != 0).collect();
    if patterned.is_empty() {
        return;
    }
    svg.open("defs", &[]);
    for category in patterned {
        svg.open(
            "pattern",
            &[
                ("id", &format!("{id}-{category}")),
                ("class", &colour(category)),
                ("width", "6"),
                ("height", "6"),
                ("patternUnits", "userSpaceOnUse"),
            ],
        );
        svg.mark(
            "rect",
            &[("class", "dot"), ("width", "6"), ("height", "6")],
            "",
        );
        let lines = match category % PATTERNS {
            1 => "M-1 1L1 -1M0 6L6 0M5 7L7 5",
            2 => "M-1 5L1 7M0 0L6 6M5 -1L7 1",
            3 => "M0 3L6 3",
            4 => "M3 0L3 6",
            5 => "M2 3L4 3",
            _ => "M0 3L6 3M3 0L3 6",
        };
        svg.mark("path", &[("class", "hatch"), ("d", lines)], "");
        svg.close("pattern");
    }
    svg.close("defs");
}
