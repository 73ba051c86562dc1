//! Mission constraints, violated by real agents in a real repository.

use std::process::Command;

use serde_json::Value;

use crate::up::project::DaemonProject;

/// Returns a mission with these constraints.
fn mission(constraints: &str, timeout: u32) -> String {
    format!(
        "version: \"1\"\ntask_id: T1\nepic_id: E1\nprd_id: PRD-1\ninstruction: Do it.\n\
         context: {{epic_file: epic.md, task_file: task.md}}\nconstraints: {{{constraints}}}\n\
         timeout: {timeout}\n"
    )
}

/// The end of an agent's script: writes the result file.
const DONE: &str = "cat > \"$ADJUTANT_RESULT_FILE\" <<END\nversion: \"1\"\ntask_id: T1\n\
    status: completed\nfiles_modified: []\nlog:\n\
    - {level: info, message: a, timestamp: \"2025-01-15T10:30:00Z\"}\n\
    - {level: info, message: b, timestamp: \"2025-01-15T10:30:00Z\"}\n\
    completed_at: \"2025-01-15T10:45:00Z\"\nEND\n";

/// A repository of two files. A person has changed one of them.
fn repository(script: &str) -> DaemonProject {
    let stage = DaemonProject::new("").with_command(
        "miner",
        &format!("{script}\n{DONE}"),
        "dialect = \"mission\"",
    );
    let home = stage.home();
    for name in ["a.txt", "b.txt"] {
        std::fs::write(home.join(name), name).expect("written");
    }
    std::fs::write(home.join(".gitignore"), "up.err\nsent\n").expect("written");
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "first"]] {
        let ended = git().current_dir(home).args(words).output().expect("git runs");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    std::fs::write(home.join("b.txt"), "a person's").expect("written");
    stage
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=a@b.c"]);
    command
}

/// Commits as the agent.
const COMMIT: &str = "git -c user.name=A -c user.email=a@b.c commit -qam work";

/// Lets an agent do a mission, and returns the reason of the task's last transition.
fn run_mission(stage: &DaemonProject, constraints: &str) -> String {
    let id = stage.send(&mission(constraints, 0));
    stage.until_idle();
    assert_eq!(stage.status(&id), "review", "{:#?}", stage.events());
    let moves = stage.events_of(&id, "task.transitioned");
    moves.last().expect("it moved")["payload"]["reason"].as_str().unwrap_or_default().to_owned()
}

fn outcome(stage: &DaemonProject) -> Value {
    let events = stage.events();
    let done = events.iter().find(|event| event["type"] == "task.completed").expect("reported");
    done["payload"]["outcome"].clone()
}

#[test]
fn constraint_breach_is_reported_by_name() {
    let many = "max_files: 2 files changed, and at most 1 are allowed: a.txt, new file";
    let cases = [
        ("max_files: 1", "echo x > a.txt; echo x > 'new file'", many),
        ("max_files: 1", &*format!("echo x > a.txt; echo x > 'new file'; git add .; {COMMIT}"), ""),
        (
            "no_git_commit: true",
            &*format!("echo x > a.txt; {COMMIT}"),
            "no_git_commit: a commit was made",
        ),
        (
            "no_git_commit: true",
            "echo x > a.txt; git -c user.name=A -c user.email=a@b.c stash -q",
            "no_git_commit: 2 commits were made",
        ),
        (
            "no_new_deps: true",
            "echo x > Cargo.lock; mkdir -p web; echo {} > web/package.json",
            "no_new_deps: changed Cargo.lock, web/package.json",
        ),
    ];
    for (constraints, script, words) in cases {
        let stage = repository(script);
        let reason = run_mission(&stage, constraints);
        assert!(reason.contains(words), "{constraints}: {reason}");
        assert_eq!(outcome(&stage), "needs_review", "{constraints}");
    }
}

#[test]
fn constraint_breaches_are_reported_together() {
    let script = format!("echo x > a.txt; echo x > Cargo.toml; git add .; {COMMIT}");
    let stage = repository(&script);
    let reason = run_mission(&stage, "max_files: 0, no_git_commit: true, no_new_deps: true");
    assert_eq!(
        reason,
        "max_files: 3 files changed, and at most 0 are allowed: Cargo.toml, a.txt, b.txt; \
         no_git_commit: a commit was made; no_new_deps: changed Cargo.toml"
    );
    let inbox = stage.json(&["inbox"]);
    let told = inbox[0]["text"].as_str().unwrap_or_default();
    assert!(told.ends_with(&reason), "whoever is to look at it is told: {told}");
}

#[test]
fn constraint_check_ignores_earlier_changes_by_person() {
    let stage = repository("echo x > a.txt");
    run_mission(&stage, "max_files: 1, no_git_commit: true, no_new_deps: true");
    assert_eq!(outcome(&stage), "done");
}

#[test]
fn constraint_that_cannot_be_checked_needs_review() {
    let stage = repository("rm -rf .git");
    let reason = run_mission(&stage, "no_git_commit: true");
    assert!(reason.starts_with("the constraints could not be checked: "), "{reason}");
    assert_eq!(outcome(&stage), "needs_review");
}

#[test]
fn mission_timeout_stops_run() {
    let stage = DaemonProject::new("attempts_max = 1").with_command(
        "miner",
        "sleep 1000",
        "dialect = \"mission\"",
    );
    let id = stage.send(&mission("", 1));
    stage.until_idle();
    assert_eq!(stage.status(&id), "deadletter", "{:#?}", stage.events());
    assert_eq!(stage.events_of(&id, "run.exited")[0]["payload"]["exit"], "timed_out");
}

#[test]
fn missing_expected_output_is_named() {
    let script = "steps: [{attempt_completion: {status: success}}]";
    let stage = DaemonProject::new("").with_agent_as(
        "actor",
        script,
        "mode = \"x\"\ndialect = \"new_task\"",
    );
    let id = stage.send(
        "{\"taskId\": \"A-1\", \"delegatedToMode\": \"x\", \"objective\": \"Do it\", \
         \"expectedOutputs\": [{\"type\": \"code\", \"path\": \"out/a.md\", \"description\": \"\"}]}",
    );
    stage.until_idle();
    let moves = stage.events_of(&id, "task.transitioned");
    let reason = &moves.last().expect("it moved")["payload"]["reason"];
    assert_eq!(reason, "expected output is missing: out/a.md");
    assert_eq!(outcome(&stage), "needs_review");
}

/// Constraints of a mission apply in every dialect that the agent may report in.
#[test]
fn constraints_apply_to_plain_report() {
    let script = "echo x > a.txt; echo x > c.txt\nadjutant report done --notes 'All of it'\n";
    let stage = DaemonProject::new("").with_command("plain", script, "");
    let reason = run_mission(&stage, "max_files: 1");
    assert_eq!(reason, "max_files: 2 files changed, and at most 1 are allowed: a.txt, c.txt");
    assert_eq!(outcome(&stage), "needs_review");
}

#[test]
fn constraints_apply_to_exit_that_means_done() {
    let stage =
        DaemonProject::new("").with_command("quiet", "echo x > a.txt", "on_exit_ok = \"done\"");
    let reason = run_mission(&stage, "max_files: 0");
    assert_eq!(reason, "max_files: 1 files changed, and at most 0 are allowed: a.txt");
}

#[test]
fn constraints_apply_to_result_file_written_by_agent() {
    let script = "echo x > a.txt\ncat > \"$ADJUTANT_RUN_DIR/run_result.json\" <<END\n\
        {\"taskId\": \"$ADJUTANT_TASK_ID\", \"agentId\": \"sly\", \"outcome\": \"done\", \
        \"summaryRef\": \"outputs/summary.md\", \"handoffRef\": \"outputs/handoff.md\", \
        \"deliverables\": [], \"tests\": {\"total\": 0, \"passed\": 0, \"failed\": 0}, \
        \"blockers\": [], \"notes\": \"\", \"completedAt\": \"2026-02-09T21:10:00.000Z\"}\nEND\n";
    let stage = DaemonProject::new("").with_command("sly", script, "");
    let reason = run_mission(&stage, "max_files: 0");
    assert_eq!(reason, "max_files: 1 files changed, and at most 0 are allowed: a.txt");
    assert_eq!(outcome(&stage), "needs_review");
}
