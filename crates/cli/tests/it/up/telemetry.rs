//! A daemon's telemetry: OTLP export and the log.

use std::fs;

use serde_json::Value;

use crate::up::project::{DaemonProject, document, wait_for};
use crate::up::webhook_receiver::{ReceiverAnswer, WebhookReceiver};

const DOES: &str = "steps: [{report: {outcome: done}}]";

fn attribute<'a>(of: &'a Value, key: &str) -> &'a str {
    let attributes = of["attributes"].as_array().expect("a list");
    let found =
        attributes.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key} in {of}"));
    let value = found["value"].as_object().and_then(|value| value.values().next());
    value.and_then(Value::as_str).expect("a text")
}

#[test]
fn otlp_collector_gets_events_and_runs_despite_first_failure() {
    let receiver = WebhookReceiver::new(&[ReceiverAnswer::Status(503, "")]);
    let stage = DaemonProject::new("")
        .with_agent("actor", DOES)
        .with_settings(&format!("[otlp]\nendpoint = \"http://127.0.0.1:{}/\"", receiver.port));
    let _up = stage.up();
    let id = stage.add("actor");
    wait_for("it is done", || stage.status(&id) == "done");
    let taken = |path: &str, list: &str, scope: &str, of: &str| -> Vec<Value> {
        let heard = receiver.requests().into_iter();
        let heard = heard.filter(|heard| heard.answer == ReceiverAnswer::Ok && heard.path == path);
        heard
            .flat_map(|heard| {
                let all = &heard.body[list][0][scope][0][of];
                assert_eq!(attribute(&heard.body[list][0]["resource"], "service.name"), "adjutant");
                all.as_array().expect("a list").clone()
            })
            .collect()
    };
    let logs = || taken("/v1/logs", "resourceLogs", "scopeLogs", "logRecords");
    let spans = || taken("/v1/traces", "resourceSpans", "scopeSpans", "spans");
    let settled = || {
        let last = stage.events().len();
        let last = last.to_string();
        logs().last().is_some_and(|record| attribute(record, "adjutant.event") == last)
    };
    wait_for("the collector has it all", || settled() && spans().len() == 1);
    let events = stage.events();
    let told: Vec<(String, String)> = logs()
        .iter()
        .map(|it| {
            (
                attribute(it, "adjutant.event").to_owned(),
                it["body"]["stringValue"].as_str().expect("a text").to_owned(),
            )
        })
        .collect();
    let expected: Vec<(String, String)> = events
        .iter()
        .map(|it| (it["eventId"].to_string(), it["type"].as_str().expect("a text").to_owned()))
        .skip(events.len() - told.len())
        .collect();
    assert_eq!(told, expected, "each once, in order");
    assert!(told.len() > 4, "{told:?}");
    let span = &spans()[0];
    assert_eq!(span["name"], "run actor");
    assert_eq!(
        (attribute(span, "adjutant.task"), attribute(span, "adjutant.attempt")),
        (&id[..], "1")
    );
    let length = |key: &str| span[key].as_str().expect("a text").len();
    assert_eq!((length("traceId"), length("spanId")), (32, 16));
    let time = |key: &str| span[key].as_str().and_then(|text| text.parse::<u64>().ok());
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
}

#[test]
fn log_lines_cannot_be_forged_in_text_or_json() {
    for format in ["text", "json"] {
        let stage = DaemonProject::new("")
            .with_settings(&format!("[log]\nformat = \"{format}\"\nlevel = \"info\""));
        let up = stage.up();
        let reason = "evil\n2026-01-01T00:00:00Z  INFO forged \u{1b}[31m";
        let id = crate::up::notifications::block(&stage, reason);
        wait_for("it is written", || stage.errors().contains("task.transitioned"));
        up.kill();
        let log = fs::read_to_string(stage.home().join("up.err")).expect("a log");
        assert!(!log.contains('\u{1b}'), "{log}");
        let lines: Vec<&str> =
            log.lines().filter(|line| line.contains("task.transitioned")).collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(!log.lines().any(|line| line.starts_with("2026-01-01")), "{log}");
        if format == "json" {
            let line = document(lines[0]);
            assert_eq!(
                (&line["level"], &line["message"]),
                (&"INFO".into(), &"task.transitioned".into())
            );
            assert_eq!((&line["task"], line["event"].is_u64()), (&id[..].into(), true));
            assert!(log.lines().all(|line| document(line)["timestamp"].is_string()), "{log}");
        } else {
            assert!(lines[0].contains(" INFO ") && lines[0].contains(&id), "{}", lines[0]);
        }
    }
}

#[test]
fn log_and_notice_redact_title_and_note_that_look_like_keys() {
    let key = "ghp_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
    for format in ["text", "json"] {
        let script = format!("adjutant report done --notes 'the note {key}'\n");
        let stage = DaemonProject::new("").with_command("dev", &script, "");
        let notices = stage.home().join("notices");
        let stage = stage.with_settings(&format!(
            "[log]\nformat = {format:?}\nlevel = \"debug\"\n[[notify]]\non = [\"done\"]\n\
             target = \"command\"\ncommand = [\"sh\", \"-c\", \"cat >> {}\"]\n",
            notices.display()
        ));
        let title = format!("use {key}");
        let words = ["task", "add", &title, "--agent", "dev", "--review", "none"];
        stage.run_ok([&words[..], &["--status", "ready"]].concat());
        let ran = stage.command(["up", "--until-idle"]).output().expect("it starts");
        let log = String::from_utf8(ran.stderr).expect("a text");
        assert!(log.contains("the note ghp_****") && !log.contains(key), "{log}");
        let notice = fs::read_to_string(notices).expect("a notice was sent");
        assert!(notice.contains("use ghp_****") && !notice.contains(key), "{notice}");
    }
}
