//! `adjutant task …` and `why`, on tasks that have no agent.

use crate::golden::project::GoldenProject;
use crate::golden::transcript::{CommandTranscript, RecordedCall};

const SETTINGS: &str = "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"true\"]\ntags = [\"rust\"]\n";

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings(SETTINGS);
    transcript.run(&project, "no tasks", "task list");
    add(transcript, &project);
    show(transcript, &project);
    edit(transcript, &project);
    change_status(transcript, &project);
    why(transcript, &project);
    transcript.run(&project, "no work tree", "task diff {1}");
    transcript.run(&project, "an unknown task", "task diff {40}");
    transcript.run(&project, "nothing was saved", "undo");
    transcript.run(&project, "nothing of a task was saved", "undo {1}");
    transcript.run(&project, "an unknown task", "undo {40}");
}

fn add(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("a title alone", "task add 'Write the parser'"),
        (
            "every option",
            "task add 'Test the parser' --body 'With *every* input.' --priority high --agent swe \
             --tag rust --tag parser --depends-on {1} --parent {1} --review none --status ready \
             --resource database --due 2031-02-10T12:00:00Z --check 'cargo test' --check true \
             --mode code --role backend --budget-usd 2.5 --budget-tokens 100000 --timeout 1h \
             --idle-timeout off",
        ),
        ("an empty title", "task add ''"),
        ("a title of two lines", "task add 'one\ntwo'"),
        ("a dependency that is not there", "task add Third --depends-on {40}"),
        ("a parent that is not there", "task add Third --parent {40}"),
        ("an id that is none", "task add Third --parent parser"),
        ("an agent that cannot be", "task add Third --agent system"),
        ("a check that is empty", "task add Third --check ' '"),
        ("a body that cannot be read", "task add Third --body-file nowhere.md"),
    ] {
        transcript.run(project, note, line);
    }
    let call = RecordedCall::new("a body from standard input", "task add Third --body-file -");
    transcript.call(project, &call.with_input("From *standard* input.\n"));
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    let call = RecordedCall::new("from inside a run", "task add Mine").with_variables(inside);
    transcript.call(project, &call);
}

fn show(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("every task", "task list"),
        ("tasks of two statuses", "task list --status ready --status done"),
        ("tasks of an agent", "task list --agent swe"),
        ("no such tasks", "task list --status done"),
        ("the first task", "task list --limit 1"),
        ("open tasks with a tag", "task list --open --tag rust"),
        ("tasks with words in their title", "task list --text 'parser test'"),
        ("an epic without tasks", "task list --epic E001"),
        ("a plain task", "task show {1}"),
        ("a task with every field", "task show {2}"),
        ("an unknown task", "task show {40}"),
        ("an id that is none", "task show parser"),
    ] {
        transcript.run(project, note, line);
    }
}

fn edit(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("another title", "task edit {1} --title 'Write the whole parser'"),
        (
            "every field",
            "task edit {3} --title Fourth --body New. --priority critical --agent swe --tag new \
             --depends-on {2} --parent {2} --review none --resource disk \
             --due 2031-03-01T00:00:00Z --check true --mode code --role backend --budget-usd 1 \
             --budget-tokens 5000 --timeout 30m --idle-timeout 5m",
        ),
        (
            "every field taken away",
            "task edit {3} --no-agent --no-tags --no-depends-on --no-parent --no-resource --no-due \
             --no-checks --no-mode --no-role --no-budget --no-timeout --no-idle-timeout",
        ),
        ("nothing new", "task edit {3} --title Fourth"),
        ("nothing to change", "task edit {3}"),
        ("a cycle", "task edit {1} --depends-on {2}"),
        ("a task that depends on itself", "task edit {1} --depends-on {1}"),
        ("an empty title", "task edit {1} --title ''"),
        ("an unknown task", "task edit {40} --title X"),
    ] {
        transcript.run(project, note, line);
    }
}

fn change_status(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    for (note, line) in [
        ("to ready", "task move {1} ready"),
        ("with a reason", "task move {1} in-progress --reason 'by hand'"),
        ("where it is already", "task move {1} in-progress"),
        ("a move that is not possible", "task move {1} backlog"),
        ("an unknown task", "task move {40} ready"),
        ("to blocked", "task move {1} blocked --reason 'Which grammar?'"),
        ("a blocked task", "task retry {1}"),
        ("a task that is not stuck", "task retry {3}"),
        ("an unknown task", "task retry {40}"),
        ("a task in the backlog", "task cancel {3} --reason 'not needed'"),
        ("a cancelled task", "task cancel {3}"),
        ("an unknown task", "task cancel {40}"),
        ("a cancelled task cannot be moved", "task move {3} ready"),
        ("a task that is not cancelled", "task reopen {1}"),
        ("a cancelled task", "task reopen {3} --reason 'needed after all'"),
        ("two tasks, one of them unknown", "task cancel {3} {40}"),
    ] {
        transcript.run(project, note, line);
    }
}

fn why(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    project.ok("task add Backlog");
    project.ok("task add Free --agent swe --status ready");
    project.ok("task add Fetched --agent other --status ready");
    project.ok("task add Tagged --tag cobol --status ready");
    project.ok("task add Dependent --depends-on {3} --status ready");
    project.ok("task add Moved --status ready");
    project.ok("task move {9} in-progress");
    project.ok("task add Reviewed --status ready");
    project.ok("task move {10} in-progress");
    project.ok("task move {10} review");
    project.ok("task add Blocked --status ready");
    project.ok("task move {11} blocked --reason 'no key'");
    project.ok("task add Done --status ready");
    project.ok("task move {12} in-progress");
    project.ok("task move {12} review");
    project.ok("approve {12}");
    for (note, line) in [
        ("in the backlog", "why {4}"),
        ("nothing in the way", "why {5}"),
        ("an agent that is not configured", "why {6}"),
        ("no agent with the tags", "why {7}"),
        ("a dependency that was cancelled", "why {8}"),
        ("a dependency that is not done", "why {2}"),
        ("moved to in-progress by hand", "why {9}"),
        ("in review", "why {10}"),
        ("blocked", "why {11}"),
        ("done", "why {12}"),
        ("cancelled", "why {3}"),
        ("an unknown task", "why {40}"),
    ] {
        transcript.run(project, note, line);
    }
    transcript.run(project, "tasks of every status", "task list");
    import(transcript, project);
    transcript.run(project, "a task", "task copy {2}");
    transcript.run(project, "an unknown task", "task copy {40}");
}

fn import(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    project.write("plan.md", "- [ ] Release\n  - [ ] Changelog\n    Every change.\n- [x] Done\n");
    project.write("plan.csv", "title,key,depends_on\nFirst,a,\nSecond,,a; nothing\n");
    for (note, line) in [
        ("a dry run", "task import plan.md --dry-run"),
        ("a checklist", "task import plan.md"),
        ("the same checklist again", "task import plan.md"),
        ("a key that is not there", "task import plan.csv"),
        ("a file that is not there", "task import nowhere.md"),
    ] {
        transcript.run(project, note, line);
    }
    let call = RecordedCall::new("from standard input", "task import - --as json --tag plan");
    transcript
        .call(project, &call.with_input("[{\"title\": \"Third\", \"priority\": \"high\"}]\n"));
}
