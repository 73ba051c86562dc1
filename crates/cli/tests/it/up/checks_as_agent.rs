//! Checks execute what an agent wrote, so they have no more rights than the agent.

use std::fs;
use std::path::Path;

use adjutant_process::process_table::ProcessIdentity;
use rustix::process::Signal;

use crate::up::project::{DaemonProject, until, wait_for};
use crate::up::worktrees::{git, read, repository, task};

/// The settings of an agent at each level, which leaves its work uncommitted.
const LEVELS: [&str; 2] = ["sandbox = \"none\"\n", "sandbox = \"landlock\"\n"];

/// Returns a project with `make test` as the check.
fn project(level: &str, settings: &str) -> DaemonProject {
    let settings = format!(
        "workspace = \"worktree\"\n{level}[project]\nchecks = [\"make test\"]\nmerge = \"ff\"\n\
         {settings}"
    );
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", "", &settings);
    repository(&stage);
    fs::write(stage.home().join(".gitignore"), "/*\n!/Makefile\n").expect("written");
    git(stage.home(), &["commit", "-qam", "second"]);
    stage
}

/// Makes the agent leave a `Makefile` whose target `test` is this line.
fn set_check(stage: &DaemonProject, line: &str) {
    let script = format!("cat > Makefile <<'END'\ntest:\n\t{line}\nEND\nadjutant report done\n");
    fs::write(stage.home().join("dev.sh"), script).expect("written");
}

/// Returns a line that runs a script in a new session, without an environment, and without a parent
/// that belongs to the check. The script does not end by itself.
fn escaped(stage: &DaemonProject, body: &str) -> String {
    let path = stage.home().join("escaped.sh");
    let program = env!("CARGO_BIN_EXE_adjutant");
    let data = stage.path("");
    let head = format!(
        "trap '' TERM HUP\nadjutant() {{ {program} --data '{}' \"$@\"; }}\n",
        data.display()
    );
    let tail = "while true; do sleep 0.05; done\n";
    fs::write(&path, format!("{head}{body}{tail}")).expect("written");
    format!(
        "here=$$PWD; setsid env -i PATH=/usr/local/bin:/usr/bin:/bin sh -c \
         \"(sh {} $$here &)\" ; while [ ! -s answered ]; do sleep 0.02; done",
        path.display()
    )
}

/// Returns the processes that run the escaped script, whatever they say about themselves.
fn escaped_processes(stage: &DaemonProject) -> Vec<ProcessIdentity> {
    let script = stage.home().join("escaped.sh").display().to_string();
    let has_script = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == script.as_bytes())
    };
    let entries = fs::read_dir("/proc").expect("a process table").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found = pids.filter(has_script).filter_map(ProcessIdentity::find);
    found.filter(|process| process.is_alive()).collect()
}

/// Approves the task again and again, and keeps the answers.
const APPROVE: &str = "adjutant approve 001 --json >> \"$1/answered\" 2>&1\n\
                       (while true; do adjutant approve 001 > /dev/null 2>&1; sleep 0.05; done) &\n";

#[test]
fn check_cannot_approve_the_work_that_it_judges() {
    for level in LEVELS {
        let stage = project(level, "");
        let line = escaped(&stage, APPROVE);
        set_check(&stage, &line);
        let id = task(&stage, "dev");
        let up = stage.up();
        wait_for("it is checked", || !stage.events_of(&id, "work.checked").is_empty());
        assert_eq!(escaped_processes(&stage), [], "{level}");
        let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
        assert_eq!(checked["exit"], "code:0", "{checked}");
        let refused = stage.events_of(&id, "command.refused");
        assert_eq!(refused[0]["payload"]["reason"], "operator_only", "{level}");
        wait_for("it is reviewed", || stage.status(&id) == "review");
        assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "2");
        // A person can approve it.
        stage.run_ok(["approve", &id]);
        wait_for("it is merged", || stage.status(&id) == "done");
        assert!(read(&stage, "Makefile").contains("escaped.sh"));
        drop(up);
        stage.assert_no_processes();
        assert_eq!(escaped_processes(&stage), [], "the check of the merge leaves nothing either");
    }
}

/// Sends a report without a token, then with `report`.
const REPORT: &str = r#"
cat > "$1/message" <<END
{"protocol":"aof","version":1,"projectId":"x","type":"completion.report","taskId":"THE_TASK",
"fromAgent":"dev","toAgent":"dispatcher","sentAt":"2026-02-09T21:00:00.000Z","payload":{
"outcome":"blocked","summaryRef":"outputs/summary.md","deliverables":[],"tests":{"total":0,
"passed":0,"failed":0},"blockers":["forged"],"notes":"forged"}}
END
adjutant send "$1/message" --json > "$1/sent" 2>&1
(
    export ADJUTANT_TASK_ID=THE_TASK ADJUTANT_AGENT=dev ADJUTANT_RUN_TOKEN=1-forged
    adjutant report blocked --blocker forged --json > "$1/reported" 2>&1
)
cat "$1/sent" "$1/reported" > "$1/answered"
"#;

#[test]
fn check_cannot_report_for_its_run() {
    for level in LEVELS {
        let stage = project(level, "");
        let id = task(&stage, "dev");
        let line = escaped(&stage, &REPORT.replace("THE_TASK", &id));
        let target = format!("{line}; cat sent reported");
        set_check(&stage, &target);
        let up = stage.up();
        wait_for("it is reviewed", || stage.status(&id) == "review");
        let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
        let said = checked["tail"].as_str().expect("an output");
        assert_eq!(said.matches("\"reason\":\"token_required\"").count(), 2, "{level}: {said}");
        let refused = stage.events().into_iter().filter(|event| event["type"] == "access.refused");
        assert_eq!(refused.count(), 2, "{level}");
        assert_eq!(stage.events_of(&id, "task.transitioned").len(), 2, "{level}: no other move");
        drop(up);
    }
}

#[test]
fn check_without_daemon_can_neither_approve_nor_report() {
    let body = format!("{REPORT}{APPROVE}");
    let stage = project(LEVELS[0], "");
    let id = task(&stage, "dev");
    let line = escaped(&stage, &body.replace("THE_TASK", &id));
    let target = format!("{line}; cat answered");
    set_check(&stage, &target);
    stage.run_ok(["tick"]);
    wait_for("the run has ended", || stage.attempt(&id, 1).join("exit.json").exists());
    // Each of these may find the folder in use by the one before.
    wait_for("it is reviewed", || {
        stage.adjutant(["tick"]);
        stage.status(&id) == "review"
    });
    assert_eq!(escaped_processes(&stage), []);
    let refused = stage.events().into_iter().filter(|event| event["type"] == "access.refused");
    assert_eq!(refused.count(), 2);
    assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "2");
}

#[test]
fn check_is_confined_like_the_run_that_it_judges() {
    for (level, sandbox, run_writes, merge_writes) in [
        (LEVELS[0], "auto", true, false),
        (LEVELS[0], "none", true, true),
        (LEVELS[1], "auto", false, false),
        (LEVELS[1], "none", false, true),
    ] {
        let settings = format!("check_sandbox = {sandbox:?}\n");
        let stage = project(level, &settings);
        let outside = stage.home().join("outside");
        let target = format!(
            "@(echo x > {0}) 2> inside; echo y > inside; env | grep -c ADJUTANT_RUN_TOKEN || true",
            outside.display()
        );
        set_check(&stage, &target);
        let id = task(&stage, "dev");
        let _up = stage.up();
        wait_for("it is reviewed", || stage.status(&id) == "review");
        // A strict sandbox lets it write to a folder of its own, which is gone afterwards.
        let result = |name: &str| {
            let text = fs::read_to_string(stage.attempt(&id, 1).join(name)).expect("a log");
            let has_written = fs::remove_file(&outside).is_ok();
            (has_written, text.lines().next().map(str::to_owned))
        };
        let no_token = Some("0".to_owned());
        let expected = (run_writes, no_token.clone());
        assert_eq!(result("checks/1.log"), expected, "{level}{sandbox}");
        stage.run_ok(["approve", &id]);
        wait_for("it is merged", || stage.status(&id) == "done");
        assert_eq!(result("merge/1.log"), (merge_writes, no_token), "{level}{sandbox}");
    }
}

/// Notes each start; the first one never ends and leaves an orphan.
fn endless_check(stage: &DaemonProject, started: &Path) -> String {
    let line = escaped(stage, "echo $$ > \"$1/answered\"\n");
    format!(
        "echo x >> {0}; if [ $$(wc -l < {0}) -ge 2 ]; then exit 0; fi; {line}; sleep 600",
        started.display()
    )
}

#[test]
fn check_ends_when_its_daemon_is_killed() {
    let stage = project(LEVELS[0], "");
    let started = stage.home().join("started");
    let target = endless_check(&stage, &started);
    set_check(&stage, &target);
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("the check runs", || !escaped_processes(&stage).is_empty());
    up.kill();
    // Nothing else runs: the check's shim sees that its caller is gone.
    wait_for("the check has ended", || escaped_processes(&stage).is_empty());
    wait_for("its shim has ended", || live_records(&stage).is_empty());
    let _up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    assert_eq!(fs::read_to_string(&started).expect("a file").lines().count(), 2);
}

/// Returns the files in `live`.
fn live_records(stage: &DaemonProject) -> Vec<String> {
    let entries = fs::read_dir(stage.path("live")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[test]
fn check_of_killed_daemon_is_ended_before_the_next_one_starts() {
    let stage = project(LEVELS[0], "");
    let started = stage.home().join("started");
    let target = endless_check(&stage, &started);
    set_check(&stage, &target);
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("the check runs", || !escaped_processes(&stage).is_empty());
    let shim = until("its record", || {
        let names = live_records(&stage);
        ProcessIdentity::find(names.first()?.split('-').next()?.parse().ok()?)
    });
    // This shim cannot see that its caller is gone.
    shim.send_signal(Signal::STOP);
    up.kill();
    let _up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    assert!(!shim.is_alive());
    assert_eq!(escaped_processes(&stage), []);
}
