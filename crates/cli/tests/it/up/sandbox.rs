//! `sandbox = "landlock"`: what an agent can write, with real processes and the real kernel.

use std::fs;
use std::path::Path;

use landlock::{AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr};

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::{git, read, repository, task};

const CONFINED: &str = "workspace = \"worktree\"\nsandbox = \"landlock\"\n";

/// The start of every script. `never` tries a command that must fail, and prints the result.
const HEAD: &str = r#"
out="$ADJUTANT_DATA/.."
export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=d@x GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=d@x
never() {
    what=$1; shift
    if "$@" 2>> "$TMPDIR/errors"; then echo "$what: WORKED"; else echo "$what: refused"; fi
}
"#;

/// Returns every file below a folder and its content, except for Adjutant's own files.
fn everything(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if entry.file_name() == ".adjutant" || entry.file_name() == "clock" {
                continue;
            }
            if entry.file_type().expect("a type").is_dir() {
                open.push(path);
            } else {
                found.push((path.display().to_string(), fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

/// Returns the output of a task's agent.
fn printed(stage: &DaemonProject, id: &str, attempt: u32) -> String {
    fs::read_to_string(stage.attempt(id, attempt).join("output.log")).unwrap_or_default()
}

#[test]
fn sandboxed_agent_can_write_only_in_its_workspace() {
    let script = format!(
        "{HEAD}{}",
        r#"
set -e
echo a > a.txt && mkdir d && echo b > d/b.txt && mv d/b.txt b.txt && ln b.txt hard.txt && rm -r d hard.txt
echo t > "$TMPDIR/t" && echo n > /dev/null
echo "All of it." > "$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs/summary.md"
git add . && git commit -qm "a and b" && git gc -q
set +e
never "by its path" sh -c 'echo x > "$1/stolen"' - "$out"
never "by two dots" sh -c 'echo x > ../../../stolen'
never "into a file" sh -c 'echo x >> "$1/shared.txt"' - "$out"
never "cut off" truncate -s 0 "$out/shared.txt"
ln -s "$out/shared.txt" "$TMPDIR/link"
never "by a link" sh -c 'echo x > "$TMPDIR/link"'
never "by a hard link" ln "$out/shared.txt" "$TMPDIR/hard"
never "by moving it in" mv "$out/victim.txt" "$TMPDIR/moved"
never "by moving it out" mv a.txt "$out/moved"
never "removed" rm -f "$out/victim.txt"
never "a folder" mkdir "$out/folder"
never "a pipe" mkfifo "$out/pipe"
never "the history" rm -rf "$out/.git/objects"
never "a branch" sh -c 'echo x > "$1/.git/refs/heads/stolen"' - "$out"
never "hooks" sh -c 'echo x > "$1/.git/hooks/post-checkout"' - "$out"
never "the settings" sh -c 'echo >> "$ADJUTANT_DATA/adjutant.toml"'
never "the record" sh -c 'for f in "$ADJUTANT_DATA"/events/*; do echo >> "$f" || exit 1; done'
never "the journal" sh -c 'echo > "$ADJUTANT_DATA/journal/x"'
never "its own messages" sh -c 'echo >> "$ADJUTANT_RUN_DIR/attempts/1/outbox.jsonl"'
never "another task" sh -c 'echo >> "$ADJUTANT_DATA/tasks/backlog/$1.md"' - "$(basename "$ADJUTANT_DATA"/tasks/backlog/*.md .md)"
never "its shim" kill -TERM $PPID
never "from a session of its own" setsid -w sh -c 'sh -c "echo x > \"$ADJUTANT_DATA/../stolen\""'
setsid sh -c '(sleep 0.2; echo x > "$ADJUTANT_DATA/../late") &' 2> /dev/null
adjutant report done
sleep 1
"#
    );
    let project = "[project]\nchecks = [\"test -f b.txt\"]\nmerge = \"rebase\"\n";
    let stage =
        DaemonProject::new("").with_command("dev", &script, &format!("{CONFINED}{project}"));
    repository(&stage);
    fs::write(stage.home().join("victim.txt"), "left alone\n").expect("written");
    git(stage.home(), &["add", "victim.txt"]);
    git(stage.home(), &["commit", "-qm", "victim"]);
    stage.json(&["task", "add", "Somebody else's"]);
    let id = task(&stage, "dev");
    let before = everything(stage.home());
    let _up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    let printed = printed(&stage, &id, 1);
    assert!(!printed.contains("WORKED"), "{printed}");
    assert_eq!(printed.matches(": refused").count(), 21, "{printed}");
    assert_eq!(changed(&before, &everything(stage.home())), Vec::<String>::new(), "{printed}");
    // The agent's commits are on its branch, and are merged like other work.
    assert_eq!(
        git(stage.home(), &["log", "-1", "--format=%s %an", &format!("adjutant/{id}")]),
        "a and b dev"
    );
    stage.run_ok(["approve", &id]);
    wait_for("it is merged", || stage.status(&id) == "done");
    assert_eq!((read(&stage, "a.txt"), read(&stage, "b.txt")), ("a\n".into(), "b\n".into()));
    wait_for("its work tree is gone", || {
        let left = fs::read_dir(stage.path("worktrees")).expect("a folder").flatten();
        !left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("TASK-"))
    });
    git(stage.home(), &["fsck", "--strict"]);
}

/// Returns the files that differ, except for git's own files about the agent's branch.
fn changed(before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) -> Vec<String> {
    let expected = [
        "/.git/objects/",
        "/.git/refs/heads/adjutant/",
        "/.git/logs/",
        "/.git/worktrees/",
        "/up.err",
    ];
    let of = |one: &[(String, Vec<u8>)], other: &[(String, Vec<u8>)]| -> Vec<String> {
        let differs = |file: &&(String, Vec<u8>)| !other.contains(file);
        one.iter().filter(differs).map(|(name, _)| name.clone()).collect()
    };
    // Existing files must be unchanged; new files may only be git's own.
    let mut found = of(before, after);
    found.extend(
        of(after, before)
            .into_iter()
            .filter(|name| !expected.iter().any(|part| name.contains(part))),
    );
    found
}

#[test]
fn sandboxed_uncommitted_or_detached_work_is_not_lost() {
    let script = format!(
        "{HEAD}{}",
        r"
case $ADJUTANT_ATTEMPT in
1) echo staged > staged.txt; git add staged.txt; echo changed > staged.txt; echo new > new.txt; exit 3 ;;
2) git checkout -q --detach; echo beside > beside.txt; git add .; git commit -qm beside; adjutant report done ;;
esac
"
    );
    let stage = DaemonProject::new("").with_command("dev", &script, CONFINED);
    repository(&stage);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    let saved = stage.json(&["undo"]);
    assert_eq!(saved.as_array().map(Vec::len), Some(1), "{saved}");
    let to = stage.home().join("back");
    stage.run_ok(["undo", &id, "--to", to.to_str().expect("text")]);
    let text = |name: &str| fs::read_to_string(to.join(name)).unwrap_or_default();
    assert_eq!((text("staged.txt"), text("new.txt")), ("changed\n".into(), "new\n".into()));
    let reference = saved[0]["ref"].as_str().expect("a name");
    assert_eq!(git(stage.home(), &["show", &format!("{reference}^2:staged.txt")]), "staged");
    // Commits on a detached HEAD on top of the branch count as commits on the branch.
    assert_eq!(git(stage.home(), &["show", &format!("adjutant/{id}:beside.txt")]), "beside");
}

#[test]
fn sandboxed_agent_that_corrupts_its_git_folder_harms_no_other() {
    let script = format!(
        "{HEAD}{}",
        r#"
echo kept > kept.txt
git add . && git commit -qm one
for object in "$(git rev-parse --absolute-git-dir)"/objects/??/*; do chmod u+w "$object"; echo bad > "$object"; done
adjutant report done
"#
    );
    let stage = DaemonProject::new("").with_command("dev", &script, CONFINED);
    repository(&stage);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    let checked = &stage.events_of(&id, "work.checked")[0]["payload"];
    let flaw = checked["flaw"].as_str().unwrap_or_default();
    assert!(flaw.starts_with("the commits of the run cannot be read and are kept in"), "{checked}");
    git(stage.home(), &["fsck", "--strict"]);
    let kept = stage.path(&format!("worktrees/{id}/kept.txt"));
    assert_eq!(fs::read_to_string(kept).expect("a file"), "kept\n");
}

#[test]
fn sandboxed_agent_can_report_without_daemon() {
    let script = format!(
        "{HEAD}{}",
        r#"
cat > /dev/null
case $ADJUTANT_TASK_ID in
*-001) adjutant report progress "half way" --json; adjutant report done --notes "by command" --json
    adjutant task add stolen --json ;;
*-002) (
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task_context","arguments":{}}}'
    echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"complete","arguments":{"summary":"by MCP"}}}'
    until grep -q '"id":2[,}]' "$TMPDIR/answers" && grep -q '"id":3[,}]' "$TMPDIR/answers"; do sleep 0.05; done
    ) | adjutant mcp | tee "$TMPDIR/answers" ;;
esac
"#
    );
    let stage =
        DaemonProject::new("").with_command("dev", &script, &format!("{CONFINED}slots = 2\n"));
    repository(&stage);
    let (by_command, by_mcp) = (task(&stage, "dev"), task(&stage, "dev"));
    stage.run_ok(["tick"]);
    for id in [&by_command, &by_mcp] {
        wait_for("its run is over", || stage.attempt(id, 1).join("exit.json").exists());
        assert_eq!(stage.status(id), "in-progress");
    }
    let said = printed(&stage, &by_command, 1);
    assert_eq!(said.matches("\"reason\":\"kept_for_later\"").count(), 2, "{said}");
    assert!(said.contains("operator_only"), "{said}");
    let said = printed(&stage, &by_mcp, 1);
    assert!(said.contains("it is stored with the run, and the daemon will apply it"), "{said}");
    assert!(said.contains("Do it"), "its order can be read: {said}");
    assert!(stage.attempt(&by_mcp, 1).join("mcp.started").exists());
    stage.until_idle();
    assert_eq!(
        (stage.status(&by_command), stage.status(&by_mcp)),
        ("review".into(), "review".into())
    );
    let file =
        fs::read_to_string(stage.path(&format!("tasks/review/{by_command}.md"))).expect("a task");
    assert!(file.contains("half way"), "{file}");
    let summary = stage.path(&format!("tasks/review/{by_mcp}/outputs/summary.md"));
    assert_eq!(fs::read_to_string(summary).expect("a summary"), "by MCP\n");
}

#[test]
fn sandboxed_mission_writes_result_and_keeps_constraints() {
    let script = format!(
        "{HEAD}{}",
        r#"
echo one > one.txt; git add .; git commit -qm one
cat > "$ADJUTANT_RESULT_FILE" << END
version: "1"
task_id: T1
status: completed
files_modified: []
log:
  - { timestamp: "2026-02-09T21:10:00Z", level: info, message: began }
  - { timestamp: "2026-02-09T21:10:00Z", level: info, message: ended }
completed_at: "2026-02-09T21:10:00Z"
END
"#
    );
    let stage = DaemonProject::new("").with_command(
        "dev",
        &script,
        &format!("{CONFINED}dialect = \"mission\"\nmode = \"code\"\n"),
    );
    repository(&stage);
    let mission = "version: \"1\"\ntask_id: T1\nepic_id: E1\nprd_id: PRD-1\ninstruction: Do it.\n\
                   context: { epic_file: e.md, task_file: t.md }\nconstraints: { no_git_commit: true }\n";
    let id = stage.send(mission);
    stage.json(&["task", "edit", &id, "--agent", "dev"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    let warned = stage.events_of(&id, "protocol.message.warning");
    assert!(
        warned.iter().any(|event| event["payload"]["reason"] == "constraint_breached"),
        "{warned:?}"
    );
}

#[test]
fn sandbox_unavailable_in_kernel_prevents_run() {
    let script = "touch \"$ADJUTANT_DATA/../started\"\nadjutant report done\n";
    let stage = DaemonProject::new("").with_command("dev", script, CONFINED);
    repository(&stage);
    let id = task(&stage, "dev");
    // The kernel allows at most sixteen nested Landlock rulesets.
    let confined = |work: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..16 {
                    let rules = Ruleset::default().handle_access(AccessFs::Refer);
                    let rules = rules.and_then(Ruleset::create).expect("rules");
                    // Unhandled accesses stay allowed, except for moves, which need this rule.
                    let all =
                        PathBeneath::new(PathFd::new("/").expect("a folder"), AccessFs::Refer);
                    let rules = rules.add_rule(all).expect("a rule");
                    rules.restrict_self().expect("they are kept");
                }
                work();
            });
        });
    };
    confined(&|| {
        let up = stage.up_with(&["--until-idle"]);
        assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
        let ran = stage.adjutant(["doctor", "--json"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("sandbox_unavailable"), "{ran:?}");
        let agents = stage.json(&["agents"]);
        let problem = agents["agents"][0]["problem"].as_str().unwrap_or_default();
        assert!(
            problem.contains("sandbox = \"landlock\" is not available on this machine"),
            "{agents}"
        );
        let tried = stage.adjutant(["agents", "test", "dev"]);
        assert_eq!(tried.code, 1, "{tried:?}");
        assert!(
            tried.out.contains("sandbox = \"landlock\" is not available on this machine"),
            "{tried:?}"
        );
    });
    assert!(!stage.home().join("started").exists());
    assert_eq!((stage.status(&id), stage.events_of(&id, "run.failed").len()), ("ready".into(), 0));
    let inbox = stage.json(&["inbox"]);
    assert_eq!(inbox[0]["kind"], "unusable", "{inbox}");
    assert!(inbox[0]["text"].as_str().is_some_and(|text| text.contains("Linux 6.2")), "{inbox}");
    // With kernel support, the same agent works and passes `agents test`.
    stage.run_ok(["agents", "test", "dev"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    assert!(!stage.home().join("started").exists());
}

#[test]
fn sandbox_is_refused_if_workspace_contains_data_folder() {
    let settings = "workspace = \".\"\nsandbox = \"landlock\"\n";
    let stage = DaemonProject::new("").with_command("dev", "adjutant report done\n", settings);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "ready");
    let inbox = stage.json(&["inbox"]);
    let text = inbox[0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("its sandbox would protect nothing"), "{inbox}");
}

#[test]
fn sandbox_allows_separate_workspace_and_configured_paths() {
    let script = format!(
        "{HEAD}{}",
        r#"
echo 1 > inside.txt; echo 2 > "$TMPDIR/t"; echo 3 > "$out/cache/c"
never "beside it" sh -c 'echo x > ../stolen.txt'
adjutant report done
"#
    );
    let stage = DaemonProject::new("");
    let cache = stage.home().join("cache");
    fs::create_dir_all(&cache).expect("a folder");
    fs::create_dir_all(stage.home().join("work")).expect("a folder");
    let settings = format!(
        "workspace = \"work\"\nsandbox = \"landlock\"\nsandbox_write = [\"{}\"]\n",
        cache.display()
    );
    let stage = stage.with_command("dev", &script, &settings);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    let said = printed(&stage, &id, 1);
    assert_eq!(said.lines().next(), Some("beside it: refused"), "{said}");
    assert!(stage.home().join("work/inside.txt").exists() && cache.join("c").exists());
}
