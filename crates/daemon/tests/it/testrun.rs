//! Output of test runners, recorded from the real ones, and commands that misbehave.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_config::{CheckSandbox, Config};
use adjutant_core::story::TestTotals;
use adjutant_model::run::RunExit;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_process::test_runner::limited_command::CommandResult;
use adjutant_process::test_runner::test_command::find;
use adjutant_process::test_runner::{ParsedTestCounts, TestFormat, count};
use adjutant_run_files::live_shims::live_shims;
use adjutant_runs::check_command::CheckRunner;
use rustix::process::Signal;

use crate::processes::support::HELPER;

fn sample(name: &str) -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/testrun/samples").join(name);
    fs::read_to_string(path).expect("a sample")
}

/// Each sample is from a suite with passing, failing and skipped tests that also prints text which
/// looks like a result.
const SAMPLES: [(&str, TestFormat, [u64; 3], &[&str]); 13] = [
    (
        "go-test.jsonl",
        TestFormat::Go,
        [2, 2, 1],
        &["example.com/cart.TestApplyCoupon/expired", "example.com/cart/broken"],
    ),
    ("cargo-test.txt", TestFormat::Cargo, [3, 1, 1], &["tests::coupon"]),
    ("nextest.txt", TestFormat::Cargo, [2, 1, 1], &["cart tests::coupon"]),
    (
        "pytest.txt",
        TestFormat::Pytest,
        [2, 3, 2],
        &[
            "test_cart.py::test_coupon",
            "test_cart.py::TestCart::test_many[2]",
            "test_cart.py::test_setup",
        ],
    ),
    (
        "pytest-quiet.txt",
        TestFormat::Pytest,
        [2, 3, 2],
        &[
            "test_cart.py::test_coupon",
            "test_cart.py::TestCart::test_many[2]",
            "test_cart.py::test_setup",
        ],
    ),
    ("pytest-broken.txt", TestFormat::Pytest, [0, 1, 0], &["test_x.py"]),
    ("pytest-none.txt", TestFormat::Pytest, [0, 0, 0], &[]),
    (
        "unittest.txt",
        TestFormat::Unittest,
        [1, 3, 2],
        &[
            "test_broken (test_cart.CartTest.test_broken)",
            "test_coupon (test_cart.CartTest.test_coupon)",
            "test_sub (test_cart.CartTest.test_sub) (n=1)",
        ],
    ),
    (
        "pytest-junit.xml",
        TestFormat::Junit,
        [2, 3, 2],
        &["test_cart.test_coupon", "test_cart.test_setup", "test_cart.TestCart.test_many[2]"],
    ),
    ("vitest-junit.xml", TestFormat::Junit, [1, 1, 1], &["v.spec.js.cart > coupon"]),
    ("jest.json", TestFormat::Jest, [1, 1, 2], &["cart coupon"]),
    ("vitest.json", TestFormat::Jest, [1, 1, 1], &["cart coupon"]),
    ("node.tap", TestFormat::Tap, [2, 2, 2], &["coupon \\# 5 off", "inner bad"]),
];

fn counted([pass, fail, skip]: [u64; 3], failing: &[&str]) -> ParsedTestCounts {
    let failing = failing.iter().map(|name| (*name).to_owned()).collect();
    ParsedTestCounts { tests: TestTotals { pass, fail, skip }, failing }
}

#[test]
fn test_runner_output_is_counted() {
    for (name, format, numbers, failing) in SAMPLES {
        let expected = Some(counted(numbers, failing));
        assert_eq!(count(&sample(name), Some(format)), expected, "{name}");
        assert_eq!(count(&sample(name), None), expected, "{name}, form not said");
        let crlf = sample(name).replace('\n', "\r\n");
        if format != TestFormat::Cargo && format != TestFormat::Pytest {
            assert_eq!(
                count(&crlf, Some(format)).map(|c| c.tests),
                expected.map(|c| c.tests),
                "{name}"
            );
        }
    }
}

#[test]
fn test_runner_output_cut_off_is_never_better_than_complete() {
    for (name, format, numbers, _) in SAMPLES {
        let whole = sample(name);
        for length in (0..whole.len()).step_by(37) {
            let Some(start) = whole.get(..length) else { continue };
            let Some(counted) = count(start, Some(format)) else { continue };
            assert!(counted.tests.pass <= numbers[0].max(3), "{name} cut at {length}: {counted:?}");
        }
    }
}

#[test]
fn other_output_is_not_counted_as_tests() {
    for text in
        ["", "hello\n", "{}", "{\"a\":1}\n", "<html></html>", "running late\n", "[1,2]", "ok."]
    {
        assert_eq!(count(text, None), None, "{text:?}");
    }
}

#[test]
fn tap_plan_with_missing_tests_is_a_failure() {
    let text = "TAP version 13\nok 1 - a\nok 2 - b\n1..3\n";
    assert_eq!(count(text, None), Some(counted([2, 1, 0], &["1 of 3 planned tests"])));
    let text = "TAP version 13\nok 1 - a\nBail out! no disk\n";
    assert_eq!(count(text, None), Some(counted([1, 1, 0], &["Bail out! no disk"])));
}

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    home
}

#[test]
fn test_command_is_found_from_project_files() {
    let line = |files: &[(&str, &str)]| find(project(files).path()).map(|command| command.line);
    let is = |line: &str| Some(line.to_owned());
    assert_eq!(line(&[]), None);
    assert_eq!(line(&[("go.mod", "module x\n")]), is("go test -json ./..."));
    assert_eq!(line(&[("Cargo.toml", "")]), is("cargo test --no-fail-fast"));
    assert_eq!(line(&[("pytest.ini", "")]), is("python3 -m pytest"));
    let suite = "import unittest\n";
    let in_tests = is("python3 -m unittest discover -s tests");
    assert_eq!(line(&[("tests/test_cart.py", suite)]), in_tests);
    assert_eq!(line(&[("tests/test_cart.py", suite), ("setup.cfg", "")]), in_tests);
    let in_package = line(&[("tests/test_cart.py", suite), ("tests/__init__.py", "")]);
    assert_eq!(in_package, is("python3 -m unittest discover -s tests -t ."));
    assert_eq!(line(&[("test_cart.py", suite)]), is("python3 -m unittest"));
    let with_pytest = line(&[("tests/test_cart.py", suite), ("conftest.py", "")]);
    assert_eq!(with_pytest, is("python3 -m pytest"));
    let package = |text| line(&[("package.json", text)]);
    assert_eq!(
        package(r#"{"devDependencies":{"vitest":"^3"}}"#),
        is("npx --no-install vitest run --reporter=json")
    );
    assert_eq!(
        package(r#"{"devDependencies":{"jest":"^30"}}"#),
        is("npx --no-install jest --json")
    );
    assert_eq!(package(r#"{"scripts":{"test":"node --test"}}"#), is("npm test --silent"));
    let default = r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    assert_eq!((package(default), package("{"), package("{}")), (None, None, None));
}

const LONG: Duration = Duration::from_mins(1);

/// Every level that commands can be confined by.
const LEVELS: [SandboxLevel; 2] = [SandboxLevel::None, SandboxLevel::Landlock];

fn runner(limit: Duration) -> CheckRunner {
    CheckRunner::new(HELPER.into(), None, &Config::default()).with_timeout(limit)
}

fn run(level: SandboxLevel, line: &str, folder: &Path, limit: Duration) -> CommandResult {
    runner(limit).confined_as(level).run(line, folder, &[]).expect("it starts")
}

#[test]
fn check_command_output_is_kept() {
    for level in LEVELS {
        let home = project(&[("here", "")]);
        let ran = run(level, "ls; echo bad >&2; exit 3", home.path(), LONG);
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str(), ran.is_success()),
            ("here\n", "bad\n", false)
        );
        assert_eq!(ran.exit, RunExit::Code(3));
        assert_eq!(ran.last_lines(), "bad");
    }
}

/// Returns the process whose number is in a file.
fn process_in(path: &Path) -> Option<ProcessIdentity> {
    ProcessIdentity::find(fs::read_to_string(path).ok()?.trim().parse().ok()?)
}

/// Returns whether the process whose number is in a file is alive. None may be, from the moment the
/// command has ended.
fn is_alive(path: &Path) -> bool {
    assert!(path.exists(), "{} was not written", path.display());
    process_in(path).is_some_and(ProcessIdentity::is_alive)
}

/// Leaves a process without a parent, session or environment of the command, which ignores SIGTERM
/// and holds the output open.
const ESCAPE: &str = "setsid env -i sh -c '(trap \"\" TERM; sh -c \"echo \\$PPID > orphan; exec \
                      sleep 600\") &'; while [ ! -s orphan ]; do sleep 0.01; done; ";

#[test]
fn check_command_that_ends_leaves_no_orphan() {
    for level in LEVELS {
        let home = project(&[]);
        let ran = run(level, &format!("{ESCAPE} echo ended"), home.path(), LONG);
        assert!(ran.is_success() && ran.stdout == "ended\n", "{ran:?}");
        assert!(!is_alive(&home.path().join("orphan")), "{level:?}");
    }
}

#[test]
fn check_command_timeout_ends_all_its_processes() {
    for level in LEVELS {
        let home = project(&[]);
        let line = "trap '' TERM; (sleep 600 & echo $! > inner; wait) & setsid sleep 600 & \
                    echo $! > session; while [ ! -s inner ]; do sleep 0.01; done; echo ready; ";
        let line = format!("{line}{ESCAPE} sleep 600");
        let ran = run(level, &line, home.path(), Duration::from_secs(5));
        assert_eq!(ran.exit, RunExit::TimedOut);
        assert_eq!(ran.stdout, "ready\n");
        for name in ["inner", "session", "orphan"] {
            assert!(!is_alive(&home.path().join(name)), "{level:?}: {name}");
        }
    }
}

#[test]
fn check_command_time_limit_holds_if_its_shim_is_suspended() {
    let home = project(&[]);
    let line = format!("{ESCAPE} kill -STOP $PPID; sleep 600");
    let ran = runner(Duration::from_millis(500)).confined_as(SandboxLevel::None);
    let error = ran.run(&line, home.path(), &[]).expect_err("its shim was killed");
    assert!(error.to_string().contains("was killed"), "{error}");
    assert!(!is_alive(&home.path().join("orphan")));
}

#[test]
fn check_command_is_halted_with_its_processes() {
    for level in LEVELS {
        let home = project(&[]);
        let halt = std::sync::Arc::<std::sync::atomic::AtomicBool>::default();
        let checks = runner(LONG).confined_as(level).with_halt_flag(halt.clone());
        let line = format!("{ESCAPE} sleep 600");
        let ran = std::thread::scope(|scope| {
            let ran = scope.spawn(|| checks.run(&line, home.path(), &[]));
            while process_in(&home.path().join("orphan")).is_none() {
                std::thread::yield_now();
            }
            halt.store(true, std::sync::atomic::Ordering::SeqCst);
            ran.join().expect("it returns").expect("it started")
        });
        assert_eq!(ran.exit, RunExit::TimedOut);
        assert!(!is_alive(&home.path().join("orphan")), "{level:?}");
    }
}

#[test]
fn check_command_is_recorded_as_live_while_it_runs() {
    let home = project(&[]);
    let data = home.path().join("data");
    fs::create_dir_all(data.join("runs")).expect("a folder");
    let task = adjutant_model::TaskId::parse("TASK-2026-02-09-001").expect("an id");
    let attempt = data.join("runs/TASK-2026-02-09-001/attempts/1");
    let checks = CheckRunner::new(HELPER.into(), Some(&data), &Config::default())
        .with_subject(&task, &attempt, 7);
    let line = "cp data/live/*.json seen; readlink /proc/$PPID/exe; ls data/live; echo $PPID";
    let ran = checks.run(line, home.path(), &[]).expect("it starts");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [program, record, shim] = lines[..] else { panic!("{ran:?}") };
    assert_eq!(Path::new(program).file_name(), Path::new(HELPER).file_name());
    assert!(record.starts_with(&format!("{shim}-")), "{record}");
    let seen = fs::read_to_string(home.path().join("seen")).expect("a record");
    let mut seen: serde_json::Value = serde_json::from_str(&seen).expect("JSON");
    let boot = seen.as_object_mut().and_then(|seen| seen.remove("bootId"));
    assert!(boot.is_some_and(|boot| boot == process_table::boot_id()));
    let namespace = seen.as_object_mut().and_then(|seen| seen.remove("pidNamespace"));
    assert_eq!(namespace, process_table::pid_namespace().map(Into::into));
    let expected = serde_json::json!({
        "attempt": attempt, "kind": "check", "task": "TASK-2026-02-09-001", "fence": 7,
    });
    assert_eq!(seen, expected);
    assert_eq!(live_shims(&data).expect("it reads"), []);
}

#[test]
fn check_command_of_killed_caller_is_ended_by_the_next_one() {
    let home = project(&[]);
    let data = home.path().join("data");
    fs::create_dir_all(&data).expect("a folder");
    let task = adjutant_model::TaskId::parse("TASK-2026-02-09-001").expect("an id");
    let checks = CheckRunner::new(HELPER.into(), Some(&data), &Config::default())
        .with_subject(&task, &data, 1);
    let line = format!("{ESCAPE} sleep 600");
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| checks.run(&line, home.path(), &[]));
        while process_in(&home.path().join("orphan")).is_none() {
            std::thread::yield_now();
        }
        let [(shim, _)] = &live_shims(&data).expect("it reads")[..] else {
            panic!("one check runs")
        };
        // Even a shim that cannot see that its caller is gone is ended.
        shim.send_signal(Signal::STOP);
        checks.end_earlier();
        assert!(!shim.is_alive() && !is_alive(&home.path().join("orphan")));
        assert!(ran.join().expect("it returns").is_err());
    });
    assert_eq!(live_shims(&data).expect("it reads"), []);
}

#[test]
fn check_command_in_sandbox_writes_only_to_its_folder() {
    let (home, outside) = (project(&[]), project(&[]));
    let out = outside.path().display();
    let line = format!(
        "echo 1 > in && echo 2 > $TMPDIR/t && mkdir -p $XDG_CACHE_HOME && echo 3 > $XDG_CACHE_HOME/c \
         && ! echo 4 > {out}/refused"
    );
    let ran = run(SandboxLevel::Landlock, &line, home.path(), LONG);
    assert!(ran.is_success(), "{ran:?}");
    assert!(home.path().join("in").exists() && !outside.path().join("refused").exists());
    let line = format!("echo 1 > {out}/allowed");
    assert!(run(SandboxLevel::None, &line, home.path(), LONG).is_success());
    // Without a run the setting decides: by default, a sandbox where the data folder is not inside.
    let line = format!("! echo 1 > {out}/refused");
    assert!(runner(LONG).run(&line, home.path(), &[]).expect("it starts").is_success());
    let data = home.path().join("data");
    fs::create_dir(&data).expect("a folder");
    let checks = CheckRunner::new(HELPER.into(), Some(&data), &Config::default());
    let line = format!("echo 1 > {out}/allowed");
    assert!(checks.run(&line, home.path(), &[]).expect("it starts").is_success());
    let mut strict = Config::default();
    strict.project.check_sandbox = CheckSandbox::Landlock;
    let checks = CheckRunner::new(HELPER.into(), Some(&data), &strict);
    let error = checks.run("true", home.path(), &[]).expect_err("it would protect nothing");
    assert!(error.to_string().contains("cannot protect the data folder"), "{error}");
}

#[test]
fn check_command_output_is_cut_off_at_the_limit() {
    let home = project(&[]);
    let line = "head -c 50000000 /dev/zero; echo end >&2";
    let ran = run(SandboxLevel::None, line, home.path(), LONG);
    assert!(ran.is_success());
    assert_eq!((ran.stdout.len(), ran.stderr.as_str()), (32 * 1024 * 1024, "end\n"));
}
