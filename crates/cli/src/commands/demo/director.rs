//! Plays the person, and whoever pulls a plug: watches the record, says what happens, approves,
//! answers and kills.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::command::Caller;
use adjutant_core::{Command, Status, TaskId};
use adjutant_runtime::Request;
use adjutant_runtime::daemon::Glance;
use adjutant_runtime::door::Guest;
use adjutant_runtime::shim::files::Folder as Attempt;
use adjutant_store::file::{EventFiles, Folder};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::plan::Plan;
use super::words;
use crate::error::Failure;
use crate::output::{Colour, Output};
use crate::person::operator;
use crate::view::glance::Display;

/// How often to look for something new.
const PAUSE: Duration = Duration::from_millis(30);

/// The person in front of the crew.
pub(super) struct Director<'a> {
    folder: &'a Folder,
    plan: &'a Plan,
    seen: &'a Mutex<Option<Glance>>,
    display: &'a Mutex<Display<'a>>,
    out: &'a Output,
    record: EventFiles,
    began: Instant,
    /// The task whose agent is to be killed, until it is.
    victim: Option<TaskId>,
}

impl<'a> Director<'a> {
    pub(super) fn new(
        folder: &'a Folder,
        plan: &'a Plan,
        seen: &'a Mutex<Option<Glance>>,
        display: &'a Mutex<Display<'a>>,
        out: &'a Output,
    ) -> Self {
        let record = EventFiles::open(folder.root());
        let began = Instant::now();
        Self { folder, plan, seen, display, out, record, began, victim: None }
    }

    /// Directs until everything has come to its end, and returns how long that took.
    pub(super) fn direct(&mut self, left: &dyn Fn() -> bool) -> Result<Duration, Failure> {
        loop {
            // What the daemon showed comes first, so that everything before it is in the record.
            let glance = lock(self.seen).take();
            let is_last = left();
            let acted = self.follow()? || self.kill()?;
            if is_last || (!acted && glance.is_some_and(|glance| is_over(&glance))) {
                return Ok(self.began.elapsed());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes in what is new in the record, and says whether anything was done about it.
    fn follow(&mut self) -> Result<bool, Failure> {
        let mut acted = false;
        while let Some(line) = self.record.next_line()? {
            let Ok(event) = serde_json::from_slice::<Value>(&line.bytes) else { continue };
            self.tell(&event)?;
            acted |= self.act(&event)?;
        }
        Ok(acted)
    }

    fn tell(&self, event: &Value) -> Result<(), Failure> {
        if self.out.is_json() {
            return self.out.document(event);
        }
        match words::of(event, self.plan) {
            Some((colour, who, what)) => self.say(colour, who, &what),
            None => Ok(()),
        }
    }

    fn say(&self, colour: Colour, who: &str, what: &str) -> Result<(), Failure> {
        if self.out.is_json() {
            return Ok(());
        }
        let when = format!("{:.1}s", self.began.elapsed().as_secs_f32());
        lock(self.display).above(&when, who, (colour, what))
    }

    /// Does what a person does about an event.
    fn act(&mut self, event: &Value) -> Result<bool, Failure> {
        let (Some(kind), Some(task)) = (event["type"].as_str(), event["taskId"].as_str()) else {
            return Ok(false);
        };
        let to = event["payload"]["to"].as_str();
        let id = |key| self.plan.id(key).clone();
        match (kind, to) {
            ("task.transitioned", Some("review")) if self.plan.is(task, "build") => {
                let note = "well done".to_owned();
                self.wish(Command::Approve { id: id("build"), note }, "approve the work")
            }
            ("task.transitioned", Some("blocked")) if self.plan.is(task, "licence") => {
                let text = "Apache-2.0".to_owned();
                self.wish(Command::Answer { id: id("licence"), text }, "answer: Apache-2.0")
            }
            ("task.logged", _) if self.plan.is(task, "migrate") => {
                self.victim = Some(id("migrate"));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Has the daemon do something, through its door as any command does.
    fn wish(&self, command: Command, what: &str) -> Result<bool, Failure> {
        let Some(mut door) = Guest::enter(self.folder.root()) else { return Ok(false) };
        self.say(Colour::Blue, "you", what)?;
        door.ask(&[Request::Command { by: Caller::Operator(operator()), command }])?;
        Ok(true)
    }

    /// Kills the agent that is to be killed, once it is known which process it is.
    fn kill(&mut self) -> Result<bool, Failure> {
        let Some(task) = self.victim.take() else { return Ok(false) };
        let attempts = self.folder.root().join("runs").join(task.as_str()).join("attempts");
        let record = Attempt::at(&attempts.join("1")).record().ok().flatten();
        let agent = record.and_then(|record| record.process());
        let pid = agent.filter(|agent| agent.is_alive()).and_then(|agent| Pid::from_raw(agent.pid));
        match pid {
            Some(pid) => {
                let what = format!("kill -9 {}, in the middle of its work", pid.as_raw_nonzero());
                self.say(Colour::Red, "you", &what)?;
                // It may have gone by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
            None => self.victim = Some(task),
        }
        Ok(true)
    }
}

/// Says whether nothing runs and nothing will.
fn is_over(glance: &Glance) -> bool {
    let open = [Status::Backlog, Status::Ready, Status::InProgress, Status::Review];
    let is_open = |(status, count): &(Status, usize)| *count > 0 && open.contains(status);
    glance.running.is_empty() && !glance.counts.iter().any(is_open)
}

/// Locks what two threads share. What a panic left is as good as anything else to show.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
