//! Benchmarks: prints a table of measurements, each line with a floor measured in the same run.
//!
//! A floor is the least a machine must do for the same result: the same bytes to the same files
//! with the same syncs, a stat of every file, a process that does nothing. Ratios to floors hold on
//! a noisy machine, where plain times do not.
//!
//! Arguments select parts: `opening`, `commands`, `messages`, `ticks`, `daemon`, `sandbox`, `http`,
//! `fleet`;
//! `--quick` uses smaller folders.
#![expect(clippy::print_stdout, reason = "a benchmark prints a table")]
#![expect(clippy::cast_precision_loss, reason = "rates need no more than a few digits")]

mod bench_folder;
#[path = "../../testkit/src/cluster.rs"]
#[expect(dead_code, unreachable_pub, reason = "tests need more of it than this")]
mod cluster;
mod commands;
mod commit_floor;
mod daemon;
mod fleet;
mod followers;
mod http;
mod http_caller;
mod mcp;
mod messages;
mod opening;
mod pages;
mod process_pairs;
mod report;
mod sandbox;
mod throughput;
mod ticks;

use std::process::ExitCode;

use report::BenchReport;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [child, kind, path] = &args[..]
        && child == "--child"
    {
        return if kind == "pair" {
            process_pairs::run_pair_parent(path)
        } else {
            opening::run_child(path)
        };
    }
    let quick = args.iter().any(|arg| arg == "--quick");
    let (small, large) = if quick { (200, 2_000) } else { (1_000, 100_000) };
    let mut report = BenchReport::default();
    println!("measuring; this takes {}", if quick { "seconds" } else { "some minutes" });
    let parts: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let is_selected =
        |part: &str| parts.is_empty() || parts.iter().any(|is_selected| *is_selected == part);
    if ["opening", "commands", "messages"].into_iter().any(&is_selected) {
        let (small, large) = (bench_folder::make_folder(small), bench_folder::make_folder(large));
        if is_selected("opening") {
            opening::measure(&mut report, &small);
            opening::measure(&mut report, &large);
        }
        if is_selected("commands") {
            commands::measure(&mut report, &small);
            commands::measure(&mut report, &large);
        }
        if is_selected("messages") {
            messages::measure(&mut report, &small, &large, quick);
        }
        report.keep_folder(small.into_home());
        report.keep_folder(large.into_home());
    }
    if is_selected("ticks") {
        ticks::measure(&mut report, large);
    }
    if is_selected("daemon") {
        daemon::measure(&mut report, small, quick);
        daemon::measure(&mut report, large, quick);
    }
    if is_selected("sandbox") {
        sandbox::measure(&mut report, quick);
    }
    if is_selected("http") {
        http::measure(&mut report, large, quick);
    }
    if is_selected("fleet") {
        fleet::measure(&mut report, quick);
    }
    report.print();
    ExitCode::SUCCESS
}
