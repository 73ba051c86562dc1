//! Runs: their papers, their signs of life, and where they lie when they are over.

use adjutant_core::answer::Reason;
use adjutant_core::effect::Stop;
use adjutant_core::run::{Exit, Heartbeat, Place};
use adjutant_core::{Effect, Event, EventId, Status, Time};

use super::Harness;
use super::handle::{Handle, reopen};
use super::sample::{agent, completed, created, happened, id, moved, salvage_applied, task};
use crate::batch::{EffectId, Owed};
use crate::document::{companion, run_folder};
use crate::store::Store;

use Status::{Blocked, InProgress, Ready, Review};

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
    Event::RunStarted { agent, attempt, fence, expires_at, place: Place::Here }
}

fn failed(attempt: u32) -> Event {
    let (fence, reason) = (u64::from(attempt), "stale_heartbeat".to_owned());
    Event::RunFailed { attempt, fence, reason, not_before: None }
}

/// A run elsewhere is judged by its heartbeat, so that it has one from the start.
pub fn a_run_elsewhere_has_a_heartbeat_from_the_start(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let expires_at = time("2026-02-09T21:30:00.000Z");
    let (agent, place) = (agent("swe"), Place::Elsewhere);
    let started = Event::RunStarted { agent, attempt: 1, fence: 1, expires_at, place };
    handle.commit(vec![moved(1, Ready, InProgress), happened(1, started)]);
    let beat = handle.look(|store| store.heartbeat(&id(1)));
    assert_eq!(beat, Some(Heartbeat { expires_at }));
}

/// A run has the papers the protocol shows, and they go where the rest of its attempt lies.
pub fn a_run_leaves_its_papers_where_its_attempt_lies(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    handle.commit(vec![moved(1, Ready, InProgress), happened(1, started(7))]);
    assert_eq!(harness.read(&path("run.json")).as_deref(), Some(RUN));
    let expires_at = time("2026-02-09T21:35:00.000Z");
    handle.commit(vec![happened(1, Event::RunHeartbeat { fence: 7, expires_at })]);
    assert_eq!(harness.read(&path("run_heartbeat.json")).as_deref(), Some(BEAT));
    let beat = handle.look(|store| store.heartbeat(&id(1)));
    assert_eq!(beat, Some(Heartbeat { expires_at }));
    // What the agent printed lies there from the start.
    harness.write(&path("attempts/7/output.log"), "Hello.\n");
    handle.commit(vec![completed(1, "fine"), moved(1, InProgress, Review)]);
    let (attempt, fence, exit) = (7, 7, Exit::Code(0));
    let exited = Event::RunExited { attempt, fence, exit, reason: String::new() };
    handle.commit(vec![happened(1, exited), moved(1, Review, Ready)]);
    assert_eq!(harness.read(&path("attempts/7/run.json")).as_deref(), Some(RUN));
    assert_eq!(harness.read(&path("attempts/7/run_heartbeat.json")).as_deref(), Some(BEAT));
    assert!(harness.read(&path("attempts/7/run_result.json")).is_some());
    assert_eq!(harness.read(&path("run.json")), None);
    reopen(harness, handle);
}

/// A run that came to nothing is marked as such, whoever wrote its papers, and kept.
pub fn a_run_that_failed_is_marked_and_kept(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    harness.write(&path("run.json"), "{\"status\": \"running\", \"theirs\": [1]}");
    let back = || moved(1, InProgress, Ready);
    handle.commit(vec![happened(1, failed(1)), back()]);
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
    // Two attempts in one commit are kept apart, and one that left nothing leaves nothing.
    let again = |attempt| {
        [moved(1, Ready, InProgress), happened(1, started(attempt)), happened(1, failed(attempt))]
    };
    let mut both: Vec<_> = again(2).into_iter().chain([back()]).collect();
    both.extend(again(3).into_iter().chain([back()]));
    handle.commit(both);
    for attempt in [2, 3] {
        let kept = harness.read(&path(&format!("attempts/{attempt}/run.json")));
        assert!(kept.is_some_and(|text| text.contains("\"failed\"")), "{attempt}");
    }
    let nothing = [moved(1, Ready, InProgress), happened(1, failed(4)), back()];
    handle.commit(nothing.into());
    assert_eq!(harness.read(&path("attempts/4/run.json")), None);
    reopen(harness, handle);
}

/// A run is not judged by what lay there before it began.
pub fn a_run_begins_with_nothing_that_others_left(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Ready), ""), completed(1, "too early")]);
    harness.write(&path("run_heartbeat.json"), BEAT);
    handle.commit(vec![moved(1, Ready, InProgress), happened(1, started(1))]);
    assert_eq!(handle.result(&id(1)), None);
    assert_eq!(handle.look(|store| store.heartbeat(&id(1))), None);
    let kept = harness.read(&path("attempts/1/before/run_heartbeat.json"));
    assert_eq!(kept.as_deref(), Some(BEAT));
    assert_eq!(handle.look(Store::salvaged), [(id(1), "4-run_result.json".to_owned())]);
    reopen(harness, handle);
}

/// A heartbeat counts as far as it can be understood, and else not at all.
pub fn signs_of_life_are_read_as_they_stand(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    assert_eq!(handle.look(|store| store.heartbeat(&id(1))), None);
    harness.write(&path("run_heartbeat.json"), BEAT);
    let expires_at = time("2026-02-09T21:35:00.000Z");
    let read = handle.look(|store| store.heartbeat(&id(1)));
    assert_eq!(read, Some(Heartbeat { expires_at }));
    for bad in ["", "{}", "[]", "{\"expiresAt\": 3}", "{\"expiresAt\": \"soon\"}"] {
        harness.write(&path("run_heartbeat.json"), bad);
        assert_eq!(handle.look(|store| store.heartbeat(&id(1))), None, "{bad:?}");
    }
}

/// A report that came too late is kept with what it said, listed, and put away once it counts.
pub fn a_late_report_is_kept_until_it_is_applied(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    let (file, reason) = ("message.json".to_owned(), Reason::StaleRun);
    let text = Some("{\"late\": true}\n".to_owned());
    handle.commit(vec![happened(1, Event::RunSalvaged { file, reason, text })]);
    let name = format!("{}-message.json", handle.world.last_event());
    assert_eq!(handle.look(Store::salvaged), [(id(1), name.clone())]);
    let said = handle.look(|store| store.salvage(&id(1), &name));
    assert_eq!(said.as_deref(), Some("{\"late\": true}\n"));
    for bad in ["", "../run.json", "x", "a/b", "."] {
        assert_eq!(handle.look(|store| store.salvage(&id(1), bad)), None, "{bad:?}");
    }
    let mut again = reopen(harness, handle);
    again.commit(vec![
        salvage_applied(1, &name),
        completed(1, "late"),
        moved(1, InProgress, Review),
    ]);
    assert_eq!(again.look(Store::salvaged), []);
    let kept = harness.read(&path(&format!("salvage/applied/{name}")));
    assert_eq!(kept.as_deref(), Some("{\"late\": true}\n"));
    reopen(harness, again);
}

/// What a person answered lies with the task, for whoever works on it next.
pub fn an_answer_lies_with_the_task(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Blocked), "")]);
    let answered = Event::TaskAnswered { text: "Blue.".into() };
    handle.commit(vec![happened(1, answered), moved(1, Blocked, Ready)]);
    let answer = format!("{}/inputs/answer-2.md", companion(Ready, &id(1)));
    assert_eq!(harness.read(&answer).as_deref(), Some("Blue.\n"));
    let text = handle.document(&id(1)).expect("a task");
    assert!(text.contains("  answer: Blue.\n"), "{text}");
    reopen(harness, handle);
}

/// Orders to start and to stop are owed like any other effect, whoever opens the store next.
pub fn orders_for_runs_are_owed_like_any_other(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let owed = |place, effect| Owed { id: EffectId { event: EventId(3), place }, effect };
    let (task, agent, fence) = (id(1), agent("swe"), 1);
    let start = Effect::StartRun { task: task.clone(), agent, attempt: 1, fence };
    let stops = Stop::ALL.map(|reason| Effect::StopRun { task: task.clone(), fence, reason });
    let note = Effect::NoteTaken { task: task.clone(), attempt: 1, seq: 7 };
    let all: Vec<Owed> =
        (0..).zip([start, note].into_iter().chain(stops)).map(|(n, it)| owed(n, it)).collect();
    let begins = vec![moved(1, Ready, InProgress), happened(1, started(1))];
    handle.commit_effects(begins, all.clone(), vec![]);
    assert_eq!(handle.store.owed(), all);
    let again = reopen(harness, handle);
    assert_eq!(again.store.owed(), all);
}
