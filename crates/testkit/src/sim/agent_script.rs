//! Scripts of simulated agents: most work and report; some hang, crash, lie, flood or give up.

use adjutant_model::Task;
use adjutant_runs::supervisor::RunRef;
use serde_json::{Value, json};

use super::process::AgentAct;
use crate::message::{completion, envelope, progress};
use crate::seeded_rng::SeededRng;

/// The time limit of a run.
pub(super) const TIMEOUT_MS: i64 = 6 * HOUR_MS;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

const OUTCOMES: [&str; 6] = ["done", "done", "done", "needs_review", "partial", "blocked"];

/// Writes the script of one run.
struct ScriptWriter<'a> {
    rng: &'a mut SeededRng,
    run: &'a RunRef,
    token: &'a str,
    acts: Vec<(i64, AgentAct)>,
    at: i64,
    texts_written: u32,
}

/// Returns the actions of a run's agent, each with its time after the start.
pub(super) fn write_script(
    rng: &mut SeededRng,
    run: &RunRef,
    task: &Task,
    token: &str,
) -> Vec<(i64, AgentAct)> {
    let mut author = ScriptWriter { rng, run, token, acts: vec![], at: 0, texts_written: 0 };
    author.add_work();
    match author.rng.below(20) {
        0..=6 => author.report_and_end(),
        7 => author.report_by_mail_and_end(),
        8 => author.report_twice_and_end(),
        9 => author.leave_a_result(),
        10 => author.push_act(AgentAct::WriteResult("{\"outcome\": \"splendid\"}".to_owned())),
        11 => author.report(),
        12 | 13 => author.exit(1),
        14 => author.exit(0),
        15 => author.report_falsely(task),
        16 => author.say_blocked(),
        17 => author.flood_and_end(),
        18 => author.report_after_the_end(),
        // It hangs.
        _ => {}
    }
    if author.rng.one_in(2) {
        author.add_work();
        author.exit(0);
    }
    author.acts
}

impl ScriptWriter<'_> {
    fn push_act(&mut self, act: AgentAct) {
        self.at += self.rng.between(0, MINUTE_MS);
        self.acts.push((self.at, act));
    }

    fn add_work(&mut self) {
        for _ in 0..self.rng.below(3) {
            self.at += self.rng.between(0, HOUR_MS);
            let text = self.unique_text();
            let progress = progress(self.run.task.as_str(), self.run.agent.as_str(), &text);
            self.push_act(AgentAct::Print(progress.to_string()));
        }
        self.at += self.rng.between(0, 2 * HOUR_MS);
    }

    /// Returns a text that occurs nowhere else.
    fn unique_text(&mut self) -> String {
        self.texts_written += 1;
        format!("{} run {} says {}", self.run.task, self.run.fence, self.texts_written)
    }

    fn completion(&mut self) -> Value {
        let outcome = *self.rng.choose(&OUTCOMES);
        let mut report = completion(self.run.task.as_str(), self.run.agent.as_str(), outcome);
        report["payload"]["notes"] = self.unique_text().into();
        if outcome == "blocked" {
            report["payload"]["blockers"] = json!([self.unique_text()]);
        }
        report
    }

    fn with_token(&self, mut message: Value) -> Value {
        message["runToken"] = self.token.into();
        message
    }

    fn exit(&mut self, code: i32) {
        self.push_act(AgentAct::Exit(code));
    }

    fn report(&mut self) {
        let report = self.completion();
        self.push_act(AgentAct::Print(format!("AOF/1 {report}")));
    }

    fn report_and_end(&mut self) {
        self.report();
        let code = i32::from(self.rng.one_in(5));
        self.exit(code);
    }

    fn report_by_mail_and_end(&mut self) {
        let report = self.completion();
        let report = self.with_token(report);
        self.push_act(AgentAct::Send(report.to_string()));
        self.exit(0);
    }

    fn report_twice_and_end(&mut self) {
        let report = self.completion();
        let report = self.with_token(report).to_string();
        self.push_act(AgentAct::Print(report.clone()));
        self.push_act(AgentAct::Send(report));
        self.report();
        self.exit(0);
    }

    fn leave_a_result(&mut self) {
        let mut result = self.completion()["payload"].clone();
        result["taskId"] = self.run.task.as_str().into();
        result["agentId"] = self.run.agent.as_str().into();
        result["completedAt"] = "2026-02-09T21:20:00.000Z".into();
        result["handoffRef"] = "outputs/handoff.md".into();
        self.push_act(AgentAct::WriteResult(result.to_string()));
        self.exit(0);
    }

    /// Reports for another task, and in another agent's name.
    fn report_falsely(&mut self, task: &Task) {
        for other in task.depends_on.iter().chain(&task.parent) {
            let report = completion(other.as_str(), self.run.agent.as_str(), "done");
            self.push_act(AgentAct::Print(report.to_string()));
        }
        let report = completion(self.run.task.as_str(), "other-agent", "done");
        self.push_act(AgentAct::Print(report.to_string()));
        self.exit(0);
    }

    fn say_blocked(&mut self) {
        let (task, agent) = (self.run.task.as_str(), self.run.agent.as_str());
        let notes = format!("{task} waits");
        let payload =
            json!({"taskId": task, "agentId": agent, "status": "blocked", "notes": notes});
        self.push_act(AgentAct::Print(
            envelope("status.update", task, agent, &payload).to_string(),
        ));
    }

    fn flood_and_end(&mut self) {
        for _ in 0..30 {
            let text = self.unique_text();
            let progress = progress(self.run.task.as_str(), self.run.agent.as_str(), &text);
            self.acts.push((self.at, AgentAct::Print(progress.to_string())));
        }
        self.exit(2);
    }

    /// The report arrives long after the exit; see `mail`.
    fn report_after_the_end(&mut self) {
        let report = self.completion();
        let report = self.with_token(report);
        self.acts.push((self.at, AgentAct::Send(report.to_string())));
        self.acts.push((self.at, AgentAct::Exit(3)));
    }
}
