//! A story is a task: what its files say, what the task makes of it, and who may say otherwise.

use adjutant_core::account::{Session, Told, Trouble};
use adjutant_core::command::{Caller, Command};
use adjutant_core::input::{StoryFacts, TickFacts};
use adjutant_core::notice::{Kind, Rule};
use adjutant_core::pipeline::{Hold, Position, Status as StepStatus, Step, StoryId};
use adjutant_core::policy::{AgentPolicy, NodePolicy, Policy};
use adjutant_core::run::Exit;
use adjutant_core::schedule::{Action, inbox, is_idle, plan, why};
use adjutant_core::{
    Actor, AgentId, Decision, Effect, Event, EventId, Input, NodeId, Reason, Recorded, Status,
    Task, TaskId, Time, Verdict, World, decide, invariants, resume,
};

fn story() -> StoryId {
    StoryId::parse("US-005").expect("a name")
}

fn at(step: Step, status: StepStatus) -> Position {
    Position {
        story: story(),
        step,
        attempt: 1,
        max_attempts: 3,
        status,
        reason: None,
        hold: None,
        auto: true,
        waits_for: vec![],
        fence: None,
        error: None,
        node: None,
    }
}

fn held(step: Step, hold: Hold) -> Position {
    Position { hold: Some(hold), ..at(step, StepStatus::NeedsHuman) }
}

/// A world that time passes in.
struct Stage {
    world: World,
    now: Time,
}

impl Stage {
    fn empty() -> Self {
        let agent = AgentId::parse("fixer").expect("a name");
        let policy = Policy {
            agents: [(agent, AgentPolicy { slots: 9, ..AgentPolicy::default() })].into(),
            ..Policy::default()
        };
        let now = Time::parse("2026-02-09T21:00:00Z").expect("a time");
        Self { world: World::default().with_policy(policy), now }
    }

    fn at(position: Position) -> Self {
        let mut stage = Self::empty();
        stage.told(position);
        stage
    }

    fn does(&mut self, input: &Input) -> Decision {
        self.now = Time::from_millis(self.now.as_millis() + 1000);
        let decision = decide(&self.world, input, self.now);
        for happened in decision.events.clone() {
            let id: EventId = self.world.last_event().next();
            self.world.apply(&Recorded { id, at: self.now, happened });
        }
        assert_eq!(invariants::broken(&self.world), Vec::<String>::new());
        decision
    }

    fn hears(&mut self, facts: StoryFacts) -> Decision {
        self.does(&Input::Story { by: Actor::System, facts: Box::new(facts) })
    }

    fn told(&mut self, position: Position) -> Decision {
        self.hears(StoryFacts { position, title: None, agent: None, taken_up_at: None })
    }

    fn task(&self) -> &Task {
        self.world.story(&story()).expect("the story has a task")
    }

    fn status(&self) -> Status {
        self.task().status()
    }

    fn asks(&mut self, command: Command) -> Decision {
        self.does(&Input::Command { by: Caller::Operator(Actor::human("alice")), command })
    }

    /// Gives the task out, and says to the story's files that its step has begun.
    fn starts(&mut self) -> u64 {
        let given = self.does(&Input::Tick { facts: TickFacts::default() });
        let started = given.effects.iter().find_map(|effect| match effect {
            Effect::StartRun { fence, .. } => Some(*fence),
            _ => None,
        });
        started.expect("it is given out")
    }

    fn exits(&mut self, fence: u64, exit: Exit) -> Decision {
        self.exits_telling(fence, exit, Told::default())
    }

    fn exits_telling(&mut self, fence: u64, exit: Exit, told: Told) -> Decision {
        let (task, tail) = (self.task().id.clone(), "bye".to_owned());
        let (found, workspace, jitter) = (None, None, 0);
        let told = Box::new(told);
        self.does(&Input::RunExited { task, fence, exit, tail, found, told, workspace, jitter })
    }

    fn holds(&self) -> Vec<&'static str> {
        why(&self.world, &self.task().id, self.now).into_iter().map(|hold| hold.code).collect()
    }
}

fn kinds(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(|happened| happened.event.kind()).collect()
}

/// Every way a step can stand, and the status of its task.
fn places() -> Vec<(Position, Status)> {
    let mut places = vec![
        (at(Step::Impl, StepStatus::Pending), Status::Ready),
        (at(Step::Impl, StepStatus::Pass), Status::Ready),
        (at(Step::Impl, StepStatus::Failing), Status::Ready),
        (at(Step::Impl, StepStatus::Running), Status::InProgress),
        (at(Step::Impl, StepStatus::Timeout), Status::Blocked),
        (at(Step::Done, StepStatus::Pass), Status::Done),
    ];
    for hold in Hold::ALL {
        let status = match hold {
            Hold::Review | Hold::NoVerdict => Status::Review,
            Hold::Stuck | Hold::Limit | Hold::Asked => Status::Blocked,
        };
        places.push((held(Step::Impl, hold), status));
    }
    places
}

#[test]
fn the_task_stands_where_the_story_does_from_wherever_it_comes() {
    for (from, _) in places() {
        for (to, status) in places() {
            let mut stage = Stage::at(at(Step::Bdd, StepStatus::Pending));
            stage.told(from.clone());
            let was_done = stage.status() == Status::Done;
            stage.told(to.clone());
            assert_eq!(stage.status(), status, "{from:?} {to:?}");
            assert_eq!(stage.task().story(), Some(&to));
            let made = stage.world.tasks().len();
            assert_eq!(made, if was_done && status != Status::Done { 2 } else { 1 });
            let again = stage.told(to);
            assert_eq!((again.events, again.answer.verdict), (vec![], Verdict::Noop));
        }
    }
}

#[test]
fn every_move_goes_along_the_table() {
    for (to, _) in places() {
        for from in Status::ALL.into_iter().filter(|status| !status.is_closed()) {
            let mut stage = Stage::at(at(Step::Bdd, StepStatus::Pending));
            let id = stage.task().id.clone();
            // A person moves the file; the story's files are right all the same.
            let mut moved = stage.task().clone();
            moved.state = adjutant_core::task::State::entered(from);
            stage.does(&Input::File(adjutant_core::input::FileChange::Seen(Box::new(moved))));
            let said = stage.told(to.clone());
            for happened in &said.events {
                if let Event::TaskTransitioned { from, to, .. } = &happened.event {
                    assert!(from.may_move_to(*to), "{from} {to}");
                }
                assert_eq!(happened.task.as_ref(), Some(&id));
            }
        }
    }
}

#[test]
fn a_task_is_made_once_and_called_after_its_scenarios() {
    let mut stage = Stage::empty();
    let made = stage.told(at(Step::Bdd, StepStatus::Pending));
    assert_eq!(kinds(&made), ["task.created"]);
    assert_eq!((&*stage.task().title, stage.status()), ("US-005", Status::Ready));
    assert_eq!(stage.world.resolve("US-005"), Some(stage.task().id.clone()));
    let facts = |title: &str| StoryFacts {
        position: at(Step::Bdd, StepStatus::Pending),
        title: Some(title.to_owned()),
        agent: AgentId::parse("fixer").ok(),
        taken_up_at: None,
    };
    assert_eq!(kinds(&stage.hears(facts("Shopping\tcart"))), ["task.edited"]);
    assert_eq!(&*stage.task().title, "US-005 Shopping cart");
    assert_eq!(stage.task().routing.agent, AgentId::parse("fixer").ok());
    // What a person, or it itself, called it since stays.
    assert_eq!(kinds(&stage.hears(facts("Another"))), [""; 0]);
    // One that was done before anybody asked needs no task.
    let mut stage = Stage::empty();
    assert_eq!(kinds(&stage.told(at(Step::Done, StepStatus::Pass))), [""; 0]);
}

#[test]
fn people_are_told_when_they_are_asked_and_when_it_is_done() {
    let notified = |position: Position| -> Vec<Status> {
        let mut stage = Stage::at(at(Step::Impl, StepStatus::Running));
        let notify = vec![Rule::plain("ops", Kind::ALL)];
        let policy = Policy { notify, ..stage.world.policy().clone() };
        stage.world = stage.world.with_policy(policy);
        let to = |effect: &Effect| match effect {
            Effect::Notify { notice, .. } => Status::parse(notice.kind.as_str()),
            _ => None,
        };
        stage.told(position).effects.iter().filter_map(to).collect()
    };
    assert_eq!(notified(held(Step::Review, Hold::Review)), [Status::Review]);
    assert_eq!(notified(held(Step::Impl, Hold::Stuck)), [Status::Blocked]);
    assert_eq!(notified(at(Step::Impl, StepStatus::Timeout)), [Status::Blocked]);
    assert_eq!(notified(at(Step::Done, StepStatus::Pass)), [Status::Review, Status::Done]);
    assert_eq!(notified(at(Step::Impl, StepStatus::Failing)), []);
}

#[test]
fn only_a_step_that_is_next_of_a_story_that_goes_by_itself_is_given_out() {
    let given = |position: Position| {
        let stage = Stage::at(position);
        let planned = plan(&stage.world, &TickFacts::default(), stage.now);
        (planned.iter().any(|action| matches!(action, Action::Assign { .. })), stage.holds())
    };
    let pending = || at(Step::Impl, StepStatus::Pending);
    assert_eq!(given(pending()), (true, vec![]));
    assert_eq!(given(Position { auto: false, ..pending() }), (false, vec!["story_by_hand"]));
    let waits_for = vec![StoryId::parse("US-003").expect("a name")];
    assert_eq!(given(Position { waits_for, ..pending() }), (false, vec!["story_waits"]));
    assert_eq!(given(at(Step::Impl, StepStatus::Pass)), (false, vec!["story_step"]));
    assert_eq!(given(held(Step::Impl, Hold::Stuck)), (false, vec!["blocked"]));
    assert_eq!(given(held(Step::Review, Hold::Review)), (false, vec!["review"]));
}

#[test]
fn a_run_keeps_its_task_until_its_end_and_its_exit_is_for_the_pipeline_to_judge() {
    for exit in [Exit::Code(0), Exit::Code(7), Exit::Signal(9), Exit::TimedOut, Exit::Lost] {
        let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.starts();
        // The files still say that the step is next: the run is about to begin it.
        assert_eq!(kinds(&stage.told(at(Step::Impl, StepStatus::Pending))), [""; 0]);
        let running = Position { fence: Some(fence), ..at(Step::Impl, StepStatus::Running) };
        assert_eq!(kinds(&stage.told(running)), ["story.moved"]);
        assert_eq!(kinds(&stage.exits(fence, exit.clone())), ["run.exited"], "{exit}");
        assert_eq!((stage.status(), stage.task().lease()), (Status::InProgress, None));
        assert_eq!(stage.task().trials.failures, []);
        assert_eq!(stage.task().last_run.as_ref().map(|run| run.fence), Some(fence));
        // Nobody calls it stale, and nobody is given it, however long the tests take.
        let later = Time::from_millis(stage.now.as_millis() + 3_600_000);
        assert_eq!(plan(&stage.world, &TickFacts::default(), later), []);
        stage.told(at(Step::Impl, StepStatus::Failing));
        assert_eq!(stage.status(), Status::Ready);
        let again = Position { attempt: 2, ..at(Step::Impl, StepStatus::Pending) };
        stage.told(again);
        assert_eq!(stage.starts(), fence + 1);
    }
}

#[test]
fn an_agent_that_cannot_work_is_parked_and_the_story_goes_back_when_its_files_say_so() {
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Idle] {
        let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.starts();
        let running = Position { fence: Some(fence), ..at(Step::Impl, StepStatus::Running) };
        stage.told(running.clone());
        let trouble = Trouble::Limited { until: None, reason: "no more today".to_owned() };
        let told = Told { trouble: Some(trouble), ..Told::default() };
        let seen = stage.exits_telling(fence, exit.clone(), told);
        assert_eq!(kinds(&seen), ["run.exited", "run.parked"], "{exit}");
        assert_eq!((stage.status(), stage.task().lease()), (Status::InProgress, None));
        assert_eq!(kinds(&stage.told(running)), [""; 0], "the files do not know yet");
        stage.told(at(Step::Impl, StepStatus::Pending));
        assert_eq!((stage.status(), stage.holds()), (Status::Ready, vec!["agent_limited"]));
        assert_eq!(stage.task().trials.failures, []);
        assert_eq!(plan(&stage.world, &TickFacts::default(), stage.now), []);
        assert!(!is_idle(&stage.world, stage.now), "it will go on by itself");
        stage.now = Time::from_millis(stage.now.as_millis() + 3_600_000);
        assert_eq!(stage.starts(), fence + 1);
    }
}

#[test]
fn a_run_that_cannot_be_started_counts_for_the_scheduler() {
    let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
    for _ in 0..3 {
        let fence = stage.starts();
        stage.exits(fence, Exit::NotStarted("the rules make no sense".into()));
        stage.now = Time::from_millis(stage.now.as_millis() + 3_600_000);
    }
    assert_eq!(stage.status(), Status::Deadletter);
    // It stays there while nothing changes, and a person may try it again.
    assert_eq!(kinds(&stage.told(at(Step::Impl, StepStatus::Pending))), [""; 0]);
    assert!(is_idle(&stage.world, stage.now));
    let id = stage.task().id.clone();
    assert_eq!(stage.asks(Command::Retry { id }).answer.verdict, Verdict::Applied);
    assert_eq!(stage.status(), Status::Ready);
}

#[test]
fn an_executor_that_took_too_long_is_stopped_and_one_that_reported_may_end() {
    let stopped = |position: Position| {
        let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.starts();
        stage.told(Position { fence: Some(fence), ..at(Step::Impl, StepStatus::Running) });
        let said = stage.told(position);
        let reasons: Vec<_> = said
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::StopRun { reason, .. } => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(plan(&stage.world, &TickFacts::default(), stage.now), [], "one at a time");
        (reasons, stage.status())
    };
    assert_eq!(stopped(at(Step::Impl, StepStatus::Timeout)), (vec!["lease_lost"], Status::Blocked));
    assert_eq!(stopped(at(Step::Impl, StepStatus::Pass)), (vec!["reported"], Status::InProgress));
    assert_eq!(stopped(held(Step::Impl, Hold::Asked)), (vec!["reported"], Status::Blocked));
}

#[test]
fn a_story_that_is_taken_up_again_gets_a_fresh_task() {
    let mut stage = Stage::at(at(Step::Done, StepStatus::Pass));
    assert!(stage.world.story(&story()).is_none(), "what was done needs none");
    stage.told(at(Step::Impl, StepStatus::Pending));
    let first = stage.task().id.clone();
    stage.told(at(Step::Done, StepStatus::Pass));
    assert_eq!(stage.status(), Status::Done);
    stage.told(at(Step::Impl, StepStatus::Pending));
    let second = stage.task().id.clone();
    assert_ne!(first, second);
    assert_eq!(stage.world.resolve("US-005"), Some(second.clone()), "the one that is open");
    // One that was cancelled is left alone until a person takes the story up.
    stage.asks(Command::Cancel { id: second.clone(), reason: "no".into() });
    assert_eq!(kinds(&stage.told(at(Step::Verify, StepStatus::Pending))), [""; 0]);
    let facts = StoryFacts {
        position: at(Step::Verify, StepStatus::Pending),
        title: None,
        agent: None,
        taken_up_at: Some(Time::from_millis(stage.now.as_millis() + 500)),
    };
    assert_eq!(kinds(&stage.hears(facts)), ["task.created"]);
    assert_ne!(stage.task().id, second);
}

#[test]
fn nobody_but_the_files_says_where_a_story_stands() {
    let mut stage = Stage::at(held(Step::Review, Hold::Review));
    let id = stage.task().id.clone();
    let (note, text, reason) = (String::new(), "yes".to_owned(), "no".to_owned());
    for command in [
        Command::Approve { id: id.clone(), note },
        Command::Reject { id: id.clone(), reason: reason.clone() },
        Command::Answer { id: id.clone(), text },
        Command::Retry { id: id.clone() },
        Command::Move { id: id.clone(), to: Status::Ready, reason },
    ] {
        let said = stage.asks(command.clone());
        assert_eq!(said.answer.reason, Some(Reason::StoryOwned), "{command:?}");
        assert_eq!(kinds(&said), ["command.refused"]);
        let text = said.answer.problems[0].to_string();
        assert!(text.contains("review waits for a person"), "{text}");
    }
    assert_eq!(stage.status(), Status::Review);
    let [item] = &inbox(&stage.world, stage.now)[..] else { panic!("one item") };
    assert_eq!(item.text, "US-005: review waits for a person");
    assert_eq!(item.actions[0], format!("approve {id} --note TEXT"));
}

#[test]
fn what_an_agent_reports_is_written_down_and_moves_nothing() {
    let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
    let fence = stage.starts();
    let task: TaskId = stage.task().id.clone();
    let report = format!(
        r#"AOF/1 {{"protocol":"aof","version":1,"type":"completion.report","taskId":"{task}",
        "fromAgent":"fixer","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00Z","payload":{{
        "outcome":"done","summaryRef":"outputs/summary.md","tests":{{"total":1,"passed":1,
        "failed":0}},"notes":"all done"}}}}"#
    );
    let update = format!(
        r#"AOF/1 {{"protocol":"aof","version":1,"type":"status.update","taskId":"{task}",
        "fromAgent":"fixer","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00Z","payload":{{
        "taskId":"{task}","agentId":"fixer","status":"blocked","notes":"stuck"}}}}"#
    );
    for text in [report, update] {
        let incoming = adjutant_core::aof::read(text.as_bytes());
        let facts = adjutant_core::input::Facts::default();
        let said = stage.does(&Input::Message { incoming, facts });
        assert_eq!(said.answer.verdict, Verdict::Applied, "{said:?}");
        assert!(kinds(&said).contains(&"protocol.message.warning"), "{:?}", kinds(&said));
        assert_eq!(stage.task().lease().map(|lease| lease.fence), Some(fence));
    }
}

#[test]
fn work_can_be_given_out_for_one_story_alone() {
    let mut stage = Stage::at(at(Step::Impl, StepStatus::Pending));
    let other = Position {
        story: StoryId::parse("US-006").expect("a name"),
        ..at(Step::Impl, StepStatus::Pending)
    };
    stage.told(other);
    let all = plan(&stage.world, &TickFacts::default(), stage.now);
    assert_eq!(all.len(), 2);
    let only = Policy { only: Some(story()), ..stage.world.policy().clone() };
    let world = stage.world.clone().with_policy(only);
    let one = plan(&world, &TickFacts::default(), stage.now);
    assert_eq!(one.iter().map(Action::task).collect::<Vec<_>>(), [&stage.task().id]);
}

#[test]
fn each_step_is_a_conversation_of_its_own() {
    let stage = Stage::at(at(Step::Impl, StepStatus::Pending));
    let mut task = stage.world.tasks().next().expect("it is there").clone();
    let agent = AgentId::parse("fixer").expect("a name");
    let session = Session { agent: agent.clone(), id: "s-1".into(), node: None };
    task.trials.keep(|account| account.session = Some(session));
    assert_eq!(resume::goes_on(&task, &agent), None);
}

/// Where the files of the story are, and how it stands there.
fn on(node: &str, step: Step, status: StepStatus) -> Position {
    Position { node: Some(NodeId::parse(node).expect("a name")), ..at(step, status) }
}

#[test]
fn in_a_fleet_a_story_stands_where_the_node_says_that_told_of_it_first() {
    use StepStatus::{Pending, Running};
    let mut stage = Stage::at(on("a", Step::Bdd, Pending));
    let told = stage.told(on("b", Step::Bdd, Running));
    assert_eq!((told.answer.verdict, told.events.len()), (Verdict::Noop, 0), "another checkout");
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("a"));
    stage.told(on("a", Step::Bdd, Running));
    assert_eq!(stage.status(), Status::InProgress);
    // One whose place nobody has told yet, from before there was a fleet.
    let mut stage = Stage::at(at(Step::Bdd, Pending));
    stage.told(on("b", Step::Bdd, Pending));
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("b"));
    // One that is alone again.
    stage.told(at(Step::Bdd, Pending));
    assert_eq!(stage.task().home(), None);
    // One that was given up is begun anew elsewhere.
    let mut stage = Stage::at(on("a", Step::Bdd, Pending));
    let first = stage.task().id.clone();
    stage.asks(Command::Cancel { id: first.clone(), reason: "it moves".to_owned() });
    let later = Time::from_millis(stage.now.as_millis() + 1);
    let position = on("b", Step::Bdd, Pending);
    stage.hears(StoryFacts { position, title: None, agent: None, taken_up_at: Some(later) });
    assert_ne!(stage.task().id, first);
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("b"));
}

#[test]
fn a_step_is_done_where_the_files_are_and_keeps_nobody_else_back() {
    let mut stage = Stage::at(on("b", Step::Bdd, StepStatus::Pending));
    let other = StoryId::parse("US-006").expect("a name");
    stage.told(Position { story: other.clone(), ..on("a", Step::Bdd, StepStatus::Pending) });
    let fixer = AgentId::parse("fixer").expect("a name");
    let node = |name: &str| {
        let at = NodePolicy {
            concurrency: 1,
            agents: [(fixer.clone(), AgentPolicy::default())].into(),
            labels: vec![],
        };
        (NodeId::parse(name).expect("a name"), at)
    };
    let given = |stage: &Stage, nodes: &[&str]| -> Vec<(String, String)> {
        let nodes = nodes.iter().map(|name| node(name)).collect();
        let policy = Policy { nodes, ..stage.world.policy().clone() };
        let world = stage.world.clone().with_policy(policy);
        let plan = plan(&world, &TickFacts::default(), stage.now);
        let places = plan.iter().filter_map(|action| match action {
            Action::Assign { task, node: Some(node), .. } => Some((task, node)),
            _ => None,
        });
        let story =
            |id: &TaskId| world.task(id).and_then(Task::story).map(|it| it.story.to_string());
        places.map(|(id, node)| (story(id).expect("a story"), node.to_string())).collect()
    };
    let pair = |story: &str, node: &str| (story.to_owned(), node.to_owned());
    assert_eq!(given(&stage, &["a", "b"]), [pair("US-005", "b"), pair("US-006", "a")]);
    assert_eq!(given(&stage, &["a", "c"]), [pair("US-006", "a")]);
    let policy = Policy { nodes: [node("a")].into(), ..stage.world.policy().clone() };
    let world = stage.world.clone().with_policy(policy);
    let holds = why(&world, &stage.task().id, stage.now);
    assert_eq!(
        holds.iter().map(|hold| (hold.code, hold.text.as_str())).collect::<Vec<_>>(),
        [("story_away", "The files of US-005 are on b, which is not up.")]
    );
}
