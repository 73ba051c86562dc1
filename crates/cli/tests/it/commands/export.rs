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
fn export_leaves_keys_out_and_warns_of_secrets() {
    let project = CliProject::new();
    project.add(["one"]);
    project.write("node.creds", "hunter2");
    project.write("hook.url", "https://hooks.example/hunter2");
    let plain = project.home().join("plain.tar");
    let plain = plain.to_str().expect("a plain path");
    let ran = project.adjutant(["export", plain, "--json"]);
    let stayed = "not exported, because not part of the project: hook.url, node.creds";
    assert_eq!(document(&ran.out)["warnings"], json!([stayed]), "{ran:?}");
    assert_eq!(ran.err, format!("warning: {stayed}\n"));
    let bytes = fs::read(plain).expect("a file");
    assert!(!bytes.windows(7).any(|bytes| bytes == b"hunter2"), "no key travels");

    let text =
        "[[notify]]\non = [\"inbox\"]\ntarget = \"webhook\"\nurl = \"https://h.example/x\"\n";
    project.write("adjutant.toml", text);
    let hook = project.home().join("hook.tar");
    let said = project.adjutant(["export", hook.to_str().expect("a plain path")]).err;
    assert!(said.contains("with the address of a webhook: do not share it"), "{said}");
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
