//! Inspecting a repository runs nothing that an agent put into it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::workspace::support::{WorkspaceFixture, git};

/// A repository in which every setting that names a program names one that leaves a mark.
struct TrapRepository {
    stage: WorkspaceFixture,
    mark: PathBuf,
}

impl TrapRepository {
    fn new() -> Self {
        let stage = WorkspaceFixture::git();
        let mark = stage.home().join("mark");
        let script = stage.home().join("trap.sh");
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", mark.display());
        fs::write(&script, &text).expect("written");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
        let trap = Self { stage, mark };
        trap.arm(&trap.stage.top(), &script.display().to_string());
        let hooks = trap.stage.home().join("hooks");
        fs::create_dir(&hooks).expect("made");
        for name in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
            fs::copy(&script, hooks.join(name)).expect("copied");
        }
        trap
    }

    fn arm(&self, repository: &std::path::Path, script: &str) {
        let hooks = self.stage.home().join("hooks").display().to_string();
        for (key, value) in [
            ("core.fsmonitor", script),
            ("core.hooksPath", &hooks),
            ("core.pager", script),
            ("core.editor", script),
            ("core.sshCommand", script),
            ("core.askPass", script),
            ("diff.external", script),
            ("diff.trap.textconv", script),
            ("diff.trap.command", script),
            ("filter.trap.clean", script),
            ("filter.trap.smudge", script),
            ("filter.trap.process", script),
            ("filter.trap.required", "true"),
            ("merge.trap.driver", script),
            ("credential.helper", script),
            ("gpg.program", script),
            ("alias.ls-files", &format!("!{script}")),
            ("alias.diff-files", &format!("!{script}")),
            ("uploadpack.packObjectsHook", script),
        ] {
            git(repository, &["config", key, value]);
        }
        let all = "* filter=trap diff=trap merge=trap\n";
        fs::write(repository.join(".gitattributes"), all).expect("written");
        let info = repository.join(".git/info");
        fs::create_dir_all(&info).expect("made");
        fs::write(info.join("attributes"), all).expect("written");
    }

    fn marks(&self) -> String {
        fs::read_to_string(&self.mark).unwrap_or_default()
    }
}

#[test]
fn inspection_runs_no_program_of_the_repository() {
    let trap = TrapRepository::new();
    trap.stage.write("a.txt", "A.txt\n");
    trap.stage.take_baseline();
    assert_eq!(trap.marks(), "", "by taking note");
    assert_eq!(trap.stage.changed_files(), [""; 0]);
    trap.stage.write("b.txt", "B.txt\n");
    trap.stage.write("d.txt", "new\n");
    assert_eq!(trap.stage.changed_files(), ["M b.txt", "A d.txt"]);
    assert_eq!(trap.marks(), "", "by looking");
}

#[test]
fn trap_is_triggered_by_plain_git() {
    let trap = TrapRepository::new();
    trap.stage.write("a.txt", "A.txt\n");
    let status = std::process::Command::new("git")
        .current_dir(trap.stage.top())
        .args(["status", "--short"])
        .output();
    drop(status.expect("git runs"));
    assert_ne!(trap.marks(), "");
}

#[test]
fn inspection_runs_no_program_of_a_nested_repository() {
    let trap = TrapRepository::new();
    let inner = trap.stage.top().join("inner");
    fs::create_dir(&inner).expect("made");
    git(&inner, &["init", "-q"]);
    fs::write(inner.join("x.txt"), "x\n").expect("written");
    git(&inner, &["add", "."]);
    git(&inner, &["commit", "-qm", "inner"]);
    trap.arm(&inner, &trap.stage.home().join("trap.sh").display().to_string());
    fs::write(inner.join("x.txt"), "y\n").expect("written");
    trap.stage.take_baseline();
    fs::write(inner.join("x.txt"), "z\n").expect("written");
    assert_eq!(trap.stage.changed_files(), ["M inner/x.txt"]);
    assert_eq!(trap.marks(), "");
}

#[test]
fn inspection_runs_no_program_configured_during_the_run() {
    let stage = WorkspaceFixture::git();
    stage.write("a.txt", "A.txt\n");
    stage.take_baseline();
    let trap = TrapRepository::new();
    let script = trap.stage.home().join("trap.sh").display().to_string();
    trap.arm(&stage.top(), &script);
    stage.write("a.txt", "a.TXT\n");
    stage.write("b.txt", "B.txt\n");
    git(&stage.top(), &["config", "core.worktree", "/"]);
    assert_eq!(stage.changed_files(), ["A .gitattributes", "M a.txt", "M b.txt"]);
    assert_eq!(trap.marks(), "");
}

#[test]
fn inspection_does_not_run_git_from_the_workspace() {
    let stage = WorkspaceFixture::git();
    let mark = stage.home().join("mark");
    stage.write("git", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
    let program = stage.top().join("git");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    stage.take_baseline();
    assert_eq!(stage.changed_files(), [""; 0]);
    assert!(!mark.exists());
}
