//! Figures of how the work goes, as plots.

use std::collections::BTreeMap;

use adjutant_core::completion::Outcome;
use adjutant_core::figures::{Figures, HOUR_MILLIS, Hour, Stays};
use adjutant_core::{Status, Time};
use maud::{Markup, html};

use super::plot::{Plot, Series};
use super::words;

/// What the page of figures shows.
#[derive(Debug, Clone)]
pub struct Page {
    /// How many tasks stand at each status now.
    pub counts: BTreeMap<Status, usize>,
    /// What happened.
    pub figures: Figures,
    /// How far back it is looked.
    pub span: Span,
    /// When the page was made.
    pub now: Time,
}

/// How far back it is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Span {
    /// A day, by the hour.
    #[default]
    Day,
    /// A month, by the day.
    Month,
}

impl Span {
    /// Returns the word for it in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Parses the word for it in an address.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Day, Self::Month].into_iter().find(|span| span.as_str() == text)
    }

    fn hours(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Month => 24,
        }
    }

    fn places(self) -> i64 {
        match self {
            Self::Day => 24,
            Self::Month => 30,
        }
    }

    fn name(self, hour: i64) -> String {
        let text = Time::from_millis(hour * HOUR_MILLIS).to_string();
        let (from, to) = match self {
            Self::Day => (11, 16),
            Self::Month => (5, 10),
        };
        text.get(from..to).unwrap_or_default().to_owned()
    }
}

impl Page {
    /// Shows the page.
    pub fn shown(&self) -> Markup {
        let places = self.places();
        let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
        let plot = |summary: &str, series: &[Series], say| {
            Plot { summary: summary.to_owned(), names: &names, series, say }.bars()
        };
        let standing = self.standing(&places);
        html! {
            div.head {
                h1 { "Figures" }
                nav.row aria-label="How far back" {
                    @for span in [Span::Day, Span::Month] {
                        a.chip href={ "/figures?span=" (span.as_str()) } aria-current=[(span == self.span).then_some("true")] { (span.as_str()) }
                    }
                }
            }
            div.plots data-live="plots" {
                (titled("Open tasks by status", &Plot { summary: "Open tasks by status over time".to_owned(), names: &names, series: &standing, say: whole }.areas()))
                (titled("Throughput", &plot("Tasks made and done", &throughput(&places), whole)))
                (titled("What agents reported", &plot("Reports by outcome", &outcomes(&places), whole)))
                (titled("Attempts without a result", &plot("Attempts without a result", &failures(&places), whole)))
                (titled("Time in each status, on average", &stays(&places)))
                (titled("Runs a task took", &runs(&places)))
            }
        }
    }

    /// Returns what happened at each place along the bottom, the last one now.
    fn places(&self) -> Vec<Place> {
        let (wide, count) = (self.span.hours(), self.span.places());
        let last = Figures::hour_of(self.now).div_euclid(wide);
        let mut places: Vec<Place> = (last - count + 1..=last)
            .map(|place| Place { name: self.span.name(place * wide), sum: Hour::default() })
            .collect();
        for (hour, happened) in self.figures.hours() {
            let place = hour.div_euclid(wide) - (last - count + 1);
            if let Some(place) = usize::try_from(place).ok().and_then(|place| places.get_mut(place))
            {
                add(&mut place.sum, happened);
            }
        }
        places
    }

    /// Returns how many tasks stood at each open status at the end of each place: what is now, less
    /// what changed since.
    fn standing(&self, places: &[Place]) -> Vec<Series> {
        let open = Status::ALL.into_iter().filter(|status| !status.is_closed());
        open.map(|status| {
            let mut count = self
                .counts
                .get(&status)
                .map_or(0, |count| i64::try_from(*count).unwrap_or(i64::MAX));
            let mut values = Vec::with_capacity(places.len());
            for place in places.iter().rev() {
                values.push(float(count.max(0)));
                count -= place.sum.change.get(&status).copied().unwrap_or(0);
            }
            values.reverse();
            Series { name: status.as_str().to_owned(), class: tone(status), values }
        })
        .collect()
    }
}

/// A place along the bottom, with what happened there.
struct Place {
    name: String,
    sum: Hour,
}

fn add(sum: &mut Hour, hour: &Hour) {
    for (status, change) in &hour.change {
        *sum.change.entry(*status).or_default() += change;
    }
    for (status, stays) in &hour.stays {
        let all = sum.stays.entry(*status).or_default();
        *all = Stays { count: all.count + stays.count, millis: all.millis + stays.millis };
    }
    for (outcome, count) in &hour.outcomes {
        *sum.outcomes.entry(*outcome).or_default() += count;
    }
    for (runs, count) in &hour.runs {
        *sum.runs.entry(*runs).or_default() += count;
    }
    sum.failures += hour.failures;
    sum.created += hour.created;
    sum.done += hour.done;
}

fn total(places: &[Place]) -> Hour {
    let mut all = Hour::default();
    for place in places {
        add(&mut all, &place.sum);
    }
    all
}

fn series(
    name: &str,
    class: &'static str,
    places: &[Place],
    value: impl Fn(&Hour) -> u64,
) -> Series {
    let values =
        places.iter().map(|place| float(i64::try_from(value(&place.sum)).unwrap_or(i64::MAX)));
    Series { name: name.to_owned(), class, values: values.collect() }
}

fn throughput(places: &[Place]) -> Vec<Series> {
    vec![
        series("done", "s-done", places, |sum| sum.done),
        series("made", "s-backlog", places, |sum| sum.created),
    ]
}

fn outcomes(places: &[Place]) -> Vec<Series> {
    let all = [
        (Outcome::Done, "s-done"),
        (Outcome::NeedsReview, "s-review"),
        (Outcome::Partial, "s-ready"),
        (Outcome::Blocked, "s-deadletter"),
    ];
    let one = |(outcome, class): (Outcome, _)| {
        series(&outcome.to_string(), class, places, |sum| {
            sum.outcomes.get(&outcome).copied().unwrap_or(0)
        })
    };
    all.map(one).to_vec()
}

fn failures(places: &[Place]) -> Vec<Series> {
    vec![series("attempts", "s-deadletter", places, |sum| sum.failures)]
}

/// How long tasks stayed at each status, on average over all that is looked back at.
fn stays(places: &[Place]) -> Markup {
    let all = total(places);
    let left: Vec<(Status, Stays)> =
        all.stays.into_iter().filter(|(_, stays)| stays.count > 0).collect();
    let names: Vec<String> = left.iter().map(|(status, _)| status.as_str().to_owned()).collect();
    let mean = |stays: &Stays| float(stays.millis / i64::try_from(stays.count.max(1)).unwrap_or(1));
    let values = left.iter().map(|(_, stays)| mean(stays)).collect();
    let series = [Series { name: "on average".to_owned(), class: "s-in-progress", values }];
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of some months")]
    let say = |millis: f64| words::span(millis as i64);
    Plot {
        summary: "Time in each status, on average".to_owned(),
        names: &names,
        series: &series,
        say,
    }
    .bars()
}

fn runs(places: &[Place]) -> Markup {
    let all = total(places);
    let names: Vec<String> = all.runs.keys().map(u32::to_string).collect();
    let values =
        all.runs.values().map(|count| float(i64::try_from(*count).unwrap_or(i64::MAX))).collect();
    let series = [Series { name: "tasks".to_owned(), class: "s-ready", values }];
    Plot {
        summary: "How many runs tasks took".to_owned(),
        names: &names,
        series: &series,
        say: whole,
    }
    .bars()
}

fn titled(title: &str, plot: &Markup) -> Markup {
    html! { section.sheet { h2 { (title) } (plot) } }
}

fn tone(status: Status) -> &'static str {
    match status {
        Status::Backlog => "s-backlog",
        Status::Ready => "s-ready",
        Status::InProgress => "s-in-progress",
        Status::Blocked => "s-blocked",
        Status::Review => "s-review",
        Status::Done => "s-done",
        Status::Cancelled => "s-cancelled",
        Status::Deadletter => "s-deadletter",
    }
}

fn whole(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[expect(clippy::cast_precision_loss, reason = "a plot shows three digits")]
fn float(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_nothing_are_a_page_all_the_same() {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        let page =
            Page { counts: BTreeMap::new(), figures: Figures::default(), span: Span::Day, now };
        let shown = page.shown().into_string();
        assert!(!shown.contains("NaN"));
        assert!(shown.contains(">09:00<") && shown.contains(">06:00<"));
        assert_eq!(shown.matches("Nothing yet.").count(), 2);
    }
}
