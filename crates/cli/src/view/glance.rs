//! What a daemon does, as a person sees it: a few lines that change in place on a terminal, and a
//! line for every change elsewhere.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use adjutant_core::{Status, TaskId};
use adjutant_runtime::daemon::{Ended, Glance, Leaving, Place, Running};
use adjutant_runtime::notifier::Letter;
use adjutant_runtime::{Clock, SystemClock};
use adjutant_store::file::Folder;
use serde_json::json;

use crate::error::Failure;
use crate::output::{Colour, Output, clean};
use crate::table::fit;

/// How often a display on a terminal is drawn anew at most.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows what a daemon does.
pub(crate) struct Display<'a> {
    out: &'a Output,
    live: bool,
    stamped: bool,
    drawn: usize,
    last: Option<Instant>,
    running: BTreeMap<TaskId, Running>,
    leaving: Leaving,
}

impl<'a> Display<'a> {
    pub(crate) fn new(out: &'a Output) -> Self {
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = std::io::stderr().is_terminal() && able && !out.is_json();
        let (running, leaving) = (BTreeMap::new(), Leaving::No);
        Self { out, live, stamped: false, drawn: 0, last: None, running, leaving }
    }

    /// Says when it was with every line from now on: for a log.
    #[must_use]
    pub(crate) fn stamped(mut self) -> Self {
        self.stamped = true;
        self
    }

    /// Says what the daemon runs on.
    pub(crate) fn begin(&self, folder: &Folder) {
        self.say(
            &format!("up on {}", folder.root().display()),
            &json!({"up": folder.root(), "pid": std::process::id()}),
        );
    }

    /// Says where the daemon can be called.
    pub(crate) fn listens(&self, place: &Place) {
        self.say(
            &format!("sign in once at {}", place.login),
            &json!({"url": place.url, "login": place.login}),
        );
    }

    /// Says whether it changes in place.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Shows how things stand.
    pub(crate) fn show(&mut self, glance: &Glance) {
        if self.live {
            if self.last.is_none_or(|last| last.elapsed() >= PAUSE) {
                self.draw(glance);
            }
        } else {
            self.tell(glance);
        }
    }

    /// Shows how things stand if that can change in place, and else says nothing.
    pub(crate) fn show_live(&mut self, glance: &Glance) {
        if self.live {
            self.show(glance);
        }
    }

    /// Says something above what changes in place: when, who and what, in a colour.
    pub(crate) fn above(
        &mut self,
        when: &str,
        who: &str,
        what: (Colour, &str),
    ) -> Result<(), Failure> {
        self.clear();
        let head = format!("{when:>6}  {who:<11}  ");
        let room = self.out.width().map_or(usize::MAX, |width| width.saturating_sub(head.len()));
        let what = self.out.paint(what.0, &fit(&clean(what.1), room));
        self.out.line(&format!("{}{what}", self.out.paint(Colour::Dim, &head)))
    }

    /// Says that the daemon cannot go on for now, and why.
    pub(crate) fn stuck(&mut self, why: &str) {
        self.clear_if_live();
        self.say(
            &format!("cannot go on, and tries again until it can: {why}"),
            &json!({ "stuck": why }),
        );
    }

    /// Says that the daemon goes on.
    pub(crate) fn free(&mut self) {
        self.clear_if_live();
        self.say("goes on", &json!({ "stuck": null }));
    }

    /// Says what somebody wants to be told.
    pub(crate) fn told(&mut self, letter: &Letter) {
        self.clear_if_live();
        for (line, item) in letter.lines().iter().zip(&letter.items) {
            self.say(&format!("notice: {line}"), &json!({"notice": item.document()}));
        }
    }

    fn clear_if_live(&mut self) {
        if self.live {
            self.clear();
        }
    }

    /// Takes away what was drawn in place.
    pub(crate) fn clear(&mut self) {
        let text = self.back();
        (self.drawn, self.last) = (0, None);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Leaves the last lines as they are.
    pub(crate) fn end(&mut self) {
        self.drawn = 0;
    }

    /// Tells what has changed since the last time.
    fn tell(&mut self, glance: &Glance) {
        let now: BTreeMap<TaskId, Running> =
            glance.running.iter().map(|run| (run.task.clone(), run.clone())).collect();
        for Ended { task, status, why } in &glance.ended {
            let stands = status.map_or("gone", Status::as_str);
            let because = why.as_ref().map_or_else(String::new, |why| format!(", {why}"));
            self.say(
                &format!("{task} ended: {stands}{because}"),
                &json!({"ended": task.as_str(), "status": status.map(Status::as_str), "why": why}),
            );
        }
        for (task, run) in &now {
            if self.running.get(task).is_none_or(|before| before.attempt != run.attempt) {
                let Running { agent, attempt, title, .. } = run;
                self.say(
                    &format!("{task} started: {agent}, attempt {attempt}: {title}"),
                    &json!({"started": task.as_str(), "agent": agent, "attempt": attempt}),
                );
            }
        }
        if self.leaving != glance.leaving {
            self.say(leaving(glance.leaving), &json!({"leaving": leaving(glance.leaving)}));
        }
        (self.running, self.leaving) = (now, glance.leaving);
    }

    fn say(&self, words: &str, document: &serde_json::Value) {
        let stamp = if self.stamped { format!("{} ", SystemClock.now()) } else { String::new() };
        let words = format!("{stamp}{}", clean(words));
        // Nobody has to read it.
        let _ =
            if self.out.is_json() { self.out.document(document) } else { self.out.line(&words) };
    }

    fn draw(&mut self, glance: &Glance) {
        // A line that is too long would take two, and the next drawing would begin a line too low.
        let width = self.out.width().unwrap_or(usize::MAX);
        let lines: Vec<String> =
            lines(glance).iter().map(|line| fit(&clean(line), width) + "\n").collect();
        let text = self.back() + &lines.concat();
        self.drawn = lines.len();
        self.last = Some(Instant::now());
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Returns what takes away the lines that were drawn.
    fn back(&self) -> String {
        match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        }
    }
}

/// Returns the lines of a display.
fn lines(glance: &Glance) -> Vec<String> {
    let mut lines = vec![counts(glance)];
    for run in &glance.running {
        let Running { task, agent, attempt, since, title } = run;
        let nth = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        lines.push(format!("  {:>6}  {agent:<12} {task}{nth}  {title}", span(*since)));
    }
    if let [first, rest @ ..] = &glance.next[..] {
        // Only the first few are looked at, so that how many there are is not known.
        let more = if rest.is_empty() { "" } else { ", and more" };
        lines.push(format!("    next  {} {}{more}", first.task, first.title));
    }
    if glance.leaving != Leaving::No {
        lines.push(leaving(glance.leaving).to_owned());
    }
    lines
}

fn counts(glance: &Glance) -> String {
    let some = glance
        .counts
        .iter()
        .filter(|(status, count)| *count > 0 && !matches!(status, Status::InProgress));
    let others: Vec<String> = some.map(|(status, count)| format!("{count} {status}")).collect();
    format!("{} of {} running  {}", glance.running.len(), glance.slots, others.join(", "))
}

fn leaving(leaving: Leaving) -> &'static str {
    match leaving {
        Leaving::No => "here to stay",
        Leaving::Draining => "draining: nothing more is given out; Ctrl-C again stops the runs",
        Leaving::Stopping => "stopping the runs; Ctrl-C again leaves them alone",
        Leaving::Now => "leaving",
    }
}

/// Writes a length of time short.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_runtime::daemon::Waiting;

    use super::*;

    fn next(count: u32) -> String {
        let waiting = |n| Waiting {
            task: TaskId::parse(&format!("TASK-2026-02-09-{n:03}")).expect("an id"),
            title: format!("task {n}"),
        };
        let glance = Glance {
            running: vec![],
            ended: vec![],
            next: (1..=count).map(waiting).collect(),
            counts: vec![],
            slots: 4,
            leaving: Leaving::No,
        };
        lines(&glance).pop().expect("a line")
    }

    #[test]
    fn what_is_next_is_named_and_the_rest_is_not_counted() {
        assert_eq!(next(1), "    next  TASK-2026-02-09-001 task 1");
        assert_eq!(next(5), "    next  TASK-2026-02-09-001 task 1, and more");
    }
}
