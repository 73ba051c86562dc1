//! What a run wants to be allowed, and what a person answers while it waits.

use crate::support::{Given, after, agent, events, id, now, operator, task, verdict, world};
use adjutant_core::command::Caller;
use adjutant_core::input::{Asked, Token};
use adjutant_core::permit::{Choice, ChoiceKind};
use adjutant_core::run::Exit;
use adjutant_core::schedule::{Kind, inbox};
use adjutant_core::trials::OpenRun;
use adjutant_core::{Actor, Command, Decision, Effect, Event, Input, Status, Task, World, decide};

/// A task that `swe` runs under fence 1.
fn running(number: u64) -> Task {
    let mut task = task(number, Status::Ready).leased_to("swe", 1);
    task.trials.open = Some(OpenRun { agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn choices(kinds: &[ChoiceKind]) -> Vec<Choice> {
    let one = |kind: &ChoiceKind| Choice {
        id: format!("{kind}-1"),
        name: format!("Say {kind}"),
        kind: *kind,
    };
    kinds.iter().map(one).collect()
}

fn question(number: u32) -> Asked {
    Asked { number, text: "Run: rm -r build".into(), choices: choices(ChoiceKind::ALL) }
}

fn ask_as(world: &World, token: Token, asked: Asked) -> Decision {
    let (task, by) = (id(1), Actor::Agent(agent("swe")));
    decide(world, &Input::PermissionAsked { task, by, token, asked }, now())
}

fn ask(world: &World, asked: Asked) -> Decision {
    ask_as(world, Token::Run { task: id(1), fence: 1 }, asked)
}

fn waiting() -> World {
    let world = world([running(1)]);
    after(&world, &ask(&world, question(1)))
}

fn run(world: &World, command: Command) -> Decision {
    let by = Caller::Operator(operator());
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

/// What the run is told: the choice, or `none`; empty if it is told nothing.
fn told(decision: &Decision) -> String {
    let told = decision.effects.iter().find_map(|effect| match effect {
        Effect::TellRun { attempt: 1, number: 1, choice, .. } => {
            Some(choice.clone().unwrap_or_else(|| "none".to_owned()))
        }
        _ => None,
    });
    told.unwrap_or_default()
}

fn refused(decision: &Decision) -> String {
    let problems: Vec<String> = decision.answer.problems.iter().map(ToString::to_string).collect();
    format!("{}: {}", verdict(decision), problems.join("; "))
}

#[test]
fn a_question_is_in_the_inbox_until_it_is_answered() {
    let world = waiting();
    let items = inbox(&world, now());
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!((items[0].kind, items[0].since), (Kind::Permission, Some(now())));
    assert!(items[0].text.ends_with("swe wants to: Run: rm -r build"), "{}", items[0].text);
    let commands = ["1:allow", "1:deny", "1:allow_always-1", "1:reject_always-1"];
    let commands = commands.map(|text| format!("answer {} {text}", id(1)));
    let cancel = format!("task cancel {}", id(1));
    assert_eq!(items[0].actions, commands.into_iter().chain([cancel]).collect::<Vec<_>>());
    let answered = run(&world, allow());
    assert_eq!(verdict(&answered), "applied");
    assert_eq!(told(&answered), "allow_once-1");
    let world = after(&world, &answered);
    assert_eq!(inbox(&world, now()), []);
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::InProgress), "it goes on");
    assert_eq!(verdict(&run(&world, allow())), "rejected invalid_transition", "answered twice");
}

#[test]
fn a_question_is_asked_once() {
    let world = waiting();
    assert_eq!(verdict(&ask(&world, question(1))), "noop");
    assert_eq!(verdict(&ask(&world, question(2))), "applied");
    let newer = after(&world, &ask(&world, question(2)));
    assert_eq!(verdict(&ask(&newer, question(1))), "noop", "the older one is late");
}

#[test]
fn an_answer_is_any_of_the_choices() {
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
        assert_eq!(told(&run(&world, answer(text))), choice, "{text:?}");
    }
    assert_eq!(told(&run(&world, deny())), "reject_once-1");
    let allowed = |command| {
        run(&world, command)
            .events
            .iter()
            .any(|happened| matches!(happened.event, Event::RunAnswered { allowed: true, .. }))
    };
    assert!(allowed(allow()) && !allowed(deny()));
}

#[test]
fn an_answer_to_another_question_is_none() {
    let world = waiting();
    let world = after(&world, &ask(&world, question(2)));
    assert_eq!(
        refused(&run(&world, answer("1:allow"))),
        "rejected invalid_argument: text: question 1 is not asked any more; what is asked is 2"
    );
    let other = "rejected invalid_argument: text: must be `allow`, `deny`, or one of: \
                 Say allow_once, Say allow_always, Say reject_once, Say reject_always";
    assert_eq!(refused(&run(&world, answer("perhaps"))), other);
}

#[test]
fn what_no_choice_says_is_refused_without_one() {
    let world = world([running(1)]);
    let only = |kinds: &[ChoiceKind]| Asked { choices: choices(kinds), ..question(1) };
    let yes = after(&world, &ask(&world, only(&[ChoiceKind::AllowAlways])));
    assert_eq!(told(&run(&yes, deny())), "none");
    assert_eq!(told(&run(&yes, allow())), "allow_always-1");
    let no = after(&world, &ask(&world, only(&[ChoiceKind::RejectOnce])));
    assert_eq!(
        refused(&run(&no, allow())),
        "rejected invalid_argument: choices: none of them allows it"
    );
    assert_eq!(inbox(&no, now())[0].actions[0], format!("answer {} 1:deny", id(1)));
}

#[test]
fn only_the_run_that_holds_the_lease_may_ask() {
    let world = world([running(1)]);
    for (token, reason) in [
        (Token::Run { task: id(1), fence: 9 }, "stale_run"),
        (Token::Run { task: id(2), fence: 1 }, "unknown_token"),
        (Token::Unknown, "unknown_token"),
        (Token::None, "unknown_token"),
    ] {
        let decision = ask_as(&world, token, question(1));
        assert_eq!(verdict(&decision), format!("rejected {reason}"));
        assert_eq!(events(&decision), format!("refused(ask for permission: {reason})"));
    }
}

#[test]
fn a_question_that_makes_no_sense_is_refused_with_everything_that_is_wrong() {
    let world = world([running(1)]);
    let long = Choice { id: "x".repeat(257), name: String::new(), kind: ChoiceKind::AllowOnce };
    let asked = Asked { number: 1, text: " ".into(), choices: vec![long] };
    assert_eq!(
        refused(&ask(&world, asked)),
        "rejected invalid_argument: text: must not be empty; \
         choices[0]: must have at most 256 characters"
    );
    let asked = Asked { number: 1, text: "x".repeat(2_001), choices: vec![] };
    assert_eq!(
        refused(&ask(&world, asked)),
        "rejected invalid_argument: text: must have at most 2000 characters; \
         choices: must be 1 to 16"
    );
}

#[test]
fn a_question_ends_with_its_run() {
    let world = waiting();
    let cancelled = run(&world, Command::Cancel { id: id(1), reason: String::new() });
    assert_eq!(inbox(&after(&world, &cancelled), now()), []);
    let over = Input::RunExited {
        task: id(1),
        fence: 1,
        exit: Exit::Code(0),
        tail: String::new(),
        found: None,
        told: Box::default(),
        workspace: None,
        jitter: 0,
    };
    let ended = after(&world, &decide(&world, &over, now()));
    let task = ended.task(&id(1)).expect("there");
    assert_eq!(task.trials.permit, None);
}
