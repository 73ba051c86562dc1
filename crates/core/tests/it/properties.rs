//! Properties that hold for any inputs in any order.
//!
//! A failure prints the smallest sequence of inputs that shows it, and saves its seed next to this
//! file, so that the next test run starts with it.

mod generate;
mod naive;

use adjutant_core::input::{FileChange, TickFacts};
use adjutant_core::protocols::aof::{AofMessage, IncomingText};
use adjutant_core::schedule::{ScheduleAction, hold_reasons, plan};
use adjutant_core::{Decision, Input, World, decide, invariants};
use adjutant_model::answer::AnswerVerdict;
use adjutant_model::completion::RunResult;
use adjutant_model::event::{Event, TransitionCause};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::policy::{AgentPolicy, Policy};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::{Actor, AgentId, EventId, RecordedEvent, Status, Task, TaskId};
use adjutant_test_support::soak::cases;
use generate::{facts, inputs, known_tasks, policies, sound_message, tick_facts};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::support::{commit, message_with, now, tasks, world};

/// A change to the world: an event, or a fact about the disk.
enum WorldChange {
    Event(RecordedEvent),
    Unreadable(TaskId),
}

/// Decides and commits as the engine does, and returns the changes.
fn step(world: &mut World, input: &Input) -> (Decision, Vec<WorldChange>) {
    let decision = decide(world, input, now());
    let record = commit(world, &decision).into_iter();
    let mut changes: Vec<WorldChange> = record.map(WorldChange::Event).collect();
    if let Input::FileChanged(FileChange::Unreadable(id)) = input {
        world.set_unreadable(id.clone());
        changes.push(WorldChange::Unreadable(id.clone()));
    }
    (decision, changes)
}

fn config() -> ProptestConfig {
    let seeds =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/properties/seeds.proptest-regressions");
    ProptestConfig {
        cases: cases(256),
        // One in three cases contains a value that is redrawn; a soak test has many cases.
        max_local_rejects: cases(65_536),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(seeds))),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn world_invariants_hold_for_any_inputs(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            step(&mut world, input);
            prop_assert_eq!(invariants::find_violations(&world), Vec::<String>::new());
        }
    }

    #[test]
    fn event_log_replay_rebuilds_the_same_world(known in known_tasks(), inputs in inputs()) {
        let mut lived = world(known.clone()).with_policy(crew());
        let changes: Vec<WorldChange> = inputs
            .iter()
            .flat_map(|input| step(&mut lived, input).1)
            .collect();
        let mut replayed = world(known).with_policy(crew());
        for change in changes {
            match change {
                WorldChange::Event(recorded) => replayed.apply(&recorded),
                WorldChange::Unreadable(id) => replayed.set_unreadable(id),
            }
        }
        prop_assert_eq!(replayed, lived);
    }

    #[test]
    fn decision_is_deterministic(known in known_tasks(), inputs in inputs()) {
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
    fn input_that_is_not_applied_changes_no_task(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            let (decision, changes) = step(&mut world, input);
            let on_disk = changes.iter().any(|it| matches!(it, WorldChange::Unreadable(_)));
            if decision.answer.verdict != AnswerVerdict::Applied && !on_disk {
                prop_assert_eq!(tasks(&world), tasks(&before));
                prop_assert_eq!(decision.effects, vec![]);
            }
        }
    }

    #[test]
    fn refusal_is_recorded_and_ignored_text_is_not(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let (decision, _) = step(&mut world, input);
            match decision.answer.verdict {
                AnswerVerdict::Rejected | AnswerVerdict::Unknown => prop_assert!(!decision.events.is_empty()),
                AnswerVerdict::Ignored => prop_assert!(decision.events.is_empty()),
                AnswerVerdict::Applied | AnswerVerdict::Noop => {}
            }
        }
    }

    #[test]
    fn events_are_numbered_without_gaps(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        let mut last = world.last_event();
        for input in &inputs {
            for change in step(&mut world, input).1 {
                if let WorldChange::Event(recorded) = change {
                    prop_assert_eq!(recorded.id, EventId(last.0 + 1));
                    last = recorded.id;
                }
            }
            prop_assert_eq!(world.last_event(), last);
        }
    }

    #[test]
    fn move_starts_at_current_status_and_follows_table_or_is_flagged(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let mut before = world.clone();
            for change in step(&mut world, input).1 {
                let WorldChange::Event(recorded) = change else { continue };
                if let Some((from, regular)) = moved(&recorded.new_event.event) {
                    let id = recorded.new_event.task.clone().expect("a task that moved");
                    prop_assert_eq!(before.task(&id).map(Task::status), Some(from));
                    prop_assert!(regular);
                }
                before.apply(&recorded);
            }
        }
    }

    #[test]
    fn message_applies_only_to_tasks_its_sender_may_report_on(
        known in known_tasks(),
        inputs in inputs(),
    ) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            let (decision, _) = step(&mut world, input);
            if let Some((judged_on, from)) = spoken_for(input)
                && decision.answer.verdict == AnswerVerdict::Applied
            {
                let speaker = before.task(judged_on).and_then(Task::speaker);
                prop_assert!(speaker.is_none_or(|speaker| speaker == from));
            }
        }
    }

    #[test]
    fn agent_never_approves_its_own_work(known in known_tasks(), inputs in inputs()) {
        let mut world = world(known).with_policy(crew());
        for input in &inputs {
            let before = world.clone();
            for change in step(&mut world, input).1 {
                if let WorldChange::Event(recorded) = change
                    && let (Actor::Agent(agent), Some(id)) =
                        (&recorded.new_event.actor, &recorded.new_event.task)
                    && matches!(recorded.new_event.event, Event::TaskTransitioned { to: Status::Done, .. })
                {
                    let task = before.task(id).expect("a task that moved");
                    let own = task.was_worked_on_by(agent) && task.review == ReviewPolicy::Required;
                    prop_assert!(!own, "{agent} approved its own {id}");
                }
            }
        }
    }

    #[test]
    fn plan_matches_the_naive_planner(
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
    fn tick_never_exceeds_slots_and_resources(
        known in known_tasks(),
        policy in policies(),
        facts in tick_facts(),
    ) {
        let mut world = world(known).with_policy(policy);
        let before = naive::UsedSlots::from_world(&world);
        step(&mut world, &Input::Tick { facts });
        prop_assert_eq!(naive::UsedSlots::from_world(&world).exceeded_limits(&world, &before), Vec::<String>::new());
    }

    #[test]
    fn assignable_tasks_are_assigned_and_held_tasks_are_not(
        known in known_tasks(),
        policy in policies(),
    ) {
        let world = world(known).with_policy(policy);
        let given: Vec<TaskId> = plan(&world, &TickFacts::default(), now())
            .into_iter()
            .filter(|action| matches!(action, ScheduleAction::Assign { .. }))
            .map(|action| action.task().clone())
            .collect();
        for task in world.tasks() {
            let free = hold_reasons(&world, &task.id, now()).is_empty();
            if given.contains(&task.id) {
                prop_assert!(free, "{} was given out", task.id);
            } else if free {
                prop_assert!(!given.is_empty(), "{} could go, and nothing does", task.id);
            }
        }
    }

    #[test]
    fn repeated_message_has_the_effect_of_one(
        known in known_tasks(),
        message in sound_message(),
        facts in facts(),
    ) {
        let input = message_with(&message, facts);
        let mut world = world(known).with_policy(crew());
        let (_, first) = step(&mut world, &input);
        let once = message_effects(&world, &first);
        let (_, second) = step(&mut world, &input);
        let both: Vec<WorldChange> = first.into_iter().chain(second).collect();
        prop_assert_eq!(message_effects(&world, &both), once);
    }
}

/// A policy with two slots for each agent.
fn crew() -> Policy {
    let agents = ["swe", "qa", "ops"].map(|name| {
        let id = AgentId::parse(name).expect("a good name");
        (id, AgentPolicy { slots: 2, ..AgentPolicy::default() })
    });
    Policy { agents: agents.into(), ..Policy::default() }
}

/// Returns the status a move started from, and whether its cause agrees with the table of moves.
fn moved(event: &Event) -> Option<(Status, bool)> {
    match event {
        Event::TaskTransitioned { from, to, manner, .. } => {
            let along = from.may_move_to(*to);
            let told = match manner {
                TransitionCause::Ruled | TransitionCause::ByHand | TransitionCause::Held(_) => {
                    along
                }
                TransitionCause::AgainstTheTable => !along,
                TransitionCause::Reopened => (*from, *to) == (Status::Cancelled, Status::Backlog),
            };
            Some((*from, told))
        }
        _ => None,
    }
}

/// Returns the task that a message is judged on, and its sender.
fn spoken_for(input: &Input) -> Option<(&TaskId, &AgentId)> {
    match input {
        Input::Message { incoming: IncomingText::Message(envelope), .. } => {
            Some(match &envelope.message {
                AofMessage::HandoffRequest(handoff) => (&handoff.parent, &envelope.from),
                _ => (&envelope.task, &envelope.from),
            })
        }
        _ => None,
    }
}

/// The effect of a message: the status and parent of every task, and the files written.
#[derive(Debug, PartialEq)]
struct MessageEffects {
    tasks: Vec<(TaskId, Status, Option<TaskId>, u32, TaskRouting)>,
    result: Option<Box<RunResult>>,
    handoff: Option<Box<TaskHandoff>>,
}

fn message_effects(world: &World, changes: &[WorldChange]) -> MessageEffects {
    let stands = |task: &Task| {
        let (id, parent) = (task.id.clone(), task.parent.clone());
        (id, task.status(), parent, task.depth, task.routing.clone())
    };
    let mut left =
        MessageEffects { tasks: world.tasks().map(stands).collect(), result: None, handoff: None };
    for change in changes {
        let WorldChange::Event(recorded) = change else {
            continue;
        };
        match &recorded.new_event.event {
            Event::TaskCompleted { result, .. } => left.result = Some(result.clone()),
            Event::DelegationRequested { handoff, .. } => left.handoff = Some(handoff.clone()),
            _ => {}
        }
    }
    left
}
