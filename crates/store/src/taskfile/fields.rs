//! The fields of a task, as its front matter has them.

use adjutant_core::account::{Parked, Session, Spent};
use adjutant_core::foreign::{DelegationNote, Foreign, MissionNote};
use adjutant_core::permit::Permit;
use adjutant_core::pipeline::Position;
use adjutant_core::task::{LastRun, Lease, Review};
use adjutant_core::trials::{BlockedBy, Failure, OpenRun, Question, Trials};
use adjutant_core::{NodeId, Task, TaskId, Time};
use serde_json::{Map, Value, json};

use super::SCHEMA_VERSION;
use crate::wire::permit::PermitWire;
use crate::wire::work;
use crate::wire::{AllParkedWire, SessionWire, SpentWire, dollars};

/// Where a field stands in the front matter.
pub(super) type Path = &'static [&'static str];

/// A field and its value; none if the front matter does not have it.
pub(super) type Field = (Path, Option<Value>);

/// Returns every field this program writes, in the order a new file has them.
fn listed(task: &Task) -> Vec<Field> {
    let mut fields: Vec<Field> = OWN.iter().map(|own| own.of(task)).collect();
    fields.extend(trials(&task.trials));
    fields.push(story(task));
    fields.extend(foreign(task.foreign.as_deref()));
    fields
}

/// Returns the fields in which two tasks may differ, of one and of the other, in that order: most
/// changes leave most of a task as it was. Those that a file may have otherwise than its task are
/// among them.
pub(super) fn side_by_side(one: &Task, other: &Task) -> [Vec<Field>; 2] {
    let differ =
        [one.trials != other.trials, one.story() != other.story(), one.foreign != other.foreign];
    let own = OWN.iter().filter(|own| own.may_be_said_otherwise() || !(own.is_same)(one, other));
    [one, other].map(|task| {
        let mut fields: Vec<Field> = own.clone().map(|own| own.of(task)).collect();
        let [by_trials, by_story, by_foreign] = differ;
        fields.extend(by_trials.then(|| trials(&task.trials)).into_iter().flatten());
        fields.extend(by_story.then(|| story(task)));
        fields.extend(by_foreign.then(|| foreign(task.foreign.as_deref())).into_iter().flatten());
        fields
    })
}

fn story(task: &Task) -> Field {
    (&["metadata", "story"], task.story().map(Position::object).map(Value::Object))
}

/// A field that stands for one part of a task.
struct Own {
    path: Path,
    /// Whether two tasks are the same in it, which is quicker to tell than what it says.
    is_same: fn(&Task, &Task) -> bool,
    value: fn(&Task) -> Option<Value>,
}

impl Own {
    fn of(&self, task: &Task) -> Field {
        (self.path, (self.value)(task))
    }

    /// A status at odds with the folder, and a lease that is over, do not show in a task.
    fn may_be_said_otherwise(&self) -> bool {
        matches!(self.path, ["status" | "lease"])
    }
}

/// Makes a field of where it stands, the part of a task it stands for, and what it says.
macro_rules! own {
    ($path:expr, $($part:ident).+, $value:expr) => {
        Own {
            path: &$path,
            is_same: |one, other| one.$($part).+ == other.$($part).+,
            value: $value,
        }
    };
}

const OWN: [Own; 23] = [
    own!(["id"], id, |task| Some(task.id.as_str().into())),
    own!(["title"], title, |task| Some((*task.title).into())),
    own!(["status"], state, |task| Some(task.status().as_str().into())),
    own!(["priority"], priority, |task| Some(task.priority.as_str().into())),
    own!(["createdAt"], created_at, |task| Some(time(task.created_at))),
    own!(["updatedAt"], updated_at, |task| Some(time(task.updated_at))),
    own!(["lastTransitionAt"], last_transition_at, |task| Some(time(task.last_transition_at))),
    own!(["createdBy"], created_by, |task| Some((*task.created_by).into())),
    own!(["routing", "agent"], routing.agent, |task| {
        task.routing.agent.as_ref().map(|agent| agent.as_str().into())
    }),
    own!(["routing", "mode"], routing.mode, |task| task.routing.mode.as_deref().map(Value::from)),
    own!(["routing", "role"], routing.role, |task| task.routing.role.as_deref().map(Value::from)),
    own!(["routing", "tags"], routing.tags, |task| {
        list(task.routing.tags.iter().map(|tag| &**tag))
    }),
    own!(["parentId"], parent, |task| {
        task.parent.as_ref().map(|parent| parent.as_str().into())
    }),
    own!(["dependsOn"], depends_on, |task| list(task.depends_on.iter().map(TaskId::as_str))),
    own!(["resource"], resource, |task| task.resource.as_deref().map(Value::from)),
    own!(["dueBy"], due_by, |task| task.due_by.map(time)),
    own!(["lease"], state, |task| task.lease().map(lease)),
    own!(["metadata", "reviewRequired"], review, |task| {
        (task.review == Review::NotNeeded).then(|| false.into())
    }),
    own!(["metadata", "delegationDepth"], depth, |task| {
        (task.depth > 0).then(|| task.depth.into())
    }),
    own!(["metadata", "lastRun"], last_run, |task| task.last_run.as_ref().map(last_run)),
    own!(["metadata", "reportedBy"], reported_by, |task| {
        task.reported_by.as_ref().map(|agent| agent.as_str().into())
    }),
    own!(["metadata", "reportedFence"], reported_fence, |task| {
        task.reported_fence.map(Value::from)
    }),
    own!(["metadata", "feedback"], feedback, |task| task.feedback.as_deref().map(Value::from)),
];

fn time(time: Time) -> Value {
    time.to_string().into()
}

fn trials(trials: &Trials) -> [Field; 18] {
    let opt = |text: Option<&str>| text.map(Value::from);
    let expired = trials.expired.as_ref();
    let told = trials.account();
    let budget = told.map(|told| told.budget).unwrap_or_default();
    [
        (&["metadata", "openRun"], trials.open.as_ref().map(open_run)),
        (&["metadata", "node"], opt(trials.node.as_ref().map(NodeId::as_str))),
        (&["metadata", "failures"], failures(&trials.failures)),
        (&["metadata", "notBefore"], trials.not_before.map(time)),
        (&["metadata", "expiredAt"], expired.map(|expired| time(expired.at))),
        (&["metadata", "expiredReason"], opt(expired.map(|expired| &*expired.reason))),
        (&["metadata", "blockedBy"], opt(trials.blocked_by.map(BlockedBy::as_str))),
        (&["metadata", "statusReason"], opt(trials.reason.as_deref())),
        (&["metadata", "answer"], opt(trials.answer.as_deref())),
        (&["metadata", "question"], trials.question.as_deref().map(question)),
        (&["metadata", "permission"], trials.permit.as_deref().map(permit)),
        (&["metadata", "session"], told.and_then(|told| told.session.as_ref()).map(session)),
        (&["metadata", "parked"], told.and_then(|told| parked(&told.parked))),
        (&["metadata", "usage"], told.and_then(|told| usage(&told.spent))),
        (&["metadata", "budgetUsd"], budget.cost.map(|cost| dollars(cost).into())),
        (&["metadata", "budgetTokens"], budget.tokens.map(Value::from)),
        (&["metadata", "checks"], trials.checks.as_deref().map(checks)),
        (&["metadata", "work"], trials.work.as_deref().map(|work| work::object(work).into())),
    ]
}

/// That no command must pass is something to say too.
fn checks(checks: &[Box<str>]) -> Value {
    checks.iter().map(|check| Value::from(&**check)).collect()
}

/// What is kept of the document the task was made from comes last: it is long.
fn foreign(foreign: Option<&Foreign>) -> [Field; 2] {
    let mission = foreign.and_then(|foreign| foreign.mission.as_ref()).map(MissionNote::object);
    let delegation =
        foreign.and_then(|foreign| foreign.delegation.as_ref()).map(DelegationNote::object);
    [
        (&["metadata", "mission"], mission.map(Value::Object)),
        (&["metadata", "delegation"], delegation.map(Value::Object)),
    ]
}

fn permit(permit: &Permit) -> Value {
    json!(PermitWire::from(permit))
}

fn session(session: &Session) -> Value {
    json!(SessionWire::from(session))
}

fn parked(all: &[Parked]) -> Option<Value> {
    AllParkedWire::of(all).map(|wire| json!(wire))
}

fn usage(spent: &[Spent]) -> Option<Value> {
    let one = |spent: &Spent| json!(SpentWire::from(spent));
    (!spent.is_empty()).then(|| spent.iter().map(one).collect())
}

fn question(question: &Question) -> Value {
    match &question.suggestion {
        Some(suggestion) => json!({"text": question.text, "suggestedResolution": suggestion}),
        None => json!({"text": question.text}),
    }
}

/// Returns the whole front matter of a new file.
pub(super) fn all(task: &Task) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("schemaVersion".into(), SCHEMA_VERSION.into());
    for (path, value) in listed(task) {
        let Some(value) = value else { continue };
        match *path {
            [parent, key] => {
                let entry = map.entry(parent).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(nested) = entry {
                    nested.insert(key.to_owned(), value);
                }
            }
            [key] => {
                map.insert(key.to_owned(), value);
            }
            _ => {}
        }
    }
    map
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> Option<Value> {
    let items: Vec<Value> = items.map(Value::from).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

fn lease(lease: &Lease) -> Value {
    json!({
        "agent": lease.agent.as_str(),
        "acquiredAt": lease.acquired_at.to_string(),
        "expiresAt": lease.expires_at.to_string(),
        "renewCount": lease.renew_count,
        "attempt": lease.attempt,
        "fence": lease.fence,
    })
}

fn last_run(run: &LastRun) -> Value {
    json!({"agent": run.agent.as_str(), "attempt": run.attempt, "fence": run.fence})
}

fn open_run(run: &OpenRun) -> Value {
    json!({"agent": run.agent.as_str(), "attempt": run.attempt, "fence": run.fence})
}

fn failures(failures: &[Failure]) -> Option<Value> {
    let one = |failure: &Failure| json!({"attempt": failure.attempt, "reason": &*failure.reason});
    (!failures.is_empty()).then(|| failures.iter().map(one).collect())
}
