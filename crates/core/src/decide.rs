//! Decides what an input does to the world.
//!
//! This is a pure function: the same world, input and time always give the same decision. A refusal
//! is a decision too.

mod access;
mod command;
mod completion;
mod create_task;
mod document;
mod document_report;
mod draft;
mod fetch_task;
mod file_change;
mod handoff;
mod heartbeat;
mod import;
mod message;
mod notification;
mod park;
mod permission;
mod recovery;
mod run_exited;
mod salvage;
mod session_end;
mod status_update;
mod story;
mod task_size;
mod tick;
mod work;

use adjutant_model::actor::Actor;
use adjutant_model::answer::{Answer, AnswerVerdict};
use adjutant_model::event::{Event, NewEvent};
use adjutant_model::time::Time;

use crate::decision::Decision;
use crate::input::Input;
use crate::notify;
use crate::world::World;

pub use import::{IMPORT_TASKS_MAX, find_existing};
pub use story::has_story_news;

/// Decides what an input does and which notifications follow from it. Does not change the world.
pub fn decide(world: &World, input: &Input, now: Time) -> Decision {
    notify::add_notify_effects(world, dispatch_input(world, input, now), now)
}

fn dispatch_input(world: &World, input: &Input, now: Time) -> Decision {
    match input {
        Input::Message { incoming, facts } => message::decide(world, incoming, facts, now),
        Input::SessionEnd { found } => session_end::decide(world, found),
        Input::Command { by, command } => command::decide(world, by, command, now),
        Input::FileChanged(change) => file_change::decide(world, change),
        Input::Tick { facts } => tick::decide(world, facts, now),
        Input::RunExited { task, fence, exit, tail, found, telemetry, workspace, jitter } => {
            let seen = run_exited::RunEndFacts {
                fence: *fence,
                exit,
                tail,
                found: found.as_ref(),
                telemetry,
                workspace: workspace.as_ref(),
            };
            run_exited::decide(world, task, &seen, *jitter, now)
        }
        Input::RunAlive { task, fence } => heartbeat::decide(world, task, *fence, now),
        Input::ExternalHeartbeat { task, by, token } => {
            heartbeat::decide_external(world, task, by, token, now)
        }
        Input::PermissionAsked { task, by, token, asked } => {
            permission::ask(world, task, by, token, asked, now)
        }
        Input::AccessRefused(refused) => access::record_refusal(refused),
        Input::RequestCompleted(kept) => access::record_keyed_request(kept),
        Input::NotificationEnded(notified) => notification::decide(notified),
        Input::StoryRead { by, facts } => story::decide(world, by, facts, now),
        Input::WorkChecked { task, fence, evidence, jitter } => {
            work::apply_check_results(world, task, *fence, evidence, *jitter, now)
        }
        Input::WorkMerged { task, merged } => work::apply_merge_result(world, task, merged),
        Input::WorkSaved { task, reference, commit } => {
            work::record_saved_work(task, reference, commit)
        }
        Input::LeaderChanged { node } => {
            record_system_event(Event::FleetDecider { node: node.clone() })
        }
        Input::FolderAdopted { tasks } => {
            record_system_event(Event::FolderAdopted { tasks: *tasks })
        }
    }
}

/// Records a system event that concerns no task and causes no effects.
fn record_system_event(event: Event) -> Decision {
    Decision {
        answer: Answer::plain(AnswerVerdict::Applied),
        events: vec![NewEvent { actor: Actor::System, task: None, event }],
        effects: vec![],
    }
}
