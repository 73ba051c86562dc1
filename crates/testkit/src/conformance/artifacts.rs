//! Cases about the files beside a task: run results, handoff files and the companion folder.

use Status::{Backlog, Blocked, Deadletter, Done, InProgress, Ready, Review};
use adjutant_core::input::FoundResult;
use adjutant_model::Status;
use adjutant_store::document_paths::{companion_folder, run_folder, run_result_file, task_file};
use adjutant_store::store::{FileAvailability, Store};

use super::StoreHarness;
use super::handle::{SuiteHandle, reopen};
use super::sample::{
    completed, completed_by_file, created, delegated, id, logged, moved, path, result, salvaged,
    salvaged_message, task,
};

const RESULT: &str = "{
  \"taskId\": \"TASK-2026-02-09-001\",
  \"agentId\": \"swe\",
  \"completedAt\": \"2026-02-09T21:10:00.000Z\",
  \"outcome\": \"done\",
  \"summaryRef\": \"outputs/summary.md\",
  \"handoffRef\": \"outputs/handoff.md\",
  \"deliverables\": [
    \"src/a.rs\"
  ],
  \"tests\": {
    \"total\": 10,
    \"passed\": 9,
    \"failed\": 1
  },
  \"blockers\": [
    \"a key\"
  ],
  \"notes\": \"fine\"
}
";

const HANDOFF: &str = "{
  \"taskId\": \"TASK-2026-02-09-002\",
  \"parentTaskId\": \"TASK-2026-02-09-001\",
  \"fromAgent\": \"swe\",
  \"toAgent\": \"qa\",
  \"acceptanceCriteria\": [
    \"All tests pass\"
  ],
  \"expectedOutputs\": [
    \"tests/report.md\"
  ],
  \"contextRefs\": [],
  \"constraints\": [
    \"No new dependencies\"
  ],
  \"dueBy\": \"2026-02-10T12:00:00.000Z\"
}
";

fn found(number: u64, notes: &str) -> FoundResult {
    FoundResult::Result(Box::new(result(number, notes)))
}

/// A completion is written as the result of the run; a later completion replaces it.
pub fn completion_writes_run_result(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    assert_eq!(handle.result(&id(1)), None);
    handle.commit(vec![completed(1, "fine"), moved(1, InProgress, Review)]);
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")));
    assert_eq!(harness.read(&run_result_file(&id(1))).as_deref(), Some(RESULT));
    handle.commit(vec![moved(1, Review, Done)]);
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")), "it stays with finished work");
    handle.commit(vec![completed(1, "better")]);
    assert_eq!(handle.result(&id(1)), Some(found(1, "better")));
    reopen(harness, handle);
}

/// A result file that an agent wrote stays as it is, with its unknown fields.
pub fn result_file_of_agent_stays_unchanged(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    let left = RESULT.replace('\n', " ").replacen('{', "{\"model\": \"own\",", 1);
    harness.write(&run_result_file(&id(1)), &left);
    handle.commit(vec![completed_by_file(1, "fine"), moved(1, InProgress, Review)]);
    assert_eq!(harness.read(&run_result_file(&id(1))), Some(left));
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")));
    reopen(harness, handle);
}

/// The files of an earlier attempt move to `attempts/<number>` and do not count as the
/// next attempt's result.
pub fn earlier_attempts_are_archived(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    let rounds = [(1, Review, Ready), (2, Blocked, Ready), (3, Review, InProgress)];
    for (number, stop, again) in rounds {
        let notes = format!("attempt {number}");
        handle.commit(vec![completed(1, &notes), moved(1, InProgress, stop)]);
        harness.write(&format!("{}/run_heartbeat.json", run_folder(&id(1))), &notes);
        handle.commit(vec![moved(1, stop, again)]);
        assert_eq!(handle.result(&id(1)), None, "the next attempt has no result yet");
        if again == Ready {
            handle.commit(vec![moved(1, Ready, InProgress)]);
        }
    }
    for (number, ..) in rounds {
        let kept = |file| format!("{}/attempts/{number}/{file}", run_folder(&id(1)));
        let result = harness.read(&kept("run_result.json")).expect("the result is kept");
        assert!(result.contains(&format!("\"attempt {number}\"")), "{result}");
        let beat = harness.read(&kept("run_heartbeat.json"));
        assert_eq!(beat, Some(format!("attempt {number}")));
    }
    reopen(harness, handle);
}

/// However a task returns to work, an old result does not count for the new attempt.
pub fn old_result_never_counts_for_a_new_attempt(harness: &mut impl StoreHarness) {
    let ways: [&[Status]; 7] = [
        &[InProgress, Blocked, Backlog, Ready, InProgress],
        &[InProgress, Blocked, Ready, InProgress],
        &[InProgress, Review, InProgress],
        &[InProgress, Review, Ready, InProgress],
        &[InProgress, Deadletter, Ready, InProgress],
        &[Backlog, Ready, InProgress],
        &[Ready, InProgress],
    ];
    let mut handle = SuiteHandle::open(harness);
    for (number, way) in (1..).zip(ways) {
        let notes = format!("attempt {number}");
        handle.commit(vec![created(task(number, way[0]), ""), completed(number, &notes)]);
        for step in way.windows(2) {
            handle.commit(vec![moved(number, step[0], step[1])]);
        }
        assert_eq!(handle.result(&id(number)), None, "{way:?}");
        let kept = format!("{}/attempts/1/run_result.json", run_folder(&id(number)));
        let result = harness.read(&kept).expect("the result is kept");
        assert!(result.contains(&notes), "{result}");
    }
    reopen(harness, handle);
}

/// A person may move a ready task to in-progress and finish it before the daemon scans:
/// the result counts.
pub fn result_of_hand_started_task_counts(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let text = handle.document(&id(1)).expect("a document");
    harness.remove(&task_file(Ready, &id(1)));
    harness.write(&task_file(InProgress, &id(1)), &text);
    harness.write(&run_result_file(&id(1)), RESULT);
    handle.commit_hand_move(1, Ready, InProgress);
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")));
    reopen(harness, handle);
}

/// Several attempts that are in one commit are archived under separate numbers.
pub fn attempts_in_one_commit_are_archived_separately(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    let mut all = vec![created(task(1, InProgress), "")];
    let ways: [&[Status]; 3] =
        [&[Review, InProgress], &[Review, Ready, InProgress], &[Blocked, Ready, InProgress]];
    for (number, way) in (1..).zip(ways) {
        all.push(completed(1, &format!("attempt {number}")));
        let from = [InProgress].into_iter().chain(way.iter().copied());
        all.extend(from.zip(way).map(|(from, to)| moved(1, from, *to)));
    }
    handle.commit(all);
    assert_eq!(handle.result(&id(1)), None);
    for number in 1..=ways.len() {
        let kept = format!("{}/attempts/{number}/run_result.json", run_folder(&id(1)));
        let result = harness.read(&kept).expect("the result is kept");
        assert!(result.contains(&format!("\"attempt {number}\"")), "{result}");
    }
    reopen(harness, handle);
}

/// If a person moves only the task file, the store moves the companion folder too.
pub fn companion_folder_follows_hand_moved_task(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, Ready), "")]);
    let file = |status| format!("{}/inputs/notes.md", companion_folder(status, &id(1)));
    harness.write(&file(Ready), "Notes.\n");
    let text = handle.document(&id(1)).expect("a document");
    harness.remove(&task_file(Ready, &id(1)));
    harness.write(&task_file(Blocked, &id(1)), &text);
    handle.commit_hand_move(1, Ready, Blocked);
    assert_eq!(harness.read(&file(Blocked)).as_deref(), Some("Notes.\n"));
    assert_eq!(harness.read(&file(Ready)), None);
    reopen(harness, handle);
}

/// A result file is read; an invalid one is reported with its problems and can be salvaged.
pub fn invalid_result_is_reported_and_salvaged(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), "")]);
    harness.write(&run_result_file(&id(1)), RESULT);
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")), "others may leave a result too");
    for bad in ["", "not JSON", "[]", "{}", "{\"taskId\":\"TASK-2026-02-09-002\"}"] {
        harness.write(&run_result_file(&id(1)), bad);
        match handle.result(&id(1)) {
            Some(FoundResult::Invalid(problems)) => assert!(!problems.is_empty(), "{bad:?}"),
            other => panic!("{bad:?} was read as {other:?}"),
        }
    }
    harness.write(&run_result_file(&id(1)), "not JSON");
    handle.commit(vec![salvaged(1)]);
    let event = handle.world.last_event();
    assert_eq!(handle.result(&id(1)), None);
    let aside = format!("{}/salvage/{event}-run_result.json", run_folder(&id(1)));
    assert_eq!(harness.read(&aside).as_deref(), Some("not JSON"), "nothing is lost");
    reopen(harness, handle);
}

/// A message from an older run is salvaged word for word, one file a message, and changes no task.
pub fn late_message_is_salvaged(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), ""), completed(1, "fine")]);
    let document = handle.document(&id(1));
    let texts = ["{\n  \"notes\": \"late\"\n}\n", "{\n  \"notes\": \"ž \\\" later\"\n}\n"];
    handle.commit(texts.map(|text| salvaged_message(1, text)).into());
    let last = handle.world.last_event().0;
    for (event, text) in (last - 1..=last).zip(texts) {
        let kept = format!("{}/salvage/{event}-message.json", run_folder(&id(1)));
        assert_eq!(harness.read(&kept).as_deref(), Some(text));
    }
    assert_eq!(handle.document(&id(1)), document, "the task is as it was");
    assert_eq!(handle.result(&id(1)), Some(found(1, "fine")), "and so is what counts");
    reopen(harness, handle);
}

/// A handoff writes `handoff.json` for programs and `handoff.md` for people into
/// the child's inputs.
pub fn handoff_writes_its_files(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(vec![created(task(1, InProgress), ""), created(task(2, Ready), "")]);
    handle.commit(vec![delegated(2, 1)]);
    let inputs = |status| format!("{}/inputs", companion_folder(status, &id(2)));
    let json = harness.read(&format!("{}/handoff.json", inputs(Ready)));
    assert_eq!(json.as_deref(), Some(HANDOFF));
    let markdown = harness.read(&format!("{}/handoff.md", inputs(Ready))).expect("for people");
    assert!(markdown.starts_with("# Handoff Request\n\n**From:** swe\n"), "{markdown}");
    let text = handle.document(&id(2)).expect("the child");
    assert!(text.contains("parentId: TASK-2026-02-09-001\n"), "{text}");
    handle.commit(vec![moved(2, Ready, InProgress), moved(2, InProgress, Review)]);
    assert_eq!(harness.read(&format!("{}/handoff.json", inputs(Ready))), None);
    let json = harness.read(&format!("{}/handoff.json", inputs(Review)));
    assert_eq!(json.as_deref(), Some(HANDOFF), "a child that moves keeps its inputs");
    let mut again = reopen(harness, handle);
    let there = again.with_lock(|store| store.presence(&id(2), &path("inputs/handoff.json")));
    assert_eq!(there, FileAvailability::Present);
}

/// Files that agents leave in a task's folder move with the task.
pub fn companion_folder_moves_with_its_task(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    let summary = path("outputs/summary.md");
    let check = |handle: &mut SuiteHandle<_>, expected| {
        let presence = |store: &mut _| Store::presence(store, &id(1), &summary);
        assert_eq!(handle.with_lock(presence), expected);
    };
    check(&mut handle, FileAvailability::Missing);
    handle.commit(vec![created(task(1, InProgress), "")]);
    check(&mut handle, FileAvailability::Missing);
    harness.write(&format!("{}/{summary}", companion_folder(InProgress, &id(1))), "Done.\n");
    check(&mut handle, FileAvailability::Present);
    for (from, to) in [(InProgress, Review), (Review, Ready), (Ready, InProgress)] {
        handle.commit(vec![moved(1, from, to), logged(1, "on")]);
        check(&mut handle, FileAvailability::Present);
        let text = harness.read(&format!("{}/{summary}", companion_folder(to, &id(1))));
        assert_eq!(text.as_deref(), Some("Done.\n"));
        assert_eq!(harness.read(&format!("{}/{summary}", companion_folder(from, &id(1)))), None);
    }
    reopen(harness, handle);
}
