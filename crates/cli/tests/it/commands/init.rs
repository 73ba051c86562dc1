//! `adjutant init`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::commands::support::{Project, Ran, adjutant, document, run};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_folder_is_made_for_the_owner_only() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let ran = run(adjutant().current_dir(home.path()).arg("init"));
    let data = home.path().join(".adjutant");
    let out = format!(
        "made {}\nnext: `adjutant task add TITLE`, then `adjutant task list`\n",
        data.display()
    );
    assert_eq!(ran, Ran { code: 0, out, err: String::new() });
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
fn what_is_written_later_is_for_the_owner_only() {
    let project = Project::new();
    let id = project.add(["one", "--status", "ready"]);
    for path in [format!("tasks/ready/{id}.md"), "journal/index".into(), "journal/lock".into()] {
        assert_eq!(mode(&project.path(&path)), 0o600, "{path}");
    }
    for entry in fs::read_dir(project.path("events")).expect("the folder is there") {
        assert_eq!(mode(&entry.expect("it can be read").path()), 0o600);
    }
}

#[test]
fn a_second_time_is_refused_and_changes_nothing() {
    let project = Project::new();
    project.write("adjutant.toml", "# mine\n");
    let before = project.digest();
    let data = project.path("");
    let data = data.display().to_string();
    let data = data.trim_end_matches('/');
    let home = project.home().display().to_string();
    let ran = project.adjutant(["init", &home]);
    let err = format!("error: {data} is a data folder already\n");
    assert_eq!(ran, Ran { code: 1, out: String::new(), err });
    let (code, error) = project.error(["init", "--data", data]);
    let message = format!("{data} is a data folder already");
    let expected = json!({"code": "exists", "message": message, "causes": [], "hint": null});
    assert_eq!((code, error), (1, expected));
    assert_eq!(project.digest(), before);
}

#[test]
fn a_data_folder_may_have_any_name() {
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
fn a_project_that_is_named_counts_more_than_the_environment() {
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
fn where_nothing_can_be_made_something_broke() {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("file"), "").expect("a file");
    let ran = run(adjutant().current_dir(home.path()).args(["init", "file/inside"]));
    assert_eq!((ran.code, &*ran.out), (3, ""), "{ran:?}");
    assert!(ran.err.starts_with("error: cannot make file/inside\n  caused by: "), "{ran:?}");
}

#[test]
fn an_agent_is_configured_where_somebody_is_signed_in() {
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
    let next = "found, and not seen to be signed in: goose; see adjutant.toml\nfound: claude, codex\n\
                next: `adjutant task add TITLE --status ready`, then `adjutant up`\n";
    assert!(ran.code == 0 && ran.out.ends_with(next), "{ran:?}");
    let written = fs::read_to_string(home.path().join(".adjutant/adjutant.toml")).expect("read");
    assert!(written.contains("\n[agents.claude]\nkind = \"claude\"\n"), "{written}");
    assert!(written.contains("\n[agents.codex]\n"), "{written}");
    assert!(written.contains("\n# [agents.goose]\n# kind = \"goose\"\n"), "{written}");
    assert!(!written.contains("sk-none"), "no key is copied");
    let listed = run(adjutant().current_dir(home.path()).args(["agents"]).env("PATH", &bin));
    assert_eq!(listed.code, 0, "{listed:?}");
}

/// Makes a project of these files, and returns what `init` says its test command is.
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
    // What was written can be read.
    assert_eq!(run(adjutant().current_dir(home.path()).args(["task", "list"])).code, 0);
    said
}

#[test]
fn the_test_command_of_a_project_is_found_and_written() {
    const PACKAGE: &str = r#"{"scripts": {"test": "vitest"}}"#;
    const NONE: &str = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    type Files = &'static [(&'static str, &'static str)];
    let cases: [(Files, Option<&str>); 17] = [
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
