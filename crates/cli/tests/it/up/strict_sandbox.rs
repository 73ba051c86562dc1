//! `sandbox = "strict"`: what an agent can see and do, with real processes and the real kernel.

use std::fs;
use std::path::Path;

use adjutant_process::process_table::ProcessIdentity;
use adjutant_test_support::skip::skip;
use rustix::process::Signal;

use crate::up::project::{DaemonProject, until, wait_for};
use crate::up::worktrees::{git, read, repository, task};

pub(crate) const STRICT: &str = "workspace = \"worktree\"\nsandbox = \"strict\"\n";

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

/// Returns whether bubblewrap works here; else the test is skipped.
pub(crate) fn has_bubblewrap() -> bool {
    let works = std::process::Command::new("bwrap")
        .args(["--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        skip("bubblewrap does not work here", "install the package bubblewrap");
    }
    works
}

/// Returns the users to test as: this one, and one without rights if this one is root.
pub(crate) fn users() -> Vec<Option<u32>> {
    let is_root = rustix::process::geteuid().is_root();
    [None].into_iter().chain(is_root.then_some(Some(NOBODY))).collect()
}

/// Returns a project with an agent that runs a script, as a user.
pub(crate) fn project(user: Option<u32>, script: &str, settings: &str) -> DaemonProject {
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", script, settings);
    repository(&stage);
    git(stage.home(), &["config", "user.name", "alice"]);
    git(stage.home(), &["config", "user.email", "alice@example.com"]);
    match user {
        Some(user) => stage.with_user(user),
        None => stage,
    }
}

pub(crate) fn printed(stage: &DaemonProject, id: &str) -> String {
    fs::read_to_string(stage.attempt(id, 1).join("output.log")).unwrap_or_default()
}

/// The start of every script. `never` tries a command that must fail, and prints the result.
pub(crate) const HEAD: &str = r#"
cat > /dev/null
project="$ADJUTANT_DATA/.."
never() {
    what=$1; shift
    if "$@" > "$TMPDIR/out" 2>> "$TMPDIR/errors"; then echo "$what: WORKED"; else echo "$what: refused"; fi
}
"#;

#[test]
fn strict_agent_sees_its_own_part_and_works() {
    if !has_bubblewrap() {
        return;
    }
    let script = r#"
set -e
echo a > a.txt; git add .; git commit -qm "a"
echo "All of it." > "$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs/summary.md"
test -s "$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID.md"
echo t > "$TMPDIR/t"; echo t > /tmp/t; echo h > "$HOME/h"; mkdir -p "$XDG_CACHE_HOME/x"
set +e
never "the operator's token" cat "$ADJUTANT_DATA/operator-token"
never "the secret" cat "$ADJUTANT_DATA/secret"
never "the daemon's socket" ls "$ADJUTANT_DATA/daemon.sock"
never "the live shims" ls "$ADJUTANT_DATA/live"
never "the settings" cat "$ADJUTANT_DATA/adjutant.toml"
never "the event log" ls "$ADJUTANT_DATA/events"
never "another task" ls "$ADJUTANT_DATA/tasks/backlog"
never "the project" cat "$project/private.txt"
never "a key" cat "$SECRETS/.ssh/id"
never "a credential" cat "$SECRETS/.aws/credentials"
never "passwords" cat /etc/shadow
never "a terminal" sh -c 'for t in /dev/pts/[0-9]*; do echo x > "$t" && exit; done; exit 1'
never "the system" touch /usr/stolen /etc/stolen /stolen
never "the pointer of the work tree" sh -c 'rm .git || echo "gitdir: /x" > .git'
never "the history" rm -rf "$project/.git/objects"
never "its own messages" sh -c 'echo >> "$ADJUTANT_RUN_DIR/attempts/1/outbox.jsonl"'
never "outputs by a link" sh -c 'cd "$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID" && mv outputs o && ln -s / outputs'
never "a user namespace" unshare -U true
never "a mount" mount -t tmpfs x /mnt
never "a setting of the kernel" sh -c 'v=$(cat /proc/sys/kernel/core_pattern) && echo "$v" > /proc/sys/kernel/core_pattern'
never "its shim" sh -c 'for p in /proc/[0-9]*; do tr "\0" "\n" < $p/cmdline | grep -qx shim && exit 0; done; exit 1'
never "an operator's command" adjutant approve "$ADJUTANT_TASK_ID"
test "$(ls -d /proc/[0-9]* | wc -l)" -lt 12 || echo "other processes: WORKED"
adjutant report progress "half way" --json
adjutant report done --json
"#;
    for user in users() {
        let secrets = tempfile::tempdir().expect("a folder");
        for (name, text) in [(".ssh/id", "key"), (".aws/credentials", "key")] {
            let path = secrets.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let settings = format!(
            "{STRICT}env = {{ SECRETS = {:?} }}\n[project]\nchecks = [\"test -f a.txt && git log \
             --oneline && ! cat ../../secret\"]\nmerge = \"rebase\"\n\
             check_sandbox = \"strict\"\n",
            secrets.path()
        );
        let stage = project(user, &format!("{HEAD}{script}"), &settings);
        fs::write(stage.home().join("private.txt"), "private").expect("written");
        stage.json(&["task", "add", "Another"]);
        let id = task(&stage, "dev");
        let up = stage.up();
        wait_for("it is checked", || !stage.events_of(&id, "work.checked").is_empty());
        let printed = printed(&stage, &id);
        assert!(!printed.contains("WORKED"), "{user:?}: {printed}");
        assert_eq!(printed.matches(": refused").count(), 22, "{user:?}: {printed}");
        let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
        assert_eq!(checked["exit"], "code:0", "{user:?}: {checked}");
        wait_for("it is reviewed", || stage.status(&id) == "review");
        stage.run_ok(["approve", &id]);
        wait_for("it is merged", || stage.status(&id) == "done");
        assert_eq!(read(&stage, "a.txt"), "a\n");
        drop(up);
        stage.assert_no_processes();
    }
}

/// Tries system calls, and prints those that are not refused. A refused one fails with `EPERM`, or
/// as if it did not exist; without the filter these fail in other ways or succeed.
const SYSTEM_CALLS: &str = r#"
import ctypes, errno, os, platform, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
numbers = {
    "x86_64": dict(ptrace=101, process_vm_readv=310, process_vm_writev=311, add_key=248, keyctl=250,
        request_key=249, io_uring_setup=425, io_uring_enter=426, io_uring_register=427, bpf=321,
        perf_event_open=298, unshare=272, setns=308, mount=165, umount2=166, pivot_root=155,
        open_tree=428, move_mount=429, fsopen=430, clone=56, clone3=435, prlimit64=302, ioctl=16,
        userfaultfd=323, pidfd_getfd=438, kcmp=312),
    "aarch64": dict(ptrace=117, process_vm_readv=270, process_vm_writev=271, add_key=217, keyctl=219,
        request_key=218, io_uring_setup=425, io_uring_enter=426, io_uring_register=427, bpf=280,
        perf_event_open=241, unshare=97, setns=268, mount=40, umount2=39, pivot_root=41,
        open_tree=428, move_mount=429, fsopen=430, clone=220, clone3=435, prlimit64=261, ioctl=29,
        userfaultfd=282, pidfd_getfd=438, kcmp=272),
}[platform.machine()]
def call(name, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(numbers[name]), *[ctypes.c_ulong(a) for a in args])
    return result, ctypes.get_errno()
refused = 0
def refuse(name, *args, error=errno.EPERM):
    global refused
    result, got = call(name, *args)
    if result == 0 and name in ("clone",):
        os._exit(0)
    if (result, got) != (-1, error):
        print(f"{name}{args}: WORKED {result} {got}", flush=True)
    refused += 1
PTRACE_SEIZE = 0x4206
refuse("ptrace", PTRACE_SEIZE, 999999, 0, 0)
for name in ("process_vm_readv", "process_vm_writev", "add_key", "keyctl", "request_key",
             "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open",
             "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "fsopen",
             "userfaultfd", "pidfd_getfd", "kcmp"):
    refuse(name, 0, 0, 0, 0, 0)
for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000):
    refuse("unshare", flag)
    refuse("clone", flag | 17, 0, 0, 0, 0)
refuse("clone3", 0, 0, error=errno.ENOSYS)
refuse("prlimit64", os.getppid(), 7, 0, 0)
refuse("prlimit64", os.getpid(), 7, 0, 0)
resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
# The kernel ignores the upper half of a request, so the filter must as well.
for request in (0x5412, 0x541c, 0x100005412):
    refuse("ioctl", 0, request, 0)
if platform.machine() == "x86_64":
    numbers["x32"] = 0x40000000 + 39
    refuse("x32", error=errno.ENOSYS)
# A child still starts, by `clone` instead of `clone3`.
assert os.system("true") == 0
# The sockets without a file of processes outside.
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"])
    print("abstract socket: WORKED", flush=True)
except PermissionError:
    refused += 1
print("refused", refused, flush=True)
"#;

#[test]
fn strict_agent_cannot_use_dangerous_system_calls() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let name = format!("adjutant-test-{}-{user:?}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let _listener = UnixListener::bind_addr(&address).expect("a socket");
        let script = format!(
            "cat > /dev/null\ncat > probe.py <<'END'\n{SYSTEM_CALLS}\nEND\n/usr/bin/python3 probe.py \
             2>&1\nadjutant report done\n"
        );
        let settings = format!("{STRICT}env = {{ ABSTRACT = {name:?} }}\n");
        let stage = project(user, &script, &settings);
        let id = task(&stage, "dev");
        stage.until_idle();
        let printed = printed(&stage, &id);
        let expected = if cfg!(target_arch = "x86_64") { "refused 37" } else { "refused 36" };
        assert!(!printed.contains("WORKED"), "{user:?}: {printed}");
        assert!(printed.contains(expected), "{user:?}: {printed}");
    }
}

/// Leaves processes behind: one in a session of its own, one without a parent.
const LEAVE: &str = r#"
setsid sh -c 'exec sleep 1000.5' &
sh -c '(setsid sh -c "trap \"\" TERM HUP; while true; do sleep 0.05; done" &)'
"#;

/// Returns the processes whose command line has a word.
fn processes_with(word: &str) -> Vec<ProcessIdentity> {
    let entries = fs::read_dir("/proc").expect("a process table").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_word = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|found| found == word.as_bytes())
    };
    let found = pids.filter(has_word).filter_map(ProcessIdentity::find);
    found.filter(|process| process.is_alive()).collect()
}

#[test]
fn strict_run_leaves_no_process_behind() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let script = format!("{HEAD}{LEAVE}adjutant report done\n");
        let stage = project(user, &script, STRICT);
        let id = task(&stage, "dev");
        stage.until_idle();
        assert_eq!(stage.status(&id), "review", "{user:?}");
        assert_eq!(processes_with("1000.5"), [], "{user:?}");
    }
}

#[test]
fn strict_run_ends_with_its_shim() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let script = format!("{HEAD}{LEAVE}touch ready; sleep 2000.5\n");
        let stage = project(user, &script, STRICT);
        let id = task(&stage, "dev");
        let _up = stage.up();
        let (shim, _) = stage.run(&id, 1);
        let ready = stage.path(&format!("worktrees/{id}/ready"));
        wait_for("the agent works", || ready.exists());
        wait_for("it sleeps", || !processes_with("2000.5").is_empty());
        shim.send_signal(Signal::KILL);
        wait_for("all its processes are gone", || {
            processes_with("1000.5").is_empty() && processes_with("2000.5").is_empty()
        });
    }
}

/// A daemon would end what a killed shim leaves; here only the kernel can.
#[test]
fn strict_run_ends_with_its_shim_without_daemon() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let script = format!("{HEAD}(setsid sh -c 'exec sleep 3000.5' &)\nsleep 4000.5\n");
        let stage = project(user, &script, STRICT);
        let id = task(&stage, "dev");
        let up = stage.up();
        let (shim, _) = stage.run(&id, 1);
        wait_for("it sleeps", || {
            !processes_with("3000.5").is_empty() && !processes_with("4000.5").is_empty()
        });
        up.kill();
        shim.send_signal(Signal::KILL);
        wait_for("all its processes are gone", || {
            processes_with("3000.5").is_empty() && processes_with("4000.5").is_empty()
        });
    }
}

#[test]
fn strict_agent_is_asked_before_it_is_killed() {
    if !has_bubblewrap() {
        return;
    }
    let script = format!(
        "{HEAD}trap 'echo asked > asked; exit 3' TERM\ntouch ready\nwhile true; do sleep 0.05; done\n"
    );
    let stage = project(None, &script, STRICT);
    let id = task(&stage, "dev");
    let _up = stage.up();
    let tree = stage.path(&format!("worktrees/{id}"));
    wait_for("the agent works", || tree.join("ready").exists());
    stage.run_ok(["task", "cancel", &id]);
    wait_for("its run has ended", || stage.attempt(&id, 1).join("exit.json").exists());
    assert_eq!(until("it was asked", || fs::read_to_string(tree.join("asked")).ok()), "asked\n");
}

#[test]
fn strict_agent_inherits_no_descriptor_of_daemon() {
    if !has_bubblewrap() {
        return;
    }
    let script = format!(
        "{HEAD}never descriptor sh -c 'echo stolen >&7'\nls /proc/self/fd | tr '\\n' ' '\n\
         adjutant report done\n"
    );
    let stage = project(None, &script, STRICT);
    let id = task(&stage, "dev");
    let secret = stage.home().join("descriptor");
    let command = stage.command(["up", "--until-idle", "--json"]);
    // A daemon that was started with an open descriptor passes it on.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 7> \"$0\"; exec \"$@\""]).arg(&secret).arg(command.get_program());
    shell.args(command.get_args()).current_dir(stage.home());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    assert!(shell.output().expect("it starts").status.success());
    let printed = printed(&stage, &id);
    assert!(printed.contains("descriptor: refused"), "{printed}");
    assert_eq!(fs::read_to_string(secret).expect("a file"), "");
}

#[test]
fn strict_stage_does_not_obey_the_environment_of_the_agent() {
    if !has_bubblewrap() {
        return;
    }
    // The loader prints the libraries of a program that is started so, instead of starting it. What
    // it would preload, it would load into the same programs.
    let settings = format!("{STRICT}env = {{ LD_TRACE_LOADED_OBJECTS = \"1\" }}\n");
    for user in users() {
        let stage = project(user, "adjutant report done\n", &settings);
        let id = task(&stage, "dev");
        stage.until_idle();
        let printed = printed(&stage, &id);
        assert!(printed.contains("libc.so"), "the agent was started: {printed}");
        assert!(!printed.contains("libgcc_s"), "the stage was not: {printed}");
    }
}

#[test]
fn strict_run_is_not_started_with_outputs_that_are_a_link() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        let stage = project(user, "touch started; adjutant report done\n", STRICT);
        let id = task(&stage, "dev");
        let outside = stage.home().join("outside");
        let own = stage.path(&format!("tasks/ready/{id}"));
        for folder in [&outside, &own] {
            fs::create_dir_all(folder).expect("made");
            std::os::unix::fs::chown(folder, user, user).expect("it is ours");
        }
        std::os::unix::fs::symlink(&outside, own.join("outputs")).expect("linked");
        let up = stage.up_with(&["--until-idle"]);
        up.wait_for_exit();
        assert_ne!(stage.status(&id), "review", "{user:?}");
        assert!(!stage.path(&format!("worktrees/{id}/started")).exists(), "{user:?}");
    }
}

#[test]
fn strict_agent_in_shared_workspace_cannot_change_git_folder() {
    if !has_bubblewrap() {
        return;
    }
    let script = format!(
        "{HEAD}echo new > new.txt\nnever hook sh -c 'echo x > .git/hooks/post-commit'\n\
         never settings git config core.fsmonitor x\nnever commit git commit --allow-empty -qm x\n\
         never data cat .adjutant/secret\nadjutant report done\n"
    );
    for user in users() {
        let home = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::chown(home.path(), user, user).expect("it is ours");
        let stage = project(user, &script, "sandbox = \"strict\"\n").with_home(home.path());
        let id = task(&stage, "dev");
        stage.until_idle();
        let printed = printed(&stage, &id);
        assert_eq!(printed.matches(": refused").count(), 4, "{user:?}: {printed}");
        assert_eq!(read(&stage, "new.txt"), "new\n", "{user:?}");
    }
}

#[test]
fn strict_unavailable_prevents_run_and_costs_no_attempt() {
    let stage = DaemonProject::new("").with_command("dev", "adjutant report done\n", STRICT);
    repository(&stage);
    // As where user namespaces are forbidden.
    let programs = replaced_bubblewrap(FAILING);
    let stage = stage.with_programs(programs.path());
    let id = task(&stage, "dev");
    let up = stage.up_with(&["--until-idle"]);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert_eq!((stage.status(&id), stage.events_of(&id, "run.failed").len()), ("ready".into(), 0));
    let inbox = stage.json(&["inbox"]);
    let text = inbox[0]["text"].as_str().unwrap_or_default();
    let why = "sandbox = \"strict\" is not available on this machine: bwrap: No permissions";
    assert!(inbox[0]["kind"] == "unusable" && text.contains(why), "{inbox}");
    let doctor = stage.adjutant(["doctor", "--json"]);
    assert!(doctor.out.contains("sandbox_unavailable"), "{doctor:?}");
}

const AUTO: &str = "workspace = \"worktree\"\nsandbox = \"auto\"\n";

/// Returns a folder with a `bwrap` that is this script.
pub(crate) fn replaced_bubblewrap(script: &str) -> tempfile::TempDir {
    let programs = tempfile::tempdir().expect("a folder");
    write_program(&programs.path().join("bwrap"), script);
    programs
}

pub(crate) fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, executable).expect("set");
}

const FAILING: &str = "echo 'bwrap: No permissions' >&2\nexit 1";

#[test]
fn auto_sandbox_is_strict_where_it_works_and_is_recorded() {
    if !has_bubblewrap() {
        return;
    }
    let stage = project(None, "adjutant report done\n", AUTO);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    assert_eq!(stage.events_of(&id, "run.started")[0]["payload"]["sandbox"], "strict");
    let run = fs::read_to_string(stage.path(&format!("runs/{id}/run.json"))).expect("a file");
    assert!(run.contains("\"sandbox\": \"strict\""), "{run}");
    assert_eq!(stage.json(&["agents"])["agents"][0]["sandbox"], "strict");
    assert!(stage.run_ok(["agents"]).contains("dev: sandbox strict"));
}

#[test]
fn auto_sandbox_is_next_level_where_strict_does_not_work() {
    let report = "adjutant report done\n";
    let stage = DaemonProject::new("")
        .with_command_as("dev", report, "workspace = \"worktree\"")
        .with_command_as("shared", report, "");
    repository(&stage);
    let programs = replaced_bubblewrap(FAILING);
    let stage = stage.with_programs(programs.path());
    let (dev, shared) = (task(&stage, "dev"), task(&stage, "shared"));
    let said = stage.run_ok(["up", "--until-idle"]);
    assert!(said.contains("sandbox: dev landlock, shared none"), "{said}");
    let weaker = "sandbox = \"auto\" is weaker than \"strict\" here: ";
    assert!(said.contains(weaker) && said.contains("bwrap: No permissions"), "{said}");
    assert_eq!((stage.status(&dev), stage.status(&shared)), ("review".into(), "review".into()));
    let started = |id: &str| stage.events_of(id, "run.started")[0]["payload"]["sandbox"].clone();
    assert_eq!((started(&dev), started(&shared)), ("landlock".into(), serde_json::Value::Null));
    let levels = stage.json(&["agents"])["agents"].clone();
    assert_eq!(
        (&levels[0]["sandbox"], &levels[1]["sandbox"]),
        (&"landlock".into(), &"none".into())
    );
    let doctor = stage.adjutant(["doctor"]);
    assert!(doctor.code == 0 && doctor.out.contains(weaker), "{doctor:?}");
}

#[test]
fn default_sandbox_is_auto_and_works_as_every_user() {
    if !has_bubblewrap() {
        return;
    }
    let script = "cat > /dev/null\necho made > made.txt\n\
                  if cat \"$ADJUTANT_DATA/operator-token\"; then echo READ; fi\n\
                  adjutant report done\n";
    for user in users() {
        let stage = DaemonProject::new("attempts_max = 1").with_command_as("dev", script, "");
        let stage = match user {
            Some(user) => stage.with_user(user),
            None => stage,
        };
        // The home lies outside the workspace, as a workspace that contains it is not confined.
        let home = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::chown(home.path(), user, user).expect("it is ours");
        let stage = stage.with_home(home.path());
        let id = stage.add("dev");
        let said = stage.run_ok(["up", "--until-idle"]);
        assert!(said.contains("sandbox: dev strict"), "{user:?}: {said}");
        assert_eq!(stage.status(&id), "done", "{user:?}: {}", printed(&stage, &id));
        assert!(!printed(&stage, &id).contains("READ"), "{user:?}");
        assert_eq!(fs::read_to_string(stage.home().join("made.txt")).expect("made"), "made\n");
        assert_eq!(stage.json(&["doctor"])["sandbox"]["dev"], "strict");
        // Without bubblewrap, a shared workspace has no sandbox, and the run is done all the same.
        let programs = replaced_bubblewrap(FAILING);
        let stage = stage.with_programs(programs.path());
        let id = stage.add("dev");
        assert!(stage.run_ok(["up", "--until-idle"]).contains("sandbox: dev none"), "{user:?}");
        assert_eq!(stage.status(&id), "done", "{user:?}");
    }
}

#[test]
fn auto_sandbox_that_fails_later_is_not_replaced_by_a_weaker_one() {
    if !has_bubblewrap() {
        return;
    }
    let real = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("bwrap")).find(|path| path.is_file())
    });
    let real = real.expect("it works, so it is there");
    let programs = replaced_bubblewrap(&format!("exec {} \"$@\"", real.display()));
    let started = "touch started\nadjutant report done\n";
    let stage = project(None, started, AUTO).with_programs(programs.path());
    let _up = stage.up();
    write_program(&programs.path().join("bwrap"), FAILING);
    let id = task(&stage, "dev");
    wait_for("it was not started", || stage.attempt(&id, 1).join("exit.json").exists());
    let exit = fs::read_to_string(stage.attempt(&id, 1).join("exit.json")).expect("a file");
    assert!(exit.contains("notStarted") && exit.contains("No permissions"), "{exit}");
    wait_for("it is ready again", || stage.status(&id) == "ready");
    assert!(stage.events_of(&id, "run.failed").is_empty());
    assert!(!stage.path(&format!("worktrees/{id}/started")).exists());
}

/// Runs a project's own check under `strict`, in an agent's run and then as a check.
fn check_project(files: &[(&str, &str)], check: &str) {
    let script = format!("cat > /dev/null\n{check} && adjutant report done\n");
    let settings = format!("{STRICT}[project]\nchecks = [{check:?}]\ncheck_timeout = \"5m\"\n");
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", &script, &settings);
    repository(&stage);
    for (name, text) in files {
        let path = stage.home().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
        git(stage.home(), &["add", "-f", name]);
    }
    git(stage.home(), &["commit", "-qm", "project"]);
    let id = task(&stage, "dev");
    stage.until_idle();
    let printed = printed(&stage, &id);
    assert_eq!(stage.status(&id), "review", "{printed}");
    let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
    assert_eq!(checked["exit"], "code:0", "{checked}");
}

#[test]
fn strict_rust_project_passes_its_checks() {
    if has_bubblewrap() {
        check_project(
            &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
                ),
                ("src/lib.rs", "#[test]\nfn it_works() {}\n"),
            ],
            "cargo test --offline",
        );
    }
}

#[test]
fn strict_python_project_passes_its_checks() {
    if has_bubblewrap() {
        let test = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): pass\n";
        check_project(&[("test_it.py", test)], "python3 -m unittest");
    }
}

#[test]
fn strict_node_project_passes_its_checks() {
    if has_bubblewrap() && has_program("npm") {
        let package = r#"{"name": "p", "version": "1.0.0", "scripts": {"test": "node --test"}}"#;
        let test = "require('node:test')('it works', () => {});\n";
        check_project(&[("package.json", package), ("it.test.js", test)], "npm test");
    }
}

/// Runs a script of an agent that has a home with toolchains, and these folders in its `PATH`.
fn run_with_home(home: &Path, programs: &Path, script: &str) -> String {
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", script, STRICT);
    repository(&stage);
    let stage = stage.with_home(home).with_programs(programs);
    let id = task(&stage, "dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review", "{}", printed(&stage, &id));
    printed(&stage, &id)
}

#[test]
fn strict_node_of_version_manager_in_home_passes_checks() {
    let modules = Path::new("/usr/lib/node_modules/npm");
    if !has_bubblewrap() || !has_program("npm") || !modules.is_dir() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let version = home.path().join(".nvm/versions/node/v24.0.0");
    let (bin, lib) = (version.join("bin"), version.join("lib/node_modules"));
    for folder in [&bin, &lib] {
        fs::create_dir_all(folder).expect("made");
    }
    fs::copy("/usr/bin/node", bin.join("node")).expect("copied");
    let copied = std::process::Command::new("cp").arg("-r").args([modules, &lib]).status();
    assert!(copied.is_ok_and(|status| status.success()));
    std::os::unix::fs::symlink("../lib/node_modules/npm/bin/npm-cli.js", bin.join("npm"))
        .expect("linked");
    let script = "set -e\ncat > /dev/null\n\
                  echo '{\"name\": \"p\", \"scripts\": {\"test\": \"node --test\"}}' > package.json\n\
                  echo \"require('node:test')('it works', () => {});\" > it.test.js\n\
                  command -v node; command -v npm\nnpm test\nadjutant report done\n";
    let printed = run_with_home(home.path(), &bin, script);
    for program in ["node", "npm"] {
        let path = bin.join(program);
        assert!(printed.contains(&format!("{}\n", path.display())), "{printed}");
    }
}

#[test]
fn strict_python_environment_in_home_passes_checks() {
    if !has_bubblewrap() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let environment = home.path().join("envs/project");
    let mut command = std::process::Command::new("python3");
    let status = command.args(["-m", "venv", "--without-pip"]).arg(&environment).status();
    assert!(status.is_ok_and(|status| status.success()));
    let packages = fs::read_dir(environment.join("lib")).expect("a folder").flatten().next();
    let packages = packages.expect("its version").path().join("site-packages");
    fs::write(packages.join("ours.py"), "ANSWER = 42\n").expect("written");
    let script = "set -e\ncat > /dev/null\n\
                  printf 'import unittest, ours, sys\\nclass T(unittest.TestCase):\\n    def test_it(self):\\n        self.assertEqual(ours.ANSWER, 42)\\n' > test_it.py\n\
                  command -v python3\npython3 -m unittest\nadjutant report done\n";
    let printed = run_with_home(home.path(), &environment.join("bin"), script);
    assert!(printed.contains(&environment.join("bin/python3").display().to_string()), "{printed}");
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !found {
        skip(&format!("{name} is not installed"), "install Node.js");
    }
    found
}

/// Copies a program of the system into a home, as version managers install them.
#[test]
fn strict_agent_finds_toolchain_in_home_but_no_secrets() {
    if !has_bubblewrap() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let tools = home.path().join(".nvm/versions/node/v24/bin");
    fs::create_dir_all(&tools).expect("made");
    fs::copy("/bin/echo", tools.join("my-node")).expect("copied");
    for (name, text) in [
        (".ssh/id", "key"),
        (".config/gh/hosts.yml", "key"),
        (".claude/.credentials.json", "key"),
        (".gitconfig", "[user]\nname = carol \\\"c\\\"\nemail = c@x\n[core]\nsshCommand = x\n"),
    ] {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    let script = format!(
        "{HEAD}my-node from its home\nnever tool sh -c 'echo > \"$(command -v my-node)\"'\n\
         never key cat ~/.ssh/id\nnever forge cat ~/.config/gh/hosts.yml\n\
         never agent cat ~/.claude/.credentials.json\necho kept > ~/.profile\n\
         git config --global --list\nadjutant report done\n"
    );
    let stage = DaemonProject::new("attempts_max = 1").with_command("dev", &script, STRICT);
    repository(&stage);
    let stage = stage.with_home(home.path()).with_programs(&tools);
    let id = task(&stage, "dev");
    stage.until_idle();
    let printed = printed(&stage, &id);
    assert!(printed.contains("from its home"), "{printed}");
    assert!(printed.contains("user.name=carol \"c\"\nuser.email=c@x\n"), "{printed}");
    assert!(!printed.contains("sshcommand"), "{printed}");
    assert_eq!(printed.matches(": refused").count(), 4, "{printed}");
    assert!(!home.path().join(".profile").exists());
    assert!(!Path::new(&home.path().join(".adjutant")).exists());
}

#[test]
fn strict_agent_has_its_sign_in_but_cannot_change_operators_settings() {
    if !has_bubblewrap() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let claude = home.path().join(".claude");
    fs::create_dir_all(&claude).expect("made");
    fs::write(claude.join(".credentials.json"), "signed in").expect("written");
    fs::write(claude.join("settings.json"), "mine").expect("written");
    let program = home.path().join("tools/claude");
    fs::create_dir_all(home.path().join("tools")).expect("made");
    write_program(
        &program,
        "cat > /dev/null\n\
         cat \"$CLAUDE_CONFIG_DIR/.credentials.json\" ~/.claude/settings.json\n\
         cat \"$CLAUDE_CONFIG_DIR/settings.json\"\n\
         echo hook > \"$CLAUDE_CONFIG_DIR/settings.json\"\n\
         mkdir -p ~/.claude; echo hook > ~/.claude/settings.json\n\
         echo hook >> ~/.bashrc\n\
         adjutant report done",
    );
    let settings = format!("[agents.dev]\nkind = \"claude\"\ncommand = [{program:?}]\n{STRICT}");
    let stage = DaemonProject::new("attempts_max = 1").with_settings(&settings);
    repository(&stage);
    let stage = stage.with_home(home.path());
    let (first, second) = (task(&stage, "dev"), task(&stage, "dev"));
    stage.until_idle();
    let said = [printed(&stage, &first), printed(&stage, &second)];
    assert!(said.iter().all(|said| said.contains("signed in")), "{said:?}");
    assert!(said.iter().all(|said| !said.contains("mine")), "{said:?}");
    // What an agent writes is its own, in this project.
    let later = if said[0].contains("hook") { &said[0] } else { &said[1] };
    assert!(later.contains("hook"), "{said:?}");
    let own = stage.path("sandbox/agents/dev/claude/settings.json");
    assert_eq!(fs::read_to_string(own).expect("a file"), "hook\n");
    assert_eq!(fs::read_to_string(claude.join("settings.json")).expect("a file"), "mine");
    assert!(!home.path().join(".bashrc").exists());
}
