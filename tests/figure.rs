//! Charts: what a reader sees, and that every viewer can read the file.

mod common;

use std::collections::HashSet;
use std::fs;

use barest::figure::{
    Axis, Bars, Blocks, Boxes, Chart, Dots, Figure, Histogram, Lines, Mark, NARROW, Number, STYLE,
    Strip, WIDE,
};
use roxmltree::{Document, Node};

/// One of each chart, with data as they occur.
fn charts() -> Vec<(&'static str, Chart)> {
    let bars = Bars::new(Axis::log("bytes"))
        .categories(["ours", "static", "dynamic"])
        .bar("barest", 188_u64, 0)
        .bar("assembler", 4320_u64, 1)
        .bar("dietlibc, static", 13064_u64, 1)
        .bar("klibc, shared", 8632_u64, 2)
        .bar("musl, dynamic", 14016_u64, 2)
        .bar("glibc, static", 682_696_u64, 1)
        .bar("glibc, dynamic", 14392_u64, 2)
        .missing("Rust std, musl target", "not installed: rustup target add")
        .bar("Rust std, +crt-static", 1_117_440_u64, 1);
    let grouped = Bars::new(Axis::linear("programs"))
        .categories(["directly", "through others"])
        .bar("libc.so.6", 884_u64, 0)
        .bar("libc.so.6", 899_u64, 1)
        .bar("libcrypto.so.3", 10_u64, 0)
        .bar("libcrypto.so.3", 55_u64, 1)
        .bar(
            "a-name-that-is-much-too-long-for-its-column.so.1.2.3",
            0_u64,
            0,
        )
        .bar(
            "a-name-that-is-much-too-long-for-its-column.so.1.2.3",
            1_u64,
            1,
        );
    let dots = Dots::new(Axis::log("times as long as ours"))
        .reference(1.0, "as ours")
        .dot("assembler", 1.027, 1.016, 1.036)
        .dot("dietlibc, static", 1.157, 1.143, 1.167)
        .dot("musl, dynamic", 2.76, 2.73, 2.78)
        .dot("glibc, dynamic", 6.10, 6.04, 6.16)
        .dot("Rust std, dynamic", 8.82, 8.0, 9.5);
    let ranks =
        (1..=181_u32).map(|rank| (rank, (900.0 / f64::from(rank).powf(1.3)).max(1.0).floor()));
    let ranks = Lines::new(
        Axis::log("libraries, by how many programs need them"),
        Axis::log("programs that need it"),
    )
    .series("", Mark::Points, ranks)
    .label((1_u32, 900_u32), "libc.so.6")
    .label((2_u32, 365_u32), "libm.so.6");
    let memory = |base: f64, slope: f64| {
        (0..=8).map(move |step| {
            let gib = f64::from(step) * 0.5;
            (gib, base + slope * gib)
        })
    };
    let lines = Lines::new(
        Axis::linear("resident memory of the parent, GiB"),
        Axis::log("time to spawn, µs"),
    )
    .series("fork", Mark::Both, memory(110.0, 14000.0))
    .series("vfork", Mark::Both, memory(52.0, 0.0))
    .series("clone(VM, VFORK)", Mark::Both, memory(55.0, 1.0))
    .series("posix_spawn", Mark::Both, memory(72.0, 2.0));
    let spread = |from: f64, n: u32| {
        (0..n).map(move |i| {
            let part = f64::from(i) / f64::from(n);
            from * (1.0 + 0.08 * part + 0.9 * part.powi(12))
        })
    };
    let histogram = Histogram::new(Axis::linear("start, µs").without_zero(), "starts")
        .values("alone", spread(80.0, 1000))
        .values("in turn", spread(84.0, 1000));
    let shares = |n: u32| (0..n).map(move |i| 0.01 + 0.9 * (f64::from(i) / f64::from(n)).powi(9));
    let boxes = Boxes::new(Axis::linear("symbols used").percent())
        .values("all libraries", shares(900))
        .values("libc.so.6", shares(500).map(|share| share * 0.3))
        .values("libcrypto.so.3", shares(12));
    let call = |index: usize| {
        (
            match index {
                0 => 0,
                1..24 => 1,
                24..28 => 2,
                28..40 => 3,
                _ => 4,
            },
            if index == 0 { "execve" } else { "mmap" },
        )
    };
    let strip = Strip::new(["kernel", "loader", "libc", "runtime", "program"])
        .row("barest", [(0, "execve"), (4, "exit")])
        .row("musl, static", (0..4).map(|i| call(i * 9)))
        .row("glibc, dynamic", (0..30).map(call))
        .row("Rust std, dynamic", (0..63).map(call));
    let blocks = Blocks::new(["program", "loader", "stack"])
        .memory("glibc, dynamic")
        .block(0x5555_5555_4000, 4096, 0, "program: read only")
        .block(0x5555_5555_5000, 4096, 0, "program: code")
        .block(0x7fff_f7fc_5000, 172_032, 1, "loader: code")
        .block(0x7fff_fffd_e000, 135_168, 2, "stack")
        .memory("barest")
        .block(0x40_0000, 188, 0, "program: code");
    vec![
        ("bars", bars.into()),
        ("grouped", grouped.into()),
        ("dots", dots.into()),
        ("ranks", ranks.into()),
        ("lines", lines.into()),
        ("histogram", histogram.into()),
        ("boxes", boxes.into()),
        ("strip", strip.into()),
        ("blocks", blocks.into()),
    ]
}

const TITLE: &str = "How <large> \"true\" is";
const SENTENCE: &str = "barest's is 188 bytes & the largest of the others 1117440, which are a few more words \
                        than fit on a line.";

fn figure(chart: Chart) -> Figure {
    Figure::new(TITLE, SENTENCE, chart)
}

/// The figure in both its forms, and inline in two widths.
fn renderings(figure: &Figure) -> [(u32, String); 3] {
    [
        (WIDE, figure.document()),
        (WIDE, figure.inline("wide", WIDE)),
        (NARROW, figure.inline("narrow", NARROW)),
    ]
}

fn read(svg: &str) -> Document<'_> {
    Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"))
}

fn named<'a>(svg: &'a Document, element: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    svg.descendants()
        .filter(move |node| node.tag_name().name() == element)
}

fn class<'a>(node: &Node<'a, 'a>) -> &'a str {
    node.attribute("class").unwrap_or_default()
}

fn attribute(node: &Node, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

/// All that is written in a figure, without what is told on hover.
fn texts(svg: &Document) -> Vec<String> {
    let texts = named(svg, "text").map(|text| text.text().unwrap_or_default().to_owned());
    texts.collect()
}

/// The rectangles that stand for values: those that say what they are.
fn bars<'a>(svg: &'a Document) -> Vec<Node<'a, 'a>> {
    let rects = named(svg, "rect");
    let bars = rects.filter(|rect| class(rect).starts_with("bar ") && rect.has_children());
    bars.collect()
}

#[test]
fn every_chart_is_well_formed_and_has_its_title_and_sentence_for_those_who_do_not_see_it() {
    let folder = common::folder("figures");
    for (name, chart) in charts() {
        let figure = figure(chart);
        fs::write(folder.join(format!("{name}.svg")), figure.document()).unwrap();
        for (width, text) in renderings(&figure) {
            let svg = read(&text);
            let root = svg.root_element();
            assert_eq!(root.tag_name().name(), "svg");
            assert_eq!(root.attribute("role"), Some("img"));
            let label = format!("{TITLE}. {SENTENCE}");
            assert_eq!(root.attribute("aria-label"), Some(label.as_str()));
            let said = ["title", "desc"].map(|element| {
                let mut with = root
                    .children()
                    .filter(|node| node.tag_name().name() == element);
                with.next().unwrap().text().unwrap()
            });
            assert_eq!(said, [TITLE, SENTENCE], "{name}");
            let view: Vec<f64> = root
                .attribute("viewBox")
                .unwrap()
                .split(' ')
                .map(|number| number.parse().unwrap())
                .collect();
            assert_eq!(view[..3], [0.0, 0.0, f64::from(width)], "{name}");
        }
    }
}

#[test]
fn a_document_shows_title_and_sentence_and_an_inline_figure_leaves_them_to_its_page() {
    for (name, chart) in charts() {
        let figure = figure(chart);
        let alone = figure.document();
        let shown = texts(&read(&alone)).join(" ");
        assert!(
            shown.starts_with(&format!("{TITLE} {SENTENCE}")),
            "{name}: {shown}"
        );
        let inline = figure.inline("one", WIDE);
        assert!(!texts(&read(&inline)).join(" ").contains("large"), "{name}");
        assert!(!inline.contains("<style"), "{name}");
    }
}

#[test]
fn ids_are_the_figures_own_and_every_pattern_that_is_used_is_there() {
    for (name, chart) in charts() {
        let text = figure(chart).inline("part 1", WIDE);
        let svg = read(&text);
        let ids: Vec<_> = svg
            .descendants()
            .filter_map(|node| node.attribute("id"))
            .collect();
        let unique: HashSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{name}: {ids:?}");
        assert!(
            ids.iter().all(|id| id.starts_with("part-1")),
            "{name}: {ids:?}"
        );
        for fill in svg.descendants().filter_map(|node| node.attribute("fill")) {
            if let Some(id) = fill
                .strip_prefix("url(#")
                .and_then(|rest| rest.strip_suffix(")"))
            {
                assert!(ids.contains(&id), "{name}: {id}");
            }
        }
    }
}

#[test]
fn nothing_is_drawn_outside_and_no_text_of_an_axis_touches_another() {
    for (name, chart) in charts() {
        for (width, text) in renderings(&figure(chart.clone())) {
            let svg = read(&text);
            let height = attribute(&svg.root_element(), "height");
            let mut before: Vec<(f64, f64, f64)> = Vec::new();
            for node in named(&svg, "text") {
                let text = node.text().unwrap_or_default();
                let wide = text.chars().count() as f64 * 6.5;
                let (x, y) = (attribute(&node, "x"), attribute(&node, "y"));
                let left = match node.attribute("text-anchor").unwrap() {
                    "start" => x,
                    "middle" => x - wide / 2.0,
                    _ => x - wide,
                };
                assert!(
                    left >= 0.0 && left + wide <= width.into(),
                    "{name}, {width}: {text}"
                );
                assert!(y > 0.0 && y < height, "{name}, {width}: {text}");
                let clear = before.iter().all(|(line, from, to)| {
                    (line - y).abs() > 9.0 || *to <= left || left + wide <= *from
                });
                assert!(clear, "{name}, {width}: {text} touches another");
                before.push((y, left, left + wide));
            }
            for node in named(&svg, "rect").filter(|rect| class(rect).contains("bar")) {
                let (x, y) = (attribute(&node, "x"), attribute(&node, "y"));
                assert!(
                    x >= 0.0 && x + attribute(&node, "width") <= width.into(),
                    "{name}"
                );
                assert!(
                    y >= 0.0 && y + attribute(&node, "height") <= height,
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn a_linear_bar_is_as_long_as_its_value() {
    let chart = Bars::new(Axis::linear("files"))
        .bar("a", 1_u64, 0)
        .bar("b", 4_u64, 0)
        .bar("c", 0_u64, 0);
    let text = figure(chart.into()).inline("f", WIDE);
    let svg = read(&text);
    let widths: Vec<f64> = bars(&svg)
        .iter()
        .map(|bar| attribute(bar, "width"))
        .collect();
    assert!((widths[1] - 4.0 * widths[0]).abs() < 0.05, "{widths:?}");
    assert_eq!(widths[2], 0.0);
    // The axis ends at 4: from the label's end to where the value's text begins.
    let (x, wide) = (attribute(&bars(&svg)[1], "x"), widths[1]);
    let after = named(&svg, "text")
        .find(|node| node.text() == Some("4"))
        .unwrap();
    assert_eq!(attribute(&after, "x"), x + wide + 6.0);
}

#[test]
fn on_a_log_axis_equal_ratios_are_equally_far_apart() {
    let chart = Bars::new(Axis::log("bytes"))
        .bar("a", 20_u64, 0)
        .bar("b", 200_u64, 0)
        .bar("c", 20_000_u64, 0);
    let text = figure(chart.into()).inline("f", WIDE);
    let svg = read(&text);
    let widths: Vec<f64> = bars(&svg)
        .iter()
        .map(|bar| attribute(bar, "width"))
        .collect();
    let decade = widths[1] - widths[0];
    assert!(decade > 50.0, "{widths:?}");
    assert!(
        (widths[2] - widths[1] - 2.0 * decade).abs() < 0.05,
        "{widths:?}"
    );
    // The least value has a bar too.
    assert!(widths[0] > 10.0, "{widths:?}");
}

#[test]
fn zero_on_a_log_axis_is_at_the_edge_and_said() {
    let chart = |value: u64| {
        Bars::new(Axis::log("bytes"))
            .bar("a", value, 0)
            .bar("b", 10_u64, 0)
    };
    let text = figure(chart(0).into()).inline("f", WIDE);
    let svg = read(&text);
    assert_eq!(attribute(&bars(&svg)[0], "width"), 0.0);
    let said = "Zero and less have no place on the log axis “bytes”: drawn at its edge.";
    assert!(texts(&svg).contains(&said.to_owned()), "{:?}", texts(&svg));
    assert!(texts(&svg).contains(&"0".to_owned()));
    let text = figure(chart(1).into()).inline("f", WIDE);
    assert!(!texts(&read(&text)).contains(&said.to_owned()));
}

#[test]
fn a_row_without_a_value_says_why() {
    let chart = Bars::new(Axis::linear("µs"))
        .bar("ours", 81.5, 0)
        .missing("klibc", "not installed");
    let text = figure(chart.into()).inline("f", WIDE);
    let svg = read(&text);
    assert_eq!(bars(&svg).len(), 1);
    assert!(texts(&svg).contains(&"not installed".to_owned()));
}

#[test]
fn any_text_is_shown_as_it_is() {
    let name = "<script>alert('1')</script> & \"x\" \u{e9}\u{4e16}";
    let chart = Bars::new(Axis::linear(name))
        .categories([name, name])
        .bar(name, 1_u64, 1);
    let text = Figure::new(name, name, chart).document();
    let svg = read(&text);
    assert_eq!(named(&svg, "script").count(), 0);
    let titles: Vec<_> = named(&svg, "title")
        .filter_map(|node| node.text())
        .collect();
    assert!(titles.contains(&name), "{titles:?}");
    // What XML cannot hold is replaced.
    let text = Figure::new("a\0b\u{1b}\u{ffff}", "", Bars::new(Axis::linear(""))).document();
    assert_eq!(
        named(&read(&text), "title").next().unwrap().text(),
        Some("a\u{fffd}b\u{fffd}\u{fffd}")
    );
}

/// Values that have been the end of other charts.
fn hostile() -> Vec<f64> {
    vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
        0.0,
        -0.0,
        -1.0,
        1.0,
        1.0 + f64::EPSILON,
        u64::MAX.number(),
        1e200,
        -1e200,
        1e-200,
        1e16,
        1e16 + 2.0,
    ]
}

fn every_kind(axis: &Axis, values: &[f64]) -> Vec<Chart> {
    let each = || values.iter().copied();
    let mut bars = Bars::new(axis.clone()).categories(["a", "b"]);
    let mut dots = Dots::new(axis.clone()).reference(values[0], "here");
    let mut boxes = Boxes::new(axis.clone()).values("all", each());
    for (index, value) in each().enumerate() {
        bars = bars.bar(format!("{index}"), value, index);
        dots = dots.dot(format!("{index}"), value, values[0], value);
        boxes = boxes.values("one", [value]);
    }
    let pairs = || each().zip(each().rev());
    vec![
        bars.into(),
        dots.into(),
        boxes.into(),
        Lines::new(axis.clone(), axis.clone())
            .series("line", Mark::Line, pairs())
            .series("points", Mark::Points, pairs())
            .series("both", Mark::Both, pairs())
            .label((values[0], values[0]), "here")
            .into(),
        Histogram::new(axis.clone(), "files")
            .values("", each())
            .values("more", each())
            .into(),
    ]
}

#[test]
fn no_value_makes_a_figure_panic_or_has_a_coordinate_that_is_no_number() {
    let axes = [
        Axis::linear("x"),
        Axis::linear("x").without_zero(),
        Axis::linear("x").percent(),
        Axis::log("x"),
        Axis::log("x").percent(),
    ];
    let alone = hostile().into_iter().map(|value| vec![value]);
    let pairs = (0..hostile().len()).flat_map(|one| {
        let others = hostile().into_iter().skip(one + 1);
        others.map(move |other| vec![hostile()[one], other])
    });
    let sets: Vec<Vec<f64>> = alone.chain(pairs).chain([hostile()]).collect();
    for axis in &axes {
        for values in &sets {
            for chart in every_kind(axis, values) {
                let text = figure(chart).inline("f", NARROW);
                let svg = read(&text);
                for node in svg.descendants() {
                    for name in ["x", "y", "d", "width", "height", "cx", "cy"] {
                        let value = node.attribute(name).unwrap_or_default();
                        assert!(
                            !value.contains("NaN") && !value.contains("inf"),
                            "{values:?}: {text}"
                        );
                    }
                }
                assert!(text.len() < 100_000, "{values:?}: {} bytes", text.len());
            }
        }
    }
}

#[test]
fn what_is_no_number_is_left_out_and_said() {
    for chart in every_kind(&Axis::linear("x"), &[f64::NAN, 1.0]) {
        let text = figure(chart).inline("f", WIDE);
        let said = "What is no number that can be drawn is left out.";
        assert!(texts(&read(&text)).contains(&said.to_owned()), "{text}");
    }
    for chart in every_kind(&Axis::linear("x"), &[2.0, 1.0]) {
        assert!(!figure(chart).inline("f", WIDE).contains("left out"));
    }
}

#[test]
fn without_data_a_figure_says_so() {
    let empty: [Chart; 7] = [
        Bars::new(Axis::linear("x")).into(),
        Dots::new(Axis::linear("x")).into(),
        Boxes::new(Axis::linear("x")).values("all", [0.0; 0]).into(),
        Lines::new(Axis::linear("x"), Axis::log("y"))
            .series("s", Mark::Line, [(0.0, 0.0); 0])
            .into(),
        Histogram::new(Axis::linear("x"), "files").into(),
        Strip::new(["a"]).into(),
        Blocks::new(["a"]).memory("b").into(),
    ];
    for chart in empty {
        let text = figure(chart).inline("f", WIDE);
        assert_eq!(texts(&read(&text)), ["There is nothing to show."]);
    }
}

#[test]
fn the_same_figure_is_the_same_text() {
    for ((name, one), (_, other)) in charts().into_iter().zip(charts()) {
        assert_eq!(figure(one).document(), figure(other).document(), "{name}");
    }
}

#[test]
fn each_category_has_a_fill_of_its_own_without_its_colour_and_is_in_the_legend() {
    let names = ["kernel", "loader", "libc", "runtime", "program", "other"];
    let cells = (0..names.len()).map(|category| (category, "call"));
    let text = figure(Strip::new(names).row("one", cells).into()).inline("f", WIDE);
    let svg = read(&text);
    let shown = texts(&svg);
    assert!(
        names.iter().all(|name| shown.contains(&(*name).to_owned())),
        "{shown:?}"
    );
    let patterns: HashSet<String> = named(&svg, "pattern")
        .map(|pattern| {
            let lines = pattern
                .children()
                .find(|node| node.tag_name().name() == "path");
            lines.unwrap().attribute("d").unwrap().to_owned()
        })
        .collect();
    // The first is plain.
    assert_eq!(patterns.len(), names.len() - 1);
    let fills: HashSet<_> = bars(&svg)
        .iter()
        .map(|bar| bar.attribute("fill").unwrap())
        .collect();
    assert_eq!(fills.len(), names.len());
}

#[test]
fn each_series_of_lines_has_dashes_and_a_mark_of_its_own() {
    let lines = (0..5_u32).fold(
        Lines::new(Axis::linear("x"), Axis::linear("y")),
        |lines, n| lines.series(format!("s{n}"), Mark::Both, [(0_u32, n), (1_u32, n + 1)]),
    );
    let text = figure(lines.into()).inline("f", WIDE);
    let svg = read(&text);
    let dashes: HashSet<_> = named(&svg, "path")
        .filter_map(|path| path.attribute("stroke-dasharray"))
        .collect();
    assert_eq!(dashes.len(), 5);
    let shapes: HashSet<_> = named(&svg, "path")
        .filter(|path| class(path).starts_with("dot") || class(path).starts_with("cloud"))
        .map(|path| {
            let shape = path.attribute("d").unwrap().split_once(' ').unwrap().1;
            let shape = shape.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            shape.split('M').next().unwrap().to_owned()
        })
        .collect();
    assert_eq!(shapes.len(), 5, "{shapes:?}");
}

#[test]
fn a_strip_tells_each_cell_in_order() {
    let strip =
        Strip::new(["kernel", "loader"]).row("glibc", [(0, "execve"), (1, "brk"), (1, "mmap")]);
    let text = figure(strip.into()).inline("f", WIDE);
    let svg = read(&text);
    let said: Vec<_> = bars(&svg)
        .iter()
        .filter_map(|bar| bar.first_element_child()?.text())
        .collect();
    assert_eq!(
        said,
        ["1. execve (kernel)", "2. brk (loader)", "3. mmap (loader)"]
    );
}

#[test]
fn blocks_stand_in_the_order_of_their_addresses_and_say_what_is_between() {
    let blocks = Blocks::new(["file", "stack"])
        .block(0x3000, 4096, 1, "stack")
        .block(0x1000, 4096, 0, "code")
        .block(0x2000, 100, 0, "data");
    let text = figure(blocks.into()).inline("f", WIDE);
    let svg = read(&text);
    let boxes = bars(&svg);
    let said: Vec<_> = boxes
        .iter()
        .filter_map(|bar| bar.first_element_child()?.text())
        .collect();
    assert_eq!(
        said,
        [
            "0x1000 to 0x2000, 4096 bytes: code (file)",
            "0x2000 to 0x2064, 100 bytes: data (file)",
            "0x3000 to 0x4000, 4096 bytes: stack (stack)",
        ]
    );
    let place = |at: usize| (attribute(&boxes[at], "y"), attribute(&boxes[at], "height"));
    let [(first, high), (second, ..), (third, ..)] = [0, 1, 2].map(place);
    assert_eq!(first + high + 2.0, second);
    assert!(second + high + 2.0 < third);
    let shown = texts(&svg);
    assert!(shown.contains(&"nothing: 3.90 KiB".to_owned()), "{shown:?}");
    let gaps = shown.iter().filter(|text| text.starts_with("nothing"));
    assert_eq!(gaps.count(), 1);
}

#[test]
fn blocks_that_overlap_are_empty_or_end_behind_all_memory_are_drawn() {
    let ends = [0, 1, 4096, 1 << 47, u64::MAX - 1, u64::MAX];
    let all = ends
        .iter()
        .flat_map(|start| ends.iter().map(move |bytes| (*start, *bytes)));
    let blocks = all.fold(Blocks::new(["a"]), |blocks, (start, bytes)| {
        blocks.block(start, bytes, usize::from(start > bytes), "x".repeat(200))
    });
    let text = figure(blocks.into()).inline("f", NARROW);
    let svg = read(&text);
    assert_eq!(bars(&svg).len(), ends.len() * ends.len());
    for block in bars(&svg) {
        assert!(
            (30.0..=70.0).contains(&attribute(&block, "height")),
            "{text}"
        );
    }
}

/// The contrast of two colours, as WCAG 2.2 defines it.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The variables that a part of the style sets.
fn variables(style: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = style.split_whitespace().collect();
    words
        .windows(2)
        .filter_map(|pair| {
            let name = pair[0].strip_prefix("--figure-")?.strip_suffix(':')?;
            Some((name, pair[1].trim_end_matches(';')))
        })
        .collect()
}

#[test]
fn text_and_marks_stand_out_from_the_background_in_both_schemes() {
    let (light, rest) = STYLE
        .split_once("@media (prefers-color-scheme: dark)")
        .unwrap();
    let dark = rest.split_once("} }").unwrap().0;
    for scheme in [light, dark] {
        let colours = variables(scheme);
        assert_eq!(colours.len(), 13, "{colours:?}");
        let paper = colours.iter().find(|(name, _)| *name == "paper").unwrap().1;
        for (name, colour) in &colours {
            let least = match *name {
                "ink" | "soft" => 4.5,
                "line" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" => 3.0,
                _ => continue,
            };
            assert!(
                contrast(colour, paper) >= least,
                "{name}: {}",
                contrast(colour, paper)
            );
        }
    }
}

#[test]
fn viewers_without_variables_get_the_light_colours() {
    let light = STYLE.split_once("@media").unwrap().0;
    for (name, colour) in variables(light) {
        let used = format!("var(--figure-{name})");
        for line in STYLE.lines().filter(|line| line.contains(&used)) {
            let before = line.split_once(&used).unwrap().0;
            assert!(before.contains(&format!(": {colour}; ")), "{name}: {line}");
        }
        assert!(STYLE.contains(&used), "{name}");
    }
}
