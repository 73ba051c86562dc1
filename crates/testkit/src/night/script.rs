//! What simulated agents do: most work and report; some hang, crash, lie, flood or give up.

use adjutant_core::Task;
use adjutant_runtime::supervisor::Run;
use serde_json::{Value, json};

use super::process::Act;
use crate::dice::Dice;
use crate::message::{completion, envelope, progress};

/// How long a run may take.
pub(super) const TIMEOUT_MS: i64 = 6 * HOUR_MS;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

const OUTCOMES: [&str; 6] = ["done", "done", "done", "needs_review", "partial", "blocked"];

/// One agent at work.
struct Author<'a> {
    dice: &'a mut Dice,
    run: &'a Run,
    token: &'a str,
    acts: Vec<(i64, Act)>,
    at: i64,
    said: u32,
}

/// Writes what the agent of a run does, and how long after its start.
pub(super) fn write(dice: &mut Dice, run: &Run, task: &Task, token: &str) -> Vec<(i64, Act)> {
    let mut author = Author { dice, run, token, acts: vec![], at: 0, said: 0 };
    author.work();
    match author.dice.below(20) {
        0..=6 => author.report_and_end(),
        7 => author.report_by_mail_and_end(),
        8 => author.report_twice_and_end(),
        9 => author.leave_a_result(),
        10 => author.act(Act::Leave("{\"outcome\": \"splendid\"}".to_owned())),
        11 => author.report(),
        12 | 13 => author.end(1),
        14 => author.end(0),
        15 => author.lie(task),
        16 => author.say_blocked(),
        17 => author.flood_and_end(),
        18 => author.report_after_the_end(),
        // It hangs.
        _ => {}
    }
    if author.dice.once_in(2) {
        author.work();
        author.end(0);
    }
    author.acts
}

impl Author<'_> {
    fn act(&mut self, act: Act) {
        self.at += self.dice.between(0, MINUTE_MS);
        self.acts.push((self.at, act));
    }

    fn work(&mut self) {
        for _ in 0..self.dice.below(3) {
            self.at += self.dice.between(0, HOUR_MS);
            let text = self.line();
            let progress = progress(self.run.task.as_str(), self.run.agent.as_str(), &text);
            self.act(Act::Say(progress.to_string()));
        }
        self.at += self.dice.between(0, 2 * HOUR_MS);
    }

    /// Returns words that nobody else says.
    fn line(&mut self) -> String {
        self.said += 1;
        format!("{} run {} says {}", self.run.task, self.run.fence, self.said)
    }

    fn completion(&mut self) -> Value {
        let outcome = *self.dice.one_of(&OUTCOMES);
        let mut report = completion(self.run.task.as_str(), self.run.agent.as_str(), outcome);
        report["payload"]["notes"] = self.line().into();
        if outcome == "blocked" {
            report["payload"]["blockers"] = json!([self.line()]);
        }
        report
    }

    fn signed(&self, mut message: Value) -> Value {
        message["runToken"] = self.token.into();
        message
    }

    fn end(&mut self, code: i32) {
        self.act(Act::End(code));
    }

    fn report(&mut self) {
        let report = self.completion();
        self.act(Act::Say(format!("AOF/1 {report}")));
    }

    fn report_and_end(&mut self) {
        self.report();
        let code = i32::from(self.dice.once_in(5));
        self.end(code);
    }

    fn report_by_mail_and_end(&mut self) {
        let report = self.completion();
        let report = self.signed(report);
        self.act(Act::Send(report.to_string()));
        self.end(0);
    }

    fn report_twice_and_end(&mut self) {
        let report = self.completion();
        let report = self.signed(report).to_string();
        self.act(Act::Say(report.clone()));
        self.act(Act::Send(report));
        self.report();
        self.end(0);
    }

    fn leave_a_result(&mut self) {
        let mut result = self.completion()["payload"].clone();
        result["taskId"] = self.run.task.as_str().into();
        result["agentId"] = self.run.agent.as_str().into();
        result["completedAt"] = "2026-02-09T21:20:00.000Z".into();
        result["handoffRef"] = "outputs/handoff.md".into();
        self.act(Act::Leave(result.to_string()));
        self.end(0);
    }

    /// It speaks for another task, and in another's name.
    fn lie(&mut self, task: &Task) {
        for other in task.depends_on.iter().chain(&task.parent) {
            let report = completion(other.as_str(), self.run.agent.as_str(), "done");
            self.act(Act::Say(report.to_string()));
        }
        let report = completion(self.run.task.as_str(), "somebody-else", "done");
        self.act(Act::Say(report.to_string()));
        self.end(0);
    }

    fn say_blocked(&mut self) {
        let (task, agent) = (self.run.task.as_str(), self.run.agent.as_str());
        let notes = format!("{task} waits");
        let payload =
            json!({"taskId": task, "agentId": agent, "status": "blocked", "notes": notes});
        self.act(Act::Say(envelope("status.update", task, agent, &payload).to_string()));
    }

    fn flood_and_end(&mut self) {
        for _ in 0..30 {
            let text = self.line();
            let progress = progress(self.run.task.as_str(), self.run.agent.as_str(), &text);
            self.acts.push((self.at, Act::Say(progress.to_string())));
        }
        self.end(2);
    }

    /// What it sent arrives long after it has gone; see the mail.
    fn report_after_the_end(&mut self) {
        let report = self.completion();
        let report = self.signed(report);
        self.acts.push((self.at, Act::Send(report.to_string())));
        self.acts.push((self.at, Act::End(3)));
    }
}
