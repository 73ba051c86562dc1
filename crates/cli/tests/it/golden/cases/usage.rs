//! Usage errors, and commands outside a project.

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
