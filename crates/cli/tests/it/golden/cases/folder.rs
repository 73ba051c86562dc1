//! Commands on the data folder: `init`, `doctor`, `export`, `import` and `events`.

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

pub(super) fn record_init(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::empty();
    transcript.run(&project, "a new project", "init");
    transcript.run(&project, "a data folder that is there already", "init");
    transcript.run(&project, "a project elsewhere", "init other");
    transcript.run(&project, "a data folder of any name", "init --data work");
    transcript.run(&project, "two folders", "init here --data there");
    project.write("rust/Cargo.toml", "[package]\nname = \"a\"\n");
    transcript.run(&project, "a project with a known test command", "init rust");
}

/// Returns a minimal task file, as a person would write it.
fn task_file(id: &str, status: &str, time: &str) -> String {
    format!(
        "---\nschemaVersion: 1\nid: {id}\ntitle: Task {id}\nstatus: {status}\npriority: normal\n\
         createdAt: {time}\nupdatedAt: {time}\nlastTransitionAt: {time}\ncreatedBy: human:alice\n\
         ---\n\nDo it.\n"
    )
}

pub(super) fn record_doctor(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    transcript.run(&project, "a folder in order", "doctor");
    transcript.run(&project, "nothing to repair", "doctor --fix");
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    let call =
        RecordedCall::new("a repair from inside a run", "doctor --fix").with_variables(inside);
    transcript.call(&project, &call);
    let early = "2026-02-08T20:00:00.000Z";
    let late = "2026-02-08T20:30:00.000Z";
    let task = |folder: &str, number: &str, status: &str, time: &str| {
        let id = format!("TASK-2026-02-08-{number}");
        project.write(&format!(".adjutant/tasks/{folder}/{id}.md"), &task_file(&id, status, time));
    };
    task("ready", "001", "ready", early);
    task("done", "001", "done", late);
    task("review", "002", "backlog", early);
    project.write(".adjutant/tasks/ready/TASK-2026-02-08-003/inputs/handoff.md", "mine\n");
    project.write(".adjutant/tasks/ready/TASK-2026-02-08-004.md.tmp", "half");
    project.write(".adjutant/tasks/ready/notes.txt", "stray");
    project.write(".adjutant/tasks/backlog/TASK-2026-02-08-005.md", "---\ntitle: [\n---\n");
    project.write(
        ".adjutant/adjutant.toml",
        "[[notify]]\nname = \"ops\"\non = [\"done\"]\ntarget = \"webhook\"\nurl_env = \"HOOK\"\n",
    );
    transcript.run(&project, "a folder with something wrong of every kind", "doctor");
    transcript.run(&project, "what can be repaired is repaired", "doctor --fix");
    transcript.run(&project, "what is left", "doctor");
    transcript.run(&project, "a task that cannot be read", "task show TASK-2026-02-08-005");
    transcript.run(&project, "a list with a task that cannot be read", "task list");
    let path = ".adjutant/events/2026-02-09.jsonl";
    let log = project.read(path);
    project.write(path, &log.replacen("\"actor\":\"swe\"", "\"actor\":\"sew\"", 1));
    transcript.run(&project, "an event that was changed", "doctor");
}

pub(super) fn record_archive(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    transcript.run(&project, "no events", "events");
    project.ok("task add 'Write the parser' --priority high --status ready");
    project.ok("task add 'Test the parser' --depends-on {1}");
    project.ok("task move {1} in-progress --reason 'by hand'");
    project.run("task move {2} done");
    transcript.run(&project, "every event", "events");
    transcript.run(&project, "the events of a task", "events --task {1}");
    transcript.run(&project, "events of a type", "events --type task.transitioned");
    transcript.run(&project, "events of a kind", "events --type command");
    transcript.run(&project, "events since one", "events --since 3");
    transcript.run(&project, "events since a time", "events --since 2030-01-01T00:00:00Z");
    transcript.run(&project, "recent events", "events --since 1h --limit 1");
    transcript.run(&project, "a time that is none", "events --since yesterday");
    transcript.run(&project, "an unknown task", "events --task {9}");
    transcript.run(&project, "a new archive", "export project.tar");
    transcript.run(&project, "an archive that is there already", "export project.tar");
    transcript.run(&project, "a folder that is not there", "export nowhere/project.tar");
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    let call = RecordedCall::new("from inside a run", "export stolen.tar").with_variables(inside);
    transcript.call(&project, &call);
    project.write(".adjutant/adjutant.toml", "[log]\n# key: AKIAIOSFODNN7EXAMPLE\n");
    project.write(".adjutant/extra/own.txt", "mine\n");
    transcript.run(&project, "an archive with something to warn of", "export second.tar");
    transcript.run(&project, "a copy of the project", "import project.tar copy");
    transcript.run(&project, "a folder that is there already", "import project.tar copy");
    transcript.run(&project, "an archive that is not there", "import nothing.tar elsewhere");
    transcript.run(&project, "two folders", "import project.tar here --data there");
    project.write("broken.tar", "not an archive");
    transcript.run(&project, "a file that is no archive", "import broken.tar broken");
    transcript.run(&project, "the copy", "task list --data copy/.adjutant");
}

/// `trust`, with a configuration and with checks that no command wrote.
pub(super) fn record_trust(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::new();
    project.write(
        ".adjutant/adjutant.toml",
        "[project]\nchecks = [\"make test\"]\n[agents.fixer]\nkind = \"command\"\n\
         command = [\"./fix.sh\"]\n",
    );
    let mut careful = |note, line| {
        let call = RecordedCall::new(note, line).with_variables([("ADJUTANT_TRUST", "")]);
        transcript.call(&project, &call);
    };
    careful("not accepted", "trust");
    careful("what needs it accepted", "tick");
    careful("accepted", "trust --yes");
    careful("accepted already", "trust");
    project.ok("task add 'With checks' --agent fixer");
    let file = ".adjutant/tasks/backlog/{1}.md";
    let checks = "\nmetadata:\n  checks:\n    - make it\n---\n";
    let text = project.read(file).replacen("\n---\n", checks, 1);
    project.write(file, &text);
    careful("checks that no command wrote", "trust {1}");
    careful("accepted checks", "trust {1} --yes");
    careful("checks accepted already", "trust {1}");
}
