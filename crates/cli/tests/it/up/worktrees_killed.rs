//! Work trees while daemons and agents are killed: no work is lost, and none is merged twice.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::{WORKTREE, git, read, repository, task};

/// Returns each file of a folder outside `.git`, with its content and whether it is executable.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(inner).expect("read").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("below").to_owned();
            if name == Path::new(".git") {
                continue;
            }
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let to = fs::read_link(path).expect("a link");
                found.insert(name, (to.into_os_string().into_encoded_bytes(), false));
            } else {
                let mode = entry.metadata().expect("metadata").permissions().mode();
                found.insert(name, (fs::read(path).expect("read"), mode & 0o100 != 0));
            }
        }
    }
    found
}

#[test]
fn uncommitted_work_survives_crash_retry_cancel_and_cleanup() {
    let script = r#"
printf 'one\r\n\000\377' > shared.txt
printf 'x' > "odd
$(printf '\001') name.txt"
mkdir -p "deep $ADJUTANT_ATTEMPT"
echo "$ADJUTANT_ATTEMPT" > "deep $ADJUTANT_ATTEMPT/run.txt"
chmod +x "deep $ADJUTANT_ATTEMPT/run.txt"
ln -s ../../outside.txt link.txt
git add shared.txt
touch "$ADJUTANT_DATA/../left-$ADJUTANT_ATTEMPT"
sleep 600
"#;
    let stage = DaemonProject::new("").with_command("dev", script, WORKTREE);
    repository(&stage);
    // Tracks text files and the `deep` folders, in addition to the default.
    fs::write(stage.home().join(".gitignore"), "/*\n!/*.txt\n!/deep*\n").expect("written");
    git(stage.home(), &["commit", "-qam", "more"]);
    let task = task(&stage, "dev");
    let tree = stage.path(&format!("worktrees/{task}"));
    // The daemon and the agent crash together.
    let up = stage.up();
    wait_for("the first is at it", || stage.home().join("left-1").exists());
    let first = everything(&tree);
    let (shim, agent) = stage.run(&task, 1);
    up.kill();
    shim.send_signal(Signal::KILL);
    agent.send_signal(Signal::KILL);
    // A retry, a cancel during the retry, and then a clean-up.
    let up = stage.up();
    wait_for("the second is at it", || stage.home().join("left-2").exists());
    let second = everything(&tree);
    stage.run_ok(["task", "cancel", &task]);
    wait_for("the work tree is gone", || !tree.exists());
    wait_for("it is in the record", || stage.events_of(&task, "work.saved").len() == 2);
    up.end();
    stage.assert_consistent();
    let listed = stage.json(&["undo"]);
    let attempts: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["attempt"].as_str())
        .collect();
    assert_eq!(attempts, ["1", "2"]);
    let back = stage.home().join("back");
    let words = ["undo", &task, "--attempt", "1", "--to", back.to_str().expect("text")];
    stage.run_ok(words);
    assert_eq!(everything(&back), first);
    stage.run_ok(["undo", &task]);
    assert_eq!(everything(&tree), second);
    let again = stage.adjutant(["undo", &task]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("has uncommitted work"), "{again:?}");
    let nothing = stage.adjutant(["undo", &task, "--attempt", "7"]);
    assert!(nothing.code == 1 && nothing.err.contains("no work of attempt 7"), "{nothing:?}");
}

#[test]
fn daemon_killed_after_every_event_loses_nothing_and_merges_once() {
    let script = "echo $ADJUTANT_TASK_ID > $ADJUTANT_TASK_ID.txt; echo left > left.txt\n";
    let project = "slots = 3\n[project]\nsetup = [\"sleep 0.05\"]\nchecks = [\"sleep 0.05\"]\n\
                   merge = \"squash\"\n";
    let script = format!("{script}rm left.txt\n");
    let stage =
        DaemonProject::new("").with_command("dev", &script, &format!("{WORKTREE}{project}"));
    repository(&stage);
    let tasks: Vec<String> = (0..3).map(|_| stage.add("dev")).collect();
    let mut kills = 0;
    while stage.count("done") < 3 {
        let before = stage.events().len();
        let mut up = stage.up_with(&["--until-idle"]);
        wait_for("something happens", || stage.events().len() > before || !up.is_running());
        up.kill();
        kills += 1;
        assert!(kills < 100, "it goes on and on: {:?}", stage.events().last());
    }
    stage.until_idle();
    assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "4", "each was merged once");
    assert_eq!(git(stage.home(), &["status", "--porcelain"]), "");
    assert_eq!(git(stage.home(), &["fsck", "--no-dangling"]), "");
    for task in &tasks {
        assert_eq!(read(&stage, &format!("{task}.txt")), format!("{task}\n"));
        assert_eq!(stage.events_of(task, "work.merged").len(), 1);
        assert_eq!(stage.events_of(task, "run.started").len(), 1, "none was started twice");
        assert!(!stage.path(&format!("worktrees/{task}")).exists());
    }
    assert_eq!(git(stage.home(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn check_left_by_killed_daemon_is_ended_and_run_again() {
    let check = "if [ -f $TMPDIR/once ]; then exit 0; fi; touch $TMPDIR/once; setsid sleep 600";
    let project = format!("[project]\nchecks = [\"{check}\"]\n");
    let settings = format!("on_exit_ok = \"done\"\n{project}");
    let stage = DaemonProject::new("").with_command("dev", "true\n", &settings);
    let once = stage.home().join("once");
    let task = task(&stage, "dev");
    let up = {
        let mut command = stage.command(["up", "--json"]);
        command.env("TMPDIR", stage.home());
        command.spawn().expect("it starts")
    };
    let mut up = up;
    wait_for("the check runs", || once.exists());
    up.kill().expect("killed");
    up.wait().expect("it ends");
    assert_eq!(stage.status(&task), "in-progress");
    let mut command = stage.command(["up", "--until-idle"]);
    let ended = command.env("TMPDIR", stage.home()).output().expect("it runs");
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(stage.status(&task), "review");
    assert_eq!(stage.events_of(&task, "work.checked").len(), 1);
    stage.assert_consistent();
}

#[test]
fn files_left_in_project_folder_by_agent_are_not_touched() {
    let stage = DaemonProject::new("").with_command(
        "dev",
        "echo mine > left.txt\n",
        "on_exit_ok = \"done\"\n",
    );
    repository(&stage);
    let task = task(&stage, "dev");
    stage.until_idle();
    stage.run_ok(["task", "cancel", &task]);
    stage.until_idle();
    assert_eq!(read(&stage, "left.txt"), "mine\n");
    assert_eq!(stage.run_ok(["undo"]), "no work was saved\n");
    assert!(!stage.path("worktrees").exists());
}
