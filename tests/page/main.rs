//! The page of a report, in a browser: it asks for nothing, says nothing to the console, fits
//! telephones and desks, can be read in both colour schemes, without script, and on paper.
//!
//! Pictures of it are kept in target/page.

mod browser;
#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use barest::report::{Facts, Name, Report};
use barest::view::report::html;
use browser::Browser;
use common::{folder, program, target};
use serde_json::Value;

/// A quick report of all sections, made once for all tests.
fn report() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        program("true");
        let out = folder("page");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let made = Command::new(env!("CARGO_BIN_EXE_barest"))
            .args(["report", "--quick", "--out"])
            .arg(&out)
            .arg("--programs")
            .arg(target().join("bare"))
            .arg("--peers")
            .arg(root.join("tests/peers/peers.toml"))
            .arg("--build")
            .arg(target().join("peers"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
        assert_eq!(said, "");
        out
    })
}

fn page() -> PathBuf {
    report().join("index.html")
}

fn text(file: &str) -> String {
    fs::read_to_string(report().join(file)).unwrap()
}

fn facts() -> Report {
    let json: Value = serde_json::from_str(&text("report.json")).unwrap();
    assert_eq!(json["schema"], "barest.report/2");
    serde_json::from_value(json["facts"][0].clone()).unwrap()
}

const WIDTHS: [u32; 2] = [360, 1280];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// The page in each width and scheme.
fn in_each_look(mut look_at: impl FnMut(&mut Browser, u32, &str)) {
    let mut browser = Browser::new();
    for scheme in SCHEMES {
        for width in WIDTHS {
            browser.look(width, scheme);
            browser.open(&page());
            look_at(&mut browser, width, scheme);
        }
    }
}

#[test]
fn it_asks_for_nothing_and_says_nothing_to_the_console() {
    in_each_look(|browser, _, _| {
        let methods: Vec<&str> = browser
            .events
            .iter()
            .filter_map(|event| event["method"].as_str())
            .collect();
        let requests = methods
            .iter()
            .filter(|&&m| m == "Network.requestWillBeSent");
        assert_eq!(requests.count(), 1, "the page itself: {methods:?}");
        for said in [
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        ] {
            assert!(!methods.contains(&said), "{:?}", browser.events);
        }
    });
}

#[test]
fn it_never_scrolls_sideways_and_pictures_of_it_are_kept() {
    let pictures = target().join("page");
    fs::create_dir_all(&pictures).unwrap();
    in_each_look(|browser, width, scheme| {
        let scrolls = "document.documentElement.scrollWidth";
        assert_eq!(browser.evaluate(scrolls), width, "{scheme}");
        let picture = browser.picture();
        assert!(picture.starts_with(b"\x89PNG"));
        fs::write(pictures.join(format!("{scheme}-{width}.png")), picture).unwrap();
        let opened = browser.evaluate(
            "document.querySelectorAll('details').forEach(it => it.open = true); \
             document.querySelectorAll('details').length",
        );
        assert!(opened.as_u64().unwrap() >= 7, "{opened}");
        assert_eq!(browser.evaluate(scrolls), width, "{scheme}, all opened");
    });
}

/// Of every text that is shown: its ratio to what is behind it, by WCAG 2.1, "contrast ratio". What
/// is behind it is the first element under its middle that has a colour of its own.
const CONTRASTS: &str = r#"(() => {
    document.querySelectorAll('details').forEach(it => it.open = true);
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const colour = text => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => {
        const part = value => {
            value /= 255;
            return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const background = colour(getComputedStyle(at).backgroundColor);
            if (background[3] === 255) return background;
        }
        return colour('Canvas');
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, element = node.parentElement;
        if (!node.data.trim() || !element.checkVisibility() || element.closest('title, desc, style')) continue;
        const svg = element.closest('svg');
        const style = getComputedStyle(element);
        const ink = colour(svg ? style.fill : style.color);
        const paper = behind(element);
        const [one, other] = [luminance(ink), luminance(paper)];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        found.push({text: node.data.trim().slice(0, 60), ratio});
    }
    return found;
})()"#;

#[test]
fn every_text_can_be_read_in_both_schemes() {
    in_each_look(|browser, width, scheme| {
        let all = browser.evaluate(CONTRASTS);
        let all = all.as_array().unwrap();
        assert!(all.len() > 500, "{} texts", all.len());
        for one in all {
            let ratio = one["ratio"].as_f64().unwrap();
            assert!(ratio >= 4.5, "{scheme}, {width}: {one}");
        }
    });
}

#[test]
fn every_figure_says_in_words_what_it_shows() {
    let mut browser = Browser::new();
    browser.look(1280, "light");
    browser.open(&page());
    let said = browser.evaluate(
        "[...document.querySelectorAll('svg')].map(it => [it.getAttribute('role'), \
         it.getAttribute('aria-label'), it.querySelector('title').textContent, \
         it.querySelector('desc').textContent])",
    );
    let said = said.as_array().unwrap();
    // Each figure twice: for wide and for narrow pages.
    assert!(said.len() >= 2 * 12, "{} figures", said.len());
    for figure in said {
        let [role, label, title, description] = [0, 1, 2, 3].map(|at| figure[at].as_str().unwrap());
        assert_eq!(role, "img");
        assert_eq!(label, format!("{title}. {description}"));
        assert!(title.len() > 5 && description.len() > 20, "{figure}");
    }
    let twice = browser.evaluate(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map(it => it.id); \
         return ids.filter((id, at) => ids.indexOf(id) !== at); })()",
    );
    assert_eq!(twice, Value::Array(Vec::new()), "an id is one element's");
}

#[test]
fn it_needs_no_script_and_paper_has_all_of_it() {
    let page_text = text("index.html");
    assert!(!page_text.contains("<script"));
    let mut browser = Browser::new();
    browser.look(1280, "light");
    browser.open(&page());
    let hidden = "[...document.querySelectorAll('details table')] \
                  .filter(it => !it.checkVisibility()).length";
    let on_screen = browser.evaluate(hidden).as_u64().unwrap();
    assert!(on_screen > 0, "closed until they are asked for");
    browser.print();
    assert_eq!(browser.evaluate(hidden), 0, "on paper nobody can ask");
    assert!(browser.printed().starts_with(b"%PDF"));
}

#[test]
fn it_is_valid_html() {
    let checked = Command::new("tidy")
        .args(["-quiet", "-errors", "-utf8", "--show-info", "no"])
        .arg(page())
        .output()
        .expect("tidy: make deps installs it");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert_eq!((checked.status.code(), said.as_ref()), (Some(0), ""));
}

#[test]
fn what_it_shows_is_what_report_json_says() {
    let report = facts();
    let names: Vec<Name> = report.sections.iter().map(|section| section.name).collect();
    assert_eq!(names, Name::ALL);
    for section in &report.sections {
        assert!(section.facts().is_some(), "{:?}", section.found);
    }
    // All of the page comes from the facts, and from nothing else.
    assert_eq!(text("index.html"), html::render(&report, None));
    // And the numbers are those: of each program that was measured, its row has its bytes.
    let page = text("index.html");
    let Some(Facts::Programs(programs)) = report.sections[0].facts() else {
        panic!("{:?}", report.sections[0]);
    };
    let json: Value = serde_json::from_str(&text("report.json")).unwrap();
    let bytes = &json["facts"][0]["sections"][0]["found"]["measured"]["programs"]["tables"][0]["rows"]
        [0]["found"]["measured"]["bytes"];
    assert_eq!(bytes, 188);
    assert_eq!(programs.tables[0].program, "true");
    assert!(page.contains("<td class=\"number\">188</td>"));
}

#[test]
fn another_number_makes_another_page() {
    let before = text("index.html");
    let changed = text("report.json").replace("\"bytes\": 188,", "\"bytes\": 189,");
    let json: Value = serde_json::from_str(&changed).unwrap();
    let report: Report = serde_json::from_value(json["facts"][0].clone()).unwrap();
    let after = html::render(&report, None);
    assert_ne!(before, after);
    assert!(after.contains("<td class=\"number\">189</td>"));
}
