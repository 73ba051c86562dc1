//! A story as a task: how the task follows the story's files, and which commands are refused.

use adjutant_core::decide::has_story_news;
use adjutant_core::input::TickFacts;
use adjutant_core::schedule::{InboxAction, ScheduleAction, hold_reasons, inbox, is_idle, plan};
use adjutant_core::{Decision, Input, World, decide, invariants, resume};
use adjutant_model::command::{Command, CommandCaller};
use adjutant_model::notice::{NoticeKind, NotifyRule};
use adjutant_model::policy::{AgentPolicy, NodePolicy, Policy};
use adjutant_model::request::StoryFacts;
use adjutant_model::run::RunExit;
use adjutant_model::story::{Step, StepStatus, StoryHold, StoryId, StoryPosition};
use adjutant_model::usage::{AgentSession, AgentTelemetry, AgentTrouble};
use adjutant_model::{
    Actor, AgentId, AnswerVerdict, Effect, Event, EventId, NodeId, Reason, RecordedEvent, Status,
    Task, TaskId, Time,
};

fn story() -> StoryId {
    StoryId::parse("US-005").expect("a name")
}

fn at(step: Step, status: StepStatus) -> StoryPosition {
    StoryPosition {
        story: story(),
        step,
        attempt: 1,
        max_attempts: 3,
        status,
        reason: None,
        hold: None,
        auto: true,
        unaccepted: false,
        waits_for: vec![],
        fence: None,
        error: None,
        said: None,
        node: None,
    }
}

fn held(step: Step, hold: StoryHold) -> StoryPosition {
    StoryPosition { hold: Some(hold), ..at(step, StepStatus::NeedsHuman) }
}

/// A world with a clock that advances with every input.
struct StoryWorld {
    world: World,
    now: Time,
}

impl StoryWorld {
    fn empty() -> Self {
        let agent = AgentId::parse("fixer").expect("a name");
        let policy = Policy {
            agents: [(agent, AgentPolicy { slots: 9, ..AgentPolicy::default() })].into(),
            ..Policy::default()
        };
        let now = Time::parse("2026-02-09T21:00:00Z").expect("a time");
        Self { world: World::default().with_policy(policy), now }
    }

    fn at(position: StoryPosition) -> Self {
        let mut stage = Self::empty();
        stage.report_position(position);
        stage
    }

    fn apply(&mut self, input: &Input) -> Decision {
        self.now = Time::from_millis(self.now.as_millis() + 1000);
        let decision = decide(&self.world, input, self.now);
        for happened in decision.events.clone() {
            let id: EventId = self.world.last_event().next();
            self.world.apply(&RecordedEvent { id, at: self.now, node: None, new_event: happened });
        }
        assert_eq!(invariants::find_violations(&self.world), Vec::<String>::new());
        decision
    }

    /// Decides, and checks that the question for news has the same answer as the decision.
    fn report_facts(&mut self, facts: StoryFacts) -> Decision {
        let has_news = has_story_news(&self.world, &facts);
        let facts = Box::new(facts);
        let decision = self.apply(&Input::StoryRead { by: Actor::System, facts: facts.clone() });
        assert_eq!(has_news, !decision.events.is_empty(), "{facts:?}");
        assert!(!has_story_news(&self.world, &facts), "the same facts twice change nothing");
        decision
    }

    fn report_position(&mut self, position: StoryPosition) -> Decision {
        self.report_facts(StoryFacts { position, title: None, agent: None, taken_up_at: None })
    }

    fn task(&self) -> &Task {
        self.world.task_of_story(&story()).expect("the story has a task")
    }

    fn status(&self) -> Status {
        self.task().status()
    }

    fn run_command(&mut self, command: Command) -> Decision {
        self.apply(&Input::Command { by: CommandCaller::Operator(Actor::human("alice")), command })
    }

    /// Assigns the task, and returns the fence of the started run.
    fn start_run(&mut self) -> u64 {
        let given = self.apply(&Input::Tick { facts: TickFacts::default() });
        let started = given.effects.iter().find_map(|effect| match effect {
            Effect::StartRun { fence, .. } => Some(*fence),
            _ => None,
        });
        started.expect("it is given out")
    }

    fn end_run(&mut self, fence: u64, exit: RunExit) -> Decision {
        self.end_run_with(fence, exit, AgentTelemetry::default())
    }

    fn end_run_with(&mut self, fence: u64, exit: RunExit, telemetry: AgentTelemetry) -> Decision {
        let (task, tail) = (self.task().id.clone(), "bye".to_owned());
        let (found, workspace, jitter) = (None, None, 0);
        let telemetry = Box::new(telemetry);
        self.apply(&Input::RunExited {
            task,
            fence,
            exit,
            tail,
            found,
            telemetry,
            workspace,
            jitter,
        })
    }

    fn hold_codes(&self) -> Vec<&'static str> {
        hold_reasons(&self.world, &self.task().id, self.now)
            .into_iter()
            .map(|hold| hold.code)
            .collect()
    }
}

fn kinds(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(|happened| happened.event.kind()).collect()
}

/// Every position of a step, and the status of its task.
fn places() -> Vec<(StoryPosition, Status)> {
    let mut places = vec![
        (at(Step::Impl, StepStatus::Pending), Status::Ready),
        (at(Step::Impl, StepStatus::Pass), Status::Ready),
        (at(Step::Impl, StepStatus::Failing), Status::Ready),
        (at(Step::Impl, StepStatus::Running), Status::InProgress),
        (at(Step::Impl, StepStatus::Timeout), Status::Blocked),
        (at(Step::Done, StepStatus::Pass), Status::Done),
    ];
    for hold in StoryHold::ALL {
        let status = match hold {
            StoryHold::Review | StoryHold::NoVerdict => Status::Review,
            StoryHold::Stuck | StoryHold::Limit | StoryHold::Asked => Status::Blocked,
        };
        places.push((held(Step::Impl, hold), status));
    }
    places
}

#[test]
fn task_status_follows_the_story_from_every_position() {
    for (from, _) in places() {
        for (to, status) in places() {
            let mut stage = StoryWorld::at(at(Step::Bdd, StepStatus::Pending));
            stage.report_position(from.clone());
            let was_done = stage.status() == Status::Done;
            stage.report_position(to.clone());
            assert_eq!(stage.status(), status, "{from:?} {to:?}");
            assert_eq!(stage.task().story(), Some(&to));
            let made = stage.world.tasks().len();
            assert_eq!(made, if was_done && status != Status::Done { 2 } else { 1 });
            let again = stage.report_position(to);
            assert_eq!((again.events, again.answer.verdict), (vec![], AnswerVerdict::Noop));
        }
    }
}

#[test]
fn story_moves_follow_the_table() {
    for (to, _) in places() {
        for from in Status::ALL.into_iter().filter(|status| !status.is_closed()) {
            let mut stage = StoryWorld::at(at(Step::Bdd, StepStatus::Pending));
            let id = stage.task().id.clone();
            // A person moves the task file, but the story's files still decide.
            let mut moved = stage.task().clone();
            moved.state = adjutant_model::task::TaskState::entered(from);
            stage.apply(&Input::FileChanged(adjutant_core::input::FileChange::Changed(Box::new(
                moved,
            ))));
            let said = stage.report_position(to.clone());
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
fn story_task_is_created_once_and_titled_by_its_scenarios() {
    let mut stage = StoryWorld::empty();
    let made = stage.report_position(at(Step::Bdd, StepStatus::Pending));
    assert_eq!(kinds(&made), ["task.created"]);
    assert_eq!((&*stage.task().title, stage.status()), ("US-005", Status::Ready));
    assert_eq!(stage.world.resolve("US-005"), Some(stage.task().id.clone()));
    let facts = |title: &str| StoryFacts {
        position: at(Step::Bdd, StepStatus::Pending),
        title: Some(title.to_owned()),
        agent: AgentId::parse("fixer").ok(),
        taken_up_at: None,
    };
    assert_eq!(kinds(&stage.report_facts(facts("Shopping\tcart"))), ["task.edited"]);
    assert_eq!(&*stage.task().title, "US-005 Shopping cart");
    assert_eq!(stage.task().routing.agent, AgentId::parse("fixer").ok());
    // A title that was set since, by a person or by an earlier call, is kept.
    assert_eq!(kinds(&stage.report_facts(facts("Another"))), [""; 0]);
    // A story that was done before its first call needs no task.
    let mut stage = StoryWorld::empty();
    assert_eq!(kinds(&stage.report_position(at(Step::Done, StepStatus::Pass))), [""; 0]);
}

#[test]
fn story_notices_are_sent_for_questions_and_the_end() {
    let notified = |position: StoryPosition| -> Vec<Status> {
        let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Running));
        let notify = vec![NotifyRule::immediate("ops", NoticeKind::ALL)];
        let policy = Policy { notify, ..stage.world.policy().clone() };
        stage.world = stage.world.with_policy(policy);
        let to = |effect: &Effect| match effect {
            Effect::Notify { notice, .. } => Status::parse(notice.kind.as_str()),
            _ => None,
        };
        stage.report_position(position).effects.iter().filter_map(to).collect()
    };
    assert_eq!(notified(held(Step::Review, StoryHold::Review)), [Status::Review]);
    assert_eq!(notified(held(Step::Impl, StoryHold::Stuck)), [Status::Blocked]);
    assert_eq!(notified(at(Step::Impl, StepStatus::Timeout)), [Status::Blocked]);
    assert_eq!(notified(at(Step::Done, StepStatus::Pass)), [Status::Review, Status::Done]);
    assert_eq!(notified(at(Step::Impl, StepStatus::Failing)), []);
}

#[test]
fn step_is_assigned_only_if_pending_and_automatic() {
    let given = |position: StoryPosition| {
        let stage = StoryWorld::at(position);
        let planned = plan(&stage.world, &TickFacts::default(), stage.now);
        (
            planned.iter().any(|action| matches!(action, ScheduleAction::Assign { .. })),
            stage.hold_codes(),
        )
    };
    let pending = || at(Step::Impl, StepStatus::Pending);
    assert_eq!(given(pending()), (true, vec![]));
    assert_eq!(given(StoryPosition { auto: false, ..pending() }), (false, vec!["story_by_hand"]));
    let unaccepted = StoryPosition { auto: false, unaccepted: true, ..pending() };
    assert_eq!(given(unaccepted), (false, vec!["story_unaccepted"]));
    let waits_for = vec![StoryId::parse("US-003").expect("a name")];
    assert_eq!(given(StoryPosition { waits_for, ..pending() }), (false, vec!["story_waits"]));
    assert_eq!(given(at(Step::Impl, StepStatus::Pass)), (false, vec!["story_step"]));
    assert_eq!(given(held(Step::Impl, StoryHold::Stuck)), (false, vec!["blocked"]));
    assert_eq!(given(held(Step::Review, StoryHold::Review)), (false, vec!["review"]));
}

#[test]
fn story_run_keeps_its_task_and_the_pipeline_judges_its_exit() {
    for exit in
        [RunExit::Code(0), RunExit::Code(7), RunExit::Signal(9), RunExit::TimedOut, RunExit::Lost]
    {
        let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.start_run();
        // The files still say that the step is pending, because the run is about to start it.
        assert_eq!(kinds(&stage.report_position(at(Step::Impl, StepStatus::Pending))), [""; 0]);
        let running = StoryPosition { fence: Some(fence), ..at(Step::Impl, StepStatus::Running) };
        assert_eq!(kinds(&stage.report_position(running)), ["story.moved"]);
        assert_eq!(kinds(&stage.end_run(fence, exit.clone())), ["run.exited"], "{exit}");
        assert_eq!((stage.status(), stage.task().lease()), (Status::InProgress, None));
        assert_eq!(stage.task().history.failures, []);
        assert_eq!(stage.task().last_run.as_ref().map(|run| run.fence), Some(fence));
        // The task is neither stale nor assigned again, however long the tests take.
        let later = Time::from_millis(stage.now.as_millis() + 3_600_000);
        assert_eq!(plan(&stage.world, &TickFacts::default(), later), []);
        stage.report_position(at(Step::Impl, StepStatus::Failing));
        assert_eq!(stage.status(), Status::Ready);
        let again = StoryPosition { attempt: 2, ..at(Step::Impl, StepStatus::Pending) };
        stage.report_position(again);
        assert_eq!(stage.start_run(), fence + 1);
    }
}

#[test]
fn story_agent_with_limit_is_parked_and_the_files_move_the_story_back() {
    for exit in [RunExit::Code(0), RunExit::Code(1), RunExit::Idle] {
        let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.start_run();
        let running = StoryPosition { fence: Some(fence), ..at(Step::Impl, StepStatus::Running) };
        stage.report_position(running.clone());
        let trouble = AgentTrouble::Limited { until: None, reason: "no more today".to_owned() };
        let telemetry = AgentTelemetry { trouble: Some(trouble), ..AgentTelemetry::default() };
        let seen = stage.end_run_with(fence, exit.clone(), telemetry);
        assert_eq!(kinds(&seen), ["run.exited", "run.parked"], "{exit}");
        assert_eq!((stage.status(), stage.task().lease()), (Status::InProgress, None));
        assert_eq!(kinds(&stage.report_position(running)), [""; 0], "the files do not know yet");
        stage.report_position(at(Step::Impl, StepStatus::Pending));
        assert_eq!((stage.status(), stage.hold_codes()), (Status::Ready, vec!["agent_limited"]));
        assert_eq!(stage.task().history.failures, []);
        assert_eq!(plan(&stage.world, &TickFacts::default(), stage.now), []);
        assert!(!is_idle(&stage.world, stage.now), "it will go on by itself");
        stage.now = Time::from_millis(stage.now.as_millis() + 3_600_000);
        assert_eq!(stage.start_run(), fence + 1);
    }
}

#[test]
fn story_run_that_cannot_start_counts_as_failed_attempt() {
    let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
    for _ in 0..3 {
        let fence = stage.start_run();
        stage.end_run(fence, RunExit::NotStarted("the rules make no sense".into()));
        stage.now = Time::from_millis(stage.now.as_millis() + 3_600_000);
    }
    assert_eq!(stage.status(), Status::Deadletter);
    // The task stays there while the files do not change, and a person may retry it.
    assert_eq!(kinds(&stage.report_position(at(Step::Impl, StepStatus::Pending))), [""; 0]);
    assert!(is_idle(&stage.world, stage.now));
    let id = stage.task().id.clone();
    assert_eq!(stage.run_command(Command::Retry { id }).answer.verdict, AnswerVerdict::Applied);
    assert_eq!(stage.status(), Status::Ready);
}

#[test]
fn story_executor_is_stopped_on_timeout_and_may_end_after_report() {
    let stopped = |position: StoryPosition| {
        let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
        let fence = stage.start_run();
        stage.report_position(StoryPosition {
            fence: Some(fence),
            ..at(Step::Impl, StepStatus::Running)
        });
        let said = stage.report_position(position);
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
    assert_eq!(stopped(held(Step::Impl, StoryHold::Asked)), (vec!["reported"], Status::Blocked));
}

#[test]
fn reopened_story_gets_a_new_task() {
    let mut stage = StoryWorld::at(at(Step::Done, StepStatus::Pass));
    assert!(stage.world.task_of_story(&story()).is_none(), "what was done needs none");
    stage.report_position(at(Step::Impl, StepStatus::Pending));
    let first = stage.task().id.clone();
    stage.report_position(at(Step::Done, StepStatus::Pass));
    assert_eq!(stage.status(), Status::Done);
    stage.report_position(at(Step::Impl, StepStatus::Pending));
    let second = stage.task().id.clone();
    assert_ne!(first, second);
    assert_eq!(stage.world.resolve("US-005"), Some(second.clone()), "the one that is open");
    // A cancelled story is ignored until a person takes it up again.
    stage.run_command(Command::Cancel { id: second.clone(), reason: "no".into() });
    assert_eq!(kinds(&stage.report_position(at(Step::Verify, StepStatus::Pending))), [""; 0]);
    let facts = StoryFacts {
        position: at(Step::Verify, StepStatus::Pending),
        title: None,
        agent: None,
        taken_up_at: Some(Time::from_millis(stage.now.as_millis() + 500)),
    };
    assert_eq!(kinds(&stage.report_facts(facts)), ["task.created"]);
    assert_ne!(stage.task().id, second);
}

#[test]
fn story_commands_on_its_task_are_refused() {
    let mut stage = StoryWorld::at(held(Step::Review, StoryHold::Review));
    let id = stage.task().id.clone();
    let (note, text, reason) = (String::new(), "yes".to_owned(), "no".to_owned());
    for command in [
        Command::Approve { id: id.clone(), note },
        Command::Reject { id: id.clone(), reason: reason.clone() },
        Command::Answer { id: id.clone(), text },
        Command::Retry { id: id.clone() },
        Command::Move { id: id.clone(), to: Status::Ready, reason },
    ] {
        let said = stage.run_command(command.clone());
        assert_eq!(said.answer.reason, Some(Reason::StoryOwned), "{command:?}");
        assert_eq!(kinds(&said), ["command.refused"]);
        let text = said.answer.problems[0].to_string();
        assert!(text.contains("review waits for a person"), "{text}");
    }
    assert_eq!(stage.status(), Status::Review);
    let [item] = &inbox(&stage.world, stage.now)[..] else { panic!("one item") };
    assert_eq!(item.text, "US-005: review waits for a person");
    assert_eq!(item.actions[0], InboxAction::ApproveWithNote);
}

#[test]
fn story_agent_report_is_recorded_and_moves_nothing() {
    let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
    let fence = stage.start_run();
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
        let incoming = adjutant_core::protocols::aof::read(text.as_bytes());
        let facts = adjutant_core::input::MessageFacts::default();
        let said = stage.apply(&Input::Message { incoming, facts });
        assert_eq!(said.answer.verdict, AnswerVerdict::Applied, "{said:?}");
        assert!(kinds(&said).contains(&"protocol.message.warning"), "{:?}", kinds(&said));
        assert_eq!(stage.task().lease().map(|lease| lease.fence), Some(fence));
    }
}

#[test]
fn plan_can_be_limited_to_one_story() {
    let mut stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
    let other = StoryPosition {
        story: StoryId::parse("US-006").expect("a name"),
        ..at(Step::Impl, StepStatus::Pending)
    };
    stage.report_position(other);
    let all = plan(&stage.world, &TickFacts::default(), stage.now);
    assert_eq!(all.len(), 2);
    let only = Policy { only: Some(story()), ..stage.world.policy().clone() };
    let world = stage.world.clone().with_policy(only);
    let one = plan(&world, &TickFacts::default(), stage.now);
    assert_eq!(one.iter().map(ScheduleAction::task).collect::<Vec<_>>(), [&stage.task().id]);
}

#[test]
fn story_step_does_not_resume_an_earlier_session() {
    let stage = StoryWorld::at(at(Step::Impl, StepStatus::Pending));
    let mut task = stage.world.tasks().next().expect("it is there").clone();
    let agent = AgentId::parse("fixer").expect("a name");
    let session = AgentSession { agent: agent.clone(), id: "s-1".into(), node: None };
    task.history.keep(|account| account.session = Some(session));
    assert_eq!(resume::session_to_resume(&task, &agent), None);
}

/// The position of the story in its files on this node.
fn on(node: &str, step: Step, status: StepStatus) -> StoryPosition {
    StoryPosition { node: Some(NodeId::parse(node).expect("a name")), ..at(step, status) }
}

#[test]
fn fleet_story_follows_the_node_that_reported_it_first() {
    use StepStatus::{Pending, Running};
    let mut stage = StoryWorld::at(on("a", Step::Bdd, Pending));
    let telemetry = stage.report_position(on("b", Step::Bdd, Running));
    assert_eq!(
        (telemetry.answer.verdict, telemetry.events.len()),
        (AnswerVerdict::Noop, 0),
        "another checkout"
    );
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("a"));
    stage.report_position(on("a", Step::Bdd, Running));
    assert_eq!(stage.status(), Status::InProgress);
    // A story from before the fleet, whose node is not known yet.
    let mut stage = StoryWorld::at(at(Step::Bdd, Pending));
    stage.report_position(on("b", Step::Bdd, Pending));
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("b"));
    // The project is on one machine again.
    stage.report_position(at(Step::Bdd, Pending));
    assert_eq!(stage.task().home(), None);
    // A cancelled story may start again on another node.
    let mut stage = StoryWorld::at(on("a", Step::Bdd, Pending));
    let first = stage.task().id.clone();
    stage.run_command(Command::Cancel { id: first.clone(), reason: "it moves".to_owned() });
    let later = Time::from_millis(stage.now.as_millis() + 1);
    let position = on("b", Step::Bdd, Pending);
    stage.report_facts(StoryFacts { position, title: None, agent: None, taken_up_at: Some(later) });
    assert_ne!(stage.task().id, first);
    assert_eq!(stage.task().home().map(NodeId::as_str), Some("b"));
}

#[test]
fn fleet_step_runs_where_its_files_are_and_blocks_no_other_story() {
    let mut stage = StoryWorld::at(on("b", Step::Bdd, StepStatus::Pending));
    let other = StoryId::parse("US-006").expect("a name");
    stage.report_position(StoryPosition {
        story: other.clone(),
        ..on("a", Step::Bdd, StepStatus::Pending)
    });
    let fixer = AgentId::parse("fixer").expect("a name");
    let node = |name: &str| {
        let at = NodePolicy {
            concurrency: 1,
            agents: [(fixer.clone(), AgentPolicy::default())].into(),
            labels: vec![],
        };
        (NodeId::parse(name).expect("a name"), at)
    };
    let given = |stage: &StoryWorld, nodes: &[&str]| -> Vec<(String, String)> {
        let nodes = nodes.iter().map(|name| node(name)).collect();
        let policy = Policy { nodes, ..stage.world.policy().clone() };
        let world = stage.world.clone().with_policy(policy);
        let plan = plan(&world, &TickFacts::default(), stage.now);
        let places = plan.iter().filter_map(|action| match action {
            ScheduleAction::Assign { task, node: Some(node), .. } => Some((task, node)),
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
    let holds = hold_reasons(&world, &stage.task().id, stage.now);
    assert_eq!(
        holds.iter().map(|hold| (hold.code, hold.text.as_str())).collect::<Vec<_>>(),
        [("story_away", "The files of US-005 are on node b, which is down.")]
    );
}
