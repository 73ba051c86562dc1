//! `adjutant check` on valid and invalid documents of every kind.

use super::messages::{completion, example};
use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

const RULES: &str = "steps:\n  impl:\n    max_attempts: many\n";

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::empty();
    let files = [
        ("envelope.json", example("1.json")),
        ("mission.yaml", example("mission.yaml")),
        ("result.yaml", example("result.yaml")),
        ("new_task.json", example("new_task.json")),
        ("success.json", example("success.json")),
        ("STATE.json", example("STATE.json")),
        ("HANDOFF.md", example("HANDOFF.md")),
        ("step-rules.yaml", example("step-rules.yaml")),
    ];
    for (name, text) in &files {
        project.write(name, text);
        transcript.run(&project, "a good document", &format!("check {name}"));
    }
    let bad = [
        ("bad/envelope.json", completion("{1}", "system", "finished")),
        ("bad/mission.yaml", "version: 2\ntask_id: ''\ninstruction: [a]\n".to_owned()),
        ("bad/result.yaml", "version: \"1\"\ntask_id: T1\nstatus: fine\n".to_owned()),
        ("bad/new_task.json", "{\"delegatedToMode\": 7, \"objective\": \"\"}".to_owned()),
        ("bad/success.json", "{\"taskId\": 3, \"outputArtifacts\": \"x\"}".to_owned()),
        ("bad/task.md", "---\nid: one\nstatus: fine\n---\n".to_owned()),
        ("bad/STATE.json", "{\"step\": \"nowhere\", \"attempt\": -1}".to_owned()),
        ("bad/HANDOFF.md", "---\nstory: US-1\nstatus: fine\n---\n".to_owned()),
        ("bad/step-rules.yaml", RULES.to_owned()),
    ];
    for (name, text) in &bad {
        project.write(name, text);
        transcript.run(&project, "a bad document", &format!("check {name}"));
    }
    transcript.run(&project, "a document that is not there", "check nowhere.json");
    transcript.run(&project, "as another kind", "check mission.yaml --as envelope");
    let call = RecordedCall::new("from standard input", "check - --as result");
    transcript.call(&project, &call.with_input("version: \"1\"\n"));
    project.ok("init");
    project.ok("task add 'A good task'");
    let line = "check .adjutant/tasks/backlog/{1}.md";
    transcript.run(&project, "a task file", line);
}
