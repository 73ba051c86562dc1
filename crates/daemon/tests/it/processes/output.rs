//! Agent output: logged as it is, and limited in size.

use adjutant_config::run_token::TokenSecret;
use adjutant_run_files::attempt_files::{LOG, ROTATED_LOG};
use adjutant_runs::supervisor::{ProcessExit, StopMode};
use adjutant_test_support::soak::is_soak;

use crate::processes::support::RunFixture;

/// Returns the peak memory of a process, in KiB.
fn memory_peak_kib(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Lets an agent print `bytes` bytes and returns the memory its shim needed.
fn shim_memory_after_flood(matter: &str, bytes: u64) -> u64 {
    let stage = RunFixture::new();
    let mut launch = stage.launch(&format!(
        "steps: [{{flood: {{bytes: {bytes}, of: {matter}}}}}, {{print: ''}}, {{print: poured}}, hang]"
    ));
    launch.limits.log_bytes = 4 << 20;
    let run = stage.start_launch(&launch);
    stage.wait_for_output(&run, "\npoured\n");
    let peak = memory_peak_kib(stage.record(&run).shim_pid);
    let on_disk = |name| stage.folder(&run).join(name).metadata().map_or(0, |meta| meta.len());
    assert!(on_disk(LOG) <= 5 << 20, "the log is too long");
    assert!(on_disk(ROTATED_LOG) <= 5 << 20, "the log before is too long");
    assert!(on_disk(ROTATED_LOG) >= 4 << 20, "too little is kept");
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    let ended = stage.wait_for_end(&run);
    assert!(ended.tail.ends_with("poured"), "{}", ended.tail);
    peak
}

#[test]
fn output_flood_needs_little_memory_and_disk() {
    let peak = shim_memory_after_flood("lines", if is_soak() { 1 << 30 } else { 128 << 20 });
    assert!(peak < 30 << 10, "{peak} KiB");
}

#[test]
fn output_line_without_end_needs_little_memory() {
    let peak = shim_memory_after_flood("one_line", 64 << 20);
    assert!(peak < 30 << 10, "{peak} KiB");
}

#[test]
fn output_that_is_binary_is_kept_unchanged() {
    let peak = shim_memory_after_flood("binary", 64 << 20);
    assert!(peak < 30 << 10, "{peak} KiB");
    let stage = RunFixture::new();
    let run = stage.start_script("steps: [{flood: {bytes: 256, of: binary}}]");
    let ended = stage.wait_for_end(&run);
    assert_eq!(ended.exit, ProcessExit::Code(0));
    assert_eq!(stage.log(&run), (0..=255).collect::<Vec<u8>>());
}

#[test]
fn message_without_end_is_cut_off_and_still_too_long() {
    let stage = RunFixture::new();
    let script = "steps: [{flood: {bytes: 50000000, of: message}}, {print: ''}, {progress: on}]";
    let ended = stage.run_script(script);
    let lengths: Vec<bool> = ended.messages.iter().map(|(_, line)| line.len() > 1 << 20).collect();
    assert_eq!(lengths, [true, false]);
    assert!(ended.messages[0].1.len() < 2 << 20);
}

#[test]
fn output_last_line_needs_no_line_break() {
    let stage = RunFixture::new();
    let run = stage.start_script("steps: [{flood: {bytes: 3, of: one_line}}]");
    assert_eq!(stage.wait_for_end(&run).tail, "xxx");
    assert_eq!(stage.log(&run), b"xxx");
}

#[test]
fn run_token_is_redacted_in_its_log() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: []");
    launch.command =
        ["/bin/sh", "-c", "env; echo token: $ADJUTANT_RUN_TOKEN >&2; env | tail -c 20"]
            .map(str::to_owned)
            .to_vec();
    let run = stage.start_launch(&launch);
    let ended = stage.wait_for_end(&run);
    let log = String::from_utf8_lossy(&stage.log(&run)).into_owned();
    let token =
        TokenSecret::open(&stage.root).expect("a secret").token(&run.task, run.fence, run.nonce);
    assert!(log.contains("ADJUTANT_RUN_TOKEN=***") && log.contains("token: ***"), "{log}");
    assert!(!log.contains(&token) && !ended.tail.contains(&token));
}
