//! What a chart is measured by: a name with its unit, a scale, and the places of values on it.

use super::words;

/// One direction of a chart.
///
/// Its name tells what is measured and the unit, as in `start, µs` or `programs that need it`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(super) name: String,
    scale: Scale,
    percent: bool,
    zero: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Log,
}

impl Axis {
    /// Equal steps are equal distances. The axis begins at zero, unless values are below it or
    /// [`without_zero`](Self::without_zero) says otherwise.
    pub fn linear(name: impl Into<String>) -> Self {
        Axis {
            name: name.into(),
            scale: Scale::Linear,
            percent: false,
            zero: true,
        }
    }

    /// Equal ratios are equal distances: for values that differ by powers of ten. What is not
    /// above zero has no place on it; it is drawn at the edge, and the figure says so.
    pub fn log(name: impl Into<String>) -> Self {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(name)
        }
    }

    /// The values are shares from 0 to 1, and are written in percent.
    pub fn percent(mut self) -> Self {
        self.percent = true;
        self
    }

    /// A linear axis begins near the least value. Not for bars: their length is from zero.
    pub fn without_zero(mut self) -> Self {
        self.zero = false;
        self
    }

    /// A value as it stands beside its mark.
    pub(super) fn value(&self, value: f64) -> String {
        if !self.percent {
            return words::exact(value);
        }
        let percent = value * 100.0;
        if percent == percent.round() {
            return format!("{percent:.0} %");
        }
        format!("{} %", words::exact(percent))
    }

    /// Lays the axis out for these values, from one position to another, with marks that are at
    /// least `apart` from each other. `bars` start at the axis' low end: on a log axis, the least
    /// value is then not there.
    pub(super) fn lay_out(
        &self,
        values: impl IntoIterator<Item = f64>,
        (from, to): (f64, f64),
        apart: f64,
        bars: bool,
    ) -> Layout {
        let length = (to - from).abs();
        let most = ((length / apart) as usize).clamp(2, 12);
        let values = values.into_iter().filter_map(finite);
        let (low, high, ticks) = match self.scale {
            Scale::Linear => self.linear_ticks(values, most),
            Scale::Log => log_ticks(values.filter(|value| *value > 0.0), most, bars),
        };
        Layout {
            log: self.scale == Scale::Log,
            low,
            high,
            from,
            to,
            ticks: ticks
                .into_iter()
                .map(|(value, step)| Tick {
                    value,
                    text: self.tick(value, step),
                })
                .collect(),
        }
    }

    fn linear_ticks(
        &self,
        values: impl Iterator<Item = f64>,
        most: usize,
    ) -> (f64, f64, Vec<(f64, f64)>) {
        let zero = self.zero.then_some(0.0);
        let (mut low, mut high) = ends(values.chain(zero)).unwrap_or((0.0, 1.0));
        if high - low <= high.abs().max(low.abs()) * 1e-9 {
            // All are equal: the value is in the middle, or one above zero.
            let around = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
            (low, high) = match high {
                0.0 => (0.0, around),
                _ => (low - around, high + around),
            };
        }
        let step = step((high - low) / most as f64);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (0..=(last - first) as usize)
            .map(|index| ((first + index as f64) * step, step))
            .collect();
        (first * step, last * step, ticks)
    }

    fn tick(&self, value: f64, step: f64) -> String {
        match self.percent {
            true => format!("{} %", short(value * 100.0, step * 100.0)),
            false => short(value, step),
        }
    }
}

/// The ends of a log axis, and its ticks: powers of ten, or those and twice and five times each
/// where there is space.
fn log_ticks(
    values: impl Iterator<Item = f64>,
    most: usize,
    bars: bool,
) -> (f64, f64, Vec<(f64, f64)>) {
    let (low, high) = ends(values).unwrap_or((1.0, 1.0));
    // In thirds of a power of ten: 1, 2, 5.
    let mut first = (0..)
        .map(|down| third_near(low) + 1 - down)
        .find(|third| of_third(*third) <= low * (1.0 + 1e-9))
        .unwrap_or(0);
    if bars && of_third(first) >= low * (1.0 - 1e-9) {
        first -= 1;
    }
    let mut last = (0..)
        .map(|up| third_near(high) + up)
        .find(|third| of_third(*third) >= high * (1.0 - 1e-9))
        .unwrap_or(0);
    if last == first {
        last += 1;
    }
    let thirds: Vec<i32> = (first..=last).collect();
    let decades = |every: i32| {
        let chosen = thirds.iter().copied();
        chosen.filter(move |third| third.rem_euclid(3 * every) == 0)
    };
    let ticks: Vec<i32> = if thirds.len() <= most {
        thirds.clone()
    } else {
        let every = (1..).find(|every| decades(*every).count() <= most);
        decades(every.unwrap_or(1)).collect()
    };
    let ticks = ticks.into_iter().map(of_third);
    (
        of_third(first),
        of_third(last),
        ticks.map(|value| (value, value)).collect(),
    )
}

/// The third of a power of ten that is the last not above a value, or the one before that.
fn third_near(value: f64) -> i32 {
    (value.log10() * 3.0).floor() as i32
}

/// 1, 2, 5, 10, 20, 50, …: the value of a third of a power of ten.
fn of_third(third: i32) -> f64 {
    let power = 10f64.powi(third.div_euclid(3));
    match third.rem_euclid(3) {
        0 => power,
        1 => 2.0 * power,
        _ => 5.0 * power,
    }
}

/// The least round step (1, 2 or 5 of a power of ten) that is not below this.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// A value that can be drawn. One beyond 10^200 cannot: sums of such need not be numbers.
pub(super) fn finite(value: f64) -> Option<f64> {
    if !value.is_finite() || value.abs() > 1e200 {
        return None;
    }
    // Nor can the reciprocals of such.
    Some(if value.abs() < 1e-200 { 0.0 } else { value })
}

/// A tick's number: as few digits as tell it from its neighbours, thousands as k, M, G, T.
fn short(value: f64, step: f64) -> String {
    if value.abs() < step.abs() * 1e-6 {
        return "0".to_owned();
    }
    let (unit, letter) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(unit, _)| value.abs() >= unit * (1.0 - 1e-9))
        .unwrap_or((1.0, ""));
    if value.abs() >= 1e15 || step.abs() / unit < 1e-6 {
        // Of the digits that differ from the neighbours' and no more.
        let digits = (value.abs() / step.abs()).log10().round().clamp(0.0, 6.0) as usize;
        return format!("{value:.digits$e}");
    }
    let (value, step) = (value / unit, (step / unit).abs());
    let digits = (-step.log10() + 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => format!(
            "{}{letter}",
            text.trim_end_matches('0').trim_end_matches('.')
        ),
        false => format!("{text}{letter}"),
    }
}

/// A round value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

/// An axis that has been laid out for its values.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    pub(super) ticks: Vec<Tick>,
}

/// Where a value is on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// There.
    At(f64),
    /// Not above zero, on a log axis: this is the axis' low edge.
    Edge(f64),
    /// It is no number that can be drawn.
    Nowhere,
}

impl Place {
    /// The position, if there is one.
    pub(super) fn position(self) -> Option<f64> {
        match self {
            Place::At(position) | Place::Edge(position) => Some(position),
            Place::Nowhere => None,
        }
    }
}

impl Layout {
    /// Where a value is; one beyond the axis is at its end.
    pub(super) fn place(&self, value: f64) -> Place {
        let Some(value) = finite(value) else {
            return Place::Nowhere;
        };
        if self.log && value <= 0.0 {
            return Place::Edge(self.from);
        }
        let part = if self.log {
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        Place::At(self.from + part.clamp(0.0, 1.0) * (self.to - self.from))
    }

    /// Where bars begin: at zero, or at the low edge where that is not on the axis.
    pub(super) fn base(&self) -> f64 {
        match self.place(0.0) {
            Place::At(position) | Place::Edge(position) => position,
            Place::Nowhere => self.from,
        }
    }

    /// The ends of so many equal parts of the axis' whole length, as values.
    pub(super) fn edges(&self, parts: usize) -> Vec<f64> {
        let at = |part: f64| match self.log {
            true => 10f64.powf(self.low.log10() + part * (self.high.log10() - self.low.log10())),
            false => self.low + (self.high - self.low) * part,
        };
        (0..=parts)
            .map(|index| at(index as f64 / parts as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(layout: &Layout) -> Vec<&str> {
        layout.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    fn linear(values: &[f64]) -> Layout {
        let values = values.iter().copied();
        Axis::linear("x").lay_out(values, (0.0, 300.0), 60.0, false)
    }

    fn log(values: &[f64], length: f64, bars: bool) -> Layout {
        let values = values.iter().copied();
        Axis::log("x").lay_out(values, (0.0, length), 50.0, bars)
    }

    #[test]
    fn a_linear_axis_begins_at_zero_and_ends_at_a_round_value() {
        let layout = linear(&[3.0, 884.0]);
        assert_eq!(texts(&layout), ["0", "200", "400", "600", "800", "1k"]);
        assert_eq!(layout.place(0.0), Place::At(0.0));
        assert_eq!(layout.place(250.0), Place::At(75.0));
        assert_eq!(layout.place(1000.0), Place::At(300.0));
    }

    #[test]
    fn without_zero_it_begins_near_the_least_value() {
        let axis = Axis::linear("x").without_zero();
        let layout = axis.lay_out([81.5, 84.0], (10.0, 310.0), 60.0, false);
        assert_eq!(texts(&layout), ["81.5", "82", "82.5", "83", "83.5", "84"]);
        assert_eq!(layout.place(81.5), Place::At(10.0));
        assert_eq!(layout.place(84.0), Place::At(310.0));
    }

    #[test]
    fn values_below_zero_are_on_a_linear_axis_and_bars_begin_at_zero() {
        let layout = linear(&[-50.0, 100.0]);
        assert_eq!(texts(&layout), ["-50", "0", "50", "100"]);
        assert_eq!(layout.base(), 100.0);
    }

    #[test]
    fn equal_values_have_an_axis() {
        assert_eq!(
            texts(&linear(&[0.0, 0.0])),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(texts(&linear(&[5.0])), ["0", "1", "2", "3", "4", "5"]);
        let axis = Axis::linear("x").without_zero();
        let layout = axis.lay_out([5.0, 5.0], (0.0, 300.0), 60.0, false);
        assert_eq!(
            texts(&layout),
            ["4.4", "4.6", "4.8", "5", "5.2", "5.4", "5.6"]
        );
    }

    #[test]
    fn a_log_axis_has_powers_of_ten_and_their_halves_and_fifths_where_there_is_space() {
        let wide = log(&[1.0, 1000.0], 600.0, false);
        assert_eq!(
            texts(&wide),
            ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1k"]
        );
        assert_eq!(wide.place(1.0), Place::At(0.0));
        let Place::At(ten) = wide.place(10.0) else {
            panic!()
        };
        assert!((ten - 200.0).abs() < 1e-9, "{ten}");
        let narrow = log(&[1.0, 1e9], 300.0, false);
        assert_eq!(texts(&narrow), ["1", "100", "10k", "1M", "100M"]);
    }

    #[test]
    fn bars_on_a_log_axis_begin_below_the_least_value() {
        assert_eq!(
            texts(&log(&[20.0, 100.0], 300.0, true)),
            ["10", "20", "50", "100"]
        );
        assert_eq!(
            texts(&log(&[20.0, 100.0], 300.0, false)),
            ["20", "50", "100"]
        );
    }

    #[test]
    fn what_is_not_above_zero_is_at_a_log_axis_edge_and_what_is_no_number_nowhere() {
        let layout = log(&[0.0, -1.0, 10.0, 100.0], 300.0, false);
        assert_eq!(layout.place(0.0), Place::Edge(0.0));
        assert_eq!(layout.place(-1.0), Place::Edge(0.0));
        assert_eq!(layout.place(f64::NAN), Place::Nowhere);
        assert_eq!(layout.place(f64::INFINITY), Place::Nowhere);
        assert_eq!(layout.place(10.0), Place::At(0.0));
    }

    #[test]
    fn shares_are_in_percent() {
        let axis = Axis::linear("share").percent();
        let layout = axis.lay_out([0.046, 1.0], (0.0, 300.0), 60.0, false);
        assert_eq!(
            texts(&layout),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
        for (share, text) in [
            (0.0, "0 %"),
            (0.046, "4.60 %"),
            (1.0, "100 %"),
            (0.00123, "0.123 %"),
        ] {
            assert_eq!(axis.value(share), text);
        }
    }

    #[test]
    fn ticks_have_units_of_thousands_and_no_digit_too_many() {
        for (value, step, text) in [
            (0.0, 1.0, "0"),
            (0.3, 0.1, "0.3"),
            (1.5, 0.5, "1.5"),
            (1500.0, 500.0, "1.5k"),
            (10_000_000.0, 10_000_000.0, "10M"),
            (2e9, 1e9, "2G"),
            (5e12, 1e12, "5T"),
            (1e18, 1e18, "1e18"),
            (1e-9, 1e-9, "1e-9"),
            (-20.0, 10.0, "-20"),
        ] {
            assert_eq!(short(value, step), text);
        }
    }

    #[test]
    fn the_parts_of_a_log_axis_are_equal_ratios() {
        let edges = log(&[1.0, 100.0], 300.0, false).edges(2);
        let expected = [1.0, 10.0, 100.0];
        for (edge, expected) in edges.iter().zip(expected) {
            assert!((edge / expected - 1.0).abs() < 1e-12, "{edges:?}");
        }
        assert_eq!(edges.len(), 3);
    }
}
