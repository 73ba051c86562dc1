//! Plays the operator of the demo: follows the event log, prints events, approves and answers, and
//! kills an agent.

use std::time::{Duration, Instant};

use adjutant_daemon::StatusSnapshot;
use adjutant_engine::EngineRequest;
use adjutant_engine::ipc::IpcClient;
use adjutant_model::command::CommandCaller;
use adjutant_model::{Command, Status, TaskId};
use adjutant_run_files::attempt_files::AttemptFolder as Attempt;
use adjutant_store::file::{DataFolder, EventFiles};
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::narration;
use super::plan::DemoPlan;
use crate::caller::operator;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};
use crate::view::daemon_display::DaemonDisplay;

/// The interval between two reads of the event log.
const PAUSE: Duration = Duration::from_millis(30);

pub(super) struct DemoOperator<'a> {
    folder: &'a DataFolder,
    plan: &'a DemoPlan,
    latest_status: &'a Mutex<Option<StatusSnapshot>>,
    display: &'a Mutex<DaemonDisplay<'a>>,
    out: &'a CommandOutput,
    event_files: EventFiles,
    began: Instant,
    /// The task whose agent must be killed, until that is done.
    kill_target: Option<TaskId>,
}

impl<'a> DemoOperator<'a> {
    pub(super) fn new(
        folder: &'a DataFolder,
        plan: &'a DemoPlan,
        latest_status: &'a Mutex<Option<StatusSnapshot>>,
        display: &'a Mutex<DaemonDisplay<'a>>,
        out: &'a CommandOutput,
    ) -> Self {
        let event_files = EventFiles::open(folder.root());
        let began = Instant::now();
        Self { folder, plan, latest_status, display, out, event_files, began, kill_target: None }
    }

    /// Follows the demo until all tasks have ended and returns how long that took.
    pub(super) fn follow_until_done(
        &mut self,
        left: &dyn Fn() -> bool,
    ) -> Result<Duration, CommandFailure> {
        loop {
            // Take the daemon's status first, so that the event log holds everything that led to
            // it.
            let glance = lock(self.latest_status).take();
            let is_last = left();
            let acted = self.read_events()? || self.kill_target_agent()?;
            if is_last || (!acted && glance.is_some_and(|glance| is_over(&glance))) {
                return Ok(self.began.elapsed());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads new events and returns whether it acted on any.
    fn read_events(&mut self) -> Result<bool, CommandFailure> {
        let mut acted = false;
        while let Some(line) = self.event_files.next_line()? {
            let Ok(event) = serde_json::from_slice::<Value>(&line.bytes) else { continue };
            self.print_event(&event)?;
            acted |= self.react(&event)?;
        }
        Ok(acted)
    }

    fn print_event(&self, event: &Value) -> Result<(), CommandFailure> {
        if self.out.is_json() {
            return self.out.document(event);
        }
        match narration::describe_event(event, self.plan) {
            Some((colour, who, what)) => self.print_line(colour, who, &what),
            None => Ok(()),
        }
    }

    fn print_line(&self, colour: TextColour, who: &str, what: &str) -> Result<(), CommandFailure> {
        if self.out.is_json() {
            return Ok(());
        }
        let when = format!("{:.1}s", self.began.elapsed().as_secs_f32());
        lock(self.display).print_above(&when, who, (colour, what))
    }

    /// Reacts to an event as an operator would.
    fn react(&mut self, event: &Value) -> Result<bool, CommandFailure> {
        let (Some(kind), Some(task)) = (event["type"].as_str(), event["taskId"].as_str()) else {
            return Ok(false);
        };
        let to = event["payload"]["to"].as_str();
        let id = |key| self.plan.id(key).clone();
        match (kind, to) {
            ("task.transitioned", Some("review")) if self.plan.is_task(task, "build") => {
                let note = "well done".to_owned();
                self.submit(Command::Approve { id: id("build"), note }, "approve the work")
            }
            ("task.transitioned", Some("blocked")) if self.plan.is_task(task, "licence") => {
                let text = "Apache-2.0".to_owned();
                self.submit(Command::Answer { id: id("licence"), text }, "answer: Apache-2.0")
            }
            ("task.logged", _) if self.plan.is_task(task, "migrate") => {
                self.kill_target = Some(id("migrate"));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Submits a command to the daemon, as any command does.
    fn submit(&self, command: Command, what: &str) -> Result<bool, CommandFailure> {
        let Some(mut door) = IpcClient::connect(self.folder.root()) else { return Ok(false) };
        self.print_line(TextColour::Blue, "you", what)?;
        door.ask(&[EngineRequest::command(CommandCaller::Operator(operator()), command)])?;
        Ok(true)
    }

    /// Kills the agent of `victim` once its process is known.
    fn kill_target_agent(&mut self) -> Result<bool, CommandFailure> {
        let Some(task) = self.kill_target.take() else { return Ok(false) };
        let attempts = self.folder.root().join("runs").join(task.as_str()).join("attempts");
        let record = Attempt::new(&attempts.join("1")).record().ok().flatten();
        let agent = record.and_then(|record| record.agent_process());
        let pid = agent.filter(|agent| agent.is_alive()).and_then(|agent| Pid::from_raw(agent.pid));
        match pid {
            Some(pid) => {
                let what = format!(
                    "kill -9 {} (the agent, in the middle of its work)",
                    pid.as_raw_nonzero()
                );
                self.print_line(TextColour::Red, "you", &what)?;
                // The process may have ended by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
            None => self.kill_target = Some(task),
        }
        Ok(true)
    }
}

/// Says whether nothing runs and no task can start.
fn is_over(glance: &StatusSnapshot) -> bool {
    let open = [Status::Backlog, Status::Ready, Status::InProgress, Status::Review];
    let is_open = |(status, count): &(Status, usize)| *count > 0 && open.contains(status);
    glance.running.is_empty() && !glance.counts.iter().any(is_open)
}

/// Locks shared display state. State left by a panic is still good enough to show.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock()
}
