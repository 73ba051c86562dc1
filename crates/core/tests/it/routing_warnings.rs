//! Tasks that ask for an agent, a mode or tags that no configured agent has.

use adjutant_core::schedule::{inbox, waiting_tasks};
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::policy::AgentPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::{Command, Policy, Status, Task};

use crate::support::{TaskBuilder, after, agent, id, now, operator, task, world};

fn routing(named: Option<&str>, mode: Option<&str>, tags: &[&str]) -> TaskRouting {
    TaskRouting {
        agent: named.map(agent),
        mode: mode.map(Into::into),
        role: None,
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
        ..TaskRouting::default()
    }
}

fn policy() -> Policy {
    let swe = AgentPolicy {
        mode: Some("code".into()),
        tags: vec!["rust".into()],
        ..AgentPolicy::default()
    };
    Policy { agents: [(agent("swe"), swe)].into(), ..Policy::default() }
}

fn add(world: &World, routing: TaskRouting) -> Decision {
    add_as(world, routing, InitialStatus::Ready)
}

fn add_as(world: &World, routing: TaskRouting, start: InitialStatus) -> Decision {
    let new = NewTask { title: "Paint".into(), routing, start, ..NewTask::default() };
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command: Command::Add(Box::new(new)) }, now())
}

#[test]
fn task_for_unknown_agent_mode_or_tag_is_added_with_warning_and_in_inbox() {
    let empty = world([]).with_policy(policy());
    let check = |routing: TaskRouting, warning: &str| {
        for start in [InitialStatus::Ready, InitialStatus::Backlog] {
            let decision = add_as(&empty, routing.clone(), start);
            assert_eq!(decision.answer.warnings, [warning]);
            let world = after(&empty, &decision);
            let items = inbox(&world, now());
            let items: Vec<_> =
                items.iter().map(|item| (item.kind.as_str(), &*item.text)).collect();
            assert_eq!(items, [("held_back", &*format!("Paint: {warning}"))]);
            assert_eq!(waiting_tasks(&world, now()).count(), 0, "it is not next");
        }
    };
    check(
        routing(Some("fixer"), None, &[]),
        "no agent named \"fixer\" is configured; add [agents.fixer] to adjutant.toml, or route the \
         task to one that is (`adjutant task edit ID --agent NAME`): swe; an agent that runs \
         elsewhere can fetch it with `adjutant mcp --agent fixer`",
    );
    check(
        routing(None, Some("plan"), &[]),
        "no configured agent has the mode \"plan\"; set it for an agent in adjutant.toml; an agent \
         that runs elsewhere can fetch it with `adjutant mcp --agent plan`",
    );
    check(routing(None, None, &["go"]), "no configured agent has the tag \"go\"");
    let both = "no configured agent has the mode \"code\" and the tags \"rust\", \"gpu\"";
    check(routing(None, Some("code"), &["rust", "gpu"]), both);
}

#[test]
fn task_that_an_agent_can_do_is_added_without_warning() {
    let empty = world([]).with_policy(policy());
    for routing in [
        routing(None, None, &[]),
        routing(Some("swe"), None, &[]),
        routing(None, Some("code"), &["rust"]),
    ] {
        let decision = add(&empty, routing);
        assert_eq!(decision.answer.warnings, [""; 0]);
        let world = after(&empty, &decision);
        assert!(inbox(&world, now()).is_empty());
        assert_eq!(waiting_tasks(&world, now()).count(), 1);
    }
    let without_agents = add(&world([]), routing(None, None, &[]));
    assert_eq!(without_agents.answer.warnings, [""; 0], "it asks for nothing");
}

#[test]
fn agent_that_fetches_its_tasks_causes_no_warning() {
    let fetched = task(1, Status::Ready).leased_to("fixer", 1);
    let waiting = task(2, Status::Ready).routed_to("fixer");
    let world = world([fetched, waiting]).with_policy(policy());
    assert!(inbox(&world, now()).is_empty());
    assert_eq!(add(&world, routing(Some("fixer"), None, &[])).answer.warnings, [""; 0]);
    assert_eq!(world.task(&id(2)).map(Task::status), Some(Status::Ready));
}
