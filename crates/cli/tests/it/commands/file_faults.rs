//! Files that this user cannot change put their task on hold; `doctor --fix` mends what it can.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

use crate::commands::support::{CliOutput, CliProject, completion, document, run, run_with};

/// The user `nobody`, as whom the commands run if this is root, to whom no right is missing.
const ORDINARY_USER: u32 = 65534;

/// A project of an ordinary user.
struct UserProject(CliProject);

impl UserProject {
    fn new() -> Self {
        let project = CliProject::new();
        if geteuid().is_root() {
            give_away(project.home());
        }
        Self(project)
    }

    fn command(&self, args: &[&str]) -> Command {
        let plain = self.0.command(args);
        if !geteuid().is_root() {
            return plain;
        }
        let ids = [format!("--reuid={ORDINARY_USER}"), format!("--regid={ORDINARY_USER}")];
        let mut command = Command::new("setpriv");
        command.args(ids).arg("--clear-groups").arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("XDG_STATE_HOME", self.0.home().join("state"));
        command.current_dir(self.0.home());
        command
    }

    fn run(&self, args: &[&str]) -> CliOutput {
        run(&mut self.command(args))
    }

    fn add(&self, title: &str) -> String {
        let added =
            self.run(&["task", "add", title, "--agent", "swe", "--status", "ready", "--json"]);
        assert_eq!(added.code, 0, "{added:?}");
        let id = document(&added.out)["id"].as_str().expect("an id").to_owned();
        let moved = self.run(&["task", "move", &id, "in-progress"]);
        assert_eq!(moved.code, 0, "{moved:?}");
        id
    }

    fn report(&self, id: &str) -> CliOutput {
        let report = completion(id, "swe", "done").to_string();
        run_with(&mut self.command(&["send"]), report.as_bytes())
    }
}

fn give_away(path: &Path) {
    chown(path, Some(ORDINARY_USER), Some(ORDINARY_USER)).expect("root may");
    if path.is_dir() {
        fs::read_dir(path).expect("a folder").flatten().for_each(|entry| give_away(&entry.path()));
    }
}

#[test]
fn companion_folder_without_write_right_holds_its_task_until_doctor_mends_it() {
    let project = UserProject::new();
    let (one, two) = (project.add("one"), project.add("two"));
    let companion = project.0.path(&format!("tasks/in-progress/{one}"));
    fs::create_dir(&companion).expect("a new folder");
    if geteuid().is_root() {
        give_away(&companion);
    }
    fs::set_permissions(&companion, Permissions::from_mode(0o555)).expect("it is ours");
    for id in [&one, &two] {
        let sent = project.report(id);
        assert_eq!(sent.code, 0, "{sent:?}");
    }
    assert!(project.0.path(&format!("tasks/review/{two}.md")).is_file());
    assert!(
        project.0.path(&format!("tasks/in-progress/{one}.md")).is_file(),
        "it stays where it is"
    );
    let listed = project.run(&["task", "list"]);
    let row = listed.out.lines().find(|line| line.contains(&one)).expect("a row");
    assert!(row.contains("blocked"), "{listed:?}");
    let refused = project.run(&["task", "cancel", &one]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let expected = format!(
        "error: task {one} is on hold: its folder cannot be moved\n  caused by: {0}: permission \
         denied\nhint: `chmod -R u+rwX {0}`, then `adjutant doctor --fix`; other tasks are not \
         affected\n",
        companion.display()
    );
    assert_eq!(refused.err, expected);
    let inbox = project.run(&["inbox", "--json"]);
    let held = document(&inbox.out).as_array().expect("a list").iter().any(|item| {
        item["kind"] == "on_hold"
            && item["taskId"] == *one
            && item["text"].to_string().contains("chmod")
    });
    assert!(held, "{inbox:?}");
    let found = project.run(&["doctor"]);
    assert!(found.out.contains("task_on_hold"), "{found:?}");
    let mended = project.run(&["doctor", "--fix"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    assert!(project.0.path(&format!("tasks/review/{one}.md")).is_file(), "{mended:?}");
    assert_eq!(project.run(&["doctor"]).out, "no problems found\n");
    let cancelled = project.run(&["task", "cancel", &one]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
}

#[test]
fn companion_folder_of_another_user_holds_its_task_and_names_the_owner() {
    if !geteuid().is_root() {
        adjutant_test_support::skip::skip("only root can give files away", "run as root");
        return;
    }
    let project = UserProject::new();
    let one = project.add("one");
    let companion = project.0.path(&format!("tasks/in-progress/{one}"));
    fs::create_dir(&companion).expect("a new folder, of root");
    let sent = project.report(&one);
    assert_eq!(sent.code, 0, "{sent:?}");
    let fixed = project.run(&["doctor", "--fix"]);
    let words = format!("permission denied (owned by root); `sudo chown -R {ORDINARY_USER}");
    assert!(fixed.code == 1 && fixed.out.contains(&words), "{fixed:?}");
    let added = project.run(&["task", "add", "another"]);
    assert_eq!(added.code, 0, "{added:?}");
    give_away(&companion);
    let listed = project.run(&["task", "list"]);
    assert_eq!(listed.err, "", "the cause is gone");
    assert!(project.0.path(&format!("tasks/review/{one}.md")).is_file());
}
