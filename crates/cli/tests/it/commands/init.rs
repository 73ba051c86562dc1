//! Tests of `adjutant init`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::commands::support::{CliOutput, CliProject, adjutant, document, run};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn init_makes_data_folder_for_owner_only() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().current_dir(home.path()).arg("init"));
    let data = home.path().join(".adjutant");
    let out = format!(
        "created {data}\n\
         no agent is configured yet: add an [agents.NAME] table to {data}/adjutant.toml\n\
         next:\n  adjutant task add \"TITLE\" --agent NAME --status ready\n  adjutant up\n",
        data = data.display()
    );
    assert_eq!(ran, CliOutput { code: 0, out, err: String::new() });
    let mut made: Vec<String> = fs::read_dir(data.join("tasks"))
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    made.sort();
    let folders =
        ["backlog", "blocked", "cancelled", "deadletter", "done", "in-progress", "ready", "review"];
    assert_eq!(made, folders);
    for folder in ["", "tasks", "tasks/ready", "runs", "events", "journal"] {
        assert_eq!(mode(&data.join(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&data.join("adjutant.toml")), 0o600);
}

#[test]
fn files_written_later_are_for_owner_only() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    for path in [format!("tasks/ready/{id}.md"), "journal/index".into(), "journal/lock".into()] {
        assert_eq!(mode(&project.path(&path)), 0o600, "{path}");
    }
    for entry in fs::read_dir(project.path("events")).expect("the folder is there") {
        assert_eq!(mode(&entry.expect("it can be read").path()), 0o600);
    }
}

#[test]
fn init_twice_is_refused_and_changes_nothing() {
    let project = CliProject::new();
    project.write("adjutant.toml", "# mine\n");
    let before = project.digest();
    let data = project.path("");
    let data = data.display().to_string();
    let data = data.trim_end_matches('/');
    let home = project.home().display().to_string();
    let ran = project.adjutant(["init", &home]);
    let hint = format!(
        "its tasks and settings were not touched: edit {data}/adjutant.toml to change the settings, \
         `adjutant task list` shows its tasks, and `adjutant up` starts its agents"
    );
    let err = format!("error: {data} is a data folder already\nhint: {hint}\n");
    assert_eq!(ran, CliOutput { code: 1, out: String::new(), err });
    let (code, error) = project.error(["init", "--data", data]);
    let message = format!("{data} is a data folder already");
    let expected = json!({"code": "exists", "message": message, "causes": [], "hint": hint});
    assert_eq!((code, error), (1, expected));
    assert_eq!(project.digest(), before);
}

#[test]
fn init_accepts_any_data_folder_name() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let data = home.path().join("deep/data");
    let named = run(adjutant().args(["init", "--json", "--data"]).arg(&data));
    assert_eq!((named.code, &*named.err), (0, ""), "{named:?}");
    assert_eq!(document(&named.out)["data"], json!(data.display().to_string()));
    let added = run(adjutant().args(["task", "add", "one", "--data"]).arg(&data));
    assert_eq!(added.code, 0, "{added:?}");
    let by_variable = home.path().join("other");
    let ran = run(adjutant().arg("init").env("ADJUTANT_DATA", &by_variable));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    assert!(by_variable.join("tasks/ready").is_dir());
}

#[test]
fn init_argument_beats_environment() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = home.path().join("project");
    let elsewhere = home.path().join("elsewhere");
    let ran = run(adjutant().arg("init").arg(&project).env("ADJUTANT_DATA", &elsewhere));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    assert!(project.join(".adjutant/tasks").is_dir() && !elsewhere.exists());
    let both = run(adjutant().args(["init", "a", "--data", "b"]));
    assert_eq!(both.code, 2, "{both:?}");
    assert_eq!(both.err.lines().next(), Some("error: DIR and --data name different folders"));
}

#[test]
fn init_in_impossible_place_exits_with_3() {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("file"), "").expect("a file");
    let ran = run(adjutant().current_dir(home.path()).args(["init", "file/inside"]));
    assert_eq!((ran.code, &*ran.out), (3, ""), "{ran:?}");
    assert!(ran.err.starts_with("error: cannot create file/inside\n  caused by: "), "{ran:?}");
}

#[test]
fn init_configures_agents_that_are_signed_in() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let bin = home.path().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    for name in ["claude", "codex", "goose"] {
        fs::write(bin.join(name), "#!/bin/sh\n").expect("written");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("set");
    }
    fs::create_dir_all(home.path().join(".codex")).expect("a folder");
    fs::write(home.path().join(".codex/auth.json"), "{}").expect("written");
    let ran = run(adjutant()
        .current_dir(home.path())
        .arg("init")
        .env("PATH", &bin)
        .env("HOME", home.path())
        .env("ANTHROPIC_API_KEY", "sk-none")
        .env_remove("GOOSE_PROVIDER")
        .env_remove("OPENAI_API_KEY"));
    let next = "installed, but not known to be signed in: goose; see adjutant.toml\nconfigured: claude, codex\n\
                next:\n  adjutant task add \"TITLE\" --agent claude --status ready\n  adjutant up\n";
    assert!(ran.code == 0 && ran.out.ends_with(next), "{ran:?}");
    let written = fs::read_to_string(home.path().join(".adjutant/adjutant.toml")).expect("read");
    assert!(written.contains("\n[agents.claude]\nkind = \"claude\"\n"), "{written}");
    assert!(written.contains("\n[agents.codex]\n"), "{written}");
    assert!(written.contains("\n# [agents.goose]\n# kind = \"goose\"\n"), "{written}");
    assert!(!written.contains("sk-none"), "no key is copied");
    let listed = run(adjutant().current_dir(home.path()).args(["agents"]).env("PATH", &bin));
    assert_eq!(listed.code, 0, "{listed:?}");
}

/// Runs git in a folder.
fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=T", "-c", "user.email=t@example.com"]);
    let output = command.args(args).output().expect("git starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn init_in_git_repository_sets_worktree_and_says_what_to_commit() {
    let home = tempfile::tempdir().expect("a temporary folder");
    git(home.path(), &["init", "--quiet"]);
    let ran = run(adjutant().current_dir(home.path()).arg("init").env("PATH", "/usr/bin:/bin"));
    let worktree = "each task gets its own git worktree and branch: workspace = \"worktree\" in \
                    adjutant.toml\n";
    let commit = "commit .adjutant/: its .gitignore lets git track the configuration and the \
                  tasks, and leaves out the event log, runs and secrets\n";
    let first = "make a first commit before `adjutant up`: worktrees start from it\n";
    assert!(ran.out.contains(&format!("{worktree}{commit}{first}")), "{ran:?}");
    assert!(ran.out.ends_with("--status ready\n  adjutant up\n"), "{ran:?}");
    let data = home.path().join(".adjutant");
    let written = fs::read_to_string(data.join("adjutant.toml")).expect("read");
    assert!(written.contains("\nworkspace = \"worktree\"\n"), "{written}");
    let added = run(adjutant().current_dir(home.path()).args(["task", "add", "one"]));
    assert_eq!(added.code, 0, "{added:?}");
    fs::write(data.join("operator-token"), "secret").expect("written");
    git(home.path(), &["add", "--all"]);
    git(home.path(), &["commit", "--quiet", "-m", "Start"]);
    let tracked = git(home.path(), &["ls-files"]);
    let tracked: Vec<&str> = tracked.lines().collect();
    let task = format!(".adjutant/tasks/backlog/{}.md", &added.out[..19]);
    assert_eq!(tracked, [".adjutant/.gitignore", ".adjutant/adjutant.toml", &*task]);
    fs::remove_dir_all(&data).expect("removed");
    let again = run(adjutant().current_dir(home.path()).arg("init"));
    assert!(!again.out.contains("first commit") && again.out.contains(worktree), "{again:?}");
    fs::remove_dir_all(&data).expect("removed");
    let again = run(adjutant().current_dir(home.path()).args(["init", "--json"]));
    assert_eq!(document(&again.out)["workspace"], "worktree");
}

#[test]
fn init_outside_git_repository_sets_no_worktree() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().current_dir(home.path()).args(["init", "--json"]));
    assert_eq!((ran.code, &document(&ran.out)["workspace"]), (0, &json!(null)), "{ran:?}");
    let written = fs::read_to_string(home.path().join(".adjutant/adjutant.toml")).expect("read");
    assert!(!written.contains("\nworkspace = "), "{written}");
}

/// Makes a project of these files, and returns the test command that `init` found.
fn test_command(files: &[(&str, &str)]) -> Option<String> {
    let home = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let ran = run(adjutant().current_dir(home.path()).args(["init", "--json"]));
    assert_eq!((ran.code, &*ran.err), (0, ""), "{ran:?}");
    let said = document(&ran.out)["testCommand"].as_str().map(ToOwned::to_owned);
    let written = fs::read_to_string(home.path().join(".adjutant/adjutant.toml")).expect("read");
    let line = said.as_ref().map(|line| format!("\ntest_command = {line:?}\n"));
    assert!(line.is_none_or(|line| written.contains(&line)), "{written}");
    // The written configuration can be read.
    assert_eq!(run(adjutant().current_dir(home.path()).args(["task", "list"])).code, 0);
    said
}

#[test]
fn init_finds_and_writes_test_command() {
    const PACKAGE: &str = r#"{"scripts": {"test": "vitest"}}"#;
    const NONE: &str = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    type ProjectFiles = &'static [(&'static str, &'static str)];
    let cases: [(ProjectFiles, Option<&str>); 17] = [
        (&[], None),
        (&[("Cargo.toml", "")], Some("cargo test")),
        (&[("go.mod", "module x")], Some("go test ./...")),
        (&[("package.json", PACKAGE)], Some("npm test")),
        (&[("package.json", PACKAGE), ("pnpm-lock.yaml", "")], Some("pnpm test")),
        (&[("package.json", PACKAGE), ("yarn.lock", "")], Some("yarn test")),
        (&[("package.json", NONE)], None),
        (&[("package.json", "{"), ("Makefile", "test: x\n\tgo\n")], Some("make test")),
        (&[("pytest.ini", "")], Some("python3 -m pytest")),
        (&[("pyproject.toml", "[tool.pytest.ini_options]\n")], Some("python3 -m pytest")),
        (&[("pyproject.toml", "[project]\n")], None),
        (&[("setup.py", ""), ("tests/test_x.py", "")], Some("python3 -m pytest")),
        (&[("pom.xml", "")], Some("mvn -q test")),
        (&[("composer.json", r#"{"scripts": {"test": ["phpunit"]}}"#)], Some("composer test")),
        (&[("Makefile", "test := 1\ntests:\n\ttrue\n")], None),
        (&[("Makefile", ".PHONY: test\ntest:\n\ttrue\n")], Some("make test")),
        (&[("justfile", "test:\n  true\n")], Some("just test")),
    ];
    for (files, expected) in cases {
        assert_eq!(test_command(files).as_deref(), expected, "{files:?}");
    }
}
