//! Cases about runs: their files, their heartbeats and their archived attempts.

use Status::{Blocked, InProgress, Ready, Review};
use adjutant_model::answer::Reason;
use adjutant_model::effect::StopReason;
use adjutant_model::run::{RunExit, RunHeartbeat, RunPlace};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::{Effect, Event, EventId, Status, Time};
use adjutant_store::batch::{EffectId, PendingEffect};
use adjutant_store::document_paths::{companion_folder, run_folder};
use adjutant_store::store::Store;

use super::StoreHarness;
use super::handle::{SuiteHandle, reopen};
use super::sample::{agent, completed, created, id, moved, new_event, salvage_applied, task};

const RUN: &str = "{
  \"taskId\": \"TASK-2026-02-09-001\",
  \"agentId\": \"swe\",
  \"startedAt\": \"2026-02-09T21:00:03.000Z\",
  \"status\": \"running\",
  \"artifactPaths\": {
    \"inputs\": \"inputs/\",
    \"work\": \"work/\",
    \"output\": \"output/\"
  },
  \"metadata\": {}
}
";

const BEAT: &str = "{
  \"taskId\": \"TASK-2026-02-09-001\",
  \"agentId\": \"swe\",
  \"lastHeartbeat\": \"2026-02-09T21:00:04.000Z\",
  \"beatCount\": 1,
  \"expiresAt\": \"2026-02-09T21:35:00.000Z\"
}
";

fn time(text: &str) -> Time {
    Time::parse(text).expect("a good time")
}

fn path(file: &str) -> String {
    format!("{}/{file}", run_folder(&id(1)))
}

fn started(attempt: u32) -> Event {
    let (agent, fence) = (agent("swe"), u64::from(attempt));
    let expires_at = time("2026-02-09T21:30:00.000Z");
    let (nonce, place, sandbox) = (None, RunPlace::Here, SandboxLevel::None);
    Event::RunStarted { agent, attempt, fence, nonce, expires_at, place, sandbox }
}

fn failed(attempt: u32) -> Event {
    let (fence, reason) = (u64::from(attempt), "stale_heartbeat".to_owned());
    Event::RunFailed { attempt, fence, reason, not_before: None }
}

/// An external run is judged only by its heartbeat file, so the file exists from the start.
pub fn external_run_has_heartbeat_from_the_start(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let expires_at = time("2026-02-09T21:30:00.000Z");
    let (agent, place) = (agent("swe"), RunPlace::Elsewhere);
    let (attempt, fence, nonce, sandbox) = (1, 1, None, SandboxLevel::None);
    let started = Event::RunStarted { agent, attempt, fence, nonce, expires_at, place, sandbox };
    handle.commit(vec![moved(1, Ready, InProgress), new_event(1, started)]);
    let beat = handle.with_lock(|store| store.last_heartbeat(&id(1)));
    assert_eq!(beat, Some(RunHeartbeat { expires_at }));
}

/// A run has the files of the protocol; they are archived in the folder of its attempt.
pub fn run_files_are_archived_with_their_attempt(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    handle.commit(vec![moved(1, Ready, InProgress), new_event(1, started(7))]);
    assert_eq!(harness.read(&path("run.json")).as_deref(), Some(RUN));
    let expires_at = time("2026-02-09T21:35:00.000Z");
    handle.commit(vec![new_event(1, Event::RunHeartbeat { fence: 7, expires_at })]);
    assert_eq!(harness.read(&path("run_heartbeat.json")).as_deref(), Some(BEAT));
    let beat = handle.with_lock(|store| store.last_heartbeat(&id(1)));
    assert_eq!(beat, Some(RunHeartbeat { expires_at }));
    // The output log is in the attempt's folder from the start.
    harness.write(&path("attempts/7/output.log"), "Hello.\n");
    handle.commit(vec![completed(1, "fine"), moved(1, InProgress, Review)]);
    let (attempt, fence, exit) = (7, 7, RunExit::Code(0));
    let exited = Event::RunExited { attempt, fence, exit, reason: String::new() };
    handle.commit(vec![new_event(1, exited), moved(1, Review, Ready)]);
    assert_eq!(harness.read(&path("attempts/7/run.json")).as_deref(), Some(RUN));
    assert_eq!(harness.read(&path("attempts/7/run_heartbeat.json")).as_deref(), Some(BEAT));
    assert!(harness.read(&path("attempts/7/run_result.json")).is_some());
    assert_eq!(harness.read(&path("run.json")), None);
    reopen(harness, handle);
}

/// A failed run is marked as failed, even in a `run.json` of another program, and archived.
pub fn failed_run_is_marked_and_archived(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    harness.write(&path("run.json"), "{\"status\": \"running\", \"theirs\": [1]}");
    let back = || moved(1, InProgress, Ready);
    handle.commit(vec![new_event(1, failed(1)), back()]);
    let marked = harness.read(&path("attempts/1/run.json")).expect("it is kept");
    let marked: serde_json::Value = serde_json::from_str(&marked).expect("it is JSON");
    let expected = serde_json::json!({
        "status": "failed",
        "theirs": [1],
        "metadata": {
            "expiredAt": "2026-02-09T21:00:02.000Z",
            "expiredReason": "stale_heartbeat",
        },
    });
    assert_eq!(marked, expected);
    // Two attempts in one commit are archived separately, and an attempt without files leaves none.
    let again = |attempt| {
        [moved(1, Ready, InProgress), new_event(1, started(attempt)), new_event(1, failed(attempt))]
    };
    let mut both: Vec<_> = again(2).into_iter().chain([back()]).collect();
    both.extend(again(3).into_iter().chain([back()]));
    handle.commit(both);
    for attempt in [2, 3] {
        let kept = harness.read(&path(&format!("attempts/{attempt}/run.json")));
        assert!(kept.is_some_and(|text| text.contains("\"failed\"")), "{attempt}");
    }
    let nothing = [moved(1, Ready, InProgress), new_event(1, failed(4)), back()];
    handle.commit(nothing.into());
    assert_eq!(harness.read(&path("attempts/4/run.json")), None);
    reopen(harness, handle);
}

/// Files that existed before a run started do not count for it.
pub fn run_start_clears_old_run_files(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), ""), completed(1, "too early")]);
    harness.write(&path("run_heartbeat.json"), BEAT);
    handle.commit(vec![moved(1, Ready, InProgress), new_event(1, started(1))]);
    assert_eq!(handle.result(&id(1)), None);
    assert_eq!(handle.with_lock(|store| store.last_heartbeat(&id(1))), None);
    let kept = harness.read(&path("attempts/1/before/run_heartbeat.json"));
    assert_eq!(kept.as_deref(), Some(BEAT));
    assert_eq!(handle.with_lock(Store::list_salvage), [(id(1), "4-run_result.json".to_owned())]);
    reopen(harness, handle);
}

/// A heartbeat file that cannot be parsed counts as none.
pub fn heartbeat_file_is_read_or_ignored(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    assert_eq!(handle.with_lock(|store| store.last_heartbeat(&id(1))), None);
    harness.write(&path("run_heartbeat.json"), BEAT);
    let expires_at = time("2026-02-09T21:35:00.000Z");
    let read = handle.with_lock(|store| store.last_heartbeat(&id(1)));
    assert_eq!(read, Some(RunHeartbeat { expires_at }));
    for bad in ["", "{}", "[]", "{\"expiresAt\": 3}", "{\"expiresAt\": \"soon\"}"] {
        harness.write(&path("run_heartbeat.json"), bad);
        assert_eq!(handle.with_lock(|store| store.last_heartbeat(&id(1))), None, "{bad:?}");
    }
}

/// A late report is salvaged with its text, listed, and moved to `salvage/applied` once
/// it is applied.
pub fn salvaged_report_is_listed_until_applied(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    let (file, reason) = ("message.json".to_owned(), Reason::StaleRun);
    let text = Some("{\"late\": true}\n".to_owned());
    handle.commit(vec![new_event(1, Event::RunSalvaged { file, reason, text })]);
    let name = format!("{}-message.json", handle.world.last_event());
    assert_eq!(handle.with_lock(Store::list_salvage), [(id(1), name.clone())]);
    let report = handle.with_lock(|store| store.read_salvage(&id(1), &name));
    assert_eq!(report.as_deref(), Some("{\"late\": true}\n"));
    for bad in ["", "../run.json", "x", "a/b", "."] {
        assert_eq!(handle.with_lock(|store| store.read_salvage(&id(1), bad)), None, "{bad:?}");
    }
    let mut again = reopen(harness, handle);
    again.commit(vec![
        salvage_applied(1, &name),
        completed(1, "late"),
        moved(1, InProgress, Review),
    ]);
    assert_eq!(again.with_lock(Store::list_salvage), []);
    let kept = harness.read(&path(&format!("salvage/applied/{name}")));
    assert_eq!(kept.as_deref(), Some("{\"late\": true}\n"));
    reopen(harness, again);
}

/// An answer of the operator is written into the task's inputs, for the next run.
pub fn answer_is_written_into_task_inputs(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Blocked), "")]);
    let answered = Event::TaskAnswered { text: "Blue.".into() };
    handle.commit(vec![new_event(1, answered), moved(1, Blocked, Ready)]);
    let answer = format!("{}/inputs/answer-2.md", companion_folder(Ready, &id(1)));
    assert_eq!(harness.read(&answer).as_deref(), Some("Blue.\n"));
    let text = handle.document(&id(1)).expect("a task");
    assert!(text.contains("  answer: Blue.\n"), "{text}");
    reopen(harness, handle);
}

/// Effects that start and stop runs are pending like all others, for every process that
/// opens the store.
pub fn run_effects_are_pending_like_others(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let pending =
        |place, effect| PendingEffect { id: EffectId { event: EventId(3), place }, effect };
    let (task, agent, fence) = (id(1), agent("swe"), 1);
    let start = Effect::StartRun { nonce: None, task: task.clone(), agent, attempt: 1, fence };
    let stops = StopReason::ALL.map(|reason| Effect::StopRun { task: task.clone(), fence, reason });
    let note = Effect::NoteTaken { task: task.clone(), attempt: 1, seq: 7 };
    let all: Vec<PendingEffect> =
        (0..).zip([start, note].into_iter().chain(stops)).map(|(n, it)| pending(n, it)).collect();
    let begins = vec![moved(1, Ready, InProgress), new_event(1, started(1))];
    handle.commit_effects(begins, all.clone(), vec![]);
    assert_eq!(handle.store.pending_effects(), all);
    let again = reopen(harness, handle);
    assert_eq!(again.store.pending_effects(), all);
}
