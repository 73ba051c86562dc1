//! Plots, drawn here as SVG: a browser has nothing to work out.

use maud::{Markup, html};

/// How wide and high a plot is, in its own units.
const SIZE: (f64, f64) = (520.0, 200.0);
/// The room around what is drawn: left, right, above, below.
const ROOM: (f64, f64, f64, f64) = (40.0, 10.0, 10.0, 24.0);

/// Some amounts over time, or by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// What it is of.
    pub(super) name: String,
    /// The class that gives its colour.
    pub(super) class: &'static str,
    /// The amounts, one for each place along the bottom.
    pub(super) values: Vec<f64>,
}

/// A plot with a scale at the left and names along the bottom.
#[derive(Debug, Clone)]
pub(super) struct Plot<'a> {
    /// What it shows, for those who cannot see it.
    pub(super) summary: String,
    /// The names along the bottom.
    pub(super) names: &'a [String],
    /// What is drawn.
    pub(super) series: &'a [Series],
    /// How amounts are said.
    pub(super) say: fn(f64) -> String,
}

impl Plot<'_> {
    /// Draws amounts that stand on each other as areas.
    pub(super) fn areas(&self) -> Markup {
        let tops = self.stacked();
        let scale =
            Scale::new(tops.last().into_iter().flatten().copied(), self.names.len().max(2) - 1);
        self.framed(&scale, &html! {
            @for (place, series) in self.series.iter().enumerate().rev() {
                path class={ "area " (series.class) } d=(scale.area(&tops[place], place.checked_sub(1).map(|below| &tops[below][..]))) {
                    title { (series.name) }
                }
            }
        }, &|place| scale.x(place))
    }

    /// Draws amounts that stand on each other as bars.
    pub(super) fn bars(&self) -> Markup {
        let tops = self.stacked();
        let count = self.names.len().max(1);
        let scale = Scale::new(tops.last().into_iter().flatten().copied(), count);
        let width = (scale.step() * 0.72).max(1.0);
        let left = |place: usize| scale.x(place) + (scale.step() - width) / 2.0;
        self.framed(&scale, &html! {
            @for (at, series) in self.series.iter().enumerate() {
                @for (place, value) in series.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                    rect class={ "bar " (series.class) } x=(px(left(place))) width=(px(width))
                        y=(px(scale.y(tops[at][place]))) height=(px(scale.height(*value))) {
                        title { (self.names[place]) ", " (series.name) ": " ((self.say)(*value)) }
                    }
                }
            }
        }, &|place| scale.x(place) + scale.step() / 2.0)
    }

    /// Returns for each series where it ends, standing on those before it.
    fn stacked(&self) -> Vec<Vec<f64>> {
        let mut below = vec![0.0; self.names.len()];
        let mut tops = Vec::with_capacity(self.series.len());
        for series in self.series {
            for (sum, value) in below.iter_mut().zip(&series.values) {
                *sum += value;
            }
            tops.push(below.clone());
        }
        tops
    }

    fn framed(&self, scale: &Scale, drawn: &Markup, middle: &dyn Fn(usize) -> f64) -> Markup {
        if self.names.is_empty() {
            return html! { p.soft { "Nothing yet." } };
        }
        let every = self.names.len().div_ceil(8).max(1);
        html! {
            figure.plot {
                svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(self.summary) {
                    @for mark in scale.marks() {
                        line.grid x1=(ROOM.0) x2=(SIZE.0 - ROOM.1) y1=(px(scale.y(mark))) y2=(px(scale.y(mark))) {}
                        text x=(ROOM.0 - 6.0) y=(px(scale.y(mark) + 4.0)) text-anchor="end" { ((self.say)(mark)) }
                    }
                    (drawn)
                    @for (place, name) in self.names.iter().enumerate().step_by(every) {
                        text x=(px(middle(place))) y=(SIZE.1 - 6.0) text-anchor="middle" { (name) }
                    }
                }
                (self.legend())
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            @if self.series.len() > 1 {
                figcaption.legend {
                    @for series in self.series { span class=(series.class) { i {} (series.name) } }
                }
            }
        }
    }
}

/// From amounts to places on the paper.
struct Scale {
    top: f64,
    places: f64,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, places: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a plot has some hundred places at most")]
        let places = places as f64;
        Self { top: round_up(values.fold(0.0, f64::max)), places }
    }

    fn step(&self) -> f64 {
        (SIZE.0 - ROOM.0 - ROOM.1) / self.places
    }

    fn x(&self, place: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a plot has some hundred places at most")]
        let place = place as f64;
        ROOM.0 + place * self.step()
    }

    fn height(&self, value: f64) -> f64 {
        (SIZE.1 - ROOM.2 - ROOM.3) * value / self.top
    }

    fn y(&self, value: f64) -> f64 {
        SIZE.1 - ROOM.3 - self.height(value)
    }

    fn marks(&self) -> [f64; 3] {
        [0.0, self.top / 2.0, self.top]
    }

    /// Returns the outline of an area between its top and what it stands on.
    fn area(&self, top: &[f64], below: Option<&[f64]>) -> String {
        let point =
            |place: usize, value: f64| format!("{} {}", px(self.x(place)), px(self.y(value)));
        let there = top.iter().enumerate().map(|(place, value)| point(place, *value));
        let back =
            (0..top.len()).rev().map(|place| point(place, below.map_or(0.0, |below| below[place])));
        let points: Vec<String> = there.chain(back).collect();
        if points.is_empty() { String::new() } else { format!("M{}Z", points.join("L")) }
    }
}

/// Returns the next amount that is easy to read: 1, 2 or 5 with noughts.
fn round_up(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    rounds.into_iter().find(|round| *round >= value).unwrap_or(value)
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(names: &[String], series: &[Series]) -> [String; 2] {
        let plot =
            Plot { summary: "Two".to_owned(), names, series, say: |value| format!("{value:.0}") };
        [plot.areas().into_string(), plot.bars().into_string()]
    }

    #[test]
    fn nothing_makes_a_plot_without_a_mistake() {
        for drawn in plot(&[], &[]) {
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
        let zero = Series { name: "none".to_owned(), class: "s-done", values: vec![0.0] };
        for drawn in plot(&["Mon".to_owned()], &[zero]) {
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }

    #[test]
    fn amounts_stand_on_each_other() {
        let names = ["Mon", "Tue"].map(str::to_owned);
        let series = |class, values: [f64; 2]| Series {
            name: class_name(class),
            class,
            values: values.to_vec(),
        };
        let [_, bars] =
            plot(&names, &[series("s-done", [1.0, 2.0]), series("s-blocked", [1.0, 0.0])]);
        assert_eq!(bars.matches("<rect").count(), 3);
        assert!(bars.contains("Mon, done: 1"), "{bars}");
    }

    fn class_name(class: &str) -> String {
        class.trim_start_matches("s-").to_owned()
    }

    #[test]
    fn a_scale_ends_where_it_is_easy_to_read() {
        let ends = [0.0, 0.3, 1.0, 7.0, 38.0, 120.0].map(|value| format!("{:.1}", round_up(value)));
        assert_eq!(ends, ["1.0", "0.5", "1.0", "10.0", "50.0", "200.0"]);
    }
}
