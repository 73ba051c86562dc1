//! Attacks from inside a `strict` run: what it plants for later, and what it does to the processes
//! around it. Each is tried as this user, and as an ordinary user if this is root.

use std::fs;
use std::path::Path;

use crate::up::project::{DaemonProject, wait_for};
use crate::up::strict_sandbox::{
    HEAD, STRICT, has_bubblewrap, printed, project, users, write_program,
};
use crate::up::worktrees::{git, read, repository, task};

/// An agent, the files of the operator that it would execute or obey, and what signs it in.
const OPERATOR_FILES: [(&str, &str, &str); 4] = [
    ("codex", ".codex/config.toml", ".codex/auth.json"),
    ("gemini", ".gemini/settings.json", ".gemini/oauth_creds.json"),
    ("opencode", ".config/opencode/opencode.json", ".local/share/opencode/auth.json"),
    ("goose", ".config/goose/hooks.yaml", ".config/goose/secrets.yaml"),
];

/// Plants a hook wherever an agent keeps settings, by the path in the home and by the variables.
/// The daemon asks some programs for their version outside, as the operator would.
const PLANT: &str = r#"
case "$*" in *--version*) echo 1.0.0; exit;; esac
plant() { mkdir -p "$(dirname "$1")" 2> /dev/null; echo planted > "$1" 2> /dev/null; }
plant ~/.codex/config.toml; plant ~/.gemini/settings.json; plant ~/.config/goose/hooks.yaml
plant ~/.config/opencode/opencode.json; plant ~/.bashrc; plant ~/.config/git/config
plant "$CODEX_HOME/config.toml"
plant "$XDG_CONFIG_HOME/opencode/opencode.json"; plant "$XDG_CONFIG_HOME/goose/hooks.yaml"
plant "$OPERATOR/.gitconfig"; plant "$OPERATOR/.profile"
adjutant report done
"#;

#[test]
fn strict_agent_of_each_kind_cannot_plant_hooks_in_operators_settings() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        for (kind, settings, credentials) in OPERATOR_FILES {
            let place = tempfile::tempdir().expect("a folder");
            let home = place.path().join("operator");
            for (name, text) in [(settings, "mine"), (credentials, "signed in")] {
                let path = home.join(name);
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                fs::write(path, text).expect("written");
            }
            let program = place.path().join(kind);
            write_program(&program, PLANT);
            let agent = format!(
                "[agents.dev]\nkind = \"{kind}\"\ncommand = [{program:?}]\n{STRICT}\
                 env = {{ OPERATOR = {home:?} }}\n"
            );
            let stage =
                DaemonProject::new("attempts_max = 1\ngrace = \"1s\"").with_settings(&agent);
            repository(&stage);
            give(place.path(), user);
            let stage = match user {
                Some(user) => stage.with_user(user).with_home(&home),
                None => stage.with_home(&home),
            };
            let id = task(&stage, "dev");
            stage.until_idle();
            // It ran: the state of its own is in the data folder.
            let own = stage.path("sandbox/agents/dev");
            assert!(own.is_dir(), "{kind} {user:?}: {}", printed(&stage, &id));
            assert_eq!(fs::read_to_string(home.join(settings)).expect("a file"), "mine", "{kind}");
            let signed = fs::read_to_string(home.join(credentials)).expect("a file");
            assert_eq!(signed, "signed in", "{kind}");
            for name in [".bashrc", ".config/git", ".gitconfig", ".profile"] {
                assert!(!home.join(name).exists(), "{kind} {user:?}: {name}");
            }
        }
    }
}

/// Gives everything in a folder to a user.
fn give(folder: &Path, user: Option<u32>) {
    let Some(user) = user else { return };
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        std::os::unix::fs::chown(&path, Some(user), Some(user)).expect("only root does that");
        open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
}

#[test]
fn strict_agent_plants_no_hook_that_git_outside_obeys() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let place = tempfile::tempdir().expect("a folder");
        let mark = place.path().join("obeyed");
        give(place.path(), user);
        let script = format!(
            "{HEAD}own=$(git rev-parse --absolute-git-dir)\nmkdir -p \"$own/hooks\" hooks\n\
             printf '#!/bin/sh\\ntouch {0}\\n' > hooks/run; chmod +x hooks/run\n\
             for hook in post-checkout post-commit post-merge post-rewrite pre-commit \
             reference-transaction; do cp hooks/run \"$own/hooks/$hook\"; done\n\
             for key in core.fsmonitor core.sshCommand core.editor diff.external filter.x.clean \
             filter.x.smudge gpg.program merge.x.driver; do git config $key \"$PWD/hooks/run\"; done\n\
             git config core.hooksPath \"$PWD/hooks\"\n\
             echo '* filter=x merge=x diff=x' > .gitattributes\n\
             echo a > a.txt\nGIT_CONFIG_GLOBAL=/dev/null git -c core.hooksPath=/dev/null \
             -c filter.x.clean=cat add .; git -c core.hooksPath=/dev/null -c filter.x.clean=cat \
             -c core.fsmonitor= commit -qm a\nadjutant report done\n",
            mark.display()
        );
        let settings = format!("{STRICT}[project]\nmerge = \"rebase\"\n");
        let stage = project(user, &script, &settings);
        let id = task(&stage, "dev");
        let up = stage.up();
        wait_for("it is reviewed", || stage.status(&id) == "review");
        stage.run_ok(["task", "diff", &id]);
        stage.run_ok(["approve", &id]);
        wait_for("it is merged", || stage.status(&id) == "done");
        assert_eq!(read(&stage, "a.txt"), "a\n", "{user:?}");
        drop(up);
        if user.is_none() {
            git(stage.home(), &["status"]);
        }
        assert!(!mark.exists(), "{user:?}: {}", printed(&stage, &id));
    }
}

/// Tries the shim and the daemon by their numbers outside, which the test tells in a file.
const BY_NUMBER: &str = r#"
touch ready
while ! test -s numbers; do sleep 0.02; done
for pid in $(cat numbers); do
    never "limits of $pid" prlimit --pid $pid --cpu=1:1
    never "signal to $pid" kill -9 $pid
    never "memory of $pid" cat /proc/$pid/mem /proc/$pid/environ
    never "descriptors of $pid" ls /proc/$pid/fd/
done
(setsid sh -c '(setsid kill -9 $(cat numbers) &)' &)
adjutant report done
"#;

#[test]
fn strict_agent_cannot_reach_shim_or_daemon_by_number() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let stage = project(user, &format!("{HEAD}{BY_NUMBER}"), STRICT);
        let id = task(&stage, "dev");
        let up = stage.up();
        let (shim, _) = stage.run(&id, 1);
        let tree = stage.path(&format!("worktrees/{id}"));
        wait_for("the agent works", || tree.join("ready").exists());
        fs::write(tree.join("new"), format!("{}\n{}\n", shim.pid, up.pid())).expect("written");
        fs::rename(tree.join("new"), tree.join("numbers")).expect("renamed");
        wait_for("it has reported", || stage.status(&id) == "review");
        let said = printed(&stage, &id);
        assert!(!said.contains("WORKED"), "{user:?}: {said}");
        assert_eq!(said.matches(": refused").count(), 8, "{user:?}: {said}");
        drop(up);
    }
}

/// Plants git folders in the work tree, each in another way, with a hook and a setting that git
/// outside would execute.
const PLANT_GIT: &str = r#"
evil="[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = touch MARK\n"
fill() {
    mkdir -p "$1/objects" "$1/refs/heads" "$1/hooks"
    printf "$evil" > "$1/config"; echo "ref: refs/heads/main" > "$1/HEAD"
    printf '#!/bin/sh\ntouch MARK\n' > "$1/hooks/post-index-change"; chmod +x "$1/hooks/"*
}
fill sub/.git; echo sub > sub/file.txt; echo '!/sub' >> .gitignore
fill elsewhere; mkdir -p deep/er; echo "gitdir: ../../elsewhere" > deep/er/.git
mkdir link; ln -s ../elsewhere link/.git
fill locked/.git; fill locked/in/.git; chmod 000 locked/.git
adjutant report done
"#;

#[test]
fn planted_git_entries_are_moved_aside_and_flagged() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let place = tempfile::tempdir().expect("a folder");
        let mark = place.path().join("obeyed");
        give(place.path(), user);
        let script = format!("{HEAD}{}", PLANT_GIT.replace("MARK", &mark.to_string_lossy()));
        let settings = format!("{STRICT}[project]\nmerge = \"rebase\"\nchecks = [\"true\"]\n");
        let stage = project(user, &script, &settings);
        let id = task(&stage, "dev");
        let up = stage.up();
        wait_for("it is reviewed", || stage.status(&id) == "review");
        let tree = stage.path(&format!("worktrees/{id}"));
        let planted = ["deep/er", "link", "locked", "locked/in", "sub"];
        for folder in planted {
            let entry = tree.join(folder).join(".git");
            assert!(entry.symlink_metadata().is_err(), "{user:?}: {}", entry.display());
        }
        assert!(tree.join(".git").is_file(), "{user:?}");
        let kept = stage.attempt(&id, 1).join("planted-git");
        let names = fs::read_to_string(kept.join("paths.txt")).expect("a list");
        let expected: String = planted.map(|folder| format!("{folder}/.git\n")).concat();
        assert_eq!(
            names.lines().collect::<std::collections::BTreeSet<_>>(),
            expected.lines().collect()
        );
        let flaw = stage.events_of(&id, "work.checked")[0]["payload"]["flaw"].to_string();
        assert!(flaw.contains("planted-git") && flaw.contains("deep/er/.git"), "{user:?}: {flaw}");
        stage.run_ok(["approve", &id]);
        wait_for("it is merged", || stage.status(&id) == "done");
        assert_eq!(read(&stage, "sub/file.txt"), "sub\n", "{user:?}");
        drop(up);
        assert!(!mark.exists(), "{user:?}");
    }
}
