//! Which notices are sent to which rules, and when: tables with a fixed clock.

use std::collections::BTreeSet;

use adjutant_core::notify::{
    FailedDelivery, NextDelivery, TargetHealth, due_notices, next_delivery,
};
use adjutant_core::{Decision, Input, decide};
use adjutant_model::notice::{NoticeKind, NotifyRule, OperatorNotice, QuietHours};
use adjutant_model::policy::Policy;
use adjutant_model::request::{DeliveryResult, NoticeDelivery, RefusedAccess};
use adjutant_model::{Actor, Command, Effect, EventId, Priority, Reason, Status, Time};
use jiff::tz::TimeZone;

use crate::support::{TaskBuilder, agent, id, now, operator, task, time, world};

/// Central Europe with summer time, independent of this machine's time zone data.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone")
}

fn quiet(text: &str) -> QuietHours {
    QuietHours::parse(text, berlin()).expect("a part of a day")
}

fn notice(event: u64, kind: NoticeKind, at: &str) -> OperatorNotice {
    OperatorNotice {
        kind,
        event: EventId(event),
        at: time(at),
        task: Some(id(1)),
        title: "Task 1".to_owned(),
        reason: "because".to_owned(),
        by: Actor::System,
    }
}

fn result(decision: &Decision) -> Vec<(&str, NoticeKind, u64)> {
    let mut result = Vec::new();
    for effect in &decision.effects {
        if let Effect::Notify { rule, notice } = effect {
            result.push((&**rule, notice.kind, notice.event.0));
        }
    }
    result
}

/// Decides a command on one task under these rules.
fn with_rules(task: adjutant_model::Task, rules: Vec<NotifyRule>, command: Command) -> Decision {
    let world = world([task]).with_policy(Policy { notify: rules, ..Policy::default() });
    let by = adjutant_model::command::CommandCaller::Operator(operator());
    decide(&world, &Input::Command { by, command }, now())
}

fn block() -> Command {
    Command::Move { id: id(1), to: Status::Blocked, reason: "a\nkey is missing".to_owned() }
}

#[test]
fn notice_is_made_for_every_rule_that_wants_the_event() {
    let rules = vec![
        NotifyRule::immediate("ops", [NoticeKind::Blocked, NoticeKind::Review]),
        NotifyRule::immediate("inbox", NoticeKind::INBOX),
        NotifyRule::immediate("done", [NoticeKind::Done]),
    ];
    let decision = with_rules(task(1, Status::Ready), rules, block());
    let moved = 16 + decision.events.len() as u64;
    assert_eq!(
        result(&decision),
        [("ops", NoticeKind::Blocked, moved), ("inbox", NoticeKind::Blocked, moved)]
    );
    let Effect::Notify { notice, .. } = &decision.effects[0] else { panic!("a notice") };
    let expected = OperatorNotice {
        kind: NoticeKind::Blocked,
        event: EventId(moved),
        at: now(),
        task: Some(id(1)),
        title: "Task 1".to_owned(),
        reason: "a key is missing".to_owned(),
        by: operator(),
    };
    assert_eq!(**notice, expected, "in one line, and whole");
    assert_eq!(result(&with_rules(task(1, Status::Ready), vec![], block())), []);
}

#[test]
fn notify_rule_filters_by_agent_tag_and_priority() {
    let check = |change: &dyn Fn(&mut NotifyRule), expected: bool| {
        let mut rule = NotifyRule::immediate("ops", NoticeKind::ALL);
        change(&mut rule);
        let mut given = task(1, Status::Ready).routed_to("swe");
        (given.priority, given.routing.tags) = (Priority::High, vec!["api".into()]);
        assert_eq!(
            !result(&with_rules(given, vec![rule.clone()], block())).is_empty(),
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
fn notice_without_task_goes_to_rules_without_filters() {
    let refused = RefusedAccess {
        by: Actor::System,
        task: None,
        reason: Reason::UnauthorizedAgent,
        detail: "GET /v1/tasks".to_owned(),
        count: 1,
    };
    let tagged =
        NotifyRule { tags: vec!["api".into()], ..NotifyRule::immediate("tagged", NoticeKind::ALL) };
    let notify = vec![NotifyRule::immediate("ops", NoticeKind::ALL), tagged];
    let world = world([]).with_policy(Policy { notify, ..Policy::default() });
    let decision = decide(&world, &Input::AccessRefused(refused), now());
    assert_eq!(result(&decision), [("ops", NoticeKind::Refused, 17)]);
}

#[test]
fn notice_delivery_is_recorded_without_another_notice() {
    let notify = vec![NotifyRule::immediate("ops", NoticeKind::ALL)];
    let world =
        world([task(1, Status::Review)]).with_policy(Policy { notify, ..Policy::default() });
    let notified = |result| NoticeDelivery {
        rule: "ops".to_owned(),
        target: "webhook".to_owned(),
        kind: NoticeKind::Review,
        about: EventId(9),
        task: Some(id(1)),
        tries: 3,
        result,
    };
    for (result, kind) in [
        (DeliveryResult::Sent, "notify.sent"),
        (DeliveryResult::GivenUp("x".repeat(1_000)), "notify.failed"),
    ] {
        let decision = decide(&world, &Input::NotificationEnded(notified(result)), now());
        let kinds: Vec<&str> = decision.events.iter().map(|it| it.event.kind()).collect();
        assert_eq!((kinds, decision.effects), (vec![kind], vec![]));
    }
}

/// Checks what a rule does with waiting notices at a time: `wait TIME`, or the indexes it sends.
fn check(rule: &NotifyRule, waiting: &[OperatorNotice], now: &str, expected: &str) {
    let said = match next_delivery(rule, waiting, TargetHealth::default(), time(now)) {
        NextDelivery::Nothing => "nothing".to_owned(),
        NextDelivery::Wait(until) => format!("wait {until}"),
        NextDelivery::Send(places) => format!("{places:?}"),
    };
    assert_eq!(said, expected, "at {now}");
}

#[test]
fn notice_is_sent_at_once_and_alone_without_quiet_hours_and_batches() {
    let rule = NotifyRule::immediate("ops", NoticeKind::ALL);
    let both = [
        notice(1, NoticeKind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, NoticeKind::Done, "2026-02-09T21:00:00.000Z"),
    ];
    check(&rule, &[], "2026-02-09T21:00:00.000Z", "nothing");
    check(&rule, &both, "2026-02-09T21:00:00.000Z", "[0]");
    check(&rule, &both[1..], "2026-02-09T22:00:00.000Z", "[0]");
    // A clock that was set back must not delay notices.
    check(&rule, &both, "2026-02-08T00:00:00.000Z", "[0]");
}

#[test]
fn notices_within_batch_window_are_sent_together() {
    let rule = NotifyRule { batch_ms: 60_000, ..NotifyRule::immediate("ops", NoticeKind::ALL) };
    let some = [
        notice(1, NoticeKind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, NoticeKind::Review, "2026-02-09T21:00:59.999Z"),
        notice(3, NoticeKind::Review, "2026-02-09T21:01:00.000Z"),
    ];
    check(&rule, &some[..1], "2026-02-09T21:00:00.000Z", "wait 2026-02-09T21:01:00.250Z");
    check(&rule, &some[..2], "2026-02-09T21:01:00.249Z", "wait 2026-02-09T21:01:00.250Z");
    check(&rule, &some, "2026-02-09T21:01:00.250Z", "[0, 1]");
    // A daemon that comes later, or restarts after a crash, sends the same batch.
    check(&rule, &some, "2026-02-10T09:00:00.000Z", "[0, 1]");
    check(&rule, &some[2..], "2026-02-10T09:00:00.000Z", "[0]");
    let many: Vec<OperatorNotice> =
        (1..120).map(|n| notice(n, NoticeKind::Review, "2026-02-09T21:00:00.000Z")).collect();
    let NextDelivery::Send(sent) =
        next_delivery(&rule, &many, TargetHealth::default(), time("2026-02-09T22:00:00Z"))
    else {
        panic!("something is sent")
    };
    assert_eq!(sent, (0..50).collect::<Vec<_>>());
}

#[test]
fn urgent_notice_ignores_batches_and_quiet_hours() {
    let rule = NotifyRule {
        batch_ms: 3_600_000,
        quiet: Some(quiet("00:00-23:59")),
        urgent: BTreeSet::from([NoticeKind::Deadletter]),
        ..NotifyRule::immediate("ops", NoticeKind::ALL)
    };
    let some = [
        notice(1, NoticeKind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, NoticeKind::Deadletter, "2026-02-09T21:00:01.000Z"),
        notice(3, NoticeKind::Deadletter, "2026-02-09T21:00:01.000Z"),
    ];
    check(&rule, &some, "2026-02-09T21:00:01.000Z", "[1]");
    check(&rule, &some[..1], "2026-02-09T21:00:01.000Z", "wait 2026-02-09T22:59:00.250Z");
}

#[test]
fn quiet_hours_hold_notices_and_then_send_them_together() {
    let rule = NotifyRule {
        quiet: Some(quiet("22:00-07:00")),
        ..NotifyRule::immediate("ops", NoticeKind::ALL)
    };
    // In winter, 20:59 UTC is 21:59 in Berlin, and 06:00 is 07:00.
    let before = notice(1, NoticeKind::Review, "2026-02-09T20:59:59.999Z");
    let evening = notice(2, NoticeKind::Review, "2026-02-09T21:00:00.000Z");
    let night = notice(3, NoticeKind::Review, "2026-02-10T05:59:59.999Z");
    let morning = notice(4, NoticeKind::Review, "2026-02-10T06:00:00.000Z");
    check(&rule, std::slice::from_ref(&before), "2026-02-09T20:59:59.999Z", "[0]");
    let held = [evening, night, morning];
    check(&rule, &held[..1], "2026-02-09T21:00:00.000Z", "wait 2026-02-10T06:00:00.250Z");
    check(&rule, &held[..2], "2026-02-10T05:59:59.999Z", "wait 2026-02-10T06:00:00.250Z");
    check(&rule, &held, "2026-02-10T06:00:00.250Z", "[0, 1]");
    check(&rule, &held[2..], "2026-02-10T06:00:00.250Z", "[0]");
}

#[test]
fn quiet_hours_follow_their_time_zone() {
    let end = |text: &str, at: &str| {
        let quiet = QuietHours::parse(text, berlin()).expect("a part of a day");
        quiet.quiet_until(time(at)).map(|end| end.to_string())
    };
    let at = |text: &str| Some(text.to_owned());
    // In summer, Berlin is two hours ahead of UTC.
    assert_eq!(end("22:00-07:00", "2026-07-01T20:00:00Z"), at("2026-07-02T05:00:00.000Z"));
    assert_eq!(end("22:00-07:00", "2026-07-01T19:59:00Z"), None);
    assert_eq!(end("09:00-17:00", "2026-07-01T07:00:00Z"), at("2026-07-01T15:00:00.000Z"));
    assert_eq!(end("09:00-17:00", "2026-07-01T15:00:00Z"), None);
    assert_eq!(end("0:00-23:59", "2026-01-01T00:30:00Z"), at("2026-01-01T22:59:00.000Z"));
    // The night on which clocks go forward is an hour shorter; the other one is an hour longer.
    assert_eq!(end("22:00-07:00", "2026-03-28T21:00:00Z"), at("2026-03-29T05:00:00.000Z"));
    assert_eq!(end("22:00-07:00", "2026-10-24T20:00:00Z"), at("2026-10-25T06:00:00.000Z"));
    // 02:30 does not exist on that day and becomes 03:30.
    assert_eq!(end("22:00-02:30", "2026-03-29T00:10:00Z"), at("2026-03-29T01:30:00.000Z"));
    for bad in
        ["", "22:00", "22:00-", "7-8", "25:00-07:00", "22:60-07:00", "22:00-22:00", "+2:00-3:00"]
    {
        assert!(QuietHours::parse(bad, berlin()).is_err(), "{bad:?}");
    }
}

#[test]
fn failing_target_backs_off_exponentially_and_is_then_given_up() {
    let rule = NotifyRule {
        backoff_ms: 1_000,
        attempts_max: 4,
        ..NotifyRule::immediate("ops", NoticeKind::ALL)
    };
    let start = time("2026-02-09T21:00:00.000Z");
    let (mut standing, mut waits) = (TargetHealth::default(), Vec::new());
    for _ in 0..3 {
        assert_eq!(standing.record_failure(&rule, None, 0, start), FailedDelivery::TryAgain);
        waits.push(standing.not_before.expect("a wait").as_millis() - start.as_millis());
    }
    assert_eq!(waits, [1_000, 2_000, 4_000]);
    let one = [notice(1, NoticeKind::Review, "2026-02-09T21:00:00.000Z")];
    assert_eq!(
        next_delivery(&rule, &one, standing, start),
        NextDelivery::Wait(standing.not_before.expect("one"))
    );
    assert_eq!(standing.record_failure(&rule, None, 0, start), FailedDelivery::GiveUp);
    assert_eq!(standing.failures, 0, "what comes next has all its tries");
    standing.record_success();
    assert_eq!(standing, TargetHealth::default());
    // Jitter shortens a wait by up to a quarter, and no wait exceeds 15 minutes.
    for jitter in 0..2_000 {
        let mut standing = TargetHealth { failures: 1, not_before: None };
        standing.record_failure(&rule, None, jitter, start);
        let wait = standing.not_before.expect("one").as_millis() - start.as_millis();
        assert!((1_500..=2_000).contains(&wait), "{wait}");
    }
    let patient = NotifyRule { attempts_max: u32::MAX, ..rule.clone() };
    let mut standing = TargetHealth { failures: 40, not_before: None };
    standing.record_failure(&patient, None, 0, start);
    assert_eq!(standing.not_before, Some(Time::from_millis(start.as_millis() + 900_000)));
}

#[test]
fn target_may_ask_for_a_longer_wait_up_to_a_day() {
    let rule = NotifyRule { backoff_ms: 1_000, ..NotifyRule::immediate("ops", NoticeKind::ALL) };
    let start = time("2026-02-09T21:00:00.000Z");
    let wait = |asked: i64| {
        let mut standing = TargetHealth::default();
        standing.record_failure(&rule, Some(asked), 0, start);
        standing.not_before.expect("a wait").as_millis() - start.as_millis()
    };
    assert_eq!((wait(90_000), wait(10), wait(-5)), (90_000, 1_000, 1_000));
    assert_eq!(wait(i64::MAX), 86_400_000);
}

#[test]
fn giving_up_drops_only_due_notices() {
    let rule = NotifyRule { batch_ms: 60_000, ..NotifyRule::immediate("ops", NoticeKind::ALL) };
    let some = [
        notice(1, NoticeKind::Review, "2026-02-09T21:00:00.000Z"),
        notice(2, NoticeKind::Review, "2026-02-09T21:00:30.000Z"),
        notice(3, NoticeKind::Review, "2026-02-09T21:05:00.000Z"),
    ];
    assert_eq!(due_notices(&rule, &some, time("2026-02-09T21:02:00.000Z")), [0, 1]);
}
