//! Work that git cannot commit: it is never done, and nothing of it is lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::{git, read, repository, task};

/// The versions of git on this machine: Debian's, and a newer one where there is one.
fn git_versions() -> Vec<PathBuf> {
    let folders = ["/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    folders.into_iter().filter(|folder| folder.join("git").exists()).collect()
}

const LEVELS: [&str; 2] = ["sandbox = \"none\"\n", "sandbox = \"landlock\"\n"];

fn project(script: &str, level: &str, programs: &Path) -> DaemonProject {
    let settings = format!("workspace = \"worktree\"\n{level}[project]\nmerge = \"squash\"\n");
    let stage =
        DaemonProject::new("").with_command("dev", script, &settings).with_programs(programs);
    repository(&stage);
    fs::write(stage.home().join(".gitignore"), "/*\n!/.gitignore\n!/.gitattributes\n!/*.txt\n")
        .expect("written");
    git(stage.home(), &["commit", "-qam", "second"]);
    stage
}

#[test]
fn work_with_encoding_attributes_is_committed_and_merged() {
    for programs in git_versions() {
        for (level, attributes) in LEVELS.into_iter().zip([
            "* working-tree-encoding=UTF-16",
            // Git refuses to work in a folder with this line.
            "* working-tree-encoding",
        ]) {
            let script = format!(
                "echo '{attributes}' > .gitattributes; echo new > new.txt; adjutant report done\n"
            );
            let stage = project(&script, level, &programs);
            let id = task(&stage, "dev");
            let _up = stage.up();
            wait_for("it is reviewed", || stage.status(&id) == "review");
            let checked = &stage.events_of(&id, "work.checked")[0]["payload"];
            let flaw = checked["flaw"].as_str().unwrap_or_default();
            assert!(flaw.contains("set `working-tree-encoding`"), "{programs:?}: {checked}");
            let inbox = stage.json(&["inbox"])[0]["text"].to_string();
            assert!(inbox.contains("set `working-tree-encoding`"), "{inbox}");
            stage.run_ok(["approve", &id]);
            wait_for("it is merged", || stage.status(&id) == "done");
            assert_eq!(read(&stage, "new.txt"), "new\n", "{programs:?} {attributes}");
            assert_eq!(git(stage.home(), &["show", "main:new.txt"]), "new");
            assert_eq!(git(stage.home(), &["show", "main:shared.txt"]), "one\ntwo\nthree");
        }
    }
}

/// Leaves a file that does not have the encoding which the project's attributes name.
const UNFIT: &str = "[ $ADJUTANT_ATTEMPT = 1 ] || exec adjutant report done\n\
                     printf 'x' > unfit.u16.txt; echo new > new.txt; adjutant report done\n";

#[test]
fn work_that_git_cannot_commit_waits_with_the_reason() {
    for programs in git_versions() {
        for level in LEVELS {
            let stage = project(UNFIT, level, &programs);
            let attributes = "*.u16.txt working-tree-encoding=UTF-16\n";
            fs::write(stage.home().join(".gitattributes"), attributes).expect("written");
            git(stage.home(), &["add", ".gitattributes"]);
            git(stage.home(), &["commit", "-qm", "attributes"]);
            let id = task(&stage, "dev");
            let up = stage.up();
            wait_for("it is reviewed", || stage.status(&id) == "review");
            let checked = &stage.events_of(&id, "work.checked")[0]["payload"];
            assert_eq!(checked["unsettled"], true, "{checked}");
            let done = vec!["task", "move", &id, "done"];
            for refused in [vec!["approve", &id], vec!["approve", &id, "--note", "again"], done] {
                let ran = stage.adjutant(refused);
                assert_eq!(ran.code, 1, "{ran:?}");
                assert!(ran.err.contains("could not be committed to its branch"), "{ran:?}");
                assert!(ran.err.contains("unfit.u16.txt"), "{ran:?}");
            }
            let refused = &stage.events_of(&id, "command.refused")[0]["payload"];
            assert_eq!(refused["reason"], "unsettled_work");
            let why = stage.json(&["why", &id])["reasons"][0]["text"].to_string();
            assert!(why.contains("could not be committed to its branch"), "{why}");
            let inbox = stage.json(&["inbox"])[0].to_string();
            assert!(inbox.contains("unfit.u16.txt"), "{inbox}");
            assert_eq!(stage.status(&id), "review");
            assert_eq!(git(stage.home(), &["rev-list", "--count", "main"]), "3");
            let tree = stage.path(&format!("worktrees/{id}"));
            assert_eq!(fs::read(tree.join("unfit.u16.txt")).expect("it is kept"), b"x");
            // Sent back, it is saved byte for byte before the next attempt starts.
            stage.run_ok(["reject", &id, "--reason", "the encoding is wrong"]);
            wait_for("it is done again", || stage.events_of(&id, "work.checked").len() == 2);
            let saved = &stage.events_of(&id, "work.saved")[0]["payload"];
            let name = format!("{}:unfit.u16.txt", saved["commit"].as_str().expect("a commit"));
            assert_eq!(git(stage.home(), &["cat-file", "blob", &name]), "x");
            wait_for("it is reviewed", || stage.status(&id) == "review");
            stage.run_ok(["approve", &id]);
            wait_for("it is done", || stage.status(&id) == "done");
            drop(up);
        }
    }
}
