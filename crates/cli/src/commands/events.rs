//! `adjutant events`: the record, and what is added to it.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::{TaskId, Time};
use adjutant_runtime::{Clock, SystemClock};
use adjutant_store::file::EventFiles;
use serde::Deserialize;
use serde_json::Value;

use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Show the record
#[derive(Debug, clap::Args)]
pub(crate) struct Events {
    /// Go on and show what is added
    #[arg(long, short)]
    follow: bool,
    /// Only events about this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only events of this type, as `task.transitioned`, or of a kind, as `task`
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only events since then: a time, an age as 90s, 15m, 2h or 3d, or an event's number
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Only the last so many
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Since {
    Time(Time),
    Age(i64),
    Event(u64),
}

/// How long to wait before looking for more.
const PAUSE: Duration = Duration::from_millis(100);

impl Events {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        // What people did to the files belongs in the record before it is shown.
        data.world(out)?;
        let filter = Filter::new(&self, data)?;
        let mut files = EventFiles::open(data.folder.root());
        let mut kept = VecDeque::new();
        let mut lines = out.lines();
        loop {
            while let Some(line) = files.next_line()? {
                let Some(wanted) = filter.wanted(line.bytes) else { continue };
                match self.limit {
                    None => lines.push(&shown(out, wanted))?,
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
        kept.into_iter().try_for_each(|wanted| lines.push(&shown(out, wanted)))?;
        lines.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns a line of the record as it is shown.
fn shown(out: &Output, line: String) -> String {
    if out.is_json() {
        return line;
    }
    let event: Value = serde_json::from_str(&line).unwrap_or_default();
    crate::view::event::line(out, &event)
}

/// What is asked of an event before it is shown. Others may have written it: anything goes.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    event_id: Value,
    r#type: Value,
    timestamp: Value,
    task_id: Value,
}

struct Filter {
    task: Option<TaskId>,
    types: Vec<String>,
    since: Option<Since>,
    now: Time,
}

impl Filter {
    fn new(events: &Events, data: &Data) -> Result<Self, Failure> {
        let task = events.task.as_deref().map(|id| data.task_id(id)).transpose()?;
        let now = SystemClock.now();
        Ok(Self { task, types: events.types.clone(), since: events.since, now })
    }

    /// Returns a line as text; none if it is not wanted, or is no event.
    fn wanted(&self, line: Vec<u8>) -> Option<String> {
        let text = String::from_utf8(line).ok()?;
        let head: Head = serde_json::from_str(&text).ok()?;
        self.wants(&head).then_some(text)
    }

    fn wants(&self, event: &Head) -> bool {
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

    fn is_since(&self, event: &Head, since: Since) -> bool {
        let time = || event.timestamp.as_str().and_then(|text| Time::parse(text).ok());
        match since {
            Since::Event(id) => event.event_id.as_u64().is_some_and(|event| event >= id),
            Since::Time(then) => time().is_some_and(|time| time >= then),
            Since::Age(millis) => {
                time().is_some_and(|time| time.as_millis() >= self.now.as_millis() - millis)
            }
        }
    }
}

fn since(text: &str) -> Result<Since, String> {
    if let Ok(id) = text.parse() {
        return Ok(Since::Event(id));
    }
    if let Ok(time) = Time::parse(text) {
        return Ok(Since::Time(time));
    }
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let age = units.iter().find_map(|(unit, millis)| {
        let count: i64 = text.strip_suffix(unit)?.parse().ok().filter(|count| *count >= 0)?;
        count.checked_mul(*millis)
    });
    age.map(Since::Age)
        .ok_or_else(|| "a time as 2026-02-09T21:00:00Z, an age as 15m, or a number".to_owned())
}
