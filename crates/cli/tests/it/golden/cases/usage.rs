//! Usage errors, and commands outside a project.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use adjutant_testkit::fleet_keys::node_key;

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::empty();
    for (note, line) in [
        ("no command", ""),
        ("an unknown command", "tsak list"),
        ("an unknown option", "--verbose task list"),
        ("no subcommand", "task"),
        ("an unknown subcommand", "task remove {1}"),
        ("a missing argument", "task add"),
        ("an unknown option of a command", "task list --colour red"),
        ("an unknown status", "task list --status finished"),
        ("an unknown priority", "task add Title --priority urgent"),
        ("a time that is none", "task add Title --due someday"),
        ("a status no task can start with", "task add Title --status done"),
        ("no reason", "reject {1}"),
        ("counts that are none", "report done --tests 12"),
        ("an unknown dialect", "mission {1} --dialect french"),
        ("an unknown kind of document", "schema letter"),
        ("an unknown shell", "completions tcsh"),
        ("options that exclude each other", "down --drain --stop"),
        ("a story id that is none", "story start ../up"),
        ("an unknown reason of a rejection", "story reject because"),
        ("an unknown step", "story rollback nowhere"),
        ("no data folder", "task list"),
        ("a data folder that is not there", "task list --data nowhere"),
        ("no data folder to look after", "doctor"),
        ("no terminal", "top --data nowhere"),
        ("the version", "--version"),
        ("the version", "version"),
        ("the help of a command", "help task cancel"),
        ("an unknown command", "help aprove"),
    ] {
        transcript.run(&project, note, line);
    }
    project.ok("init");
    transcript.run(&project, "no terminal", "top");
    transcript.run(&project, "without a fleet", "fleet status");
    transcript.run(&project, "without a fleet", "fleet restore");
    key_of_node(transcript);
    transcript.run(&project, "the manual pages in a folder", "man --dir man");
    transcript.run(&project, "the schema of an answer", "schema answer");
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    let line = "mcp --agent other";
    let call = RecordedCall::new("another session from inside a run", line).with_variables(inside);
    transcript.call(&project, &call);
    let wrong = [("ADJUTANT_SCHEDULER_POL", "1s")];
    let call =
        RecordedCall::new("a variable that names no setting", "task list").with_variables(wrong);
    transcript.call(&project, &call);
}

/// A node that has a key already, so that it is always the same.
fn key_of_node(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings("[nats]\nnode = \"desk\"\n");
    project.write(".adjutant/node-key", node_key("desk").seed());
    let key = project.path(".adjutant/node-key");
    let mode = |mode| fs::set_permissions(&key, Permissions::from_mode(mode)).expect("it is ours");
    mode(0o644);
    transcript.run(&project, "a key that other users can read", "fleet key");
    mode(0o600);
    transcript.run(&project, "the line for accepted_keys", "fleet key");
    project.write(".adjutant/no.nk", "no seed");
    let none = project.path(".adjutant/no.nk");
    fs::set_permissions(none, Permissions::from_mode(0o600)).expect("it is ours");
    transcript.run(&project, "a file that is no key", "fleet key --file no.nk");
}
