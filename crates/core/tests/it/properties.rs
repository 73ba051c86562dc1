//! What holds whatever happens, in whatever order.
//!
//! A failure prints the smallest sequence of inputs that shows it, and keeps its seed next to this
//! file, so that the next run begins with it.

mod generate;
mod naive;

use crate::support::{commit, message_with, now, tasks, world};
use adjutant_core::answer::Verdict;
use adjutant_core::aof::{Incoming, Message};
use adjutant_core::completion::RunResult;
use adjutant_core::event::{Event, Manner};
use adjutant_core::handoff::Handoff;
use adjutant_core::input::{FileChange, TickFacts};
use adjutant_core::policy::{AgentPolicy, Policy};
use adjutant_core::schedule::{Action, plan, why};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{
    Actor, AgentId, Decision, EventId, Input, Recorded, Status, Task, TaskId, World, decide,
    invariants,
};
use adjutant_test_support::soak::cases;
use generate::{facts, inputs, known_tasks, policies, sound_message, tick_facts};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Something that changed the world: an event, or a fact about the disk.
enum Change {
    Event(Recorded),
    Unreadable(TaskId),
}

/// Decides and commits, as an engine would, and returns what changed.
fn step(world: &mut World, input: &Input) -> (Decision, Vec<Change>) {
    let decision = decide(world, input, now());
    let record = commit(world, &decision).into_iter();
    let mut changes: Vec<Change> = record.map(Change::Event).collect();
    if let Input::File(FileChange::Unreadable(id)) = input {
        world.set_unreadable(id.clone());
        changes.push(Change::Unreadable(id.clone()));
    }
    (decision, changes)
}

fn config() -> ProptestConfig {
    let seeds =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/properties/seeds.proptest-regressions");
    ProptestConfig {
        cases: cases(256),
        // Of every three cases one has something in it that is drawn again; a soak has many.
        max_local_rejects: cases(65_536),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_that_happens_breaks_the_world(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            step(&mut world, input);
            prop_assert_eq!(invariants::broken(&world), Vec::<String>::new());
        }
    }

    #[test]
    fn the_record_alone_makes_the_same_world_again(known in known_tasks(), inputs in inputs()) {
        let mut lived = world(known.clone()).with_policy(crew());
        let changes: Vec<Change> = inputs
            .iter()
            .flat_map(|input| step(&mut lived, input).1)
            .collect();
        let mut replayed = world(known).with_policy(crew());
        for change in changes {
            match change {
                Change::Event(recorded) => replayed.apply(&recorded),
                Change::Unreadable(id) => replayed.set_unreadable(id),
            }
        }
        prop_assert_eq!(replayed, lived);
    }

    #[test]
    fn the_same_input_gets_the_same_decision(known in known_tasks(), inputs in inputs()) {
        let (mut one, mut other) = (
            world(known.clone()).with_policy(crew()),
            world(known).with_policy(crew()),
        );
        for input in &inputs {
            prop_assert_eq!(decide(&one, input, now()), decide(&one, input, now()));
            prop_assert_eq!(step(&mut one, input).0, step(&mut other, input).0);
        }
    }

    #[test]
    fn what_is_not_applied_changes_no_task(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            let (decision, changes) = step(&mut world, input);
            let on_disk = changes.iter().any(|it| matches!(it, Change::Unreadable(_)));
            if decision.answer.verdict != Verdict::Applied && !on_disk {
                prop_assert_eq!(tasks(&world), tasks(&before));
                prop_assert_eq!(decision.effects, vec![]);
            }
        }
    }

    #[test]
    fn a_refusal_is_in_the_record_and_what_is_not_ours_is_not(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let (decision, _) = step(&mut world, input);
            match decision.answer.verdict {
                Verdict::Rejected | Verdict::Unknown => prop_assert!(!decision.events.is_empty()),
                Verdict::Ignored => prop_assert!(decision.events.is_empty()),
                Verdict::Applied | Verdict::Noop => {}
            }
        }
    }

    #[test]
    fn events_are_numbered_without_gaps(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        let mut last = world.last_event();
        for input in &inputs {
            for change in step(&mut world, input).1 {
                if let Change::Event(recorded) = change {
                    prop_assert_eq!(recorded.id, EventId(last.0 + 1));
                    last = recorded.id;
                }
            }
            prop_assert_eq!(world.last_event(), last);
        }
    }

    #[test]
    fn every_move_starts_where_the_task_stands_and_follows_the_table_or_is_flagged(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let mut before = world.clone();
            for change in step(&mut world, input).1 {
                let Change::Event(recorded) = change else { continue };
                if let Some((from, regular)) = moved(&recorded.happened.event) {
                    let id = recorded.happened.task.clone().expect("a task that moved");
                    prop_assert_eq!(before.task(&id).map(Task::status), Some(from));
                    prop_assert!(regular);
                }
                before.apply(&recorded);
            }
        }
    }

    #[test]
    fn a_message_changes_only_what_its_sender_may_speak_for(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            let (decision, _) = step(&mut world, input);
            if let Some((judged_on, from)) = spoken_for(input)
                && decision.answer.verdict == Verdict::Applied
            {
                let speaker = before.task(judged_on).and_then(Task::speaker);
                prop_assert!(speaker.is_none_or(|speaker| speaker == from));
            }
        }
    }

    #[test]
    fn nobody_approves_its_own_work(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            for change in step(&mut world, input).1 {
                if let Change::Event(recorded) = change
                    && let (Actor::Agent(agent), Some(id)) =
                        (&recorded.happened.actor, &recorded.happened.task)
                    && matches!(recorded.happened.event, Event::TaskTransitioned { to: Status::Done, .. })
                {
                    let task = before.task(id).expect("a task that moved");
                    let own = task.was_worked_on_by(agent) && task.review == Review::Required;
                    prop_assert!(!own, "{agent} approved its own {id}");
                }
            }
        }
    }

    #[test]
    fn a_plan_is_what_a_planner_that_looks_at_everything_makes(
        known in known_tasks(),
        policy in policies(),
        facts in tick_facts(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(policy);
        for input in &inputs {
            prop_assert_eq!(plan(&world, &facts, now()), naive::plan(&world, &facts, now()));
            step(&mut world, input);
        }
    }

    #[test]
    fn a_tick_gives_out_no_more_than_there_is_room_for(
        known in known_tasks(),
        policy in policies(),
        facts in tick_facts(),
    ) {
        let mut world = world(known).with_policy(policy);
        let before = naive::Room::of(&world);
        step(&mut world, &Input::Tick { facts });
        prop_assert_eq!(naive::Room::of(&world).overrun(&world, &before), Vec::<String>::new());
    }

    #[test]
    fn what_can_be_given_out_is_given_out_and_what_is_held_back_is_not(
        known in known_tasks(),
        policy in policies(),
    ) {
        let world = world(known).with_policy(policy);
        let given: Vec<TaskId> = plan(&world, &TickFacts::default(), now())
            .into_iter()
            .filter(|action| matches!(action, Action::Assign { .. }))
            .map(|action| action.task().clone())
            .collect();
        for task in world.tasks() {
            let free = why(&world, &task.id, now()).is_empty();
            if given.contains(&task.id) {
                prop_assert!(free, "{} was given out", task.id);
            } else if free {
                prop_assert!(!given.is_empty(), "{} could go, and nothing does", task.id);
            }
        }
    }

    #[test]
    fn a_message_twice_leaves_what_it_left_once(
        known in known_tasks(),
        message in sound_message(),
        facts in facts(),
    ) {
        let input = message_with(&message, facts);
        let mut world = world(known).with_policy(crew());
        let (_, first) = step(&mut world, &input);
        let once = left(&world, &first);
        let (_, second) = step(&mut world, &input);
        let both: Vec<Change> = first.into_iter().chain(second).collect();
        prop_assert_eq!(left(&world, &both), once);
    }
}

/// A crew in which there is room for two runs of each agent.
fn crew() -> Policy {
    let agents = ["swe", "qa", "ops"].map(|name| {
        let id = AgentId::parse(name).expect("a good name");
        (id, AgentPolicy { slots: 2, ..AgentPolicy::default() })
    });
    Policy { agents: agents.into(), ..Policy::default() }
}

/// Returns where a move started, and whether its manner tells the truth about the table.
fn moved(event: &Event) -> Option<(Status, bool)> {
    match event {
        Event::TaskTransitioned { from, to, manner, .. } => {
            let along = from.may_move_to(*to);
            let told = match manner {
                Manner::Ruled | Manner::ByHand | Manner::Held(_) => along,
                Manner::AgainstTheTable => !along,
            };
            Some((*from, told))
        }
        _ => None,
    }
}

/// Returns the task that a message is judged on, and its sender.
fn spoken_for(input: &Input) -> Option<(&TaskId, &AgentId)> {
    match input {
        Input::Message { incoming: Incoming::Message(envelope), .. } => {
            Some(match &envelope.message {
                Message::HandoffRequest(handoff) => (&handoff.parent, &envelope.from),
                _ => (&envelope.task, &envelope.from),
            })
        }
        _ => None,
    }
}

/// What a message leaves behind: where every task stands and belongs, and the files it wrote.
#[derive(Debug, PartialEq)]
struct Left {
    tasks: Vec<(TaskId, Status, Option<TaskId>, u32, Routing)>,
    result: Option<Box<RunResult>>,
    handoff: Option<Box<Handoff>>,
}

fn left(world: &World, changes: &[Change]) -> Left {
    let stands = |task: &Task| {
        let (id, parent) = (task.id.clone(), task.parent.clone());
        (id, task.status(), parent, task.depth, task.routing.clone())
    };
    let mut left = Left { tasks: world.tasks().map(stands).collect(), result: None, handoff: None };
    for change in changes {
        let Change::Event(recorded) = change else {
            continue;
        };
        match &recorded.happened.event {
            Event::TaskCompleted { result, .. } => left.result = Some(result.clone()),
            Event::DelegationRequested { handoff } => left.handoff = Some(handoff.clone()),
            _ => {}
        }
    }
    left
}
