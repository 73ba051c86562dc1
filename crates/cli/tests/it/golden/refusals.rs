//! Golden files of the answer for every refusal reason, and of the errors for unusable settings.

mod configuration;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use adjutant_model::Reason;
use adjutant_test_support::golden::GoldenFolder;
use serde_json::{Value, json};

use super::cases::messages::{completion, example, message};
use super::project::GoldenProject;
use super::transcript::{OutputForm, RecordedCall, indented};

/// The reasons that occur only over HTTP; `golden/http/problems.txt` contains them.
pub(super) const HTTP_REASONS: [Reason; 6] = [
    Reason::Unauthenticated,
    Reason::ForeignHost,
    Reason::ForeignOrigin,
    Reason::ForgedRequest,
    Reason::NotYourTask,
    Reason::TooManyRequests,
];

/// The way a test triggers a refusal reason.
enum ReasonTrigger {
    /// The binary refuses this call.
    Call(RecordedCall<'static>),
    /// The message is applied, and the event log contains a warning.
    Warning(RecordedCall<'static>),
    /// Only an HTTP call triggers the reason: see [`HTTP_REASONS`].
    Http,
    /// No quick test triggers the reason; the text says why.
    Untested(&'static str),
}

fn call(line: &'static str) -> ReasonTrigger {
    ReasonTrigger::Call(RecordedCall::new("the answer", line))
}

fn send(input: impl Into<String>) -> ReasonTrigger {
    ReasonTrigger::Call(RecordedCall::new("the answer", "send").with_input(input))
}

fn warn(input: impl Into<String>) -> ReasonTrigger {
    ReasonTrigger::Warning(RecordedCall::new("applied with a warning", "send").with_input(input))
}

/// Returns a `status.update` message about a task.
fn update(task: &str, from: &str, fields: &Value) -> String {
    let mut payload = json!({"taskId": task, "agentId": from});
    for (name, value) in fields.as_object().expect("fields") {
        payload[name] = value.clone();
    }
    message("status.update", "{1}", "swe", &payload)
}

fn handoff(task: &str, parent: &str, criteria: &Value) -> String {
    let payload = json!({
        "taskId": task, "parentTaskId": parent, "fromAgent": "swe", "toAgent": "qa",
        "acceptanceCriteria": criteria, "expectedOutputs": ["report.md"], "contextRefs": [],
        "constraints": [], "dueBy": "2031-02-10T12:00:00.000Z",
    });
    let mut request: Value =
        serde_json::from_str(&message("handoff.request", task, "swe", &payload)).expect("JSON");
    request["toAgent"] = "qa".into();
    request.to_string()
}

fn with_token(message: &str, token: &str) -> String {
    let mut message: Value = serde_json::from_str(message).expect("JSON");
    message["runToken"] = token.into();
    message.to_string()
}

/// Returns how to trigger a reason on the project that [`prepared`] creates.
fn reached(reason: Reason, project: &GoldenProject) -> ReasonTrigger {
    let nested = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    match reason {
        Reason::InvalidJson => send("AOF/1 {\"protocol\":"),
        Reason::InvalidYaml => send("version: \"1\"\ntask_id: [T1\ninstruction: x\n"),
        Reason::InvalidEnvelope => {
            send(message("completion.report", "{1}", "swe", &json!({"outcome": "finished"})))
        }
        Reason::PayloadTooLarge => send(format!("AOF/1 \"{}\"", "x".repeat(1 << 20))),
        Reason::NestingTooDeep => {
            send(completion("{1}", "swe", "done").replacen('{', &format!("{{\"x\":{nested},"), 1))
        }
        Reason::UnknownType => send(message("mood.report", "{1}", "swe", &json!({}))),
        Reason::TaskNotFound => send(completion("{40}", "swe", "done")),
        Reason::TaskUnreadable => send(completion("{4}", "swe", "done")),
        Reason::TaskIdMismatch => send(update("{2}", "swe", &json!({"progress": "half"}))),
        Reason::AgentIdMismatch => send(update("{1}", "qa", &json!({"progress": "half"}))),
        Reason::UnauthorizedAgent => send(completion("{1}", "qa", "done")),
        Reason::StaleRun => {
            let variables = project.run_environment("{2}", "swe", 1);
            let call = RecordedCall::new("the answer", "report progress late");
            ReasonTrigger::Call(call.with_variables(variables))
        }
        Reason::TokenRequired => {
            let required = [("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "true")];
            let call = RecordedCall::new("the answer", "send")
                .with_input(completion("{1}", "swe", "done"));
            ReasonTrigger::Call(call.with_variables(required))
        }
        Reason::MissingToken => {
            ReasonTrigger::Untested("needs a run that prints: see up/impostors.rs")
        }
        Reason::UnknownToken => send(with_token(&completion("{1}", "swe", "done"), "made-up")),
        Reason::TaskConflict => send(example("mission.yaml").replace("module", "part")),
        Reason::NestedDelegation => {
            let text = handoff("{8}", "{5}", &json!([])).replace("\"swe\"", "\"qa\"");
            send(text.replace("\"toAgent\":\"qa\"", "\"toAgent\":\"swe\""))
        }
        Reason::ParentNotFound => call("task add Part --parent {40}"),
        Reason::DependencyNotFound => call("task add Part --depends-on {40}"),
        Reason::DependencyCycle => call("task edit {1} --depends-on {1}"),
        Reason::TaskClosed => send(completion("{3}", "swe", "done")),
        Reason::InvalidTransition => call("task move {3} ready"),
        Reason::SelfApproval => {
            let payload = json!({"taskId": "{6}", "agentId": "swe", "status": "done"});
            send(message("status.update", "{6}", "swe", &payload))
        }
        Reason::TaskOnHold => ReasonTrigger::Untested(
            "needs files that we cannot change: see commands/file_faults.rs",
        ),
        Reason::UnsettledWork => {
            ReasonTrigger::Untested("needs work that git cannot commit: see up/unsettled_work.rs")
        }
        Reason::OperatorOnly => {
            let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
            ReasonTrigger::Call(
                RecordedCall::new("the answer", "task cancel {1}").with_variables(inside),
            )
        }
        Reason::InvalidArgument => call("task add ''"),
        Reason::ProtectedPaths => {
            ReasonTrigger::Untested("needs a branch: see trust/protected_paths.rs")
        }
        Reason::InvalidAcceptanceCriteria => warn(handoff("{9}", "{1}", &json!(["It works", 7]))),
        Reason::OddDocument => {
            warn(example("mission.yaml").replace("T042", "T043") + "colour: blue\n")
        }
        Reason::ConstraintBreached => {
            ReasonTrigger::Untested("needs a run in a workspace: see up/constraints.rs")
        }
        Reason::SummaryFileNotFound | Reason::HandoffFileNotFound => warn(completion(
            if reason == Reason::SummaryFileNotFound { "{10}" } else { "{11}" },
            "swe",
            "done",
        )),
        Reason::InvalidRunResult => {
            project.write(".adjutant/runs/{12}/run_result.json", "{\"outcome\": \"finished\"}");
            ReasonTrigger::Warning(RecordedCall::new("applied with a warning", "session-end {12}"))
        }
        Reason::SalvageNotFound => call("inbox apply {1} 1-message.json"),
        Reason::SalvageUnusable => {
            project.write(".adjutant/runs/{1}/salvage/2-message.json", "{}");
            call("inbox apply {1} 2-message.json")
        }
        Reason::HeldBack => call("answer {7} yes"),
        Reason::StoryOwned => call("task move {13} backlog"),
        Reason::KeptForLater => {
            ReasonTrigger::Untested("needs a run in a sandbox, without a daemon")
        }
        Reason::NothingToDo => ReasonTrigger::Untested("over MCP, see golden/mcp/agent-calls.txt"),
        Reason::Unauthenticated
        | Reason::ForeignHost
        | Reason::ForeignOrigin
        | Reason::ForgedRequest
        | Reason::NotYourTask
        | Reason::TooManyRequests => ReasonTrigger::Http,
        Reason::ForeignNode => ReasonTrigger::Untested("needs a fleet"),
        Reason::TooSlow => ReasonTrigger::Untested("needs a call that takes longer than a minute"),
    }
}

/// Creates a project with a task for every reason.
fn prepared() -> GoldenProject {
    let project = GoldenProject::new();
    for number in 1..=3 {
        project.ok(&format!("task add 'Task {number}' --agent swe --status ready"));
    }
    project.ok("task move {1} in-progress");
    project.ok("task edit {2} --priority critical");
    for _ in 0..2 {
        project.fetch_task("swe");
        project.ok("task move {2} ready");
    }
    project.ok("task cancel {3}");
    project.ok("task add Unreadable");
    project.ok("task add Part --status ready");
    project.send(&handoff("{5}", "{1}", &json!([])));
    project.ok("task add Reviewed --agent swe --status ready");
    project.ok("task move {6} in-progress");
    project.send(&completion("{6}", "swe", "done"));
    project.ok("task add 'Held back' --depends-on {3} --status ready");
    project.ok("tick");
    project.ok("task add 'Task 8' --status ready");
    project.ok("task add 'Task 9' --status ready");
    for number in 10..=12 {
        project.ok(&format!("task add 'Task {number}' --agent swe --status ready"));
        project.ok(&format!("task move {{{number}}} in-progress"));
    }
    project.write(".adjutant/tasks/in-progress/{11}/outputs/summary.md", "All of it.\n");
    project.ok("story start US-001 --project .");
    project.send(&example("mission.yaml"));
    project.write(".adjutant/tasks/backlog/{4}.md", "---\ntitle: [\n---\n");
    project
}

/// Runs a call, and returns its record with the warning from the event log.
fn record(
    reached: &ReasonTrigger,
    reason: Reason,
    project: &GoldenProject,
    form: OutputForm,
) -> Option<String> {
    match reached {
        ReasonTrigger::Call(call) => Some(call.recorded(project, form)),
        ReasonTrigger::Warning(call) => {
            let text = call.recorded(project, form);
            let events = project.ok("events --json");
            let named = format!("\"reason\":\"{reason}\"");
            let warning = events.lines().rfind(|line| line.contains(&named));
            let warning = warning.unwrap_or_else(|| panic!("no warning {reason}: {text}"));
            let warning = indented(&format!("{warning}\n"));
            Some(text + &project.masked(&format!("\n# its event in the log\n{warning}")))
        }
        ReasonTrigger::Http | ReasonTrigger::Untested(_) => None,
    }
}

#[test]
fn refusal_reasons_match_golden_files() {
    let mut files = BTreeMap::<&str, Vec<String>>::new();
    let mut unreached = String::new();
    for form in [OutputForm::Text, OutputForm::Json] {
        let project = prepared();
        unreached.clear();
        for reason in Reason::ALL {
            let reached = reached(reason, &project);
            let text = record(&reached, reason, &project, form);
            files.entry(reason.as_str()).or_default().extend(text);
            let why = match reached {
                ReasonTrigger::Http => "over HTTP, see golden/http/problems.txt",
                ReasonTrigger::Untested(why) => why,
                ReasonTrigger::Call(_) | ReasonTrigger::Warning(_) => continue,
            };
            assert_eq!(matches!(reached, ReasonTrigger::Http), HTTP_REASONS.contains(&reason));
            let _ = writeln!(unreached, "{reason}: {why}");
        }
    }
    let mut folder = GoldenFolder::new("refusals");
    for (reason, texts) in files.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        let text = texts.join("\n");
        assert!(text.contains(reason), "{reason} was not reached: {text}");
        folder.add(format!("{reason}.txt"), text);
    }
    folder.add("not-reached-by-commands.txt", unreached);
    folder.add("configuration.txt", configuration::record());
    folder.check();
}
