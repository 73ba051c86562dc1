//! The figures page: statistics of the work as plots.

use std::collections::BTreeMap;

use adjutant_core::statistics::{HOUR_MILLIS, HourlyStats, StatusStays, WorkStatistics};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::{Status, Time};
use maud::{Markup, html};

use super::format;
use super::plot::{PlotSeries, StackedPlot};

#[derive(Debug, Clone)]
pub struct FiguresPage {
    /// The number of tasks in each status now.
    pub counts: BTreeMap<Status, usize>,
    pub figures: WorkStatistics,
    pub span: FiguresPeriod,
    pub now: Time,
}

/// The period that the plots cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FiguresPeriod {
    /// 24 hours, one bar per hour.
    #[default]
    Day,
    /// 30 days, one bar per day.
    Month,
}

impl FiguresPeriod {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Day, Self::Month].into_iter().find(|span| span.as_str() == text)
    }

    fn bucket_hours(self) -> i64 {
        match self {
            Self::Day => 1,
            Self::Month => 24,
        }
    }

    fn bucket_count(self) -> i64 {
        match self {
            Self::Day => 24,
            Self::Month => 30,
        }
    }

    fn bucket_label(self, hour: i64) -> String {
        let text = Time::from_millis(hour * HOUR_MILLIS).to_string();
        let (from, to) = match self {
            Self::Day => (11, 16),
            Self::Month => (5, 10),
        };
        text.get(from..to).unwrap_or_default().to_owned()
    }
}

impl FiguresPage {
    pub fn render(&self) -> Markup {
        let places = self.sum_buckets();
        let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
        let plot = |summary: &str, series: &[PlotSeries], say| {
            StackedPlot { summary: summary.to_owned(), names: &names, series, format_value: say }
                .render_bars()
        };
        let standing = self.open_task_series(&places);
        html! {
            div.head {
                h1 { "Statistics" }
                nav.row aria-label="Period" {
                    @for span in [FiguresPeriod::Day, FiguresPeriod::Month] {
                        a.chip href={ "/figures?span=" (span.as_str()) } aria-current=[(span == self.span).then_some("true")] { (span.as_str()) }
                    }
                }
            }
            div.plots data-live="plots" {
                (render_section("Open tasks by status", &StackedPlot { summary: "Open tasks by status over time".to_owned(), names: &names, series: &standing, format_value: format_number }.render_areas()))
                (render_section("Throughput", &plot("Tasks created and done", &throughput_series(&places), format_number)))
                (render_section("Reported outcomes", &plot("Reports by outcome", &outcome_series(&places), format_number)))
                (render_section("Failed attempts", &plot("Failed attempts", &failure_series(&places), format_number)))
                (render_section("Average time in each status", &render_stays(&places)))
                (render_section("Runs per task", &render_runs(&places)))
            }
        }
    }

    /// Sums the hours into the buckets of the horizontal axis; the last bucket contains `now`.
    fn sum_buckets(&self) -> Vec<TimeBucket> {
        let (wide, count) = (self.span.bucket_hours(), self.span.bucket_count());
        let last = WorkStatistics::hour_of(self.now).div_euclid(wide);
        let mut places: Vec<TimeBucket> = (last - count + 1..=last)
            .map(|place| TimeBucket {
                name: self.span.bucket_label(place * wide),
                sum: HourlyStats::default(),
            })
            .collect();
        for (hour, happened) in self.figures.hours() {
            let place = hour.div_euclid(wide) - (last - count + 1);
            if let Some(place) = usize::try_from(place).ok().and_then(|place| places.get_mut(place))
            {
                add_hour(&mut place.sum, happened);
            }
        }
        places
    }

    /// Returns the number of tasks in each open status at the end of each bucket, computed
    /// backwards from the present counts.
    fn open_task_series(&self, places: &[TimeBucket]) -> Vec<PlotSeries> {
        let open = Status::ALL.into_iter().filter(|status| !status.is_closed());
        open.map(|status| {
            let mut count = self
                .counts
                .get(&status)
                .map_or(0, |count| i64::try_from(*count).unwrap_or(i64::MAX));
            let mut values = Vec::with_capacity(places.len());
            for place in places.iter().rev() {
                values.push(to_float(count.max(0)));
                count -= place.sum.status_changes.get(&status).copied().unwrap_or(0);
            }
            values.reverse();
            PlotSeries { name: status.as_str().to_owned(), class: status_class(status), values }
        })
        .collect()
    }
}

/// One bucket of the horizontal axis, with the sum of its hours.
struct TimeBucket {
    name: String,
    sum: HourlyStats,
}

fn add_hour(sum: &mut HourlyStats, hour: &HourlyStats) {
    for (status, change) in &hour.status_changes {
        *sum.status_changes.entry(*status).or_default() += change;
    }
    for (status, stays) in &hour.status_stays {
        let all = sum.status_stays.entry(*status).or_default();
        *all = StatusStays { count: all.count + stays.count, millis: all.millis + stays.millis };
    }
    for (outcome, count) in &hour.outcomes {
        *sum.outcomes.entry(*outcome).or_default() += count;
    }
    for (runs, count) in &hour.runs_per_task {
        *sum.runs_per_task.entry(*runs).or_default() += count;
    }
    sum.failures += hour.failures;
    sum.created += hour.created;
    sum.done += hour.done;
}

fn sum_all(places: &[TimeBucket]) -> HourlyStats {
    let mut all = HourlyStats::default();
    for place in places {
        add_hour(&mut all, &place.sum);
    }
    all
}

fn count_series(
    name: &str,
    class: &'static str,
    places: &[TimeBucket],
    value: impl Fn(&HourlyStats) -> u64,
) -> PlotSeries {
    let values =
        places.iter().map(|place| to_float(i64::try_from(value(&place.sum)).unwrap_or(i64::MAX)));
    PlotSeries { name: name.to_owned(), class, values: values.collect() }
}

fn throughput_series(places: &[TimeBucket]) -> Vec<PlotSeries> {
    vec![
        count_series("done", "s-done", places, |sum| sum.done),
        count_series("created", "s-backlog", places, |sum| sum.created),
    ]
}

fn outcome_series(places: &[TimeBucket]) -> Vec<PlotSeries> {
    let all = [
        (WorkOutcome::Done, "s-done"),
        (WorkOutcome::NeedsReview, "s-review"),
        (WorkOutcome::Partial, "s-ready"),
        (WorkOutcome::Blocked, "s-deadletter"),
    ];
    let one = |(outcome, class): (WorkOutcome, _)| {
        count_series(&outcome.to_string(), class, places, |sum| {
            sum.outcomes.get(&outcome).copied().unwrap_or(0)
        })
    };
    all.map(one).to_vec()
}

fn failure_series(places: &[TimeBucket]) -> Vec<PlotSeries> {
    vec![count_series("failed attempts", "s-deadletter", places, |sum| sum.failures)]
}

/// The average time that tasks stayed in each status, over the whole period.
fn render_stays(places: &[TimeBucket]) -> Markup {
    let all = sum_all(places);
    let left: Vec<(Status, StatusStays)> =
        all.status_stays.into_iter().filter(|(_, stays)| stays.count > 0).collect();
    let names: Vec<String> = left.iter().map(|(status, _)| status.as_str().to_owned()).collect();
    let mean = |stays: &StatusStays| {
        to_float(stays.millis / i64::try_from(stays.count.max(1)).unwrap_or(1))
    };
    let values = left.iter().map(|(_, stays)| mean(stays)).collect();
    let series = [PlotSeries { name: "average".to_owned(), class: "s-in-progress", values }];
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of some months")]
    let say = |millis: f64| format::format_span(millis as i64);
    StackedPlot {
        summary: "Average time in each status".to_owned(),
        names: &names,
        series: &series,
        format_value: say,
    }
    .render_bars()
}

fn render_runs(places: &[TimeBucket]) -> Markup {
    let all = sum_all(places);
    let names: Vec<String> = all.runs_per_task.keys().map(u32::to_string).collect();
    let values = all
        .runs_per_task
        .values()
        .map(|count| to_float(i64::try_from(*count).unwrap_or(i64::MAX)))
        .collect();
    let series = [PlotSeries { name: "tasks".to_owned(), class: "s-ready", values }];
    StackedPlot {
        summary: "Number of tasks by the runs they took".to_owned(),
        names: &names,
        series: &series,
        format_value: format_number,
    }
    .render_bars()
}

fn render_section(title: &str, plot: &Markup) -> Markup {
    html! { section.sheet { h2 { (title) } (plot) } }
}

fn status_class(status: Status) -> &'static str {
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

fn format_number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[expect(clippy::cast_precision_loss, reason = "a plot shows three digits")]
fn to_float(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_page_without_events_is_rendered() {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        let page = FiguresPage {
            counts: BTreeMap::new(),
            figures: WorkStatistics::default(),
            span: FiguresPeriod::Day,
            now,
        };
        let shown = page.render().into_string();
        assert!(!shown.contains("NaN"));
        assert!(shown.contains(">09:00<") && shown.contains(">06:00<"));
        assert_eq!(shown.matches("No data yet.").count(), 2);
    }
}
