//! Shows the status of a daemon: lines that change in place on a terminal, and elsewhere one line
//! for every change.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use adjutant_config::Config;
use adjutant_core::schedule::IdleSummary;
use adjutant_daemon::notifier::NoticeMessage;
use adjutant_daemon::{
    ActiveRun, ConfigUpdate, EndedRun, HttpEndpointFile, ShutdownPhase, StatusSnapshot,
};
use adjutant_model::{Status, TaskId};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_query::text::fit;
use adjutant_store::file::DataFolder;
use serde_json::json;

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};
use crate::view::sandbox_summary::{
    describe_levels, limits_not_enforced, sandbox_levels, weaker_than_strict,
};

/// The shortest time between two redraws on a terminal.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct DaemonDisplay<'a> {
    out: &'a CommandOutput,
    live: bool,
    timestamps: bool,
    lines_drawn: usize,
    last: Option<Instant>,
    running: BTreeMap<TaskId, ActiveRun>,
    leaving: ShutdownPhase,
}

impl<'a> DaemonDisplay<'a> {
    pub(crate) fn new(out: &'a CommandOutput) -> Self {
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = std::io::stderr().is_terminal() && able && !out.is_json();
        let (running, leaving) = (BTreeMap::new(), ShutdownPhase::Running);
        Self { out, live, timestamps: false, lines_drawn: 0, last: None, running, leaving }
    }

    /// Prefixes every line with the time from now on, for a log file.
    #[must_use]
    pub(crate) fn with_timestamps(mut self) -> Self {
        self.timestamps = true;
        self
    }

    pub(crate) fn print_started(&self, folder: &DataFolder) {
        self.print_line(
            &format!("the daemon is up on {}", folder.root().display()),
            &json!({"up": folder.root(), "pid": std::process::id()}),
        );
    }

    /// Prints what confines the agents, why `sandbox = "auto"` is weaker than `strict` here, and the
    /// limits that are not enforced.
    pub(crate) fn print_sandboxes(&self, config: &Config) {
        let levels = sandbox_levels(config);
        if let Some(text) = describe_levels(&levels) {
            self.print_line(&text, &json!({"sandbox": levels}));
        }
        if let Some(why) = weaker_than_strict(config) {
            let text = format!("sandbox = \"auto\" is weaker than \"strict\" here: {why}");
            self.print_line(&text, &json!({"weakerThanStrict": why}));
        }
        for (limit, why) in limits_not_enforced(config) {
            let text = format!("`{limit}` is not enforced here: {why}");
            self.print_line(&text, &json!({"limitsNotEnforced": {limit: why}}));
        }
    }

    /// Prints the address for signing in to the daemon's board.
    pub(crate) fn print_address(&self, place: &HttpEndpointFile) {
        self.print_line(
            &format!("the board, with a link that works once: {}", place.login),
            &json!({"url": place.url, "login": place.login}),
        );
    }

    /// Says whether lines change in place.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    pub(crate) fn show(&mut self, snapshot: &StatusSnapshot) {
        if self.live {
            if self.last.is_none_or(|last| last.elapsed() >= REDRAW_INTERVAL) {
                self.draw(snapshot);
            }
        } else {
            self.print_changes(snapshot);
        }
    }

    /// Like [`DaemonDisplay::show`], but prints nothing if lines cannot change in place.
    pub(crate) fn show_live(&mut self, snapshot: &StatusSnapshot) {
        if self.live {
            self.show(snapshot);
        }
    }

    /// Prints a line above the lines that change in place; `what` has a colour.
    pub(crate) fn print_above(
        &mut self,
        when: &str,
        who: &str,
        what: (TextColour, &str),
    ) -> Result<(), CommandFailure> {
        self.clear();
        let head = format!("{when:>6}  {who:<11}  ");
        let room = self.out.width().map_or(usize::MAX, |width| width.saturating_sub(head.len()));
        let what = self.out.paint(what.0, &fit(&clean(what.1), room));
        self.out.line(&format!("{}{what}", self.out.paint(TextColour::Dim, &head)))
    }

    pub(crate) fn print_stuck(&mut self, why: &str) {
        self.clear_if_live();
        self.print_line(&format!("stuck, and retrying: {why}"), &json!({ "stuck": why }));
    }

    pub(crate) fn print_resumed(&mut self) {
        self.clear_if_live();
        self.print_line("resumed", &json!({ "stuck": null }));
    }

    /// Prints a notification.
    pub(crate) fn print_notice(&mut self, notice: &NoticeMessage) {
        self.clear_if_live();
        for (line, item) in notice.lines().iter().zip(&notice.items) {
            self.print_line(&format!("notice: {line}"), &json!({"notice": item.to_json()}));
        }
    }

    /// Prints that the configuration was changed.
    pub(crate) fn print_config_update(&mut self, update: &ConfigUpdate) {
        self.clear_if_live();
        let (text, restart, problem) = match update {
            ConfigUpdate::Applied { restart } if restart.is_empty() => {
                ("adjutant.toml was changed and is in effect".to_owned(), restart.as_slice(), None)
            }
            ConfigUpdate::Applied { restart } => {
                let text = format!(
                    "adjutant.toml was changed and is in effect, except {}: restart the daemon \
                     to apply it",
                    restart.join(", ")
                );
                (text, restart.as_slice(), None)
            }
            ConfigUpdate::Refused(problem) => {
                let text = format!(
                    "adjutant.toml cannot be used, and the settings before it stay in effect: \
                     {problem}"
                );
                (text, &[][..], Some(problem))
            }
            ConfigUpdate::Unaccepted(names) => {
                let text = format!(
                    "adjutant.toml was changed, and the accepted settings stay in effect until \
                     `adjutant trust`: {}",
                    names.join(", ")
                );
                (text, &[][..], None)
            }
        };
        let mut state = json!({"restart": restart, "problem": problem});
        if let ConfigUpdate::Unaccepted(names) = update {
            state["unaccepted"] = json!(names);
        }
        self.print_line(&text, &json!({ "config": state }));
    }

    /// Prints what was done and what is left, when no task can run any more.
    pub(crate) fn print_summary(&self, summary: &IdleSummary) {
        if self.out.is_json() {
            return self.print_line("", &summary_document(summary));
        }
        for line in summary_lines(summary) {
            self.print_line(&line, &serde_json::Value::Null);
        }
    }

    fn clear_if_live(&mut self) {
        if self.live {
            self.clear();
        }
    }

    /// Erases the lines that change in place.
    pub(crate) fn clear(&mut self) {
        let text = self.erase_sequence();
        (self.lines_drawn, self.last) = (0, None);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Keeps the last drawn lines on the screen.
    pub(crate) fn keep_lines(&mut self) {
        self.lines_drawn = 0;
    }

    /// Prints the changes since the last call.
    fn print_changes(&mut self, snapshot: &StatusSnapshot) {
        let now: BTreeMap<TaskId, ActiveRun> =
            snapshot.running.iter().map(|run| (run.task.clone(), run.clone())).collect();
        for EndedRun { task, status, reason: why } in &snapshot.ended {
            let stands = status.map_or("removed", Status::as_str);
            let because = why.as_ref().map_or_else(String::new, |why| format!(", {why}"));
            self.print_line(
                &format!("{task} ended: {stands}{because}"),
                &json!({"ended": task.as_str(), "status": status.map(Status::as_str), "why": why}),
            );
        }
        for (task, run) in &now {
            if self.running.get(task).is_none_or(|before| before.attempt != run.attempt) {
                let ActiveRun { agent, attempt, title, .. } = run;
                self.print_line(
                    &format!("{task} started: {agent}, attempt {attempt}: {title}"),
                    &json!({"started": task.as_str(), "agent": agent, "attempt": attempt}),
                );
            }
        }
        if self.leaving != snapshot.phase {
            self.print_line(
                leaving_text(snapshot.phase),
                &json!({"leaving": leaving_text(snapshot.phase)}),
            );
        }
        (self.running, self.leaving) = (now, snapshot.phase);
    }

    fn print_line(&self, words: &str, document: &serde_json::Value) {
        let stamp = if self.timestamps { format!("{} ", SystemClock.now()) } else { String::new() };
        let words = format!("{stamp}{}", clean(words));
        // A closed output does not stop the daemon.
        let _ =
            if self.out.is_json() { self.out.document(document) } else { self.out.line(&words) };
    }

    fn draw(&mut self, snapshot: &StatusSnapshot) {
        // A line that is too long would wrap, and the next redraw would start one line too low.
        let width = self.out.width().unwrap_or(usize::MAX);
        let lines: Vec<String> =
            lines(snapshot).iter().map(|line| fit(&clean(line), width) + "\n").collect();
        let text = self.erase_sequence() + &lines.concat();
        self.lines_drawn = lines.len();
        self.last = Some(Instant::now());
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Returns the escape sequence that erases the drawn lines.
    fn erase_sequence(&self) -> String {
        match self.lines_drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        }
    }
}

fn lines(snapshot: &StatusSnapshot) -> Vec<String> {
    let mut lines = vec![counts_line(snapshot)];
    for run in &snapshot.running {
        let ActiveRun { task, agent, attempt, elapsed: since, title } = run;
        let nth = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        lines.push(format!("  {:>6}  {agent:<12} {task}{nth}  {title}", format_duration(*since)));
    }
    if let [first, rest @ ..] = &snapshot.next[..] {
        // `next` holds only the first few waiting tasks, so their total is not known.
        let more = if rest.is_empty() { "" } else { ", and more" };
        lines.push(format!("    next  {} {}{more}", first.task, first.title));
    }
    if snapshot.phase != ShutdownPhase::Running {
        lines.push(leaving_text(snapshot.phase).to_owned());
    }
    lines
}

/// The most tasks that each part of a summary lists.
const SUMMARY_TASKS_MAX: usize = 20;

fn summary_lines(summary: &IdleSummary) -> Vec<String> {
    let IdleSummary { done, waiting, cannot_run } = summary;
    let mut lines = vec![format!(
        "no task can run any more: {} done, {} waiting for you, {} cannot run",
        done.len(),
        waiting.len(),
        cannot_run.len()
    )];
    let finished = done.iter().map(|one| format!("{}  {}", one.task, one.title));
    lines.extend(summary_part("done:", finished));
    let items =
        waiting.iter().map(|item| format!("{}  {}: {}", item.task, item.kind.as_str(), item.text));
    lines.extend(summary_part("waiting for you (`adjutant inbox` lists what you can do):", items));
    let held =
        cannot_run.iter().map(|one| format!("{}  {}: {}", one.task, one.title, one.hold.text));
    lines.extend(summary_part("cannot run:", held));
    lines
}

/// Returns a heading and at most [`SUMMARY_TASKS_MAX`] lines; nothing if there is no line.
fn summary_part(heading: &str, lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let count = lines.len();
    if count == 0 {
        return vec![];
    }
    let first = lines.take(SUMMARY_TASKS_MAX).map(|line| format!("  {line}"));
    let more = count.checked_sub(SUMMARY_TASKS_MAX).filter(|more| *more > 0);
    let more = more.map(|more| format!("  and {more} more"));
    [heading.to_owned()].into_iter().chain(first).chain(more).collect()
}

fn summary_document(summary: &IdleSummary) -> serde_json::Value {
    let done: Vec<&str> = summary.done.iter().map(|one| one.task.as_str()).collect();
    let waiting = summary.waiting.iter().map(
        |item| json!({"kind": item.kind.as_str(), "taskId": item.task.as_str(), "text": item.text}),
    );
    let held = summary.cannot_run.iter().map(
        |one| json!({"taskId": one.task.as_str(), "code": one.hold.code, "text": one.hold.text}),
    );
    let (waiting, held): (Vec<_>, Vec<_>) = (waiting.collect(), held.collect());
    json!({"idle": {"done": done, "waiting": waiting, "cannotRun": held}})
}

fn counts_line(snapshot: &StatusSnapshot) -> String {
    let some = snapshot
        .counts
        .iter()
        .filter(|(status, count)| *count > 0 && !matches!(status, Status::InProgress));
    let others: Vec<String> = some.map(|(status, count)| format!("{count} {status}")).collect();
    format!("{} of {} running  {}", snapshot.running.len(), snapshot.slots, others.join(", "))
}

fn leaving_text(leaving: ShutdownPhase) -> &'static str {
    match leaving {
        ShutdownPhase::Running => "running",
        ShutdownPhase::Draining => {
            "draining: no new runs; press Ctrl-C again to stop the current runs"
        }
        ShutdownPhase::Stopping => {
            "stopping the runs; press Ctrl-C again to exit without waiting for them"
        }
        ShutdownPhase::Immediate => "exiting",
    }
}

/// Formats a duration, e.g. `42s`, `3m12s` or `1h05m`.
pub(crate) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_daemon::WaitingTask;

    use super::*;

    fn next(count: u32) -> String {
        let waiting = |n| WaitingTask {
            task: TaskId::parse(&format!("TASK-2026-02-09-{n:03}")).expect("an id"),
            title: format!("task {n}"),
        };
        let snapshot = StatusSnapshot {
            running: vec![],
            ended: vec![],
            next: (1..=count).map(waiting).collect(),
            counts: vec![],
            slots: 4,
            phase: ShutdownPhase::Running,
        };
        lines(&snapshot).pop().expect("a line")
    }

    #[test]
    fn display_names_next_task_without_counting_the_rest() {
        assert_eq!(next(1), "    next  TASK-2026-02-09-001 task 1");
        assert_eq!(next(5), "    next  TASK-2026-02-09-001 task 1, and more");
    }
}
