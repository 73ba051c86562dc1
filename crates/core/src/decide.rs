//! The one function that says what an input does. Pure: the same world, input and time give the
//! same decision, and a refusal is a decision like any other.

mod access;
mod beat;
mod command;
mod completion;
mod document;
mod draft;
mod file;
mod handoff;
mod message;
mod notified;
mod order;
mod park;
mod permit;
mod recovery;
mod report;
mod run_exited;
mod salvage;
mod session_end;
mod status_update;
mod story;
mod take;
mod tick;
mod work;

use crate::answer::{Answer, Verdict};
use crate::effect::Effect;
use crate::event::{Event, Happened};
use crate::input::Input;
use crate::name::Actor;
use crate::notice;
use crate::time::Time;
use crate::world::World;

/// What an input does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What its sender is told, once the events are committed.
    pub answer: Answer,
    /// What happened, in order.
    pub events: Vec<Happened>,
    /// What is owed to the outside.
    pub effects: Vec<Effect>,
}

/// Decides what an input does to the world, and who is told of it. Changes nothing.
pub fn decide(world: &World, input: &Input, now: Time) -> Decision {
    notice::tell(world, judge(world, input, now), now)
}

fn judge(world: &World, input: &Input, now: Time) -> Decision {
    match input {
        Input::Message { incoming, facts } => message::decide(world, incoming, facts, now),
        Input::SessionEnd { found } => session_end::decide(world, found),
        Input::Command { by, command } => command::decide(world, by, command, now),
        Input::File(change) => file::decide(world, change),
        Input::Tick { facts } => tick::decide(world, facts, now),
        Input::RunExited { task, fence, exit, tail, found, told, workspace, jitter } => {
            let seen = run_exited::Seen {
                fence: *fence,
                exit,
                tail,
                found: found.as_ref(),
                told,
                workspace: workspace.as_ref(),
            };
            run_exited::decide(world, task, &seen, *jitter, now)
        }
        Input::Beat { task, fence } => beat::decide(world, task, *fence, now),
        Input::LifeSign { task, by, token } => beat::hear(world, task, by, token, now),
        Input::PermissionAsked { task, by, token, asked } => {
            permit::ask(world, task, by, token, asked, now)
        }
        Input::Refused(refused) => access::refuse(refused),
        Input::Kept(kept) => access::keep(kept),
        Input::Notified(notified) => notified::decide(notified),
        Input::Story { by, facts } => story::decide(world, by, facts, now),
        Input::WorkChecked { task, fence, evidence, jitter } => {
            work::checked(world, task, *fence, evidence, *jitter, now)
        }
        Input::WorkMerged { task, merged } => work::merged(world, task, merged),
        Input::WorkSaved { task, reference, commit } => work::saved(task, reference, commit),
        Input::TookOver { node } => plain(Event::FleetDecider { node: node.clone() }),
        Input::Adopted { tasks } => plain(Event::FolderAdopted { tasks: *tasks }),
    }
}

/// What happened, whoever says so, and owes nothing.
fn plain(event: Event) -> Decision {
    Decision {
        answer: Answer::plain(Verdict::Applied),
        events: vec![Happened { actor: Actor::System, task: None, event }],
        effects: vec![],
    }
}
