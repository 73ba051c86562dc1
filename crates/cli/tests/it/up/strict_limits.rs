//! The limits of a `strict` run on processes and memory, with the real kernel.

use adjutant_runs::sandbox::resource_limits::{check_memory_limit, check_process_limit};
use adjutant_test_support::skip::skip;

use crate::up::project::DaemonProject;
use crate::up::strict_sandbox::{HEAD, STRICT, has_bubblewrap, printed, project, users};
use crate::up::worktrees::{repository, task};

/// Forks a tree of 4094 processes, each in a session of its own, as far as the kernel lets it. All of
/// them wait until the first one has counted them.
const FORK_BOMB: &str = r#"
import os
hold, release = os.pipe()
counted, count = os.pipe()
def grow(depth):
    for _ in range(2 if depth else 0):
        try:
            child = os.fork()
        except OSError:
            os.write(count, b"f")
            continue
        if child == 0:
            os.setsid()
            grow(depth - 1)
            os.read(hold, 1)
            os._exit(0)
        os.write(count, b"p")
    os.write(count, b"d")
first = os.fork()
if first == 0:
    os.close(release)
    grow(11)
    os.read(hold, 1)
    os._exit(0)
processes, failed, growing = 1, 0, 1
while growing:
    for byte in os.read(counted, 4096):
        processes += byte == ord("p")
        failed += byte == ord("f")
        growing += (byte == ord("p")) - (byte == ord("d"))
os.close(release)
print("bomb:", "bounded" if failed and processes < 512 else "WORKED", processes, flush=True)
"#;

#[test]
fn strict_fork_bomb_is_bounded() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        if let (None, Err(why)) = (user, check_process_limit()) {
            skip(&why, "use a newer kernel");
            continue;
        }
        let script = format!(
            "{HEAD}cat > bomb.py <<'END'\n{FORK_BOMB}\nEND\n/usr/bin/python3 bomb.py\n\
             never \"the limit of all\" sh -c 'echo 100000 > /proc/sys/kernel/pid_max'\n\
             never \"the limit of a process\" prlimit --nproc=100000:100000 true\n\
             adjutant report done\n"
        );
        let stage = project(user, &script, &format!("{STRICT}processes_max = 512\n"));
        let id = task(&stage, "dev");
        stage.until_idle();
        let said = printed(&stage, &id);
        assert!(said.contains("bomb: bounded"), "{user:?}: {said}");
        assert_eq!(said.matches(": refused").count(), 2, "{user:?}: {said}");
        assert_eq!(stage.status(&id), "review", "{user:?}");
        stage.assert_no_processes();
    }
}

#[test]
fn strict_check_has_limits_of_its_run() {
    if !has_bubblewrap() {
        return;
    }
    for user in users() {
        if user.is_none() && check_process_limit().is_err() {
            continue;
        }
        let check = "test \"$(prlimit --nproc --noheadings --output HARD)\" -eq 600";
        let settings = format!("{STRICT}processes_max = 600\n[project]\nchecks = [{check:?}]\n");
        let stage = project(user, "cat > /dev/null\nadjutant report done\n", &settings);
        let id = task(&stage, "dev");
        stage.until_idle();
        let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
        assert_eq!(checked["exit"], "code:0", "{user:?}: {checked}");
    }
}

/// Where the machine cannot enforce the limit, the next test shows that it is refused.
#[test]
fn memory_limit_ends_run_that_uses_more() {
    if !has_bubblewrap() || check_memory_limit().is_err() {
        return;
    }
    let script = "cat > /dev/null\necho begun\n\
                  /usr/bin/python3 -c 'x = bytearray(512 << 20); print(len(x))'\necho survived\n\
                  adjutant report done\n";
    let stage = project(None, script, &format!("{STRICT}memory_max = \"128MiB\"\n"));
    let id = task(&stage, "dev");
    stage.until_idle();
    let said = printed(&stage, &id);
    assert!(said.contains("begun") && !said.contains("survived"), "{said}");
    assert_eq!(stage.events_of(&id, "run.failed").len(), 1);
}

#[test]
fn memory_limit_that_is_not_enforced_here_is_error_of_configuration() {
    if !has_bubblewrap() || check_memory_limit().is_ok() {
        return;
    }
    let settings = format!("{STRICT}memory_max = \"1GiB\"\n");
    let stage = DaemonProject::new("").with_command("dev", "adjutant report done\n", &settings);
    repository(&stage);
    let id = task(&stage, "dev");
    let up = stage.adjutant(["up", "--until-idle", "--json"]);
    let why = "agents.dev: `memory_max` cannot be enforced here: no cgroup of version 2 with the \
               controller `memory`";
    assert!(up.code == 2 && up.out.contains("invalid_config") && up.out.contains(why), "{up:?}");
    let doctor = stage.adjutant(["doctor"]);
    assert!(
        doctor.code == 1 && doctor.out.contains("`memory_max` cannot be enforced"),
        "{doctor:?}"
    );
    // Other ways to start a run refuse the agent instead.
    stage.run_ok(["tick"]);
    assert_eq!(stage.status(&id), "ready");
    assert_eq!(stage.events_of(&id, "run.failed").len(), 0);
}

#[test]
fn limit_by_name_needs_sandbox_that_enforces_it() {
    let settings = "workspace = \"worktree\"\nprocesses_max = 1024\n";
    let stage = DaemonProject::new("").with_command_as("dev", "adjutant report done\n", settings);
    repository(&stage);
    let programs = crate::up::strict_sandbox::replaced_bubblewrap("exit 1");
    let stage = stage.with_programs(programs.path());
    let up = stage.adjutant(["up", "--until-idle"]);
    let why = "`processes_max` cannot be enforced: its sandbox is `landlock` here";
    assert!(up.code == 2 && up.err.contains(why), "{up:?}");
}
