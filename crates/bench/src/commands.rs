//! Measures whole commands, from start to exit.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench_folder::BenchFolder;
use crate::opening::{format_ms, median};
use crate::report::BenchReport;

/// Measures commands against a process that does nothing.
pub(crate) fn measure(report: &mut BenchReport, sized: &BenchFolder) {
    let floor = time_command(Path::new("/bin/true"), &[]);
    let adjutant = adjutant_program();
    let root = sized.root();
    let id = sized.in_progress_ids()[0].to_string();
    let message = format!(
        r#"{{"protocol":"aof","version":1,"type":"status.update","taskId":"{id}","fromAgent":"swe-backend","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z","payload":{{"taskId":"{id}","agentId":"swe-backend","progress":"half way"}}}}"#
    );
    let file = root.parent().expect("a home").join("message.json");
    std::fs::write(&file, message).expect("a message");
    let data = root.to_string_lossy().into_owned();
    let file = file.to_string_lossy().into_owned();
    let all: [(&str, Vec<&str>); 4] = [
        ("--version", vec!["--version"]),
        ("task show", vec!["--data", &data, "task", "show", &id]),
        ("task list --limit 20", vec!["--data", &data, "task", "list", "--limit", "20"]),
        ("send", vec!["--data", &data, "send", &file]),
    ];
    let tasks = sized.tasks;
    for (name, args) in all {
        let time = time_command(&adjutant, &args);
        let ratio = format!("{:.1}x", time.as_secs_f64() / floor.as_secs_f64());
        let target = if tasks <= 1_000 { "< 10 ms" } else { "" };
        let what = format!("adjutant {name}, {tasks} tasks");
        report.add_row(
            &what,
            format_ms(time),
            format!("{} (/bin/true)", format_ms(floor)),
            ratio,
            target,
        );
    }
    let time = median(31, || time_first_answer(&adjutant, &data));
    let ratio = format!("{:.1}x", time.as_secs_f64() / floor.as_secs_f64());
    let what = format!("adjutant mcp, first answer, {tasks} tasks");
    report.add_row(
        &what,
        format_ms(time),
        format!("{} (/bin/true)", format_ms(floor)),
        ratio,
        "< 100 ms",
    );
}

/// Starts the MCP server and returns how long its client waits for the first answer. Some clients
/// give up soon and continue without the server, silently.
fn time_first_answer(adjutant: &Path, data: &str) -> Duration {
    let start = Instant::now();
    let mut command = Command::new(adjutant);
    command.args(["--data", data, "mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(INITIALIZE.as_bytes()).expect("written");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("an answer");
    let took = start.elapsed();
    assert!(line.contains("serverInfo"), "{line}");
    drop(stdin);
    child.wait().expect("it ends");
    took
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);

pub(crate) fn adjutant_program() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let path = own.with_file_name("adjutant");
    assert!(path.exists(), "{} is not built: use `cargo xtask bench`", path.display());
    path
}

fn time_command(program: &Path, args: &[&str]) -> Duration {
    let once = || {
        let start = Instant::now();
        let status = Command::new(program).args(args).stdout(Stdio::null()).status();
        let took = start.elapsed();
        assert!(status.is_ok_and(|status| status.success()), "{} failed", program.display());
        took
    };
    median(31, once)
}
