//! Benchmarks: a table of what was measured, each line with a floor taken in the same run.
//!
//! A floor is the least a machine must do for the same result: the same bytes to the same files
//! with the same syncs, a look at every file, a process that does nothing. Ratios to floors hold
//! on a noisy machine, where plain times do not.
//!
//! Parts can be named: `opening`, `commands`, `messages`, `ticks`, `daemon`, `http`, `fleet`; `--quick` takes smaller folders.
#![expect(clippy::print_stdout, reason = "a benchmark prints a table")]
#![expect(clippy::cast_precision_loss, reason = "rates need no more than a few digits")]

mod caller;
#[path = "../../testkit/src/cluster.rs"]
#[expect(dead_code, unreachable_pub, reason = "tests need more of it than this")]
mod cluster;
mod commands;
mod daemon;
mod fleet;
mod floor;
mod folder;
mod followers;
mod http;
mod mcp;
mod messages;
mod opening;
mod pages;
mod pairs;
mod report;
mod throughput;
mod ticks;

use std::process::ExitCode;

use report::Report;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [child, kind, path] = &args[..]
        && child == "--child"
    {
        return if kind == "pair" { pairs::child(path) } else { opening::child(path) };
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let (small, large) = if quick { (200, 2_000) } else { (1_000, 100_000) };
    let mut report = Report::default();
    println!("measuring; this takes {}", if quick { "seconds" } else { "some minutes" });
    let parts: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| *wanted == part);
    if ["opening", "commands", "messages"].into_iter().any(&wanted) {
        let (small, large) = (folder::make(small), folder::make(large));
        if wanted("opening") {
            opening::measure(&mut report, &small);
            opening::measure(&mut report, &large);
        }
        if wanted("commands") {
            commands::measure(&mut report, &small);
            commands::measure(&mut report, &large);
        }
        if wanted("messages") {
            messages::measure(&mut report, &small, &large, quick);
        }
        report.keep(small.into_home());
        report.keep(large.into_home());
    }
    if wanted("ticks") {
        ticks::measure(&mut report, large);
    }
    if wanted("daemon") {
        daemon::measure(&mut report, small, quick);
        daemon::measure(&mut report, large, quick);
    }
    if wanted("http") {
        http::measure(&mut report, large, quick);
    }
    if wanted("fleet") {
        fleet::measure(&mut report, quick);
    }
    report.print();
    ExitCode::SUCCESS
}
