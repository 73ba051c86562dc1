//! Tests of `adjutant export` and `adjutant import`.

use std::fs;

use serde_json::json;

use crate::commands::support::{CliProject, adjutant, document, progress, run};

#[test]
fn export_and_import_restore_whole_project() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    project.send(progress(&id, "swe", "half").to_string().as_bytes());
    project.write(&format!("tasks/ready/{id}/outputs/summary.md"), "So far.\n");
    let file = project.home().join("project.tar");
    let file = file.to_str().expect("a plain path");
    let said = project.json(["export", file]);
    assert_eq!(said["file"], json!(file));
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let made = run(adjutant().args(["import", file, "there", "--json"]).current_dir(&elsewhere));
    let made = document(&made.out);
    assert_eq!((&made["version"], &made["files"]), (&said["version"], &said["files"]));
    let data = elsewhere.path().join("there/.adjutant");
    let data = data.to_str().expect("a plain path");
    let both = |args: &[&str]| {
        let there = run(adjutant().args(["--data", data]).args(args));
        (project.does(args), there.out)
    };
    for args in [&["task", "show", &id][..], &["events", "--json"], &["doctor"], &["inbox"]] {
        let (here, there) = both(args);
        assert_eq!(here, there, "{args:?}");
    }
    let summary = format!("{data}/tasks/ready/{id}/outputs/summary.md");
    assert_eq!(fs::read_to_string(summary).expect("it came along"), "So far.\n");
    let again = elsewhere.path().join("again.tar");
    let again = again.to_str().expect("a plain path");
    run(adjutant().args(["--data", data, "export", again]));
    assert!(fs::read(again).expect("a file") == fs::read(file).expect("a file"), "the same bytes");
}

#[test]
fn export_leaves_keys_out_and_redacts_secrets() {
    let project = CliProject::new();
    let key = "ghp_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
    let id = project.add([&format!("use {key}"), "--body", "api_key: hunter2hunter2"]);
    project.add(["another"]);
    project.write("node.creds", "hunter2");
    project.write("hook.url", "https://hooks.example/hunter2");
    project.write("operator-token", "hunter2-is-the-token-of-the-operator");
    let output = "the token hunter2-is-the-token-of-the-operator\n";
    project.write(&format!("tasks/backlog/{id}/outputs/summary.md"), output);
    project.write(
        "adjutant.toml",
        "[[notify]]\non = [\"inbox\"]\ntarget = \"webhook\"\n\
                url = \"https://h.example/hunter2-hook\"\n",
    );
    let before = project.digest();
    let file = project.home().join("project.tar");
    let file = file.to_str().expect("a plain path");
    let ran = project.adjutant(["export", file, "--json"]);
    let said = document(&ran.out);
    assert_eq!(said["leftOut"], json!(["hook.url", "node.creds"]), "{said}");
    let redacted = said["redacted"].as_array().expect("a list");
    let count = |path: &str| {
        let of = |entry: &&serde_json::Value| {
            entry["file"].as_str().is_some_and(|file| file.starts_with(path))
        };
        redacted.iter().find(of).map(|entry| entry["count"].clone())
    };
    assert_eq!(count("adjutant.toml"), Some(json!(1)), "{said}");
    assert_eq!(count("events/"), Some(json!(1)), "{said}");
    assert_eq!(count(&format!("tasks/backlog/{id}.md")), Some(json!(2)), "{said}");
    assert_eq!(count(&format!("tasks/backlog/{id}/outputs/summary.md")), Some(json!(1)), "{said}");
    assert!(ran.err.contains("warning: 1 secret was redacted in adjutant.toml\n"), "{}", ran.err);
    let stayed = "not exported, because not part of the project: hook.url, node.creds";
    assert!(ran.err.contains(stayed), "{}", ran.err);
    let bytes = fs::read(file).expect("a file");
    for secret in [&b"hunter2"[..], &key.as_bytes()[4..]] {
        assert!(!bytes.windows(secret.len()).any(|bytes| bytes == secret), "no key travels");
    }
    assert_eq!(project.digest(), before, "the project is as it was");

    // The archive is a valid project: its checksum, its event log and its settings.
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let made = run(adjutant().args(["import", file, "there"]).current_dir(&elsewhere));
    assert_eq!(made.code, 0, "{made:?}");
    let data = elsewhere.path().join("there/.adjutant");
    let there = |args: &[&str]| {
        let ran = run(adjutant().args(["--data", data.to_str().expect("a path")]).args(args));
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.out
    };
    assert!(there(&["task", "show", &id]).contains("use ghp_redacted"));
    there(&["doctor", "--fix"]);
    there(&["doctor"]);
}

#[test]
fn export_and_import_overwrite_nothing() {
    let project = CliProject::new();
    project.add(["one"]);
    let file = project.home().join("project.tar");
    fs::write(&file, "mine").expect("a file");
    let name = file.to_str().expect("a plain path");
    let (code, error) = project.error(["export", name]);
    assert_eq!((code, &error["code"]), (1, &json!("exists")), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "mine");
    fs::remove_file(&file).expect("it can be removed");
    project.does(["export", name]);
    let before = project.digest();
    let (code, error) = project.error(["import", name]);
    assert_eq!((code, &error["code"]), (1, &json!("exists")), "{error}");
    assert_eq!(project.digest(), before);
    let left: Vec<_> = fs::read_dir(project.home()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "the data folder and the archive: {left:?}");
}

#[test]
fn import_refuses_file_that_is_no_archive() {
    let home = tempfile::tempdir().expect("a temporary folder");
    fs::write(home.path().join("bad.tar"), "not an archive").expect("a file");
    let ran = run(adjutant().args(["import", "bad.tar", "--json"]).current_dir(&home));
    let error = &document(&ran.out)["error"];
    assert_eq!((ran.code, &error["code"]), (1, &json!("bad_archive")), "{error}");
    assert!(!home.path().join(".adjutant").exists());
    let ran = run(adjutant().args(["import", "none.tar"]).current_dir(&home));
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.starts_with("error: cannot read none.tar\n"), "{}", ran.err);
}
