//! `up --detach`, `status`, `open` and `down`, with and without a running daemon.

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

const SETTINGS: &str = "[scheduler]\ngrace = \"1s\"\n[agents.actor]\nkind = \"script\"\n\
                        script = \"actor.yaml\"\n";

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings(SETTINGS);
    project.write("actor.yaml", "steps: [{print: at work}, hang]\n");
    transcript.run(&project, "no daemon and no tasks", "status");
    transcript.run(&project, "no daemon", "down");
    transcript.run(&project, "no daemon", "open");
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    for line in ["up", "down", "open", "tick"] {
        let call = RecordedCall::new("from inside a run", line).with_variables(inside);
        transcript.call(&project, &call);
    }
    transcript.run(&project, "at any free port", "up --detach --listen 127.0.0.1:0");
    transcript.run(&project, "a daemon with HTTP", "open");
    project.ok("down");
    project.ok("task add 'Write the parser' --status ready");
    project.ok("task add 'Test the parser'");
    transcript.run(&project, "no daemon", "status");
    transcript.run(&project, "in the background", "up --detach");
    transcript.run(&project, "a second daemon", "up");
    transcript.run(&project, "a second daemon in the background", "up --detach");
    let log = project.path(".adjutant/runs/{1}/attempts/1/output.log");
    let printed = || std::fs::read_to_string(&log).unwrap_or_default();
    crate::golden::project::wait_until("the agent is at work", || printed().contains("at work"));
    for (note, line) in [
        ("a daemon and a running task", "status"),
        ("a daemon without HTTP", "open"),
        ("a task that runs", "why {1}"),
        ("a task that runs", "logs {1}"),
        ("an agent with a run", "agents"),
        ("a task that runs", "undo {1}"),
        ("its runs are stopped", "down --stop"),
        ("a daemon that was stopped", "status"),
    ] {
        transcript.run(&project, note, line);
    }
}
