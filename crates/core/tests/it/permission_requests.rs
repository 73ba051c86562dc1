//! Permission requests of runs, and a person's answers while the run waits.

use adjutant_core::input::TokenOwner;
use adjutant_core::schedule::{AttentionKind, InboxAction, inbox};
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::command::CommandCaller;
use adjutant_model::permission::{ChoiceKind, PermissionChoice};
use adjutant_model::request::AskedPermission;
use adjutant_model::run::{RunExit, RunRef};
use adjutant_model::{Actor, Command, Effect, Event, Status, Task};

use crate::support::{TaskBuilder, after, agent, events, id, now, operator, task, verdict, world};

/// A task that `swe` runs under fence 1.
fn running(number: u64) -> Task {
    let mut task = task(number, Status::Ready).leased_to("swe", 1);
    task.history.open = Some(RunRef { nonce: None, agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn choices(kinds: &[ChoiceKind]) -> Vec<PermissionChoice> {
    let one = |kind: &ChoiceKind| PermissionChoice {
        id: format!("{kind}-1"),
        name: format!("Say {kind}"),
        kind: *kind,
    };
    kinds.iter().map(one).collect()
}

fn question(number: u32) -> AskedPermission {
    AskedPermission { number, text: "Run: rm -r build".into(), choices: choices(&ChoiceKind::ALL) }
}

fn ask_as(world: &World, token: TokenOwner, asked: AskedPermission) -> Decision {
    let (task, by) = (id(1), Actor::Agent(agent("swe")));
    decide(world, &Input::PermissionAsked { task, by, token, asked }, now())
}

fn ask(world: &World, asked: AskedPermission) -> Decision {
    ask_as(world, TokenOwner::Run { nonce: None, task: id(1), fence: 1 }, asked)
}

fn waiting() -> World {
    let world = world([running(1)]);
    after(&world, &ask(&world, question(1)))
}

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn answer(text: &str) -> Command {
    Command::Answer { id: id(1), text: text.into() }
}

fn allow() -> Command {
    Command::Approve { id: id(1), note: "go on".into() }
}

fn deny() -> Command {
    Command::Reject { id: id(1), reason: "no".into() }
}

/// Returns the choice sent to the run, `none` for a refusal without a choice, or "" if
/// nothing is sent.
fn telemetry(decision: &Decision) -> String {
    let telemetry = decision.effects.iter().find_map(|effect| match effect {
        Effect::TellRun { attempt: 1, number: 1, choice, .. } => {
            Some(choice.clone().unwrap_or_else(|| "none".to_owned()))
        }
        _ => None,
    });
    telemetry.unwrap_or_default()
}

fn refused(decision: &Decision) -> String {
    let problems: Vec<String> = decision.answer.problems.iter().map(ToString::to_string).collect();
    format!("{}: {}", verdict(decision), problems.join("; "))
}

#[test]
fn permission_request_is_in_inbox_until_answered() {
    let world = waiting();
    let items = inbox(&world, now());
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!((items[0].kind, items[0].since), (AttentionKind::Permission, Some(now())));
    assert!(
        items[0].text.ends_with("swe asks for permission: Run: rm -r build"),
        "{}",
        items[0].text
    );
    let choose = |choice: &str| InboxAction::Choose { request: 1, choice: choice.to_owned() };
    let actions = [
        InboxAction::Allow { request: 1 },
        InboxAction::Deny { request: 1 },
        choose("allow_always-1"),
        choose("reject_always-1"),
        InboxAction::Cancel,
    ];
    assert_eq!(items[0].actions, actions);
    let answered = run(&world, allow());
    assert_eq!(verdict(&answered), "applied");
    assert_eq!(telemetry(&answered), "allow_once-1");
    let world = after(&world, &answered);
    assert_eq!(inbox(&world, now()), []);
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::InProgress), "it goes on");
    assert_eq!(verdict(&run(&world, allow())), "rejected invalid_transition", "answered twice");
}

#[test]
fn permission_request_is_recorded_once() {
    let world = waiting();
    assert_eq!(verdict(&ask(&world, question(1))), "noop");
    assert_eq!(verdict(&ask(&world, question(2))), "applied");
    let newer = after(&world, &ask(&world, question(2)));
    assert_eq!(verdict(&ask(&newer, question(1))), "noop", "the older one is late");
}

#[test]
fn permission_answer_may_be_any_choice() {
    let world = waiting();
    for (text, choice) in [
        ("allow", "allow_once-1"),
        ("yes", "allow_once-1"),
        ("deny", "reject_once-1"),
        ("1:no", "reject_once-1"),
        ("1: allow_always", "allow_always-1"),
        ("reject_always-1", "reject_always-1"),
        ("SAY ALLOW_ALWAYS", "allow_always-1"),
    ] {
        assert_eq!(telemetry(&run(&world, answer(text))), choice, "{text:?}");
    }
    assert_eq!(telemetry(&run(&world, deny())), "reject_once-1");
    let allowed = |command| {
        run(&world, command)
            .events
            .iter()
            .any(|happened| matches!(happened.event, Event::RunAnswered { allowed: true, .. }))
    };
    assert!(allowed(allow()) && !allowed(deny()));
}

#[test]
fn permission_answer_to_older_request_is_refused() {
    let world = waiting();
    let world = after(&world, &ask(&world, question(2)));
    assert_eq!(
        refused(&run(&world, answer("1:allow"))),
        "rejected invalid_argument: text: request 1 is no longer pending; the pending request is 2"
    );
    let other = "rejected invalid_argument: text: must be `allow`, `deny`, or one of: \
                 Say allow_once, Say allow_always, Say reject_once, Say reject_always";
    assert_eq!(refused(&run(&world, answer("perhaps"))), other);
}

#[test]
fn permission_is_denied_without_a_choice_if_none_denies() {
    let world = world([running(1)]);
    let only = |kinds: &[ChoiceKind]| AskedPermission { choices: choices(kinds), ..question(1) };
    let yes = after(&world, &ask(&world, only(&[ChoiceKind::AllowAlways])));
    assert_eq!(telemetry(&run(&yes, deny())), "none");
    assert_eq!(telemetry(&run(&yes, allow())), "allow_always-1");
    let no = after(&world, &ask(&world, only(&[ChoiceKind::RejectOnce])));
    assert_eq!(
        refused(&run(&no, allow())),
        "rejected invalid_argument: choices: none of them allows the action"
    );
    assert_eq!(inbox(&no, now())[0].actions[0], InboxAction::Deny { request: 1 });
}

#[test]
fn permission_request_needs_the_token_of_the_leased_run() {
    let world = world([running(1)]);
    for (token, reason) in [
        (TokenOwner::Run { nonce: None, task: id(1), fence: 9 }, "stale_run"),
        (TokenOwner::Run { nonce: None, task: id(2), fence: 1 }, "unknown_token"),
        (TokenOwner::Unknown, "unknown_token"),
        (TokenOwner::None, "unknown_token"),
    ] {
        let decision = ask_as(&world, token, question(1));
        assert_eq!(verdict(&decision), format!("rejected {reason}"));
        assert_eq!(events(&decision), format!("refused(ask for permission: {reason})"));
    }
}

#[test]
fn invalid_permission_request_is_refused_with_every_problem() {
    let world = world([running(1)]);
    let long =
        PermissionChoice { id: "x".repeat(257), name: String::new(), kind: ChoiceKind::AllowOnce };
    let asked = AskedPermission { number: 1, text: " ".into(), choices: vec![long] };
    assert_eq!(
        refused(&ask(&world, asked)),
        "rejected invalid_argument: text: must not be empty; \
         choices[0]: must have at most 256 characters"
    );
    let asked = AskedPermission { number: 1, text: "x".repeat(10_001), choices: vec![] };
    assert_eq!(
        refused(&ask(&world, asked)),
        "rejected invalid_argument: text: must have at most 10000 characters; \
         choices: must have 1 to 16 items"
    );
}

#[test]
fn permission_request_ends_with_its_run() {
    let world = waiting();
    let cancelled = run(&world, Command::Cancel { id: id(1), reason: String::new() });
    assert_eq!(inbox(&after(&world, &cancelled), now()), []);
    let over = Input::RunExited {
        task: id(1),
        fence: 1,
        exit: RunExit::Code(0),
        tail: String::new(),
        found: None,
        telemetry: Box::default(),
        workspace: None,
        jitter: 0,
    };
    let ended = after(&world, &decide(&world, &over, now()));
    let task = ended.task(&id(1)).expect("there");
    assert_eq!(task.history.permit, None);
}
