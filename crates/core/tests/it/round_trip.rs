//! A document that becomes a task comes back as it was, and crosses into other dialects where they
//! can say it.

use crate::support::{after, now, task, world};
use adjutant_core::answer::Problem;
use adjutant_core::constraints::Constraints;
use adjutant_core::delegation::{Artifact, ExpectedOutput, ForeignId, NewTask, TaskPriority};
use adjutant_core::dialect::{self, DocumentKind, read_as};
use adjutant_core::event::Event;
use adjutant_core::input::{Facts, Input};
use adjutant_core::mission::{Context, EpicId, Mission, MissionId, PrdId};
use adjutant_core::order::{self, Source};
use adjutant_core::path::RelPath;
use adjutant_core::task::Task;
use adjutant_core::{AgentId, World, decide};
use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<Problem>> {
    Err(vec![Problem::new("", "is not read here")])
}

/// Any text without a NUL, and such as Markdown and files have their own ideas about.
fn text() -> impl Strategy<Value = String> {
    let any = prop_oneof![
        any::<String>(),
        "[-a-c#*`~ \t\n\r]{0,24}",
        "[a-z]{1,8}( [a-z]{1,8}){0,4}\n?",
        Just("a\n\n## Work Log\n\n- x\n".to_owned()),
        Just("## Work Log\n".to_owned()),
    ];
    any.prop_map(|text| text.replace('\0', ""))
}

/// A text that says something.
fn said() -> impl Strategy<Value = String> {
    (text(), "[a-z]{1,5}", text())
        .prop_map(|(before, word, after)| format!("{before}{word}{after}"))
}

fn path() -> impl Strategy<Value = RelPath> {
    "[a-z]{1,6}(/[a-z][a-z.]{0,5}){0,2}"
        .prop_map(|path| RelPath::parse(&path).expect("a good path"))
}

fn mission() -> impl Strategy<Value = Mission> {
    let context = (option::of(path()), path(), path(), option::of(path()), option::of(path()));
    let flags = (option::of(any::<u64>()), option::of(any::<bool>()), option::of(any::<bool>()));
    let constraints = flags.prop_map(|(max_files, no_git_commit, no_new_deps)| Constraints {
        max_files,
        no_git_commit,
        no_new_deps,
    });
    ("[0-9]{1,9}", said(), context, option::of(constraints), option::of(any::<u64>())).prop_map(
        |(
            number,
            instruction,
            (dev_md, epic_file, task_file, memory, toolset),
            constraints,
            timeout,
        )| {
            Mission {
                task_id: MissionId::parse(&format!("T{number}")).expect("a good id"),
                epic_id: EpicId::parse(&format!("E{number}")).expect("a good id"),
                prd_id: PrdId::parse(&format!("PRD-{number}")).expect("a good id"),
                instruction,
                context: Context { dev_md, epic_file, task_file, memory, toolset },
                constraints,
                timeout,
            }
        },
    )
}

fn inputs() -> impl Strategy<Value = Vec<Artifact>> {
    let input = (option::of(text()), path(), option::of("[0-9.]{1,5}"), option::of(text()));
    vec(
        input.prop_map(|(kind, path, version, description)| Artifact {
            kind,
            path,
            version,
            description,
        }),
        0..3,
    )
}

fn outputs() -> impl Strategy<Value = Vec<ExpectedOutput>> {
    let output = (option::of(text()), path(), option::of(text()));
    vec(
        output.prop_map(|(kind, path, description)| ExpectedOutput { kind, path, description }),
        0..3,
    )
}

fn new_task() -> impl Strategy<Value = NewTask> {
    let hint = prop_oneof![Just("2026-02-10T12:00:00+01:00".to_owned()), said()];
    let words = TaskPriority::WORDS.iter().map(|(_, word)| *word).collect::<Vec<_>>();
    let head = ("[A-Z]{1,5}-[0-9]{1,4}", any::<bool>(), "[a-z-]{1,9}", said(), option::of(text()));
    let lists = (
        option::of(inputs()),
        option::of(outputs()),
        option::of(vec(text(), 0..3)),
        option::of(vec(text(), 0..3)),
    );
    (head, lists, option::of(select(words)), option::of(hint)).prop_map(
        |(
            (id, part, mode, objective, context),
            (inputs, outputs, rules, criteria),
            priority,
            hint,
        )| {
            NewTask {
                task_id: ForeignId::parse(&id).expect("a good id"),
                parent_task_id: part.then(|| ForeignId::parse(PARENT).expect("a good id")),
                delegated_to_mode: AgentId::parse(&mode).expect("a good name"),
                objective,
                context,
                inputs,
                expected_outputs: outputs,
                constraints_and_rules: rules,
                acceptance_criteria: criteria,
                priority,
                deadline_hint: hint,
            }
        },
    )
}

/// The whole that a part is of.
const PARENT: &str = "TASK-2026-02-09-001";

/// Sends a document, and returns the world with the task it makes, the task, and its body as its
/// file has it.
fn made(document: &Map<String, Value>) -> (World, Task, String) {
    let text = Value::Object(document.clone()).to_string();
    let incoming = dialect::read(text.as_bytes(), &no_yaml);
    let before = world([task(1, adjutant_core::Status::Ready)]);
    let input = Input::Message { incoming, facts: Facts::default() };
    let decision = decide(&before, &input, now());
    let body = decision.events.iter().find_map(|happened| match &happened.event {
        Event::TaskCreated { body, .. } => body.clone(),
        _ => None,
    });
    let body = body.unwrap_or_else(|| panic!("{:?}", decision.answer));
    let world = after(&before, &decision);
    let made = world.task(decision.answer.task.as_ref().expect("a task")).expect("there").clone();
    // A file ends with one line break, and begins the body after a blank line.
    (world, made, format!("{}\n", body.trim_end_matches(['\n', '\r'])))
}

fn with_source<T>(made: &(World, Task, String), then: impl FnOnce(&Source<'_>) -> T) -> T {
    let (world, task, body) = made;
    let file = RelPath::parse(".adjutant/tasks/ready/x.md").expect("a good path");
    then(&Source {
        task,
        body,
        parent: task.parent.as_ref().and_then(|parent| world.task(parent)),
        handoff: None,
        agent: None,
        task_file: &file,
        memory: None,
        answers: &[],
    })
}

fn is_valid(kind: DocumentKind, document: Map<String, Value>) -> Result<(), TestCaseError> {
    let text = Value::Object(document).to_string();
    let problems = read_as(kind, text.as_bytes(), &no_yaml).err().unwrap_or_default();
    prop_assert!(problems.is_empty(), "{:?} in {}", problems, text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn a_mission_that_becomes_a_task_comes_back_as_it_was(sent in mission()) {
        let made = made(&sent.document());
        prop_assert_eq!(with_source(&made, order::mission), sent);
    }

    #[test]
    fn a_new_task_that_becomes_a_task_comes_back_as_it_was(sent in new_task()) {
        let made = made(&sent.document());
        prop_assert_eq!(with_source(&made, order::new_task), sent);
    }

    #[test]
    fn a_mission_crosses_into_the_other_dialects(sent in mission()) {
        let made = made(&sent.document());
        let crossed = with_source(&made, order::new_task);
        prop_assert_eq!(crossed.task_id.as_str(), sent.task_id.as_str());
        let paths: Vec<&str> = crossed.inputs.iter().flatten().map(|input| input.path.as_str()).collect();
        prop_assert!(paths.contains(&sent.context.epic_file.as_str()));
        let words = sent.constraints.as_ref().map(Constraints::in_words).unwrap_or_default();
        prop_assert_eq!(crossed.constraints_and_rules.clone().unwrap_or_default(), words);
        is_valid(DocumentKind::NewTask, crossed.document())?;
        let envelope = with_source(&made, |source| order::handoff(source, now()));
        let text = Value::Object(envelope).to_string();
        let read = adjutant_core::aof::read(text.as_bytes());
        prop_assert!(matches!(read, adjutant_core::aof::Incoming::Message(_)), "{:?}", read);
    }

    #[test]
    fn a_new_task_crosses_into_the_other_dialects(sent in new_task()) {
        let made = made(&sent.document());
        let crossed = with_source(&made, order::mission);
        is_valid(DocumentKind::Mission, crossed.document())?;
        for output in sent.expected_outputs.iter().flatten() {
            prop_assert!(crossed.instruction.contains(output.path.as_str()));
        }
        if let Some(due) = sent.due_by() {
            prop_assert!(crossed.instruction.contains(&due.to_string()));
        }
        let envelope = with_source(&made, |source| order::handoff(source, now()));
        let (parent, due) = (&envelope["payload"]["parentTaskId"], &envelope["payload"]["dueBy"]);
        let whole = if sent.parent_task_id.is_some() { PARENT } else { order::NO_PARENT };
        prop_assert_eq!(parent.as_str(), Some(whole));
        let until = sent.due_by().map_or(order::NEVER.to_owned(), |due| due.to_string());
        prop_assert_eq!(due.as_str(), Some(until.as_str()));
        let expected = sent.expected_outputs.iter().flatten().map(|output| output.path.as_str());
        let expected: Vec<Value> = expected.map(Value::from).collect();
        prop_assert_eq!(envelope["payload"]["expectedOutputs"].as_array(), Some(&expected));
        let text = Value::Object(envelope).to_string();
        let read = adjutant_core::aof::read(text.as_bytes());
        prop_assert!(matches!(read, adjutant_core::aof::Incoming::Message(_)), "{:?}", read);
    }

    #[test]
    fn what_was_changed_since_comes_back_changed(sent in new_task(), to in said()) {
        let (world, mut task, _) = made(&sent.document());
        task.priority = adjutant_core::Priority::Critical;
        task.due_by = Some(now());
        let body = format!("z{}", to.trim());
        let changed = with_source(&(world, task, body.clone()), order::new_task);
        prop_assert_eq!(changed.priority, Some(TaskPriority::High));
        let until = now().to_string();
        prop_assert_eq!(changed.deadline_hint.as_deref(), Some(until.as_str()));
        prop_assert_eq!(changed.objective, sent.objective);
        let whole = adjutant_core::worklog::without(&body).trim_end_matches(['\n', '\r']);
        prop_assert_eq!(changed.context.as_deref(), Some(whole));
    }
}
