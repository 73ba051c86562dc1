//! The small world that targets start from: one task of each kind that a rule looks at.

use std::sync::LazyLock;

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::{EventId, Policy, Status, Task, TaskId, Time};
use adjutant_process::clock::Clock;
use adjutant_store::{MemoryStore, document_paths, taskfile};

/// The task that agent `swe` works on, with fence 3.
pub(crate) const LEASED: &str = "TASK-2026-02-09-001";

/// Id, status and further front matter of each task.
const TASKS: [(&str, Status, &str); 8] = [
    (LEASED, Status::InProgress, LEASE),
    ("TASK-2026-02-09-002", Status::Ready, "routing:\n  agent: qa\n  tags: [tests]\n"),
    ("TASK-2026-02-09-003", Status::Review, "metadata:\n  reportedBy: swe\n  reportedFence: 2\n"),
    ("TASK-2026-02-09-004", Status::InProgress, "metadata:\n  reviewRequired: false\n"),
    ("TASK-2026-02-09-005", Status::Done, ""),
    (
        "TASK-2026-02-09-006",
        Status::Blocked,
        "parentId: TASK-2026-02-09-001\nmetadata:\n  delegationDepth: 1\n",
    ),
    (
        "TASK-2026-02-09-007",
        Status::InProgress,
        "metadata:\n  mission:\n    task_id: T042\n    epic_id: E005\n    version: \"1\"\n    \
         prd_id: PRD-001\n    instruction: x\n    context: {epic_file: a, task_file: b}\n    \
         constraints: {max_files: 1, no_git_commit: true, no_new_deps: true}\n",
    ),
    (
        "TASK-2026-02-09-008",
        Status::InProgress,
        "metadata:\n  delegation:\n    taskId: API-SPEC-001\n    delegatedToMode: a\n    \
         objective: b\n    expectedOutputs: [{path: docs/api.md}]\n",
    ),
];

const LEASE: &str = "\
lease:
  agent: swe
  acquiredAt: 2026-02-09T20:30:00.000Z
  expiresAt: 2026-02-09T22:30:00.000Z
  renewCount: 1
  attempt: 2
  fence: 3
";

/// A clock that always returns the same time.
struct FixtureClock;

impl Clock for FixtureClock {
    fn now(&self) -> Time {
        now()
    }
}

pub(crate) fn now() -> Time {
    Time::parse("2026-02-09T21:00:00.000Z").expect("a good time")
}

pub(crate) fn world() -> World {
    static WORLD: LazyLock<World> = LazyLock::new(build_world);
    WORLD.clone()
}

fn build_world() -> World {
    let task = |(id, status, extra)| -> Task {
        let parsed = taskfile::parse(&text(id, status, extra), None, Some(status));
        parsed.expect("a good task").task
    };
    World::load(TASKS.map(task), EventId(16))
}

/// Returns the same world in a store.
pub(crate) fn store() -> MemoryStore {
    let store = MemoryStore::default();
    for (id, status, extra) in TASKS {
        let path = document_paths::task_file(status, &TaskId::parse(id).expect("a good id"));
        store.write(&path, &text(id, status, extra));
    }
    store
}

/// Starts an engine on a store that the caller can still read.
pub(crate) fn engine(store: &MemoryStore) -> Engine<MemoryStore> {
    let mut store = store.clone();
    let loaded = store.open();
    let started = Engine::start(store, loaded, clock(), Policy::default());
    started.expect("an engine on a store in memory")
}

pub(crate) fn clock() -> Box<dyn Clock> {
    Box::new(FixtureClock)
}

fn text(id: &str, status: Status, extra: &str) -> String {
    format!(
        "---\nschemaVersion: 1\nid: {id}\ntitle: Task {id}\nstatus: {status}\npriority: normal\n\
         createdAt: 2026-02-09T20:00:00.000Z\nupdatedAt: 2026-02-09T20:00:00.000Z\n\
         lastTransitionAt: 2026-02-09T20:00:00.000Z\ncreatedBy: human:alice\n{extra}---\n\nDo it.\n"
    )
}
