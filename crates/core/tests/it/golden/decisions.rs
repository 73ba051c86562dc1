//! Refusals of valid inputs that cannot be carried out.

mod messages;

use std::fmt::Write as _;

use adjutant_core::input::{FileChange, FoundResult, TokenOwner};
use adjutant_core::world::file_fault::FileFault;
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::answer::FieldProblem;
use adjutant_model::command::{CommandCaller, NewTask, TaskChanges};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::permission::{CHOICES_MAX, ChoiceKind, PermissionChoice, PermissionRequest};
use adjutant_model::request::AskedPermission;
use adjutant_model::run_history::BlockedBy;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Actor, Command, Event, Status, Task};
use adjutant_test_support::golden::GoldenFolder;
use serde_json::json;

use super::problems::said;
use super::reasons::{ReasonSource, check_reasons};
use crate::support::{
    TaskBuilder, agent, completion, id, message, now, operator, status_update, task, world,
};

/// The name in the golden file, the world, and the input to decide.
type DecisionCase = (&'static str, World, Input);

fn command(command: Command) -> Input {
    Input::Command { by: CommandCaller::Operator(operator()), command }
}

fn shift(number: u64, to: Status) -> Input {
    command(Command::Move { id: id(number), to, reason: String::new() })
}

fn edit(changes: TaskChanges) -> Input {
    command(Command::Edit { id: id(1), changes: Box::new(changes) })
}

fn add(change: impl FnOnce(&mut NewTask)) -> Input {
    let mut new = NewTask { title: "Mend it".into(), ..NewTask::default() };
    change(&mut new);
    command(Command::Add(Box::new(new)))
}

fn titled(title: &str) -> Input {
    add(|new| new.title = title.into())
}

fn answer(text: &str) -> Input {
    command(Command::Answer { id: id(1), text: text.into() })
}

fn one(status: Status) -> World {
    world([task(1, status)])
}

/// A ready task whose files cannot be changed.
fn on_hold() -> World {
    let mut world = one(Status::Ready);
    let fault = FileFault {
        problem: "its folder cannot be moved".into(),
        cause: "tasks/ready/TASK: permission denied (owned by root)".into(),
        fix: "`sudo chown -R 1000 tasks/ready/TASK`, then `adjutant doctor --fix`".into(),
    };
    world.set_file_faults([(id(1), fault)].into());
    world
}

fn running() -> Task {
    task(1, Status::Ready).leased_to("swe", 1)
}

fn commands() -> Vec<DecisionCase> {
    let inside = CommandCaller::InsideRun(Actor::Agent(agent("swe")));
    let reject = Command::Reject { id: id(1), reason: "no".into() };
    let approve = || command(Command::Approve { id: id(1), note: String::new() });
    let mut protected = task(1, Status::Review);
    protected.history.change_work(|work| work.protected = vec![".ai/step-rules.yaml".into()]);
    let mut dropped = task(1, Status::Ready);
    dropped.history.checks = Some(["make".into()].into());
    let accept = |checks: &[&str]| {
        let checks = Some(checks.iter().map(ToString::to_string).collect());
        command(Command::AcceptChecks { id: id(1), checks })
    };
    let mut unreadable = one(Status::Ready);
    unreadable.set_unreadable(id(9));
    let mut waiting = task(1, Status::Blocked);
    waiting.history.blocked_by = Some(BlockedBy::Dependency);
    let mut unsettled = task(1, Status::Review);
    unsettled.history.change_work(|work| work.unsettled = Some("a file cannot be encoded".into()));
    let mut of_two = world([task(1, Status::Ready), task(2, Status::Ready).child_of(1)]);
    let mut dependent = task(2, Status::Ready);
    dependent.depends_on = vec![id(1)];
    of_two.set_task_on_disk(dependent.into());
    let child = world([task(1, Status::Ready), task(2, Status::Ready).child_of(1)]);
    let parent = |number| TaskChanges { parent: Some(Some(id(number))), ..TaskChanges::default() };
    let needs =
        |number| TaskChanges { depends_on: Some(vec![id(number)]), ..TaskChanges::default() };
    vec![
        ("move of a task on hold", on_hold(), shift(1, Status::Backlog)),
        ("approve protected paths", world([protected.clone()]), approve()),
        (
            "approve protected paths with consent",
            world([protected]),
            command(Command::ApproveProtected { id: id(1), note: String::new() }),
        ),
        ("accept checks", world([dropped.clone()]), accept(&["make"])),
        ("accept checks that have changed", world([dropped]), accept(&["true"])),
        ("command inside a run", one(Status::Ready), {
            Input::Command { by: inside, command: Command::Retry { id: id(1) } }
        }),
        ("command on an unknown task", one(Status::Ready), shift(7, Status::Done)),
        ("command on an unreadable task", unreadable, shift(9, Status::Done)),
        ("move of a task that is done", one(Status::Done), shift(1, Status::Ready)),
        ("move where there is no way", one(Status::Ready), shift(1, Status::Done)),
        ("approve of a ready task", one(Status::Ready), approve()),
        ("approve of work that is not on its branch", world([unsettled.clone()]), approve()),
        ("done for work that is not on its branch", world([unsettled]), {
            message(&status_update(1, "swe", Some(Status::Done)))
        }),
        ("reject of a ready task", one(Status::Ready), command(reject)),
        ("retry of a task in progress", one(Status::InProgress), {
            command(Command::Retry { id: id(1) })
        }),
        ("cancel of a task that is done", one(Status::Done), {
            command(Command::Cancel { id: id(1), reason: String::new() })
        }),
        ("empty answer", one(Status::Blocked), answer(" ")),
        ("answer to a task that asks nothing", one(Status::Ready), answer("yes")),
        ("answer to a task that waits for another", world([waiting]), answer("yes")),
        ("new task without a title", World::default(), titled(" ")),
        ("new task with a long title", World::default(), titled(&"x".repeat(600))),
        ("new task with a title of two lines", World::default(), titled("a\nb")),
        ("new task with bad checks", World::default(), {
            add(|new| new.checks = vec![" ".into(), "a\nb".into(), "make".into()])
        }),
        ("new task in an unknown one", World::default(), add(|new| new.parent = Some(id(7)))),
        ("new task after an unknown one", World::default(), {
            add(|new| new.depends_on = vec![id(7)])
        }),
        ("task as a part of itself", child, edit(parent(2))),
        ("task that waits for itself", of_two, edit(needs(2))),
        ("fetch where there is nothing", World::default(), {
            command(Command::Take { nonce: None, agent: agent("swe") })
        }),
    ]
}

fn salvage(text: Option<&str>) -> Input {
    let text = text.map(str::to_owned);
    command(Command::ApplySalvage { id: id(1), name: "7-message.json".into(), text })
}

fn salvaged() -> Vec<DecisionCase> {
    let review = || one(Status::Review);
    let update = status_update(1, "swe", None).to_string();
    let foreign = completion(2, "swe", WorkOutcome::Done).to_string();
    vec![
        ("salvage that is not there", review(), salvage(None)),
        ("salvage of a closed task", one(Status::Done), salvage(Some("{}"))),
        ("salvage that is no JSON", review(), salvage(Some("{"))),
        ("salvage that is no result", review(), salvage(Some("{}"))),
        ("salvage that is a list", review(), salvage(Some("[]"))),
        ("salvage that is no completion", review(), salvage(Some(&update))),
        ("salvage of another task", review(), salvage(Some(&foreign))),
    ]
}

fn choice(kind: ChoiceKind) -> PermissionChoice {
    PermissionChoice { id: kind.to_string(), name: format!("Say {kind}"), kind }
}

/// A run that waits for a permission request which can only be denied.
fn asking() -> World {
    let mut task = running();
    task.history.permit = Some(Box::new(PermissionRequest {
        attempt: 1,
        fence: 1,
        number: 2,
        since: now(),
        text: "Run `make`".into(),
        choices: vec![choice(ChoiceKind::RejectOnce)],
    }));
    world([task])
}

fn permits() -> Vec<DecisionCase> {
    let ask = |token, text: &str, choices| {
        let asked = AskedPermission { number: 1, text: text.into(), choices };
        Input::PermissionAsked { task: id(1), by: Actor::Agent(agent("swe")), token, asked }
    };
    let run = |fence| TokenOwner::Run { nonce: None, task: id(1), fence };
    let yes = || vec![choice(ChoiceKind::AllowOnce)];
    let long = PermissionChoice { id: "x".repeat(300), ..choice(ChoiceKind::AllowOnce) };
    let many = vec![choice(ChoiceKind::AllowOnce); CHOICES_MAX + 1];
    let approve = Command::Approve { id: id(1), note: String::new() };
    vec![
        ("permission that cannot be given", asking(), command(approve)),
        ("answer to an earlier question", asking(), answer("1: no")),
        ("answer that is no choice", asking(), answer("perhaps")),
        ("question without a token", world([running()]), ask(TokenOwner::None, "May I?", yes())),
        ("question of an earlier run", world([running()]), ask(run(0), "May I?", yes())),
        ("empty question", world([running()]), ask(run(1), " ", vec![])),
        ("long question", world([running()]), ask(run(1), &"x".repeat(11_000), vec![long])),
        ("question with many choices", world([running()]), ask(run(1), "May I?", many)),
    ]
}

fn stories() -> Vec<DecisionCase> {
    let story = json!({
        "id": "US-005", "step": "impl", "attempt": 1, "maxAttempts": 3, "status": "needs_human",
        "waitingFor": "stuck", "lastError": "two tests fail", "node": "mini", "auto": true,
    });
    let mut task = running();
    task.origin = TaskOrigin::read(None, None, Some(&story)).map(Box::new);
    let given = world([task]);
    vec![
        ("move of a story", given.clone(), shift(1, Status::Done)),
        ("status update of a story", given, message(&status_update(1, "swe", Some(Status::Done)))),
    ]
}

fn others() -> Vec<DecisionCase> {
    let sign =
        |token| Input::ExternalHeartbeat { task: id(1), by: Actor::Agent(agent("swe")), token };
    let run = |fence| TokenOwner::Run { nonce: None, task: id(1), fence };
    let invalid = FoundResult::Invalid(vec![FieldProblem::new("outcome", "is required")]);
    let mut first = task(1, Status::Ready);
    first.depends_on = vec![id(2)];
    let mut second = task(2, Status::Ready);
    second.depends_on = vec![id(1)];
    let edited = Input::FileChanged(FileChange::Changed(Box::new(second)));
    vec![
        ("heartbeat without a token", world([running()]), sign(TokenOwner::None)),
        ("heartbeat of an earlier run", world([running()]), sign(run(0))),
        ("heartbeat of an unknown task", World::default(), sign(run(1))),
        ("beat of an unknown task", World::default(), Input::RunAlive { task: id(1), fence: 1 }),
        ("beat of an earlier run", world([running()]), Input::RunAlive { task: id(1), fence: 0 }),
        ("result that cannot be read", world([running()]), {
            Input::SessionEnd { found: vec![(id(1), invalid)] }
        }),
        ("edit that closes a circle", world([first, task(2, Status::Ready)]), edited),
    ]
}

/// Returns the answer of a decision, and the refusals that are only in its events.
fn shown(decision: &Decision) -> Vec<String> {
    let mut lines = said(decision);
    let event = |event: &Event| match event {
        Event::DispatchRefused { reason, detail } => Some(format!("{reason}: {detail}")),
        Event::MessageRejected { reason, problems } if decision.answer.reason != Some(*reason) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Some(format!("rejected {reason}: {}", problems.join("; ")))
        }
        Event::RunSalvaged { file, reason, .. } => Some(format!("salvaged {file}: {reason}")),
        Event::DelegationRejected { reason } => Some(format!("delegation rejected: {reason}")),
        _ => None,
    };
    lines.extend(decision.events.iter().filter_map(|happened| event(&happened.event)));
    lines
}

#[test]
fn decisions_match_golden_files() {
    let files = [
        ("commands.txt", commands()),
        ("salvage.txt", salvaged()),
        ("permits.txt", permits()),
        ("stories.txt", stories()),
        ("messages.txt", messages::messages()),
        ("documents.txt", messages::documents()),
        ("others.txt", others()),
    ];
    let mut golden = GoldenFolder::new("reasons/decisions");
    let mut all = String::new();
    for (file, scenes) in files {
        let mut text = String::new();
        for (name, world, input) in scenes {
            let decision = decide(&world, &input, now());
            let _ = writeln!(text, "{name}\n    {}", shown(&decision).join("\n    "));
        }
        all += &text;
        golden.add(file, text);
    }
    check_reasons(&all, ReasonSource::Decision);
    golden.check();
}
