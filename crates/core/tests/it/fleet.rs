//! Work in a fleet: a task goes to a node that has its agent, and to one with room.

use std::collections::BTreeMap;

use adjutant_core::account::{Session, Told, Trouble};
use adjutant_core::command::Caller;
use adjutant_core::completion::Outcome;
use adjutant_core::event::Event;
use adjutant_core::evidence::{Changes, Evidence};
use adjutant_core::input::{Input, TickFacts};
use adjutant_core::policy::{self, AgentPolicy, Merge, NodePolicy, OnExitOk, SchedulerPolicy};
use adjutant_core::run::{Exit, Life, Place, RunFacts};
use adjutant_core::schedule::{has_runs, inbox, why};
use adjutant_core::{
    Command, Decision, Effect, NodeId, Policy, Status, Task, Time, World, decide, resume,
};

use crate::support::{
    Given as _, after, agent, completion, events, id, now, operator, send, task, world,
};

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

fn slotted(slots: u32) -> AgentPolicy {
    AgentPolicy { slots, ..AgentPolicy::default() }
}

/// A node with slots for some agents.
fn with(concurrency: u32, slots: &[(&str, u32)], labels: &[&str]) -> NodePolicy {
    NodePolicy {
        concurrency,
        agents: slots.iter().map(|(name, slots)| (agent(name), slotted(*slots))).collect(),
        labels: labels.iter().map(|label| (*label).into()).collect(),
    }
}

/// A fleet of these nodes: its agents have what the nodes have together.
fn fleet(nodes: &[(&str, NodePolicy)]) -> Policy {
    let mut policy = Policy::default();
    let mut agents = BTreeMap::new();
    for (name, at) in nodes {
        policy.nodes.insert(node(name), at.clone());
        for (agent, own) in &at.agents {
            let known =
                agents.entry(agent.clone()).or_insert(AgentPolicy { slots: 0, ..own.clone() });
            known.slots += own.slots;
        }
    }
    policy.agents = agents;
    let concurrency = policy.nodes.values().map(|node| node.concurrency).sum();
    policy.scheduler = SchedulerPolicy { concurrency, ..SchedulerPolicy::default() };
    policy
}

fn ready(numbers: std::ops::RangeInclusive<u64>, to: &str) -> World {
    world(numbers.map(|number| task(number, Status::Ready).routed_to(to)))
}

fn tick(world: &World, facts: TickFacts) -> Decision {
    decide(world, &Input::Tick { facts }, now())
}

/// Returns where each task went.
fn places(world: &World) -> Vec<(String, Option<String>)> {
    let place = |task: &Task| {
        let node = task.trials.node.as_ref().map(ToString::to_string);
        (task.id.to_string()[16..].to_owned(), node.filter(|_| task.lease().is_some()))
    };
    crate::support::tasks(world).iter().map(place).collect()
}

fn pairs(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    all.iter().map(|(id, at)| ((*id).to_owned(), at.map(str::to_owned))).collect()
}

#[test]
fn work_goes_to_nodes_that_have_its_agent_and_room() {
    let policy = fleet(&[
        ("a", with(2, &[("swe", 2)], &[])),
        ("b", with(1, &[("swe", 4), ("qa", 1)], &[])),
        ("c", with(4, &[("qa", 4)], &[])),
    ]);
    let before = ready(1..=5, "swe").with_policy(policy);
    let decision = tick(&before, TickFacts::default());
    let given = after(&before, &decision);
    let expected =
        [("001", Some("a")), ("002", Some("b")), ("003", Some("a")), ("004", None), ("005", None)];
    assert_eq!(places(&given), pairs(&expected));
    let place = decision.events.iter().find_map(|happened| match &happened.event {
        Event::RunStarted { place, .. } => Some(place.clone()),
        _ => None,
    });
    assert_eq!(place, Some(Place::Node(node("a"))));
}

#[test]
fn what_a_node_is_good_for_counts_for_all_of_its_agents() {
    let policy =
        fleet(&[("a", with(4, &[("swe", 4)], &[])), ("z", with(4, &[("swe", 4)], &["gpu"]))]);
    let mut wants = task(1, Status::Ready).routed_to("swe");
    wants.routing.tags = vec!["gpu".into()];
    let mut nobody = task(2, Status::Ready).routed_to("swe");
    nobody.routing.tags = vec!["tpu".into()];
    let before = world([wants, nobody]).with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("z")), ("002", None)]));
    let holds = why(&given, &id(2), now());
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert_eq!(holds[0].code, "no_agent");
    assert_eq!(holds[0].text, "No node that is up has swe and what its tags ask for.");
}

#[test]
fn the_runs_of_a_node_that_is_gone_go_elsewhere() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=1, "swe").with_policy(both);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("a"))]));
    let alone = given.with_policy(fleet(&[("b", with(1, &[("swe", 1)], &[]))]));
    let seen = RunFacts { life: Life::Gone, ..RunFacts::default() };
    let facts =
        TickFacts { runs: BTreeMap::from([(id(1), seen)]), jitter: 0, ..TickFacts::default() };
    let lost = after(&alone, &tick(&alone, facts));
    let task = lost.task(&id(1)).expect("it is there");
    assert_eq!(task.status(), Status::Ready);
    assert_eq!(task.trials.open, None, "nobody will see the end of it");
    let later = Time::from_millis(now().as_millis() + 3_600_000);
    let again = decide(&lost, &Input::Tick { facts: TickFacts::default() }, later);
    assert_eq!(places(&after(&lost, &again)), pairs(&[("001", Some("b"))]));
}

#[test]
fn taking_over_is_written_down() {
    let decision = decide(&World::default(), &Input::TookOver { node: node("b") }, now());
    let [happened] = &decision.events[..] else { panic!("one event: {:?}", decision.events) };
    assert_eq!(happened.event, Event::FleetDecider { node: node("b") });
}

#[test]
fn a_node_that_is_not_heard_is_given_nothing() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=2, "swe").with_policy(both);
    let facts = TickFacts { away: [node("a")].into(), ..TickFacts::default() };
    let given = after(&before, &tick(&before, facts));
    assert_eq!(places(&given), pairs(&[("001", Some("b")), ("002", None)]));
}

/// A node with one agent, `swe`, set up in its own way.
fn own(swe: AgentPolicy) -> NodePolicy {
    NodePolicy { concurrency: 4, agents: [(agent("swe"), swe)].into(), labels: vec![] }
}

/// A node whose `swe` works on branches, which are merged.
fn on_branches(slots: u32) -> NodePolicy {
    let place = policy::Place::Worktree;
    own(AgentPolicy { slots, place, merge: Some(Merge::Squash), ..AgentPolicy::default() })
}

/// Gives out what can be, an hour later: nothing waits any longer.
fn later(world: &World) -> World {
    let at = Time::from_millis(now().as_millis() + 3_600_000);
    after(world, &decide(world, &Input::Tick { facts: TickFacts::default() }, at))
}

fn place_of(world: &World, number: u64) -> Option<String> {
    let task = world.task(&id(number)).filter(|task| task.lease().is_some())?;
    task.trials.node.as_ref().map(ToString::to_string)
}

/// Ends the run of a task that says nothing but this of itself.
fn exit(world: &World, number: u64, exit: Exit, told: Told) -> Decision {
    let fence = world.task(&id(number)).and_then(Task::lease).map_or(0, |lease| lease.fence);
    let (task, tail, told) = (id(number), String::new(), Box::new(told));
    let (found, workspace, jitter) = (None, None, 7);
    let ended = Input::RunExited { task, fence, exit, tail, found, workspace, jitter, told };
    decide(world, &ended, now())
}

fn run(world: &World, command: Command) -> Decision {
    decide(world, &Input::Command { by: Caller::Operator(operator()), command }, now())
}

#[test]
fn what_a_node_says_of_an_agent_counts_for_what_it_does_there() {
    let done = AgentPolicy { on_exit_ok: OnExitOk::Done, ..slotted(1) };
    let tagged = AgentPolicy { tags: vec!["rust".into()], ..slotted(1) };
    let policy = fleet(&[("a", own(slotted(1))), ("b", own(done)), ("c", own(tagged))]);
    let mut rust = task(1, Status::Ready);
    rust.routing.tags = vec!["rust".into()];
    let before = world([rust, task(2, Status::Ready), task(3, Status::Ready)]).with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    let expected = [("001", Some("c")), ("002", Some("a")), ("003", Some("b"))];
    assert_eq!(places(&given), pairs(&expected));
    let silent = |number| events(&exit(&given, number, Exit::Code(0), Told::default()));
    assert_eq!(silent(2), "run.exited run.failed transitioned(in-progress->ready)");
    assert_eq!(silent(3), "run.exited transitioned(in-progress->review)");
}

#[test]
fn an_agent_that_cannot_work_on_one_node_works_on_another() {
    let policy = fleet(&[("a", own(slotted(2))), ("b", own(slotted(2)))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(place_of(&given, 1).as_deref(), Some("a"));
    let trouble = Trouble::Unusable { reason: "401".into() };
    let told = Told { trouble: Some(trouble), ..Told::default() };
    let parked = after(&given, &exit(&given, 1, Exit::Code(1), told));
    let items = inbox(&parked, now());
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0].text, "agent swe on a cannot be used: 401");
    let again = after(&parked, &tick(&parked, TickFacts::default()));
    assert_eq!(place_of(&again, 1).as_deref(), Some("b"), "no attempt was spent, and it goes on");
    assert_eq!(inbox(&again, now()).len(), 1, "a is still to be seen to");
    // Only a has it: there is nobody to go on.
    let only = parked.with_policy(fleet(&[("a", own(slotted(2)))]));
    let holds = why(&only, &id(1), now());
    let text = "swe on a cannot be used: 401; `adjutant agents test swe` on a tries it again.";
    assert_eq!((holds.len(), holds[0].text.as_str()), (1, text));
    assert_eq!(place_of(&later(&only), 1), None);
}

#[test]
fn an_agent_that_works_nowhere_is_tried_once_on_each_node() {
    let policy = fleet(&[("a", own(slotted(2))), ("b", own(slotted(2)))]);
    let mut world = ready(1..=1, "swe").with_policy(policy);
    let tried = |world: &World| {
        let given = after(world, &tick(world, TickFacts::default()));
        let place = place_of(&given, 1)?;
        let trouble = Trouble::Unusable { reason: "401".into() };
        let told = Told { trouble: Some(trouble), ..Told::default() };
        Some((place, after(&given, &exit(&given, 1, Exit::Code(1), told))))
    };
    let mut places = vec![];
    while let Some((place, then)) = tried(&world).filter(|_| places.len() < 5) {
        places.push(place);
        world = then;
    }
    assert_eq!(places, ["a", "b"]);
    assert_eq!(place_of(&later(&world), 1), None, "a person has to do something");
    let texts: Vec<String> = inbox(&world, now()).into_iter().map(|item| item.text).collect();
    let text = |node: &str| format!("agent swe on {node} cannot be used: 401");
    assert_eq!(texts, [text("a"), text("b")]);
    let freed = after(&world, &run(&world, Command::Free { agent: agent("swe") }));
    assert_eq!(place_of(&later(&freed), 1).as_deref(), Some("a"));
}

/// Two nodes that work on branches, and a task that was worked on by the first.
fn worked_on_by_a() -> World {
    let policy = fleet(&[("a", on_branches(1)), ("b", on_branches(1))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let world = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(place_of(&world, 1).as_deref(), Some("a"));
    let world = after(&world, &send(&world, &completion(1, "swe", Outcome::Done)));
    let world = after(&world, &exit(&world, 1, Exit::Code(0), Told::default()));
    let changes = Some(Changes { files: 1, insertions: 2, deletions: 0 });
    let evidence = Box::new(Evidence { changes, ..Evidence::default() });
    let checked = Input::WorkChecked { task: id(1), fence: 1, evidence, jitter: 7 };
    let world = after(&world, &decide(&world, &checked, now()));
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Review));
    world
}

#[test]
fn a_node_has_runs_until_they_are_seen_to_end() {
    let policy = fleet(&[("a", on_branches(1)), ("b", on_branches(1))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    let said = after(&given, &send(&given, &completion(1, "swe", Outcome::Done)));
    // What it said is looked into, which only its node can do, and it may never come back.
    let ended = after(&said, &exit(&said, 1, Exit::Code(0), Told::default()));
    let has = |world: &World| ["a", "b"].map(|name| has_runs(world, &node(name)));
    let all = [&before, &given, &said, &ended].map(has);
    assert_eq!(all, [[false, false], [true, false], [true, false], [false, false]]);
    assert!(ended.task(&id(1)).is_some_and(|task| task.trials.claim().is_some()));
}

#[test]
fn work_that_is_sent_back_goes_on_where_its_branch_is() {
    let world = worked_on_by_a();
    let reject = Command::Reject { id: id(1), reason: "name it".into() };
    let back = after(&world, &run(&world, reject));
    assert_eq!(place_of(&later(&back), 1).as_deref(), Some("a"));
    // Even if others have room and a has none.
    let busy =
        [task(2, Status::Ready).leased_to("swe", 1), crate::support::tasks(&back)[0].clone()];
    let busy = busy.map(|mut task| {
        task.trials.node = Some(node("a"));
        task
    });
    let full = crate::support::world(busy).with_policy(back.policy().clone());
    assert_eq!(place_of(&later(&full), 1), None);
    let holds = why(&full, &id(1), now());
    let text = "It goes on where its branch is, on a, which has no room now.";
    assert_eq!((holds.len(), holds[0].text.as_str()), (1, text));
    // A node that takes no more work holds nobody up.
    let drained = fleet(&[("a", on_branches(0)), ("b", on_branches(1))]);
    assert_eq!(place_of(&later(&back.clone().with_policy(drained)), 1).as_deref(), Some("b"));
    // Nor does one that is not there.
    let alone = back.with_policy(fleet(&[("b", on_branches(1))]));
    assert_eq!(place_of(&later(&alone), 1).as_deref(), Some("b"));
}

#[test]
fn work_of_a_node_that_is_away_is_merged_when_it_is_back() {
    let alone = worked_on_by_a().with_policy(fleet(&[("b", own(slotted(1)))]));
    let asked = run(&alone, Command::Approve { id: id(1), note: "good".into() });
    assert_eq!(events(&asked), "merge.requested");
    assert_eq!(asked.effects, [Effect::MergeWork { task: id(1), attempt: 1 }]);
    let waits = after(&alone, &asked);
    let holds = why(&waits, &id(1), now());
    assert_eq!(holds[0].text, "It is approved, and merged when a is up, which has it.");
}

#[test]
fn an_older_claim_does_not_say_what_approving_does_and_others_may() {
    let older = worked_on_by_a();
    let mut tasks = crate::support::tasks(&older);
    tasks[0].trials.change_work(|work| work.merge = None);
    let merges = |there: NodePolicy| {
        let world = world(tasks.clone()).with_policy(fleet(&[("b", there)]));
        events(&run(&world, Command::Approve { id: id(1), note: "good".into() }))
    };
    assert_eq!(merges(on_branches(1)), "merge.requested");
    assert_eq!(merges(own(slotted(1))), "transitioned(review->done)", "nobody knows of a merge");
}

#[test]
fn a_conversation_is_gone_on_with_where_it_is() {
    let session = Session { agent: agent("swe"), id: "s-1".into(), node: Some(node("a")) };
    let mut task = task(1, Status::Ready).leased_to("swe", 2);
    task.trials.keep(|account| account.session = Some(session));
    task.trials.node = Some(node("a"));
    assert_eq!(resume::goes_on(&task, &agent("swe")), Some("s-1"));
    task.trials.node = Some(node("b"));
    assert_eq!(resume::goes_on(&task, &agent("swe")), None);
}
