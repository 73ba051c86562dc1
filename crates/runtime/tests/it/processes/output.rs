//! What agents print: all of it, any of it, and never too much of it.

use adjutant_runtime::shim::files::{LOG, LOG_BEFORE};
use adjutant_runtime::supervisor::{Exit, Leave};
use adjutant_runtime::token::Secret;
use adjutant_test_support::soak::is_soak;

use crate::processes::support::Stage;

/// Returns the most memory a process ever had, in KiB.
fn memory_peak_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Has an agent pour out a great deal, and returns the memory its shim needed for it.
fn poured(matter: &str, bytes: u64) -> u64 {
    let stage = Stage::new();
    let mut launch = stage.launch(&format!(
        "steps: [{{flood: {{bytes: {bytes}, of: {matter}}}}}, {{print: ''}}, {{print: poured}}, hang]"
    ));
    launch.limits.log_bytes = 4 << 20;
    let run = stage.begin(&launch);
    stage.printed(&run, "\npoured\n");
    let peak = memory_peak_kib(stage.record(&run).shim_pid);
    let on_disk = |name| stage.folder(&run).join(name).metadata().map_or(0, |meta| meta.len());
    assert!(on_disk(LOG) <= 5 << 20, "the log is too long");
    assert!(on_disk(LOG_BEFORE) <= 5 << 20, "the log before is too long");
    assert!(on_disk(LOG_BEFORE) >= 4 << 20, "too little is kept");
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    let ended = stage.end(&run);
    assert!(ended.tail.ends_with("poured"), "{}", ended.tail);
    peak
}

#[test]
fn a_flood_of_output_needs_little_memory_and_little_disk() {
    let peak = poured("lines", if is_soak() { 1 << 30 } else { 128 << 20 });
    assert!(peak < 30 << 10, "{peak} KiB");
}

#[test]
fn a_line_without_end_needs_little_memory() {
    let peak = poured("one_line", 64 << 20);
    assert!(peak < 30 << 10, "{peak} KiB");
}

#[test]
fn bytes_that_are_no_text_are_kept_as_they_are() {
    let peak = poured("binary", 64 << 20);
    assert!(peak < 30 << 10, "{peak} KiB");
    let stage = Stage::new();
    let run = stage.play("steps: [{flood: {bytes: 256, of: binary}}]");
    let ended = stage.end(&run);
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(stage.log(&run), (0..=255).collect::<Vec<u8>>());
}

#[test]
fn a_message_without_end_is_cut_off_and_still_too_long() {
    let stage = Stage::new();
    let script = "steps: [{flood: {bytes: 50000000, of: message}}, {print: ''}, {progress: on}]";
    let ended = stage.played(script);
    let lengths: Vec<bool> = ended.messages.iter().map(|(_, line)| line.len() > 1 << 20).collect();
    assert_eq!(lengths, [true, false]);
    assert!(ended.messages[0].1.len() < 2 << 20);
}

#[test]
fn a_last_line_needs_no_line_break() {
    let stage = Stage::new();
    let run = stage.play("steps: [{flood: {bytes: 3, of: one_line}}]");
    assert_eq!(stage.end(&run).tail, "xxx");
    assert_eq!(stage.log(&run), b"xxx");
}

#[test]
fn the_token_of_a_run_does_not_get_into_its_log() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: []");
    launch.command =
        ["/bin/sh", "-c", "env; echo token: $ADJUTANT_RUN_TOKEN >&2; env | tail -c 20"]
            .map(str::to_owned)
            .to_vec();
    let run = stage.begin(&launch);
    let ended = stage.end(&run);
    let log = String::from_utf8_lossy(&stage.log(&run)).into_owned();
    let token = Secret::open(&stage.root).expect("a secret").token(&run.task, run.fence);
    assert!(log.contains("ADJUTANT_RUN_TOKEN=***") && log.contains("token: ***"), "{log}");
    assert!(!log.contains(&token) && !ended.tail.contains(&token));
}
