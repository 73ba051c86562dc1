//! `adjutant demo`: messages of every kind through a fresh folder, and the record they leave.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Status, TaskId};
use adjutant_runtime::{Answered, Clock, Request, SystemClock};
use adjutant_store::document::companion;
use adjutant_store::file::{EventFiles, Folder};
use serde_json::{Value, json};

use crate::data::{Data, FileEngine};
use crate::error::Failure;
use crate::output::{Colour, Output};
use crate::person::operator;
use crate::view::{answer, event};

/// Walk messages of every kind through a fresh folder, and show the record
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// Keep the folder, and say where it is
    #[arg(long)]
    keep: bool,
}

impl Demo {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let failed = |error| Failure::broken("cannot make a folder for the demo", &error);
        let home = tempfile::Builder::new().prefix("adjutant-demo-").tempdir().map_err(failed)?;
        let folder = Folder::init(home.path())?;
        let data = Data::find(Some(folder.root()))?;
        say(
            out,
            "Everything here happens in a fresh folder of its own; nothing of yours is touched.",
        )?;
        let mut story = Story { engine: data.engine()?, out, root: folder.root() };
        story.tell()?;
        story.engine.rest()?;
        show_record(out, folder.root())?;
        let called = called();
        if self.keep {
            let kept = home.keep();
            say(out, &format!("\nThe folder is kept: {}", kept.display()))?;
            say(out, &format!("Look around: {called} task list --data {}", kept.display()))?;
        } else {
            say(out, &format!("\n`{called} demo --keep` keeps the folder, to look around in."))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what this program was called as: whoever tries it first has not installed it.
fn called() -> String {
    std::env::args().next().unwrap_or_else(|| "adjutant".to_owned())
}

/// The demo, step by step.
struct Story<'a> {
    engine: FileEngine,
    out: &'a Output,
    root: &'a Path,
}

impl Story<'_> {
    fn tell(&mut self) -> Result<(), Failure> {
        self.heading("Three tasks: an API, its tests, and a chore that needs no review")?;
        let api = self.add("Build the users API", "swe-backend", Review::Required)?;
        let tests = self.add("Test the users API", "swe-backend", Review::Required)?;
        let chore = self.add("Tidy the changelog", "swe-docs", Review::NotNeeded)?;
        self.start(&api)?;
        self.start(&chore)?;

        self.heading("An agent says how far it is: a line in the task's work log")?;
        self.send(
            &api,
            "status.update",
            "swe-backend",
            &json!({
                "taskId": api.as_str(), "agentId": "swe-backend",
                "progress": "Routes are in place", "notes": "Validation is next",
            }),
        )?;

        self.heading("It hands the tests on; the other agent accepts")?;
        self.send(&tests, "handoff.request", "swe-backend", &handoff(&tests, &api))?;
        self.send(
            &tests,
            "handoff.accepted",
            "swe-qa",
            &json!({"taskId": tests.as_str(), "accepted": true}),
        )?;

        self.heading("It reports done; the work waits for a review, and is approved")?;
        self.leave_outputs(&api)?;
        self.send(&api, "completion.report", "swe-backend", &report("done", "All criteria met"))?;
        self.command(Command::Approve { id: api, note: "well done".into() })?;

        self.heading("The other agent cannot go on and gives the work back: the task is blocked")?;
        self.start(&tests)?;
        self.send(
            &tests,
            "handoff.rejected",
            "swe-qa",
            &json!({
                "taskId": tests.as_str(), "accepted": false, "reason": "There is no test plan",
            }),
        )?;

        self.heading("The chore needs no review: done is done, and a missing summary a warning")?;
        self.send(&chore, "completion.report", "swe-docs", &report("done", "Tidied"))?;

        self.heading("What is wrong is refused, with every reason, and changes nothing")?;
        self.send(&tests, "completion.report", "intruder", &report("done", "Believe me"))?;
        let mut wrong = report("finished", "");
        wrong["summaryRef"] = "/etc/passwd".into();
        wrong["tests"]["passed"] = 13.into();
        wrong["notes"].take();
        self.send(&tests, "completion.report", "swe-qa", &wrong)?;
        self.send(&tests, "coffee.break", "swe-qa", &json!({}))
    }

    fn heading(&self, text: &str) -> Result<(), Failure> {
        say(self.out, &format!("\n{}", self.out.paint(Colour::Blue, text)))
    }

    fn add(&mut self, title: &str, agent: &str, review: Review) -> Result<TaskId, Failure> {
        let routing = Routing { agent: AgentId::parse(agent).ok(), ..Routing::default() };
        let title = title.to_owned();
        let new = NewTask { title, routing, review, start: Start::Ready, ..NewTask::default() };
        let answered = self.command(Command::Add(Box::new(new)))?;
        answered.answer.task.ok_or_else(|| Failure::usage("the demo could not add a task"))
    }

    fn start(&mut self, id: &TaskId) -> Result<(), Failure> {
        let (id, to) = (id.clone(), Status::InProgress);
        self.command(Command::Move { id, to, reason: "taken up".into() }).map(|_| ())
    }

    /// Leaves what an agent leaves with its task before it reports.
    fn leave_outputs(&self, id: &TaskId) -> Result<(), Failure> {
        let failed = |error| Failure::broken("cannot leave the outputs of the demo", &error);
        let outputs = self.root.join(companion(Status::InProgress, id)).join("outputs");
        fs::create_dir_all(&outputs).map_err(failed)?;
        fs::write(outputs.join("summary.md"), "Routes and validation are there.\n")
            .map_err(failed)?;
        fs::write(outputs.join("handoff.md"), "The tests are with swe-qa.\n").map_err(failed)
    }

    fn command(&mut self, command: Command) -> Result<Answered, Failure> {
        let what = command.name();
        // The folder is the demo's own: whoever plays it is its operator, inside a run as well.
        self.ask(what, Request::Command { by: Caller::Operator(operator()), command })
    }

    fn send(
        &mut self,
        id: &TaskId,
        kind: &str,
        from: &str,
        payload: &Value,
    ) -> Result<(), Failure> {
        let sent_at = SystemClock.now().to_string();
        let message = json!({
            "protocol": "aof", "version": 1, "type": kind, "taskId": id.as_str(),
            "fromAgent": from, "toAgent": "dispatcher", "sentAt": sent_at, "payload": payload,
        });
        let what = format!("{from}: {kind}");
        self.ask(&what, Request::Message(message.to_string().into_bytes())).map(|_| ())
    }

    fn ask(&mut self, what: &str, request: Request) -> Result<Answered, Failure> {
        let answered = self.engine.submit_one(request)?;
        if self.out.is_json() {
            self.out.document(&answer::json(&answered))?;
        } else {
            for (n, line) in answer::lines(self.out, &answered).iter().enumerate() {
                let what = if n == 0 { what } else { "" };
                self.out.line(&format!("  {what:<32} {line}"))?;
            }
        }
        Ok(answered)
    }
}

fn handoff(child: &TaskId, parent: &TaskId) -> Value {
    json!({
        "taskId": child.as_str(),
        "parentTaskId": parent.as_str(),
        "fromAgent": "swe-backend",
        "toAgent": "swe-qa",
        "acceptanceCriteria": ["All tests pass", "Coverage is at least 80 %"],
        "expectedOutputs": ["tests/report.md"],
        "contextRefs": [format!("tasks/in-progress/{parent}.md")],
        "constraints": ["No new dependencies"],
        "dueBy": "2030-01-01T12:00:00.000Z",
    })
}

fn report(outcome: &str, notes: &str) -> Value {
    json!({
        "outcome": outcome,
        "summaryRef": "outputs/summary.md",
        "deliverables": ["src/api/users.rs"],
        "tests": {"total": 12, "passed": 12, "failed": 0},
        "blockers": [],
        "notes": notes,
    })
}

fn show_record(out: &Output, root: &Path) -> Result<(), Failure> {
    say(
        out,
        &format!(
            "\n{}",
            out.paint(
                Colour::Blue,
                "The record: one line an event, each chained to the one before"
            )
        ),
    )?;
    let mut files = EventFiles::open(root);
    while let Some(line) = files.next_line()? {
        let Ok(recorded) = serde_json::from_slice::<Value>(&line.bytes) else { continue };
        if out.is_json() {
            out.document(&recorded)?;
        } else {
            out.line(&event::line(out, &recorded))?;
        }
    }
    Ok(())
}

/// Says something to a person; a program is told only what happened.
fn say(out: &Output, text: &str) -> Result<(), Failure> {
    if out.is_json() { Ok(()) } else { out.line(text) }
}
