//! Commits in the form that is sent between the nodes of a fleet, and the prewritten commit.

use adjutant_model::{Effect, Event, EventId, Status};
use adjutant_test_support::golden::GoldenFolder;

use super::scene::StoreScene;
use crate::batch::{CommitBatch, EffectId, PendingEffect};
use crate::file::ReplicationRoute;
use crate::replicated_file::{ReplicatedFile, TaskFolderKind};
use crate::store::Store;
use crate::tests::samples::{agent, id, path};
use crate::tests::task::bare_task;

/// Commits a new task with everything a batch can have, and returns the sealed commit.
fn commit(scene: &mut StoreScene) -> String {
    let task = Box::new(bare_task(Status::Ready));
    let effect =
        Effect::StartRun { nonce: None, task: id(1), agent: agent("swe"), attempt: 1, fence: 1 };
    let event = Event::TaskCreated { task, body: Some("Mend it.".into()), limits: None };
    scene.store.begin().expect("the turn is taken");
    let batch = CommitBatch {
        new_effects: vec![PendingEffect { id: EffectId { event: EventId(1), place: 0 }, effect }],
        settled_effects: vec![EffectId { event: EventId(0), place: 3 }],
        answers: vec![("mac/1-2".into(), r#"{"answers":[]}"#.into())],
        ..scene.batch(vec![(id(1), event)])
    };
    let mut sent = String::new();
    let order: crate::file::CommitSequencer<'_> = &mut |sealed, meanwhile| {
        sent = sealed();
        meanwhile();
        Ok(())
    };
    scene.store.commit_ordered(&batch, order).expect("it is committed");
    scene.store.end();
    sent
}

/// Replicates text and binary files of a run on another node, and returns the sealed commit.
fn carry(scene: &mut StoreScene) -> String {
    let file = |home, name: &str, content: &[u8]| ReplicatedFile {
        task: id(1),
        home,
        path: path(name),
        content: content.into(),
    };
    let files = [
        file(TaskFolderKind::Task, "outputs/summary.md", b"All done\n"),
        file(TaskFolderKind::Run, "run_result.json", b"\x89PNG\x00\xff"),
    ];
    let mut sent = String::new();
    let order: crate::file::CommitSequencer<'_> = &mut |sealed, meanwhile| {
        sent = sealed();
        meanwhile();
        Ok(())
    };
    scene.store.begin().expect("the turn is taken");
    let way = ReplicationRoute { from: "mac", here: "mini" };
    scene.store.commit_files_ordered(&files, way, order).expect("they are carried");
    scene.store.end();
    sent
}

#[test]
fn fleet_commits_match_golden_files() {
    let mut scene = StoreScene::new();
    let mut golden = GoldenFolder::new("fleet/commits");
    golden.add("commit.json", commit(&mut scene) + "\n");
    golden.add("ahead", scene.read("journal/ahead"));
    golden.add("carried-files.json", carry(&mut scene) + "\n");
    golden.check();
}
