//! Commits as they travel between the nodes of a fleet, and the file that holds one in advance.

use adjutant_core::{Effect, Event, EventId, Status};
use adjutant_test_support::golden::GoldenFolder;

use super::scene::Scene;
use crate::batch::{Batch, EffectId, Owed};
use crate::file::{Carried, Home, Way};
use crate::golden_tests::samples::{agent, id, path};
use crate::golden_tests::task::bare_task;
use crate::store::Store;

/// Commits a new task with everything a batch can have, and returns the commit as it is sent.
fn commit(scene: &mut Scene) -> String {
    let task = Box::new(bare_task(Status::Ready));
    let effect = Effect::StartRun { task: id(1), agent: agent("swe"), attempt: 1, fence: 1 };
    let event = Event::TaskCreated { task, body: Some("Mend it.".into()) };
    scene.store.begin().expect("the turn is taken");
    let batch = Batch {
        owed: vec![Owed { id: EffectId { event: EventId(1), place: 0 }, effect }],
        settled: vec![EffectId { event: EventId(0), place: 3 }],
        answers: vec![("mac/1-2".into(), r#"{"answers":[]}"#.into())],
        ..scene.batch(vec![(id(1), event)])
    };
    let mut sent = String::new();
    let order: crate::file::Order<'_> = &mut |sealed, meanwhile| {
        sent = sealed();
        meanwhile();
        Ok(())
    };
    scene.store.commit_through(&batch, order).expect("it is committed");
    scene.store.end();
    sent
}

/// Carries files of a run on another node, text and binary, and returns the commit as it is sent.
fn carry(scene: &mut Scene) -> String {
    let file = |home, name: &str, content: &[u8]| Carried {
        task: id(1),
        home,
        path: path(name),
        content: content.into(),
    };
    let files = [
        file(Home::Task, "outputs/summary.md", b"All done\n"),
        file(Home::Run, "run_result.json", b"\x89PNG\x00\xff"),
    ];
    let mut sent = String::new();
    let order: crate::file::Order<'_> = &mut |sealed, meanwhile| {
        sent = sealed();
        meanwhile();
        Ok(())
    };
    scene.store.begin().expect("the turn is taken");
    let way = Way { from: "mac", here: "mini" };
    scene.store.carry_through(&files, way, order).expect("they are carried");
    scene.store.end();
    sent
}

#[test]
fn fleet_commits_match_golden_files() {
    let mut scene = Scene::new();
    let mut golden = GoldenFolder::new("fleet/commits");
    golden.add("commit.json", commit(&mut scene) + "\n");
    golden.add("ahead", scene.read("journal/ahead"));
    golden.add("carried-files.json", carry(&mut scene) + "\n");
    golden.check();
}
