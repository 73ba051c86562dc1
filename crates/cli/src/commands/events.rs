//! `adjutant events`: shows and follows the event log.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use adjutant_model::{TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_store::file::EventFiles;
use serde::Deserialize;
use serde_json::Value;

use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::time_argument;

/// Show the event log
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant events --task 042                all events of a task
  adjutant events --follow --type run       follow the runs as they start and end
  adjutant events --since 15m --json        the last 15 minutes, as JSON lines")]
pub(crate) struct EventsArgs {
    /// Print new events as they come
    #[arg(long, short)]
    follow: bool,
    /// Only events about this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only events of this type, e.g. `task.transitioned`, or group of types, e.g. `task`
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only events since a time (yesterday, 18:00, 2026-12-01), an age (90s, 15m, 2h, 3d) or an
    /// event number
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<SinceFilter>,
    /// Show at most the last N events
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum SinceFilter {
    Time(Time),
    Age(i64),
    Event(u64),
}

/// The interval between two reads with `--follow`.
const PAUSE: Duration = Duration::from_millis(100);

impl EventsArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        // Apply people's file edits first, so that their events are shown too.
        data.load_world(out)?;
        let filter = PrintedEventFilter::new(&self, data)?;
        let mut files = EventFiles::open(data.folder.root());
        let mut kept = VecDeque::new();
        let mut lines = out.lines();
        loop {
            while let Some(line) = files.next_line()? {
                let Some(wanted) = filter.matching_text(line.bytes) else { continue };
                match self.limit {
                    None => lines.push(&render_event(out, wanted))?,
                    Some(limit) => {
                        kept.push_back(wanted);
                        if kept.len() > limit {
                            kept.pop_front();
                        }
                    }
                }
            }
            lines.flush()?;
            if !self.follow {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        kept.into_iter().try_for_each(|wanted| lines.push(&render_event(out, wanted)))?;
        lines.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a line of the event log as it is printed.
fn render_event(out: &CommandOutput, line: String) -> String {
    if out.is_json() {
        return line;
    }
    let event: Value = serde_json::from_str(&line).unwrap_or_default();
    crate::view::event::line(out, &event)
}

/// The fields that events are filtered by. Other programs may have written the line, so each field
/// may hold any value.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FilteredFields {
    event_id: Value,
    r#type: Value,
    timestamp: Value,
    task_id: Value,
}

struct PrintedEventFilter {
    task: Option<TaskId>,
    types: Vec<String>,
    since: Option<SinceFilter>,
    now: Time,
}

impl PrintedEventFilter {
    fn new(events: &EventsArgs, data: &ProjectData) -> Result<Self, CommandFailure> {
        let task = events.task.as_deref().map(|id| data.task_id(id)).transpose()?;
        let now = SystemClock.now();
        Ok(Self { task, types: events.types.clone(), since: events.since, now })
    }

    /// Returns a line as text; `None` if it does not match or is not an event.
    fn matching_text(&self, line: Vec<u8>) -> Option<String> {
        let text = String::from_utf8(line).ok()?;
        let head: FilteredFields = serde_json::from_str(&text).ok()?;
        self.matches(&head).then_some(text)
    }

    fn matches(&self, event: &FilteredFields) -> bool {
        let of_task = |task: &TaskId| event.task_id.as_str() == Some(task.as_str());
        let kind = event.r#type.as_str().unwrap_or_default();
        let of_type = |wanted: &String| {
            kind.strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.task.as_ref().is_none_or(of_task)
            && (self.types.is_empty() || self.types.iter().any(of_type))
            && self.since.is_none_or(|since| self.is_since(event, since))
    }

    fn is_since(&self, event: &FilteredFields, since: SinceFilter) -> bool {
        let time = || event.timestamp.as_str().and_then(|text| Time::parse(text).ok());
        match since {
            SinceFilter::Event(id) => event.event_id.as_u64().is_some_and(|event| event >= id),
            SinceFilter::Time(then) => time().is_some_and(|time| time >= then),
            SinceFilter::Age(millis) => {
                time().is_some_and(|time| time.as_millis() >= self.now.as_millis() - millis)
            }
        }
    }
}

fn parse_since(text: &str) -> Result<SinceFilter, String> {
    if let Ok(id) = text.parse() {
        return Ok(SinceFilter::Event(id));
    }
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let age = units.iter().find_map(|(unit, millis)| {
        let count: i64 = text.strip_suffix(unit)?.parse().ok().filter(|count| *count >= 0)?;
        count.checked_mul(*millis)
    });
    match age {
        Some(millis) => Ok(SinceFilter::Age(millis)),
        None => time_argument::start(text)
            .map(SinceFilter::Time)
            .map_err(|problem| format!("{problem}; or an age like 15m, or an event number")),
    }
}
