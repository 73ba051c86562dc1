//! Output of test runners, recorded from the real ones, and commands that misbehave.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adjutant_core::story::TestTotals;
use adjutant_process::test_runner::limited_command::run;
use adjutant_process::test_runner::test_command::find;
use adjutant_process::test_runner::{ParsedTestCounts, TestFormat, count};

fn sample(name: &str) -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/testrun/samples").join(name);
    fs::read_to_string(path).expect("a sample")
}

/// Each sample is from a suite with passing, failing and skipped tests that also prints text which
/// looks like a result.
const SAMPLES: [(&str, TestFormat, [u64; 3], &[&str]); 12] = [
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
        fs::write(home.path().join(name), text).expect("a file");
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

#[test]
fn check_command_output_is_kept() {
    let home = project(&[("here", "")]);
    let ran = run("ls; echo bad >&2; exit 3", home.path(), LONG).expect("it starts");
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str(), ran.is_success()),
        ("here\n", "bad\n", false)
    );
    assert_eq!(ran.status.and_then(|status| status.code()), Some(3));
    assert_eq!(ran.last_lines(), "bad");
}

/// Waits until the process whose number is in a file is gone.
fn wait_until_gone(path: &Path) -> bool {
    let until = Instant::now() + LONG;
    while is_alive(path) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    !is_alive(path)
}

fn is_alive(path: &Path) -> bool {
    let pid = fs::read_to_string(path).expect("a number");
    let pid: i32 = pid.trim().parse().expect("a number");
    adjutant_process::process_table::ProcessIdentity::find(pid)
        .is_some_and(adjutant_process::process_table::ProcessIdentity::is_alive)
}

#[test]
fn check_command_timeout_ends_all_its_processes() {
    let home = project(&[]);
    let line = "trap '' TERM; (sleep 600 & echo $! > inner; wait) & setsid sleep 600 & \
                echo $! > session; while [ ! -s inner ]; do sleep 0.01; done; echo ready; sleep 600";
    let ran = run(line, home.path(), Duration::from_secs(5)).expect("it starts");
    assert!(ran.status.is_none() && !ran.is_success());
    assert_eq!(ran.stdout, "ready\n");
    for name in ["inner", "session"] {
        assert!(wait_until_gone(&home.path().join(name)), "{name}");
    }
}

#[test]
fn check_command_background_processes_are_ended() {
    let home = project(&[]);
    let ran = run("sleep 600 & echo $! > left; echo done", home.path(), LONG).expect("it starts");
    assert!(ran.is_success() && ran.stdout == "done\n");
    assert!(wait_until_gone(&home.path().join("left")));
}

#[test]
fn check_command_output_is_cut_off_at_the_limit() {
    let home = project(&[]);
    let ran =
        run("head -c 50000000 /dev/zero; echo end >&2", home.path(), LONG).expect("it starts");
    assert!(ran.is_success());
    assert_eq!((ran.stdout.len(), ran.stderr.as_str()), (32 * 1024 * 1024, "end\n"));
}
