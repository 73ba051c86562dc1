//! Running agents: `tick`, `up --until-idle`, `logs`, `agents`, `task diff`, `undo` and a merge.

use crate::golden::project::{GoldenProject, wait_until};
use crate::golden::transcript::{CommandTranscript, RecordedCall};

const ACTORS: &str = "\
[scheduler]
concurrency = 1
attempts_max = 1
grace = \"1s\"

[agents.actor]
kind = \"script\"
script = \"actor.yaml\"

[agents.failing]
kind = \"command\"
sandbox = \"none\"
command = [\"sh\", \"-c\", \"echo no oil; exit 3\"]

[agents.lost]
kind = \"command\"
sandbox = \"none\"
command = [\"./no-such-program\"]
slots = 2
";

/// Reports task 2 as blocked, and every other task as done.
const ACTOR: &str = "\
tasks:
  {2}:
    steps: [{adjutant: [report, blocked, --blocker, no key]}]
steps:
  - print: hello
  - adjutant: [report, progress, half of it]
  - adjutant: [report, done, --notes, All of it.]
";

pub(super) fn record(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings(ACTORS);
    project.write("actor.yaml", ACTOR);
    transcript.run(&project, "nothing to do", "tick");
    transcript.run(&project, "nothing to do", "tick --dry-run");
    transcript.run(&project, "nothing to do", "up --until-idle");
    transcript.run(&project, "configured agents", "agents");
    for (title, agent) in [("Write", "actor"), ("Test", "actor"), ("Oil", "failing")] {
        project.ok(&format!("task add {title} --agent {agent} --status ready"));
    }
    transcript.run(&project, "no agent has worked on it", "logs {1}");
    transcript.run(&project, "an unknown task", "logs {40}");
    transcript.run(&project, "a task would be assigned", "tick --dry-run");
    transcript.run(&project, "at another time", "tick --dry-run --now 2031-01-01T00:00:00Z");
    transcript.run(&project, "three tasks", "up --until-idle");
    for (note, line) in [
        ("tasks after their runs", "task list"),
        ("work that was reported", "task show {1}"),
        ("a blocked task", "task show {2}"),
        ("a task that was given up", "task show {3}"),
        ("what an agent printed", "logs {1}"),
        ("an attempt", "logs {3} --attempt 1"),
        ("an attempt that was not", "logs {3} --attempt 7"),
        ("after runs", "inbox"),
        ("after runs", "status"),
        ("every event of a run", "events --task {1}"),
        ("every event of a run that failed", "events --task {3}"),
        ("an unknown agent", "agents test unknown"),
        ("an agent without a list of hosts", "agents allow actor registry.example.com"),
        ("no host", "agents allow actor https://registry.example.com"),
    ] {
        transcript.run(&project, note, line);
    }
    test_agents(transcript, &project);
    tick(transcript, &project);
}

fn test_agents(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    transcript.run(project, "an agent that works", "agents test actor");
    transcript.run(project, "an agent that fails", "agents test failing");
    let inside = [("ADJUTANT_RUN_TOKEN", "t"), ("ADJUTANT_AGENT", "swe")];
    let call = RecordedCall::new("from inside a run", "agents test actor").with_variables(inside);
    transcript.call(project, &call);
}

fn tick(transcript: &mut CommandTranscript<'_>, project: &GoldenProject) {
    project.ok("task add Again --agent actor --status ready");
    transcript.run(project, "a task is assigned", "tick");
    let exit = project.path(".adjutant/runs/{4}/attempts/1/exit.json");
    wait_until("the run is over", || exit.is_file());
    transcript.run(project, "a run that is over", "tick");
}

const WORKTREE: &str = "\
[scheduler]
concurrency = 1
attempts_max = 1

[project]
checks = [\"test -f notes.txt\"]
merge = \"rebase\"

[agents.swe]
kind = \"command\"
sandbox = \"none\"
command = [\"sh\", \"../../../swe.sh\"]
workspace = \"worktree\"
on_exit_ok = \"done\"
";

/// Changes a file. On task 2 the script leaves uncommitted work and fails.
const SWE: &str = "\
cat > /dev/null
echo \"attempt $ADJUTANT_ATTEMPT of $ADJUTANT_TASK_ID\"
echo four >> notes.txt
case $ADJUTANT_TASK_ID in
{2}) echo half > half.txt; exit 3 ;;
{3}) rm notes.txt ;;
esac
";

pub(super) fn record_worktree(transcript: &mut CommandTranscript<'_>) {
    let project = GoldenProject::with_settings(WORKTREE);
    project.init_git();
    project.write("swe.sh", SWE);
    for title in ["Extend", "Break", "Remove"] {
        project.ok(&format!("task add {title} --status ready"));
    }
    transcript.run(&project, "work trees and checks", "up --until-idle");
    for (note, line) in [
        ("a change in review", "task diff {1}"),
        ("a change in review", "task show {1}"),
        ("a check that failed", "task show {3}"),
        ("nothing was saved", "undo"),
        ("a change in review", "inbox"),
        ("a task that was given up", "task retry {2}"),
    ] {
        transcript.run(&project, note, line);
    }
    project.ok("up --until-idle");
    for (note, line) in [
        ("work that was saved", "undo"),
        ("an attempt of which nothing was saved", "undo {2} --attempt 7"),
        ("a folder", "undo {2} --to back"),
        ("a folder that is not empty", "undo {2} --to back"),
        ("a work tree with uncommitted work", "undo {2}"),
        ("work that is merged", "approve {1}"),
        ("work that is merged", "task show {1}"),
        ("every event of a merge", "events --task {1}"),
    ] {
        transcript.run(&project, note, line);
    }
}
