//! How one thing grows with another.

use super::canvas::{APART, Canvas, SMALL};
use super::svg::{Anchor, Svg, number};
use super::{Axis, Number, style, words};

/// Points over two axes, joined by lines or not.
#[derive(Clone, Debug)]
pub struct Lines {
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    labels: Vec<(f64, f64, String)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through its points, in their order.
    Line,
    /// A mark at each point.
    Points,
    /// Both.
    Both,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    mark: Mark,
    points: Vec<(f64, f64)>,
}

/// The height of the field of points, as a part of its width, and its bounds.
const HEIGHT: f64 = 0.5;

/// With more points, marks are plain round dots: shapes could not be told apart.
const MANY: usize = 200;

impl Lines {
    /// No points yet, over these axes.
    pub fn new(x: Axis, y: Axis) -> Self {
        Lines {
            x,
            y,
            series: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Adds points that belong together. With two or more series there is a legend.
    pub fn series<X: Number, Y: Number>(
        mut self,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = (X, Y)>,
    ) -> Self {
        let points = points.into_iter();
        self.series.push(Series {
            name: name.into(),
            mark,
            points: points.map(|(x, y)| (x.number(), y.number())).collect(),
        });
        self
    }

    /// Writes a name beside a point, if there is space for it that no mark and no earlier name has
    /// taken.
    pub fn label(mut self, (x, y): (impl Number, impl Number), text: impl Into<String>) -> Self {
        self.labels.push((x.number(), y.number(), text.into()));
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        if points().next().is_none() {
            return canvas.nothing();
        }
        if self.series.len() > 1 {
            let names: Vec<String> = self.series.iter().map(|one| one.name.clone()).collect();
            canvas.legend(&names, |svg, index, x, y| {
                let ends = [(x, y + 6.0), (x + 18.0, y + 6.0)];
                let Some(series) = self.series.get(index) else {
                    return;
                };
                if series.mark != Mark::Points {
                    curve(svg, index, &ends);
                }
                if series.mark != Mark::Line {
                    marks(svg, index, &[(x + 9.0, y + 6.0)]);
                }
            });
        }
        let (left, right) = canvas.inside();
        let name = words::shorten(&self.y.name, SMALL, right - left);
        canvas.y += SMALL;
        canvas
            .svg
            .label((left, canvas.y), Anchor::Start, "soft", &name, &self.y.name);
        canvas.y += 14.0;
        let top = canvas.y;
        let bottom = top + ((right - left) * HEIGHT).clamp(180.0, 400.0).round();
        let ys = points().map(|(_, y)| *y);
        let up = self.y.lay_out(ys, (bottom, top), 28.0, false);
        let widest = up.ticks.iter().map(|tick| words::width(&tick.text, SMALL));
        let from = left + widest.fold(0.0, f64::max).ceil() + 8.0;
        let xs = points().map(|(x, _)| *x);
        let across = self.x.lay_out(xs, (from, right), APART, false);
        canvas.grid(&across, top, bottom);
        for tick in &up.ticks {
            if let Some(y) = up.place(tick.value).position() {
                canvas.svg.line("grid", (from, y), (right, y));
                canvas.svg.label(
                    (from - 6.0, y + SMALL * 0.36),
                    Anchor::End,
                    "soft",
                    &tick.text,
                    "",
                );
            }
        }
        canvas.svg.line("axis", (from, top), (from, bottom));
        let mut taken = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let placed: Vec<Option<(f64, f64)>> = series
                .points
                .iter()
                .map(|(x, y)| {
                    let x = canvas.place(&self.x, &across, *x);
                    let y = canvas.place(&self.y, &up, *y);
                    x.zip(y)
                })
                .collect();
            if series.mark != Mark::Points {
                // A point that cannot be drawn breaks the line.
                for part in placed.split(Option::is_none) {
                    let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
                    match part[..] {
                        [] => {}
                        [alone] => marks(&mut canvas.svg, index, &[alone]),
                        _ => curve(&mut canvas.svg, index, &part),
                    }
                }
            }
            if series.mark != Mark::Line {
                let placed: Vec<(f64, f64)> = placed.into_iter().flatten().collect();
                marks(&mut canvas.svg, index, &placed);
                taken.extend(
                    placed
                        .iter()
                        .map(|(x, y)| [x - 2.0, y - 2.0, x + 2.0, y + 2.0]),
                );
            }
        }
        for (x, y, text) in &self.labels {
            let point = across.place(*x).position().zip(up.place(*y).position());
            if let Some(point) = point
                && let Some((label, anchor)) = beside(point, text, (from, right), top, &mut taken)
            {
                canvas.svg.label(label, anchor, "soft beside", text, "");
            }
        }
        canvas.y = bottom;
        canvas.axis_below(&self.x, &across, (from, right));
    }
}

/// Where a text beside a point stands so that it is inside the field and on no other text or mark;
/// None where there is no space for it.
fn beside(
    (x, y): (f64, f64),
    text: &str,
    (from, right): (f64, f64),
    top: f64,
    taken: &mut Vec<[f64; 4]>,
) -> Option<((f64, f64), Anchor)> {
    let wide = words::width(text, SMALL);
    for (dx, dy, anchor) in [
        (8.0, -5.0, Anchor::Start),
        (8.0, 4.0, Anchor::Start),
        (8.0, 15.0, Anchor::Start),
        (-8.0, 15.0, Anchor::End),
        (-8.0, -5.0, Anchor::End),
    ] {
        let (x, y) = (x + dx, y + dy);
        let left = if anchor == Anchor::Start { x } else { x - wide };
        let place = [left, y - SMALL, left + wide, y + 3.0];
        let free = |other: &[f64; 4]| {
            place[2] < other[0] || other[2] < place[0] || place[3] < other[1] || other[3] < place[1]
        };
        let inside = left >= from && left + wide <= right && y - SMALL >= top;
        if inside && taken.iter().all(free) {
            taken.push(place);
            return Some(((x, y), anchor));
        }
    }
    None
}

/// A line through points. Each series has dashes of its own.
fn curve(svg: &mut Svg, series: usize, points: &[(f64, f64)]) {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let to = if index == 0 { 'M' } else { 'L' };
        path += &format!("{to}{} {}", number(*x), number(*y));
    }
    let dashes = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"];
    svg.mark(
        "path",
        &[
            ("class", &format!("curve {}", style::colour(series))),
            ("stroke-dasharray", dashes[series % dashes.len()]),
            ("d", &path),
        ],
        "",
    );
}

/// A mark at each point; one where several are at the same place. Each series has a shape of
/// its own.
fn marks(svg: &mut Svg, series: usize, points: &[(f64, f64)]) {
    let mut places: Vec<(String, String)> = points
        .iter()
        .map(|(x, y)| (number(*x), number(*y)))
        .collect();
    let many = places.len() > MANY;
    places.sort();
    places.dedup();
    let round = many || series.is_multiple_of(SHAPES.len() + 1);
    let shape = match round {
        true => "h0.01",
        false => SHAPES[(series - 1) % SHAPES.len()],
    };
    let class = if round { "cloud" } else { "dot" };
    let path: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("M{x} {y}{shape}"))
        .collect();
    svg.mark(
        "path",
        &[
            ("class", &format!("{class} {}", style::colour(series))),
            ("d", &path.join("")),
        ],
        "",
    );
}

/// A square, a diamond, a triangle and a cross around a point.
const SHAPES: [&str; 4] = [
    "m-3.5 -3.5h7v7h-7z",
    "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
    "m0 -4.5l4.5 8h-9z",
    "m-1.2 -4.5h2.4v3.3h3.3v2.4h-3.3v3.3h-2.4v-3.3h-3.3v-2.4h3.3z",
];
