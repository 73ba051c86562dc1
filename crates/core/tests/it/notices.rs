//! Who is told of what, and when: by table, on a clock that is set.

use std::collections::BTreeSet;

use adjutant_core::input::{Notified, Refused, Told};
use adjutant_core::notice::{Failed, Kind, Notice, Quiet, Rule, Standing, Turn, due, next};
use adjutant_core::policy::Policy;
use adjutant_core::{
    Actor, Command, Decision, Effect, EventId, Input, Priority, Reason, Status, Time, decide,
};
use jiff::tz::TimeZone;

use crate::support::{Given, agent, id, now, operator, task, time, world};

/// Central Europe, summer time included, whatever this machine knows.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone")
}

fn quiet(text: &str) -> Quiet {
    Quiet::parse(text, berlin()).expect("a part of a day")
}

fn notice(event: u64, kind: Kind, at: &str) -> Notice {
    Notice {
        kind,
        event: EventId(event),
        at: time(at),
        task: Some(id(1)),
        title: "Task 1".to_owned(),
        reason: "because".to_owned(),
        by: Actor::System,
    }
}

fn told(decision: &Decision) -> Vec<(&str, Kind, u64)> {
    let mut told = Vec::new();
    for effect in &decision.effects {
        if let Effect::Notify { rule, notice } = effect {
            told.push((&**rule, notice.kind, notice.event.0));
        }
    }
    told
}

/// Decides on one task under some rules.
fn with_rules(task: adjutant_core::Task, rules: Vec<Rule>, command: Command) -> Decision {
    let world = world([task]).with_policy(Policy { notify: rules, ..Policy::default() });
    let by = adjutant_core::command::Caller::Operator(operator());
    decide(&world, &Input::Command { by, command }, now())
}

fn block() -> Command {
    Command::Move { id: id(1), to: Status::Blocked, reason: "a\nkey is missing".to_owned() }
}

#[test]
fn every_rule_that_wants_an_event_is_owed_one_notice_of_it() {
    let rules = vec![
        Rule::plain("ops", [Kind::Blocked, Kind::Review]),
        Rule::plain("inbox", Kind::INBOX),
        Rule::plain("done", [Kind::Done]),
    ];
    let decision = with_rules(task(1, Status::Ready), rules, block());
    let moved = 16 + decision.events.len() as u64;
    assert_eq!(told(&decision), [("ops", Kind::Blocked, moved), ("inbox", Kind::Blocked, moved)]);
    let Effect::Notify { notice, .. } = &decision.effects[0] else { panic!("a notice") };
    let expected = Notice {
        kind: Kind::Blocked,
        event: EventId(moved),
        at: now(),
        task: Some(id(1)),
        title: "Task 1".to_owned(),
        reason: "a key is missing".to_owned(),
        by: operator(),
    };
    assert_eq!(**notice, expected, "in one line, and whole");
    assert_eq!(told(&with_rules(task(1, Status::Ready), vec![], block())), []);
}

#[test]
fn a_rule_is_for_some_agents_tags_or_priorities_only() {
    let check = |change: &dyn Fn(&mut Rule), expected: bool| {
        let mut rule = Rule::plain("ops", Kind::ALL);
        change(&mut rule);
        let mut given = task(1, Status::Ready).routed_to("swe");
        (given.priority, given.routing.tags) = (Priority::High, vec!["api".into()]);
        assert_eq!(
            !told(&with_rules(given, vec![rule.clone()], block())).is_empty(),
            expected,
            "{rule:?}"
        );
    };
    check(&|_| {}, true);
    check(&|rule| rule.agents = vec![agent("swe"), agent("qa")], true);
    check(&|rule| rule.agents = vec![agent("qa")], false);
    check(&|rule| rule.tags = vec!["ui".into(), "api".into()], true);
    check(&|rule| rule.tags = vec!["ui".into()], false);
    check(&|rule| rule.priority = Priority::Normal, true);
    check(&|rule| rule.priority = Priority::High, true);
    check(&|rule| rule.priority = Priority::Critical, false);
}

#[test]
fn what_has_no_task_is_for_rules_that_name_none() {
    let refused = Refused {
        by: Actor::System,
        task: None,
        reason: Reason::UnauthorizedAgent,
        detail: "GET /v1/tasks".to_owned(),
        count: 1,
    };
    let tagged = Rule { tags: vec!["api".into()], ..Rule::plain("tagged", Kind::ALL) };
    let notify = vec![Rule::plain("ops", Kind::ALL), tagged];
    let world = world([]).with_policy(Policy { notify, ..Policy::default() });
    let decision = decide(&world, &Input::Refused(refused), now());
    assert_eq!(told(&decision), [("ops", Kind::Refused, 17)]);
}

#[test]
fn that_somebody_was_told_is_written_down_and_nobody_is_told_of_it() {
    let notify = vec![Rule::plain("ops", Kind::ALL)];
    let world =
        world([task(1, Status::Review)]).with_policy(Policy { notify, ..Policy::default() });
    let notified = |told| Notified {
        rule: "ops".to_owned(),
        target: "webhook".to_owned(),
        kind: Kind::Review,
        about: EventId(9),
        task: Some(id(1)),
        tries: 3,
        told,
    };
    for (told, kind) in
        [(Told::Sent, "notify.sent"), (Told::GivenUp("x".repeat(1_000)), "notify.failed")]
    {
        let decision = decide(&world, &Input::Notified(notified(told)), now());
        let kinds: Vec<&str> = decision.events.iter().map(|it| it.event.kind()).collect();
        assert_eq!((kinds, decision.effects), (vec![kind], vec![]));
    }
}

/// Checks what a rule does with notices at a time: `wait TIME`, or the places of those it sends.
fn check(rule: &Rule, waiting: &[Notice], now: &str, expected: &str) {
    let said = match next(rule, waiting, Standing::default(), time(now)) {
        Turn::Nothing => "nothing".to_owned(),
        Turn::Wait(until) => format!("wait {until}"),
        Turn::Send(places) => format!("{places:?}"),
    };
    assert_eq!(said, expected, "at {now}");
}

#[test]
fn without_quiet_times_and_batches_each_is_told_at_once_and_alone() {
    let rule = Rule::plain("ops", Kind::ALL);
    let both = [
        notice(1, Kind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, Kind::Done, "2026-02-09T21:00:00.000Z"),
    ];
    check(&rule, &[], "2026-02-09T21:00:00.000Z", "nothing");
    check(&rule, &both, "2026-02-09T21:00:00.000Z", "[0]");
    check(&rule, &both[1..], "2026-02-09T22:00:00.000Z", "[0]");
    // A clock that was put back holds nothing up.
    check(&rule, &both, "2026-02-08T00:00:00.000Z", "[0]");
}

#[test]
fn several_within_a_window_are_told_as_one() {
    let rule = Rule { batch_ms: 60_000, ..Rule::plain("ops", Kind::ALL) };
    let some = [
        notice(1, Kind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, Kind::Review, "2026-02-09T21:00:59.999Z"),
        notice(3, Kind::Review, "2026-02-09T21:01:00.000Z"),
    ];
    check(&rule, &some[..1], "2026-02-09T21:00:00.000Z", "wait 2026-02-09T21:01:00.250Z");
    check(&rule, &some[..2], "2026-02-09T21:01:00.249Z", "wait 2026-02-09T21:01:00.250Z");
    check(&rule, &some, "2026-02-09T21:01:00.250Z", "[0, 1]");
    // Whoever comes later, or comes again after it died, sends the same together.
    check(&rule, &some, "2026-02-10T09:00:00.000Z", "[0, 1]");
    check(&rule, &some[2..], "2026-02-10T09:00:00.000Z", "[0]");
    let many: Vec<Notice> =
        (1..120).map(|n| notice(n, Kind::Review, "2026-02-09T21:00:00.000Z")).collect();
    let Turn::Send(sent) = next(&rule, &many, Standing::default(), time("2026-02-09T22:00:00Z"))
    else {
        panic!("something is sent")
    };
    assert_eq!(sent, (0..50).collect::<Vec<_>>());
}

#[test]
fn what_is_urgent_waits_for_nobody() {
    let rule = Rule {
        batch_ms: 3_600_000,
        quiet: Some(quiet("00:00-23:59")),
        urgent: BTreeSet::from([Kind::Deadletter]),
        ..Rule::plain("ops", Kind::ALL)
    };
    let some = [
        notice(1, Kind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, Kind::Deadletter, "2026-02-09T21:00:01.000Z"),
        notice(3, Kind::Deadletter, "2026-02-09T21:00:01.000Z"),
    ];
    check(&rule, &some, "2026-02-09T21:00:01.000Z", "[1]");
    check(&rule, &some[..1], "2026-02-09T21:00:01.000Z", "wait 2026-02-09T22:59:00.250Z");
}

#[test]
fn quiet_times_hold_back_until_their_end_and_then_all_are_told_as_one() {
    let rule = Rule { quiet: Some(quiet("22:00-07:00")), ..Rule::plain("ops", Kind::ALL) };
    // 20:59 UTC in winter is 21:59 there, and 06:00 is 07:00.
    let before = notice(1, Kind::Review, "2026-02-09T20:59:59.999Z");
    let evening = notice(2, Kind::Review, "2026-02-09T21:00:00.000Z");
    let night = notice(3, Kind::Review, "2026-02-10T05:59:59.999Z");
    let morning = notice(4, Kind::Review, "2026-02-10T06:00:00.000Z");
    check(&rule, std::slice::from_ref(&before), "2026-02-09T20:59:59.999Z", "[0]");
    let held = [evening, night, morning];
    check(&rule, &held[..1], "2026-02-09T21:00:00.000Z", "wait 2026-02-10T06:00:00.250Z");
    check(&rule, &held[..2], "2026-02-10T05:59:59.999Z", "wait 2026-02-10T06:00:00.250Z");
    check(&rule, &held, "2026-02-10T06:00:00.250Z", "[0, 1]");
    check(&rule, &held[2..], "2026-02-10T06:00:00.250Z", "[0]");
}

#[test]
fn quiet_times_go_by_the_clocks_of_their_place() {
    let end = |text: &str, at: &str| {
        let quiet = Quiet::parse(text, berlin()).expect("a part of a day");
        quiet.end(time(at)).map(|end| end.to_string())
    };
    let at = |text: &str| Some(text.to_owned());
    // In summer clocks there are two hours ahead.
    assert_eq!(end("22:00-07:00", "2026-07-01T20:00:00Z"), at("2026-07-02T05:00:00.000Z"));
    assert_eq!(end("22:00-07:00", "2026-07-01T19:59:00Z"), None);
    assert_eq!(end("09:00-17:00", "2026-07-01T07:00:00Z"), at("2026-07-01T15:00:00.000Z"));
    assert_eq!(end("09:00-17:00", "2026-07-01T15:00:00Z"), None);
    assert_eq!(end("0:00-23:59", "2026-01-01T00:30:00Z"), at("2026-01-01T22:59:00.000Z"));
    // The night clocks are put forward is an hour shorter, and the one they are put back longer.
    assert_eq!(end("22:00-07:00", "2026-03-28T21:00:00Z"), at("2026-03-29T05:00:00.000Z"));
    assert_eq!(end("22:00-07:00", "2026-10-24T20:00:00Z"), at("2026-10-25T06:00:00.000Z"));
    // Half past two does not exist on that day, and is half past three.
    assert_eq!(end("22:00-02:30", "2026-03-29T00:10:00Z"), at("2026-03-29T01:30:00.000Z"));
    for bad in
        ["", "22:00", "22:00-", "7-8", "25:00-07:00", "22:60-07:00", "22:00-22:00", "+2:00-3:00"]
    {
        assert!(Quiet::parse(bad, berlin()).is_err(), "{bad:?}");
    }
}

#[test]
fn a_target_that_fails_is_left_alone_for_longer_and_longer_and_then_given_up() {
    let rule = Rule { backoff_ms: 1_000, attempts_max: 4, ..Rule::plain("ops", Kind::ALL) };
    let start = time("2026-02-09T21:00:00.000Z");
    let (mut standing, mut waits) = (Standing::default(), Vec::new());
    for _ in 0..3 {
        assert_eq!(standing.failed(&rule, None, 0, start), Failed::TryAgain);
        waits.push(standing.not_before.expect("a wait").as_millis() - start.as_millis());
    }
    assert_eq!(waits, [1_000, 2_000, 4_000]);
    let one = [notice(1, Kind::Review, "2026-02-09T21:00:00.000Z")];
    assert_eq!(next(&rule, &one, standing, start), Turn::Wait(standing.not_before.expect("one")));
    assert_eq!(standing.failed(&rule, None, 0, start), Failed::GiveUp);
    assert_eq!(standing.failures, 0, "what comes next has all its tries");
    standing.took();
    assert_eq!(standing, Standing::default());
    // Jitter makes a wait shorter by up to a quarter, and no wait is longer than a quarter hour.
    for jitter in 0..2_000 {
        let mut standing = Standing { failures: 1, not_before: None };
        standing.failed(&rule, None, jitter, start);
        let wait = standing.not_before.expect("one").as_millis() - start.as_millis();
        assert!((1_500..=2_000).contains(&wait), "{wait}");
    }
    let patient = Rule { attempts_max: u32::MAX, ..rule.clone() };
    let mut standing = Standing { failures: 40, not_before: None };
    standing.failed(&patient, None, 0, start);
    assert_eq!(standing.not_before, Some(Time::from_millis(start.as_millis() + 900_000)));
}

#[test]
fn a_target_may_ask_to_be_left_alone_for_longer_and_not_for_ever() {
    let rule = Rule { backoff_ms: 1_000, ..Rule::plain("ops", Kind::ALL) };
    let start = time("2026-02-09T21:00:00.000Z");
    let wait = |asked: i64| {
        let mut standing = Standing::default();
        standing.failed(&rule, Some(asked), 0, start);
        standing.not_before.expect("a wait").as_millis() - start.as_millis()
    };
    assert_eq!((wait(90_000), wait(10), wait(-5)), (90_000, 1_000, 1_000));
    assert_eq!(wait(i64::MAX), 86_400_000);
}

#[test]
fn only_what_is_due_is_given_up() {
    let rule = Rule { batch_ms: 60_000, ..Rule::plain("ops", Kind::ALL) };
    let some = [
        notice(1, Kind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, Kind::Review, "2026-02-09T21:00:30.000Z"),
        notice(3, Kind::Review, "2026-02-09T21:05:00.000Z"),
    ];
    assert_eq!(due(&rule, &some, time("2026-02-09T21:02:00.000Z")), [0, 1]);
}
