//! Agents with a git work tree each: concurrent, checked, reviewed and merged.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::up::project::{DaemonProject, until, wait_for};

/// Runs git in a folder, and returns its output.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=alice", "-c", "user.email=alice@example.com"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "git {args:?}: {}", text(&output.stderr));
    text(&output.stdout).trim_end().to_owned()
}

/// Makes a project a git repository with a first commit.
pub(crate) fn repository(stage: &DaemonProject) {
    git(stage.home(), &["init", "-q", "-b", "main"]);
    fs::write(stage.home().join(".gitignore"), "/*\n!/.gitignore\n!/*.txt\n").expect("written");
    fs::write(stage.home().join("shared.txt"), "one\ntwo\nthree\n").expect("written");
    git(stage.home(), &["add", "."]);
    git(stage.home(), &["commit", "-q", "-m", "first"]);
}

/// Adds a task that needs a review.
pub(crate) fn task(stage: &DaemonProject, agent: &str) -> String {
    let task = stage.json(&["task", "add", "Do it", "--agent", agent, "--status", "ready"]);
    task["id"].as_str().expect("a task has an id").to_owned()
}

pub(crate) fn read(stage: &DaemonProject, name: &str) -> String {
    fs::read_to_string(stage.home().join(name)).unwrap_or_default()
}

/// Agent settings: each run has a work tree, and an exit code of 0 means done.
pub(crate) const WORKTREE: &str = "workspace = \"worktree\"\non_exit_ok = \"done\"\n";

#[test]
fn worktree_agents_share_repository_and_conflict_is_sent_back() {
    let script = r#"
mkdir -p "$ADJUTANT_DATA/../at"
touch "$ADJUTANT_DATA/../at/$ADJUTANT_TASK_ID"
# All four are at work before any of them is done.
while [ "$(ls "$ADJUTANT_DATA/../at" | wc -l)" -lt 4 ]; do sleep 0.05; done
echo "$ADJUTANT_PORT $TMPDIR" > "$ADJUTANT_DATA/../at/$ADJUTANT_TASK_ID"
export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=d@x GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=d@x
case "$ADJUTANT_TASK_ID-$ADJUTANT_ATTEMPT" in
*-001-1) echo a > a.txt; git add . && git commit -qm "a" ;;
*-002-1) echo b > b.txt ;;
*-003-1) sed -i s/two/TWO/ shared.txt; git commit -qam "three" ;;
*-004-1) sed -i s/two/2/ shared.txt; git commit -qam "four" ;;
*-004-2) cat > "$ADJUTANT_DATA/../order"; git rebase -q -X theirs main ;;
esac
"#;
    let project = "slots = 4\n[project]\nchecks = [\"test -f shared.txt\"]\nmerge = \"rebase\"\n";
    let stage = DaemonProject::new("").with_command("dev", script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    let tasks: Vec<String> = (0..4).map(|_| task(&stage, "dev")).collect();
    let up = stage.up();
    wait_for("all are reviewed", || stage.count("review") == 4);
    let told: Vec<String> = tasks.iter().map(|id| read(&stage, &format!("at/{id}"))).collect();
    let different: std::collections::BTreeSet<&String> = told.iter().collect();
    assert_eq!(different.len(), 4, "each has ports and a folder of its own: {told:?}");
    for task in &tasks[..3] {
        let printed = stage.run_ok(["approve", task]);
        let commit = &git(stage.home(), &["rev-parse", "main"])[..12];
        let expected = format!("{task} done (merged as {commit})\n");
        assert_eq!(printed, expected, "the command waits for the daemon");
    }
    let shown = || stage.run_ok(["task", "show", &tasks[0]]);
    wait_for("its branch is deleted", || !shown().contains(" on adjutant/"));
    assert!(shown().contains(" on main\n"), "{}", shown());
    assert_eq!(read(&stage, "shared.txt"), "one\nTWO\nthree\n");
    assert_eq!((read(&stage, "a.txt"), read(&stage, "b.txt")), ("a\n".into(), "b\n".into()));
    let conflict = stage.adjutant(["approve", &tasks[3]]);
    assert_eq!(conflict.code, 1, "{conflict:?}");
    let expected = " (conflict in shared.txt: sent back to dev)\n";
    assert!(conflict.out.ends_with(expected), "{conflict:?}");
    wait_for("it is worked on again", || stage.events_of(&tasks[3], "run.started").len() == 2);
    let refused = &stage.events_of(&tasks[3], "merge.refused")[0];
    assert_eq!(refused["payload"]["files"], serde_json::json!(["shared.txt"]));
    wait_for("it is reviewed again", || stage.status(&tasks[3]) == "review");
    assert!(
        read(&stage, "order").contains("merge conflict with main in: shared.txt"),
        "{}",
        read(&stage, "order")
    );
    stage.run_ok(["approve", &tasks[3]]);
    wait_for("it is merged", || stage.status(&tasks[3]) == "done");
    assert_eq!(read(&stage, "shared.txt"), "one\n2\nthree\n");
    // The history is linear, and no work tree or branch is left.
    assert_eq!(git(stage.home(), &["rev-list", "--merges", "--count", "main"]), "0");
    assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "5");
    assert_eq!(git(stage.home(), &["status", "--porcelain"]), "");
    wait_for("the work trees are gone", || {
        git(stage.home(), &["worktree", "list"]).lines().count() == 1
            && git(stage.home(), &["branch", "--list", "adjutant/*"]).is_empty()
    });
    up.end();
    stage.assert_consistent();
}

#[test]
fn failed_check_sends_work_back_with_its_output() {
    let script = r#"
cat > "$ADJUTANT_DATA/../order-$ADJUTANT_ATTEMPT"
[ "$ADJUTANT_ATTEMPT" = 1 ] || echo good > good.txt
echo "$ADJUTANT_ATTEMPT" > tried.txt
"#;
    let check = "if [ -f good.txt ]; then exit 0; fi; echo no good is here; exit 3";
    let project = format!("[project]\nchecks = [\"true\", \"{check}\"]\n");
    let stage = DaemonProject::new("").with_command("dev", script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    let task = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&task), "review");
    let checked = stage.events_of(&task, "work.checked");
    let exits = |n: usize| -> Vec<String> {
        let checks = checked[n]["payload"]["checks"].as_array().expect("a list");
        checks.iter().map(|check| check["exit"].to_string()).collect()
    };
    assert_eq!(exits(0), ["\"code:0\"", "\"code:3\""]);
    assert_eq!(exits(1), ["\"code:0\"", "\"code:0\""]);
    let order = read(&stage, "order-2");
    assert!(order.contains("A check failed in the last attempt"), "{order}");
    assert!(order.contains("exit code 3\n\n```\nno good is here\n```"), "{order}");
    let log = fs::read_to_string(stage.attempt(&task, 1).join("checks/2.log"));
    assert_eq!(log.expect("it is kept"), "no good is here\n");
    // Uncommitted work was committed to the branch as the agent, and the checks ran on that commit.
    let branch = format!("adjutant/{task}");
    let commit = git(stage.home(), &["rev-parse", &branch]);
    assert_eq!(checked[1]["payload"]["commit"], commit.as_str());
    assert_eq!(git(stage.home(), &["log", "-1", "--format=%an", &branch]), "dev");
    let shown = stage.json(&["inbox"]);
    let text = shown[0]["text"].as_str().expect("a text");
    assert!(text.contains("2 files changed, +2 -0; 2 checks passed"), "{text}");
    assert!(stage.run_ok(["task", "diff", &task]).contains("+good"));
    // Without a `merge` setting nothing is merged, and the branch stays.
    stage.run_ok(["approve", &task]);
    stage.until_idle();
    assert_eq!(stage.status(&task), "done");
    assert_eq!(git(stage.home(), &["rev-parse", &branch]), commit);
    assert_eq!(read(&stage, "good.txt"), "");
}

#[test]
fn checks_that_never_pass_end_in_deadletter_with_reasons() {
    let project = "[project]\nchecks = [\"echo nope; false\"]\n";
    let settings = format!("on_exit_ok = \"done\"\n{project}");
    let stage = DaemonProject::new("attempts_max = 2").with_command("dev", "true\n", &settings);
    let task = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&task), "deadletter");
    let why = stage.json(&["why", &task])["reasons"][0]["text"].to_string();
    assert!(
        why.contains("attempt 1: check failed: `echo nope; false`: exit code 1: nope"),
        "{why}"
    );
    assert!(why.contains("attempt 2: check failed"), "{why}");
}

#[test]
fn hanging_check_is_ended_with_its_processes() {
    let hang = "setsid sleep 600 & sleep 600";
    let project = format!("[project]\nchecks = [\"{hang}\"]\ncheck_timeout = \"500ms\"\n");
    let settings = format!("on_exit_ok = \"done\"\n{project}");
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", "true\n", &settings);
    let task = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&task), "deadletter");
    let checked = &stage.events_of(&task, "work.checked")[0];
    assert_eq!(checked["payload"]["checks"][0]["exit"], "timed_out");
}

#[test]
fn merge_waits_for_local_changes_to_same_file() {
    let script = "sed -i s/two/TWO/ shared.txt\n";
    let project = "[project]\nmerge = \"squash\"\n";
    let stage = DaemonProject::new("").with_command("dev", script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    let task = task(&stage, "dev");
    let up = stage.up();
    wait_for("it is reviewed", || stage.status(&task) == "review");
    fs::write(stage.home().join("shared.txt"), "mine\n").expect("written");
    fs::write(stage.home().join("other.txt"), "mine too\n").expect("written");
    let approved = stage.json(&["approve", &task]);
    assert_eq!((&approved["outcome"], &approved["commit"]), (&json!("queued"), &Value::Null));
    wait_for("it waits", || !stage.events_of(&task, "merge.waiting").is_empty());
    let text = stage.json(&["inbox"])[0]["text"].as_str().expect("a text").to_owned();
    assert!(text.contains("cannot be merged yet") && text.contains("shared.txt"), "{text}");
    assert_eq!(read(&stage, "shared.txt"), "mine\n");
    assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "1");
    git(stage.home(), &["checkout", "shared.txt"]);
    wait_for("it is merged", || stage.status(&task) == "done");
    assert_eq!(read(&stage, "shared.txt"), "one\nTWO\nthree\n");
    assert_eq!(read(&stage, "other.txt"), "mine too\n");
    assert_eq!(git(stage.home(), &["status", "--porcelain"]), "?? other.txt");
    drop(up);
}

#[test]
fn approve_merges_without_daemon() {
    let script = "echo a > a.txt\n";
    let project = "[project]\nmerge = \"ff\"\nchecks = [\"test -f a.txt\"]\n";
    let stage = DaemonProject::new("").with_command("dev", script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    let task = task(&stage, "dev");
    stage.until_idle();
    // Nothing merges without a wait and without a daemon.
    let queued = stage.run_ok(["approve", &task, "--no-wait"]);
    assert_eq!(queued, format!("{task} review (queued: it is being merged)\n"));
    let approved = stage.json(&["approve", &task]);
    assert_eq!(approved["status"], "done", "{approved}");
    assert_eq!(approved["outcome"], "merged", "{approved}");
    assert_eq!(approved["commit"], git(stage.home(), &["rev-parse", "main"]).as_str());
    assert_eq!(approved["files"], json!([]), "{approved}");
    assert_eq!(read(&stage, "a.txt"), "a\n");
    let merged = &stage.events_of(&task, "work.merged")[0]["payload"];
    assert_eq!(merged["commit"], git(stage.home(), &["rev-parse", "main"]).as_str());
    assert_eq!(merged["evidence"]["checks"][0]["exit"], "code:0");
}

#[test]
fn unusable_worktree_spends_no_attempt_and_says_why() {
    let check = |prepare: &dyn Fn(&DaemonProject), settings: &str, words: &str| {
        let settings = format!("{WORKTREE}{settings}");
        let stage = DaemonProject::new("").with_command("dev", "true\n", &settings);
        prepare(&stage);
        let task = task(&stage, "dev");
        let up = stage.up();
        wait_for("it is put back", || !stage.events_of(&task, "run.deferred").is_empty());
        wait_for("it is ready", || stage.status(&task) == "ready");
        let text = stage.json(&["inbox"])[0]["text"].as_str().expect("a text").to_owned();
        assert!(text.contains(words), "{text}");
        let why = stage.json(&["why", &task])["reasons"][0]["text"].to_string();
        assert!(why.contains(words), "{why}");
        assert!(stage.events_of(&task, "run.failed").is_empty());
        drop(up);
    };
    check(&|_| {}, "", "is not in a git repository");
    let empty = |stage: &DaemonProject| drop(git(stage.home(), &["init", "-q", "-b", "main"]));
    check(&empty, "", "has no commit yet");
    let nowhere = "[project]\nbase = \"trunk\"\n";
    check(&repository, nowhere, "there is no branch");
    let detached = |stage: &DaemonProject| {
        repository(stage);
        git(stage.home(), &["checkout", "-q", "--detach"]);
    };
    check(&detached, "", "no branch is checked out");
    let failing = "[project]\nsetup = [\"echo no tools; exit 4\"]\n";
    check(&repository, failing, "its setup failed");
}

#[test]
fn new_worktree_gets_copies_and_setup() {
    let script = "cat .env local/deep.cfg made.txt > seen.txt\n";
    let project = "[project]\ncopy = [\".env\", \"local\"]\nsetup = [\"cp .env made.txt\"]\n";
    let stage = DaemonProject::new("").with_command("dev", script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    fs::write(stage.home().join(".env"), "KEY=1\n").expect("written");
    fs::create_dir(stage.home().join("local")).expect("made");
    fs::write(stage.home().join("local/deep.cfg"), "deep\n").expect("written");
    let task = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&task), "review");
    let seen = git(stage.home(), &["show", &format!("adjutant/{task}:seen.txt")]);
    assert_eq!(seen, "KEY=1\ndeep\nKEY=1");
    assert_eq!(until("status", || Some(git(stage.home(), &["status", "--porcelain"]))), "");
}

/// The first command fails and the second would remove uncommitted work, which is saved before.
#[test]
fn worktree_teardown_is_run_as_the_agent_before_removal() {
    let script = "echo work > work.txt; git add . && git commit -qm work; echo loose > loose.txt\n";
    let script = format!(
        "export GIT_AUTHOR_NAME=d GIT_AUTHOR_EMAIL=d@x GIT_COMMITTER_NAME=d GIT_COMMITTER_EMAIL=d@x\n\
         {script}"
    );
    let stage = DaemonProject::new("attempts_max = 1");
    let seen = stage.home().join("seen");
    let (seen, data) = (seen.display(), stage.path(""));
    let (data, program) = (data.display(), env!("CARGO_BIN_EXE_adjutant"));
    let teardown = format!(
        "[project]\nteardown = [\"pwd; echo fails; exit 3\", \
         \"ls > {seen}; echo ${{ADJUTANT_CHECK:+check}} >> {seen}; rm -f *.txt; \
         {program} --data {data} task add Stolen; echo operator: $?\"]\n"
    );
    let stage = stage.with_command("dev", &script, &format!("{WORKTREE}{teardown}"));
    repository(&stage);
    let id = task(&stage, "dev");
    let _up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    let tree = stage.path("worktrees").join(&id);
    assert!(tree.exists());
    stage.run_ok(["task", "cancel", &id]);
    wait_for("the worktree is removed", || !tree.exists());
    let seen = read(&stage, "seen");
    assert!(seen.contains("work.txt\n") && seen.ends_with("check\n"), "{seen}");
    let log = |number: u32| {
        let path = stage.attempt(&id, 1).join(format!("teardown/{number}.log"));
        fs::read_to_string(path).unwrap_or_default()
    };
    assert!(log(1).contains("fails\n") && log(1).contains('3'), "{}", log(1));
    assert!(log(2).contains("operator: 1\n"), "{}", log(2));
    assert_eq!(stage.count("backlog"), 0);
    let refused = |event: &Value| {
        event["type"] == "command.refused" && event["payload"]["reason"] == "operator_only"
    };
    assert!(stage.events().iter().any(refused));
}
