//! Plots, drawn as SVG on the server so that the browser needs no script.

use maud::{Markup, html};

/// Width and height of a plot, in SVG units.
const SIZE: (f64, f64) = (520.0, 200.0);
/// The margins around the drawing: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (40.0, 10.0, 10.0, 24.0);

/// The values of one line or colour of a plot.
#[derive(Debug, Clone, Default)]
pub(super) struct PlotSeries {
    pub(super) name: String,
    /// The CSS class that sets the colour.
    pub(super) class: &'static str,
    /// One value for each label of the horizontal axis.
    pub(super) values: Vec<f64>,
}

/// A plot with a scale at the left and labels along the bottom.
#[derive(Debug, Clone)]
pub(super) struct StackedPlot<'a> {
    /// The text for screen readers.
    pub(super) summary: String,
    /// The labels of the horizontal axis.
    pub(super) names: &'a [String],
    pub(super) series: &'a [PlotSeries],
    /// Formats a value for people.
    pub(super) format_value: fn(f64) -> String,
}

impl StackedPlot<'_> {
    /// Draws the series as stacked areas.
    pub(super) fn render_areas(&self) -> Markup {
        let tops = self.stack_series();
        let scale =
            PlotScale::new(tops.last().into_iter().flatten().copied(), self.names.len().max(2) - 1);
        self.render_frame(&scale, &html! {
            @for (place, series) in self.series.iter().enumerate().rev() {
                path class={ "area " (series.class) } d=(scale.area_path(&tops[place], place.checked_sub(1).map(|below| &tops[below][..]))) {
                    title { (series.name) }
                }
            }
        }, &|place| scale.x(place))
    }

    /// Draws the series as stacked bars.
    pub(super) fn render_bars(&self) -> Markup {
        let tops = self.stack_series();
        let count = self.names.len().max(1);
        let scale = PlotScale::new(tops.last().into_iter().flatten().copied(), count);
        let width = (scale.step() * 0.72).max(1.0);
        let left = |place: usize| scale.x(place) + (scale.step() - width) / 2.0;
        self.render_frame(&scale, &html! {
            @for (at, series) in self.series.iter().enumerate() {
                @for (place, value) in series.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                    rect class={ "bar " (series.class) } x=(px(left(place))) width=(px(width))
                        y=(px(scale.y(tops[at][place]))) height=(px(scale.height(*value))) {
                        title { (self.names[place]) ", " (series.name) ": " ((self.format_value)(*value)) }
                    }
                }
            }
        }, &|place| scale.x(place) + scale.step() / 2.0)
    }

    /// Returns the upper edge of each series, stacked on the series before it.
    fn stack_series(&self) -> Vec<Vec<f64>> {
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

    fn render_frame(
        &self,
        scale: &PlotScale,
        drawn: &Markup,
        middle: &dyn Fn(usize) -> f64,
    ) -> Markup {
        if self.names.is_empty() {
            return html! { p.soft { "No data yet." } };
        }
        let every = self.names.len().div_ceil(8).max(1);
        html! {
            figure.plot {
                svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(self.summary) {
                    @for mark in scale.grid_values() {
                        line.grid x1=(MARGINS.0) x2=(SIZE.0 - MARGINS.1) y1=(px(scale.y(mark))) y2=(px(scale.y(mark))) {}
                        text x=(MARGINS.0 - 6.0) y=(px(scale.y(mark) + 4.0)) text-anchor="end" { ((self.format_value)(mark)) }
                    }
                    (drawn)
                    @for (place, name) in self.names.iter().enumerate().step_by(every) {
                        text x=(px(middle(place))) y=(SIZE.1 - 6.0) text-anchor="middle" { (name) }
                    }
                }
                (self.render_legend())
            }
        }
    }

    fn render_legend(&self) -> Markup {
        html! {
            @if self.series.len() > 1 {
                figcaption.legend {
                    @for series in self.series { span class=(series.class) { i {} (series.name) } }
                }
            }
        }
    }
}

/// Maps values and positions to SVG coordinates.
struct PlotScale {
    top: f64,
    places: f64,
}

impl PlotScale {
    fn new(values: impl Iterator<Item = f64>, places: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a plot has some hundred places at most")]
        let places = places as f64;
        Self { top: round_up(values.fold(0.0, f64::max)), places }
    }

    fn step(&self) -> f64 {
        (SIZE.0 - MARGINS.0 - MARGINS.1) / self.places
    }

    fn x(&self, place: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a plot has some hundred places at most")]
        let place = place as f64;
        MARGINS.0 + place * self.step()
    }

    fn height(&self, value: f64) -> f64 {
        (SIZE.1 - MARGINS.2 - MARGINS.3) * value / self.top
    }

    fn y(&self, value: f64) -> f64 {
        SIZE.1 - MARGINS.3 - self.height(value)
    }

    fn grid_values(&self) -> [f64; 3] {
        [0.0, self.top / 2.0, self.top]
    }

    /// Returns the outline of the area between `top` and `below`.
    fn area_path(&self, top: &[f64], below: Option<&[f64]>) -> String {
        let point =
            |place: usize, value: f64| format!("{} {}", px(self.x(place)), px(self.y(value)));
        let there = top.iter().enumerate().map(|(place, value)| point(place, *value));
        let back =
            (0..top.len()).rev().map(|place| point(place, below.map_or(0.0, |below| below[place])));
        let points: Vec<String> = there.chain(back).collect();
        if points.is_empty() { String::new() } else { format!("M{}Z", points.join("L")) }
    }
}

/// Returns the next round number: 1, 2 or 5 times a power of ten.
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

    fn plot(names: &[String], series: &[PlotSeries]) -> [String; 2] {
        let plot = StackedPlot {
            summary: "Two".to_owned(),
            names,
            series,
            format_value: |value| format!("{value:.0}"),
        };
        [plot.render_areas().into_string(), plot.render_bars().into_string()]
    }

    #[test]
    fn plot_without_values_is_valid_svg() {
        for drawn in plot(&[], &[]) {
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
        let zero = PlotSeries { name: "none".to_owned(), class: "s-done", values: vec![0.0] };
        for drawn in plot(&["Mon".to_owned()], &[zero]) {
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }

    #[test]
    fn plot_bars_are_stacked() {
        let names = ["Mon", "Tue"].map(str::to_owned);
        let series = |class, values: [f64; 2]| PlotSeries {
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
    fn plot_scale_ends_at_round_number() {
        let ends = [0.0, 0.3, 1.0, 7.0, 38.0, 120.0].map(|value| format!("{:.1}", round_up(value)));
        assert_eq!(ends, ["1.0", "0.5", "1.0", "10.0", "50.0", "200.0"]);
    }
}
