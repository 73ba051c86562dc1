//! Random worlds and inputs: three agents, three known tasks and an unknown one.

use adjutant_core::Input;
use adjutant_core::input::{
    FileChange, FilePresence, FoundResult, MessageFacts, RunFacts, TickFacts, TokenOwner,
};
use adjutant_core::protocols::aof;
use adjutant_model::answer::FieldProblem;
use adjutant_model::command::{
    Command, CommandCaller, ImportedTask, InitialStatus, NewTask, OperatorAction, TaskChanges,
    TaskFileContent, TaskImport,
};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::permission::{ChoiceKind, PermissionChoice};
use adjutant_model::policy::{AgentPolicy, OnExitOk, SchedulerPolicy};
use adjutant_model::request::AskedPermission;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::{RunExit, RunHeartbeat, RunLiveness, RunRef};
use adjutant_model::run_history::{BlockedBy, ExpiredRun, FailedAttempt, RunHistory};
use adjutant_model::task::TaskState;
use adjutant_model::usage::{
    AgentTelemetry, AgentTrouble, DailyUsage, ParkedAgent, TaskUsage, TokenUsage, UsageBudget,
};
use adjutant_model::{Actor, Policy, Priority, Status, Task, TaskId, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::support::{
    TaskBuilder, agent, completion, handoff_accepted, handoff_rejected, handoff_request, id, now,
    operator, status_update, task, time,
};

const AGENTS: [&str; 3] = ["swe", "qa", "ops"];
const FIELDS: [&str; 6] = ["version", "type", "taskId", "fromAgent", "sentAt", "payload"];

/// The number of a known or an unknown task.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 1..=3_u64, 1 => Just(4_u64)]
}

fn name() -> impl Strategy<Value = &'static str> {
    select(&AGENTS)
}

fn status() -> impl Strategy<Value = Status> {
    select(&Status::ALL)
}

fn review() -> impl Strategy<Value = ReviewPolicy> {
    select(&[ReviewPolicy::Required, ReviewPolicy::NotNeeded])
}

/// Returns tasks as a store loads them, without contradictions.
pub(crate) fn known_tasks() -> impl Strategy<Value = Vec<Task>> {
    [1_u64, 2, 3].map(|number| sound_task(number).boxed()).prop_map(Vec::from)
}

fn sound_task(number: u64) -> impl Strategy<Value = Task> {
    any_task(number).prop_map(|mut task| {
        let newest = task.last_run.as_ref().map_or(0, |run| run.fence);
        if let TaskState::InProgress(Some(lease)) = &mut task.state {
            lease.fence += newest;
            // The open run must be the one that holds the lease.
            if let Some(open) = &mut task.history.open {
                (open.agent, open.fence) = (lease.agent.clone(), lease.fence);
            }
        }
        task
    })
}

type QueueFields = (Vec<TaskId>, Option<Box<str>>, Priority, Option<Time>);

/// Returns the dependencies, resource, priority and due date of a task.
pub(crate) fn queued() -> BoxedStrategy<QueueFields> {
    let due = option::weighted(0.3, select(vec![time("2026-02-10T00:00:00Z"), now()]));
    let resource = option::weighted(0.3, select(vec!["db", "net"]).prop_map(Into::into));
    let waits = prop_oneof![2 => Just(vec![]), 1 => vec(number().prop_map(id), 1..3)];
    (waits, resource, select(&Priority::ALL), due).boxed()
}

fn trials() -> BoxedStrategy<RunHistory> {
    let minute = |minutes: i64| Time::from_millis(now().as_millis() + minutes * 60_000);
    let failure =
        (1..4_u32).prop_map(|attempt| FailedAttempt { attempt, reason: "it broke".into() });
    let open = (name(), 1..4_u32, 1..8_u64).prop_map(|(name, attempt, fence)| RunRef {
        nonce: None,
        agent: agent(name),
        attempt,
        fence,
    });
    let waits = option::weighted(0.3, (-2..3_i64).prop_map(minute));
    let held = option::weighted(0.5, Just(BlockedBy::Dependency));
    let expired =
        (-2..2_i64).prop_map(move |at| ExpiredRun { at: minute(at), reason: "lost".into() });
    let expired = option::weighted(0.3, expired);
    (option::weighted(0.2, open), vec(failure, 0..3), (waits, expired), held, account())
        .prop_map(|(open, failures, (not_before, expired), blocked_by, account)| RunHistory {
            expired,
            open,
            failures,
            not_before,
            blocked_by,
            account,
            ..RunHistory::default()
        })
        .boxed()
}

/// Returns the telemetry of agents: sometimes unusable, sometimes over budget.
fn account() -> BoxedStrategy<Option<Box<TaskUsage>>> {
    let until = (-2..3_i64).prop_map(|m| Time::from_millis(now().as_millis() + m * 60_000));
    let parked = (name(), option::of(until), 0..2_u64).prop_map(|(name, until, settings)| {
        ParkedAgent { agent: agent(name), until, reason: "no".into(), settings, node: None }
    });
    let spent = (name(), 1..4_u64).prop_map(|(name, count)| DailyUsage {
        day: now().day().into(),
        agent: agent(name),
        usage: TokenUsage { input: count, output: 0, cached: 0, cost: count },
    });
    let budget = option::weighted(0.3, 0..4_u64);
    let account =
        (vec(parked, 0..2), vec(spent, 0..2), budget).prop_map(|(parked, spent, cost)| {
            let budget = UsageBudget { tokens: None, cost };
            let account = TaskUsage { session: None, parked, spent, budget, refused_hosts: vec![] };
            (account != TaskUsage::default()).then(|| Box::new(account))
        });
    prop_oneof![2 => Just(None), 1 => account].boxed()
}

/// Returns a policy that sometimes has free slots and sometimes none.
pub(crate) fn policies() -> impl Strategy<Value = Policy> {
    let on_exit = select(vec![OnExitOk::NoReport, OnExitOk::NeedsReview, OnExitOk::Done]);
    let one = (0..3_u32, on_exit, budget()).prop_map(|(slots, on_exit_ok, budget_day)| {
        AgentPolicy { slots, on_exit_ok, budget_day, ..AgentPolicy::default() }
    });
    (0..4_u32, 1..4_u32, budget(), vec(one, AGENTS.len())).prop_map(
        |(concurrency, attempts_max, budget_day, each)| {
            let scheduler = SchedulerPolicy {
                concurrency,
                attempts_max,
                budget_day,
                ..SchedulerPolicy::default()
            };
            let agents = AGENTS.iter().map(|name| agent(name)).zip(each).collect();
            Policy { scheduler, agents, ..Policy::default() }
        },
    )
}

fn budget() -> impl Strategy<Value = UsageBudget> {
    option::weighted(0.2, 0..6_u64).prop_map(|tokens| UsageBudget { tokens, cost: None })
}

fn found() -> BoxedStrategy<Option<FoundResult>> {
    let invalid = Just(FoundResult::Invalid(vec![FieldProblem::new("outcome", "is required")]));
    option::of(prop_oneof![3 => result_of(1), 1 => invalid]).boxed()
}

fn run_facts() -> BoxedStrategy<RunFacts> {
    let beat = (-9..9_i64).prop_map(|minutes| RunHeartbeat {
        expires_at: Time::from_millis(now().as_millis() + minutes * 60_000),
    });
    let life = select(vec![RunLiveness::Alive, RunLiveness::Gone, RunLiveness::NotOurs]);
    (option::of(beat), found(), life)
        .prop_map(|(heartbeat, found, life)| RunFacts { heartbeat, found, life })
        .boxed()
}

/// Returns facts about the runs of known tasks.
pub(crate) fn tick_facts() -> BoxedStrategy<TickFacts> {
    let each = [1, 2, 3, 4].map(|number| {
        option::of(run_facts()).prop_map(move |seen| seen.map(|seen| (id(number), seen)))
    });
    (each, any::<u64>())
        .prop_map(|(each, jitter)| TickFacts {
            runs: each.into_iter().flatten().collect(),
            jitter,
            ..TickFacts::default()
        })
        .boxed()
}

fn any_tick() -> impl Strategy<Value = Input> {
    tick_facts().prop_map(|facts| Input::Tick { facts })
}

fn any_exit() -> impl Strategy<Value = Input> {
    let exit = select(vec![
        RunExit::Code(0),
        RunExit::Code(1),
        RunExit::Signal(9),
        RunExit::TimedOut,
        RunExit::Stopped,
        RunExit::Lost,
        RunExit::NotStarted("no such file".into()),
    ]);
    (any_id(), 1..8_u64, exit, text(), (found(), any::<u64>(), telemetry())).prop_map(
        |(task, fence, exit, tail, (found, jitter, telemetry))| Input::RunExited {
            task,
            fence,
            exit,
            tail,
            found,
            telemetry: Box::new(telemetry),
            workspace: None,
            jitter,
        },
    )
}

fn telemetry() -> impl Strategy<Value = AgentTelemetry> {
    let minute = |minutes: i64| Time::from_millis(now().as_millis() + minutes * 60_000);
    let limited = option::of((-2..90_i64).prop_map(minute))
        .prop_map(|until| AgentTrouble::Limited { until, reason: "too much".into() });
    let unusable = Just(AgentTrouble::Unusable { reason: "no key".into() });
    let trouble = option::weighted(0.3, prop_oneof![limited, unusable]);
    let used = (0..3_u64, 0..3_u64).prop_map(|(tokens, cost)| TokenUsage {
        input: tokens,
        output: tokens,
        cached: 0,
        cost,
    });
    (option::of(Just("s1".to_owned())), used, trouble).prop_map(|(session, usage, trouble)| {
        AgentTelemetry { session, usage, trouble, warning: None, refused_hosts: vec![] }
    })
}

fn any_beat() -> impl Strategy<Value = Input> {
    let ours = (any_id(), 1..8_u64).prop_map(|(task, fence)| Input::RunAlive { task, fence });
    let theirs = (any_id(), name(), token()).prop_map(|(task, by, token)| {
        Input::ExternalHeartbeat { task, by: Actor::Agent(agent(by)), token }
    });
    let asks = (any_id(), name(), token(), 1..3_u32).prop_map(|(task, by, token, number)| {
        let choice = |kind: &ChoiceKind| PermissionChoice {
            id: kind.to_string(),
            name: kind.to_string(),
            kind: *kind,
        };
        let choices = ChoiceKind::ALL.iter().map(choice).collect();
        let asked = AskedPermission { number, text: "Run: make".into(), choices };
        Input::PermissionAsked { task, by: Actor::Agent(agent(by)), token, asked }
    });
    prop_oneof![ours, theirs, asks]
}

/// Returns a task as a person could have written it.
fn any_task(number: u64) -> BoxedStrategy<Task> {
    let run = || option::of((name(), 1..4_u64));
    let state = prop_oneof![
        3 => status().prop_map(|status| task(0, status)),
        2 => (name(), 1..4_u64).prop_map(|(name, fence)| task(0, Status::Ready).leased_to(name, fence)),
    ];
    let parent = option::weighted(0.3, 1..=4_u64);
    let who = (option::of(name()), run(), option::of(name()));
    (state, who, review(), 0..=1_u32, (parent, queued(), trials()))
        .prop_map(
            move |(given, (routed, last, reported), review, depth, (parent, queued, trials))| {
                let mut task = Task { id: id(number), ..given.review(review).depth(depth) };
                task.routing.agent = routed.map(agent);
                task.reported_by = reported.map(agent);
                task.parent = parent.map(id);
                task.history = trials;
                (task.depends_on, task.resource, task.priority, task.due_by) = queued;
                match last {
                    Some((name, fence)) => task.last_run_by(name, fence),
                    None => task,
                }
            },
        )
        .boxed()
}

/// Returns a valid message from any agent about any task.
pub(crate) fn sound_message() -> impl Strategy<Value = Value> {
    let outcome = select(&WorkOutcome::ALL);
    prop_oneof![
        4 => (number(), name(), outcome).prop_map(|(task, from, outcome)| completion(task, from, outcome)),
        4 => (number(), name(), option::of(status()), any::<bool>()).prop_map(update),
        3 => (number(), number(), name(), name())
            .prop_filter("a task is not handed to itself", |(child, parent, ..)| child != parent)
            .prop_map(|(child, parent, from, to)| handoff_request(child, parent, from, to)),
        1 => (number(), name()).prop_map(|(task, from)| handoff_accepted(task, from)),
        1 => (number(), name()).prop_map(|(task, from)| handoff_rejected(task, from)),
    ]
}

fn update((task, from, to, talks): (u64, &str, Option<Status>, bool)) -> Value {
    let mut message = status_update(task, from, to);
    if to.is_some() && !talks {
        message["payload"]["progress"] = json!("");
    }
    message
}

/// Returns the text of a message, sometimes with a missing field, cut off, or of another kind.
fn any_text() -> BoxedStrategy<String> {
    let sound = || sound_message().prop_map(|message| message.to_string());
    prop_oneof![
        8 => sound(),
        1 => (sound_message(), select(&FIELDS)).prop_map(|(mut message, field)| {
            message[field] = Value::Null;
            message.to_string()
        }),
        1 => (sound(), 0.0..1.0_f64).prop_map(|(text, part)| cut(&text, part)),
        1 => (sound_message(), select(&["custom.message", "talk"])).prop_map(|(mut message, kind)| {
            message["type"] = json!(kind);
            message.to_string()
        }),
        1 => select(&["hello", "{}", "AOF/1 {oops", "AOF/1 {}"]).prop_map(str::to_owned),
    ]
    .boxed()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place somewhere in a short text"
)]
fn cut(text: &str, part: f64) -> String {
    text[..(text.len() as f64 * part) as usize].to_owned()
}

fn token() -> impl Strategy<Value = TokenOwner> {
    prop_oneof![
        6 => Just(TokenOwner::None),
        1 => Just(TokenOwner::Unknown),
        4 => (number(), 1..8_u64).prop_map(|(task, fence)| TokenOwner::Run { nonce: None, task: id(task), fence }),
    ]
}

pub(crate) fn facts() -> impl Strategy<Value = MessageFacts> {
    let presence = || select(&[FilePresence::Present, FilePresence::Missing]);
    let escapes = prop_oneof![9 => Just(vec![]), 1 => Just(vec!["payload.summaryRef".to_owned()])];
    (presence(), presence(), escapes, token()).prop_map(|(summary, handoff, escapes, token)| {
        MessageFacts { summary, handoff, escaping_paths: escapes, token, ..MessageFacts::default() }
    })
}

fn any_message() -> impl Strategy<Value = Input> {
    (any_text(), facts())
        .prop_map(|(text, facts)| Input::Message { incoming: aof::read(text.as_bytes()), facts })
}

fn text() -> impl Strategy<Value = String> {
    select(&["", "because", "twice\nbroken"]).prop_map(str::to_owned)
}

fn any_id() -> impl Strategy<Value = TaskId> {
    number().prop_map(id)
}

fn new_task() -> BoxedStrategy<NewTask> {
    let start = select(&[InitialStatus::Backlog, InitialStatus::Ready]);
    let links = (option::of(any_id()), vec(any_id(), 0..2));
    (text(), start, review(), links)
        .prop_map(|(title, start, review, (parent, depends_on))| NewTask {
            title,
            parent,
            depends_on,
            review,
            start,
            ..NewTask::default()
        })
        .boxed()
}

fn import() -> BoxedStrategy<TaskImport> {
    let place = || 0..4_u32;
    let item = (new_task(), option::of(place()), vec(place(), 0..2))
        .prop_map(|(task, parent, depends_on)| ImportedTask { line: 1, task, parent, depends_on });
    (vec(item, 0..4), any::<bool>())
        .prop_map(|(tasks, repeat)| TaskImport { tasks, repeat })
        .boxed()
}

fn changes() -> BoxedStrategy<TaskChanges> {
    let links = (option::of(option::of(any_id())), option::of(vec(any_id(), 0..3)));
    let who = option::of(option::of(name().prop_map(agent)));
    (option::of(text()), who, option::of(review()), links)
        .prop_map(|(title, agent, review, (parent, depends_on))| TaskChanges {
            title,
            agent,
            review,
            parent,
            depends_on,
            ..TaskChanges::default()
        })
        .boxed()
}

fn any_command() -> impl Strategy<Value = Input> {
    let command = prop_oneof![
        new_task().prop_map(|new| Command::Add(Box::new(new))),
        import().prop_map(Command::Import),
        (any_id(), changes())
            .prop_map(|(id, changes)| Command::Edit { id, changes: Box::new(changes) }),
        (any_id(), status(), text()).prop_map(|(id, to, reason)| Command::Move { id, to, reason }),
        (any_id(), text()).prop_map(|(id, note)| Command::Approve { id, note }),
        (any_id(), text()).prop_map(|(id, reason)| Command::Reject { id, reason }),
        (any_id(), text()).prop_map(|(id, reason)| Command::Cancel { id, reason }),
        any_id().prop_map(|id| Command::Retry { id }),
        (any_id(), text()).prop_map(|(id, reason)| Command::Reopen { id, reason }),
        (any_id(), option::of(text())).prop_map(|(id, body)| {
            let content = |body| Box::new(TaskFileContent { body, ..TaskFileContent::default() });
            Command::Copy { id, start: InitialStatus::Ready, content: body.map(content) }
        }),
        name().prop_map(|name| Command::Take { nonce: None, agent: agent(name) }),
        select(&OperatorAction::ALL[..]).prop_map(Command::Chore),
        (any_id(), text()).prop_map(|(id, text)| Command::Answer { id, text }),
        (any_id(), option::of(any_text())).prop_map(|(id, text)| Command::ApplySalvage {
            id,
            name: "x".into(),
            text
        }),
    ];
    let by = prop_oneof![
        9 => Just(CommandCaller::Operator(operator())),
        1 => Just(CommandCaller::InsideRun(Actor::Agent(agent("swe")))),
    ];
    (by, command).prop_map(|(by, command)| Input::Command { by, command })
}

fn any_file() -> impl Strategy<Value = Input> {
    let change = prop_oneof![
        6 => number().prop_flat_map(any_task).prop_map(|task| FileChange::Changed(Box::new(task))),
        1 => any_id().prop_map(FileChange::Removed),
        1 => any_id().prop_map(FileChange::Unreadable),
    ];
    change.prop_map(Input::FileChanged)
}

fn result_of(number: u64) -> BoxedStrategy<FoundResult> {
    (name(), select(&WorkOutcome::ALL))
        .prop_map(move |(from, outcome)| {
            let mut value = completion(number, from, outcome)["payload"].clone();
            value["taskId"] = json!(id(number).as_str());
            value["agentId"] = json!(from);
            value["completedAt"] = json!("2026-02-09T21:10:00.000Z");
            let result = aof::parse_run_result(&id(number), &value).expect("a good result");
            FoundResult::Result(Box::new(result))
        })
        .boxed()
}

/// At most one result for each task, because there is one file for it.
fn session_end() -> impl Strategy<Value = Input> {
    let found = |number: u64| {
        let invalid = Just(FoundResult::Invalid(vec![FieldProblem::new("outcome", "is required")]));
        option::of(prop_oneof![3 => result_of(number), 1 => invalid])
            .prop_map(move |found| found.map(|found| (id(number), found)))
    };
    [1, 2, 3, 4]
        .map(found)
        .prop_map(|found| Input::SessionEnd { found: found.into_iter().flatten().collect() })
}

/// Returns a list of any inputs.
pub(crate) fn inputs() -> impl Strategy<Value = Vec<Input>> {
    // Boxed, because the combined type is too large for the stack of a test.
    let input = prop_oneof![
        8 => any_message().boxed(),
        4 => any_command().boxed(),
        4 => any_file().boxed(),
        1 => session_end().boxed(),
        4 => any_tick().boxed(),
        2 => any_exit().boxed(),
        1 => any_beat().boxed(),
        1 => Just(Input::FolderAdopted { tasks: 3 }).boxed(),
    ];
    vec(input, 1..24)
}
