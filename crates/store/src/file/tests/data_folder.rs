//! A whole data folder after a series of commits.

use adjutant_model::completion::WorkOutcome;
use adjutant_model::event::{ReportChannel, TransitionCause};
use adjutant_model::mission::EpicId;
use adjutant_model::run::{RunExit, RunPlace};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Effect, Event, EventId, Reason, Status, Task, TaskId};
use adjutant_test_support::golden::GoldenFolder;
use serde_json::json;
use tar::Archive;

use super::scene::StoreScene;
use super::{mask_boot_id, mask_index};
use crate::batch::{EffectId, PendingEffect};
use crate::file::ArchiveScope;
use crate::store::Store;
use crate::tests::samples::{agent, completion, full_entry, full_handoff, id, result, stamp, time};
use crate::tests::task::bare_task;

fn created(number: u32, status: Status, body: &str) -> (TaskId, Event) {
    let task = Task { id: id(number), ..bare_task(status) };
    (id(number), Event::TaskCreated { task: Box::new(task), body: Some(body.into()), limits: None })
}

fn moved(number: u32, from: Status, to: Status) -> (TaskId, Event) {
    let reason = "because".into();
    (id(number), Event::TaskTransitioned { from, to, reason, manner: TransitionCause::Ruled })
}

fn started(attempt: u32, fence: u64, place: RunPlace) -> (TaskId, Event) {
    let expires_at = time("21:05:00.000");
    let (nonce, sandbox) = (None, SandboxLevel::None);
    let agent = agent("swe");
    (id(1), Event::RunStarted { agent, attempt, fence, nonce, expires_at, place, sandbox })
}

fn start_run(attempt: u32, fence: u64) -> PendingEffect {
    let effect = Effect::StartRun { nonce: None, task: id(1), agent: agent("swe"), attempt, fence };
    PendingEffect { id: EffectId { event: EventId(5), place: 0 }, effect }
}

/// Commits runs of a task: one that failed, one that reported, and a late report.
fn commit_runs(scene: &mut StoreScene) {
    scene.commit(vec![
        created(1, Status::Ready, "Mend it.\n"),
        created(2, Status::Blocked, ""),
        created(3, Status::Backlog, "Later"),
    ]);
    scene.commit_effects(
        vec![moved(1, Status::Ready, Status::InProgress), started(1, 1, RunPlace::Here)],
        vec![start_run(1, 1)],
        vec![],
    );
    let expires_at = time("21:10:00.000");
    scene.commit(vec![
        (id(1), Event::RunHeartbeat { fence: 1, expires_at }),
        (id(1), Event::TaskLogged { entry: full_entry() }),
    ]);
    let (attempt, fence, reason) = (1, 1, "exit code 1".to_owned());
    let not_before = Some(time("21:20:00.000"));
    scene.commit_effects(
        vec![
            (
                id(1),
                Event::RunExited { attempt, fence, exit: RunExit::Code(1), reason: "no".into() },
            ),
            (id(1), Event::RunFailed { attempt, fence, reason, not_before }),
            moved(1, Status::InProgress, Status::Ready),
        ],
        vec![],
        vec![start_run(1, 1).id],
    );
    scene.commit(vec![
        moved(1, Status::Ready, Status::InProgress),
        started(2, 2, RunPlace::Elsewhere),
    ]);
    let result = Box::new(result(completion(WorkOutcome::NeedsReview)));
    scene.commit(vec![
        (id(1), Event::TaskCompleted { result, channel: ReportChannel::Message }),
        moved(1, Status::InProgress, Status::Review),
    ]);
    scene.commit(vec![salvaged("message.json"), salvaged("result.json")]);
    scene.commit(vec![(id(1), Event::SalvageApplied { file: "15-message.json".into() })]);
}

fn salvaged(file: &str) -> (TaskId, Event) {
    let (file, text) = (file.into(), Some("{\"late\": true}\n".into()));
    (id(1), Event::RunSalvaged { file, reason: Reason::StaleRun, text })
}

/// Commits an answer, a delegation, and a task of another program with notes on its epic.
fn commit_other_events(scene: &mut StoreScene) {
    let answer = "Take A.\nIt is faster.".to_owned();
    scene.commit(vec![
        (id(2), Event::TaskAnswered { text: answer }),
        moved(2, Status::Blocked, Status::Ready),
    ]);
    let handoff = Box::new(full_handoff());
    scene
        .commit(vec![(id(1), Event::DelegationRequested { handoff, sandbox: SandboxLevel::None })]);
    let foreign = TaskOrigin::read(Some(&json!({"task_id": "T4", "epic_id": "E2"})), None, None);
    let task = Task {
        id: id(4),
        origin: Some(Box::new(foreign.expect("a note"))),
        ..bare_task(Status::Ready)
    };
    let epic = EpicId::parse("E2").expect("an epic id");
    let noted = |text: &str| {
        (id(4), Event::EpicNoted { epic: epic.clone(), at: stamp(), text: text.into() })
    };
    scene.commit(vec![(
        id(4),
        Event::TaskCreated { task: Box::new(task), body: None, limits: None },
    )]);
    scene.commit(vec![noted("Tabs break it"), noted("Use spaces")]);
}

#[test]
fn data_folder_matches_golden_files() {
    let mut scene = StoreScene::new();
    commit_runs(&mut scene);
    // The index must know the task first, or its removal leaves no line in the index.
    scene.rest();
    commit_other_events(&mut scene);
    scene.commit_effects(vec![], vec![start_run(3, 3)], vec![]);
    let task = scene.folder.root().join("tasks/backlog/TASK-2026-02-09-003.md");
    std::fs::remove_file(task).expect("the file is removed");
    scene.commit(vec![(id(3), Event::TaskRemoved {})]);
    scene.rest();
    let mut golden = GoldenFolder::new("data-folder");
    golden.add("adjutant-export.json", export_label(&mut scene) + "\n");
    for (file, text) in scene.files() {
        let text = match file.as_str() {
            "journal/state" => mask_boot_id(&text),
            "journal/index" => mask_index(&text),
            _ => text,
        };
        golden.add(file, text);
    }
    golden.check();
    drop(scene.project);
}

/// Packs the folder and returns the last entry of the archive.
fn export_label(scene: &mut StoreScene) -> String {
    let mut archive = Vec::new();
    scene.store.begin().expect("the turn is taken");
    scene.store.pack(&scene.world, ArchiveScope::Export, &mut archive).expect("it is packed");
    scene.store.end();
    let mut label = String::new();
    for entry in Archive::new(&archive[..]).entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        label.clear();
        if entry.path().expect("a path").ends_with("adjutant-export.json") {
            std::io::Read::read_to_string(&mut entry, &mut label).expect("text");
        }
    }
    label
}
