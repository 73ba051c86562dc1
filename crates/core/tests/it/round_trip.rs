//! Documents converted to tasks and back, and into the other dialects as far as those
//! can express them.

use adjutant_core::input::{Input, MessageFacts};
use adjutant_core::protocols::dialect::{self, read_as};
use adjutant_core::protocols::work_order::{self, WorkOrderSource};
use adjutant_core::{World, decide};
use adjutant_model::AgentId;
use adjutant_model::answer::FieldProblem;
use adjutant_model::constraints::RunConstraints;
use adjutant_model::delegation::{
    ExpectedOutput, ExternalTaskId, NewTaskDocument, NewTaskPriority, TaskArtifact,
};
use adjutant_model::document::DocumentKind;
use adjutant_model::event::Event;
use adjutant_model::mission::{EpicId, MissionContext, MissionId, MissionOrder, PrdId};
use adjutant_model::relative_path::RelPath;
use adjutant_model::task::Task;
use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::support::{after, now, task, world};

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    Err(vec![FieldProblem::new("", "is not read here")])
}

/// Any text without NUL, including Markdown headings, a work log and odd line ends.
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

/// A text that contains at least one word.
fn said() -> impl Strategy<Value = String> {
    (text(), "[a-z]{1,5}", text())
        .prop_map(|(before, word, after)| format!("{before}{word}{after}"))
}

fn path() -> impl Strategy<Value = RelPath> {
    "[a-z]{1,6}(/[a-z][a-z.]{0,5}){0,2}"
        .prop_map(|path| RelPath::parse(&path).expect("a good path"))
}

fn mission() -> impl Strategy<Value = MissionOrder> {
    let context = (option::of(path()), path(), path(), option::of(path()), option::of(path()));
    let flags = (option::of(any::<u64>()), option::of(any::<bool>()), option::of(any::<bool>()));
    let constraints = flags.prop_map(|(max_files, no_git_commit, no_new_deps)| RunConstraints {
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
            MissionOrder {
                task_id: MissionId::parse(&format!("T{number}")).expect("a good id"),
                epic_id: EpicId::parse(&format!("E{number}")).expect("a good id"),
                prd_id: PrdId::parse(&format!("PRD-{number}")).expect("a good id"),
                instruction,
                context: MissionContext {
                    dev_md,
                    epic_file,
                    task_file,
                    epic_memory: memory.clone(),
                    memory,
                    toolset,
                },
                constraints,
                timeout,
            }
        },
    )
}

fn inputs() -> impl Strategy<Value = Vec<TaskArtifact>> {
    let input = (option::of(text()), path(), option::of("[0-9.]{1,5}"), option::of(text()));
    vec(
        input.prop_map(|(kind, path, version, description)| TaskArtifact {
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

fn new_task() -> impl Strategy<Value = NewTaskDocument> {
    let hint = prop_oneof![Just("2026-02-10T12:00:00+01:00".to_owned()), said()];
    let words = NewTaskPriority::ALL.to_vec();
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
            NewTaskDocument {
                task_id: ExternalTaskId::parse(&id).expect("a good id"),
                parent_task_id: part.then(|| ExternalTaskId::parse(PARENT).expect("a good id")),
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

/// The parent of every child document.
const PARENT: &str = "TASK-2026-02-09-001";

/// Sends a document. Returns the world afterwards, the created task, and its body as in the file.
fn made(document: &Map<String, Value>) -> (World, Task, String) {
    let text = Value::Object(document.clone()).to_string();
    let incoming = dialect::read(text.as_bytes(), &no_yaml);
    let before = world([task(1, adjutant_model::Status::Ready)]);
    let input = Input::Message { incoming, facts: MessageFacts::default() };
    let decision = decide(&before, &input, now());
    let body = decision.events.iter().find_map(|happened| match &happened.event {
        Event::TaskCreated { body, .. } => body.clone(),
        _ => None,
    });
    let body = body.unwrap_or_else(|| panic!("{:?}", decision.answer));
    let world = after(&before, &decision);
    let made = world.task(decision.answer.task.as_ref().expect("a task")).expect("there").clone();
    // A file ends with exactly one line break.
    (world, made, format!("{}\n", body.trim_end_matches(['\n', '\r'])))
}

fn with_source<T>(made: &(World, Task, String), then: impl FnOnce(&WorkOrderSource<'_>) -> T) -> T {
    let (world, task, body) = made;
    let file = RelPath::parse(".adjutant/tasks/ready/x.md").expect("a good path");
    then(&WorkOrderSource {
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
    fn mission_round_trips_through_a_task(sent in mission()) {
        let made = made(&sent.to_map());
        prop_assert_eq!(with_source(&made, work_order::to_mission), sent);
    }

    #[test]
    fn new_task_document_round_trips_through_a_task(sent in new_task()) {
        let made = made(&sent.to_map());
        prop_assert_eq!(with_source(&made, work_order::to_new_task), sent);
    }

    #[test]
    fn mission_converts_into_the_other_dialects(sent in mission()) {
        let made = made(&sent.to_map());
        let crossed = with_source(&made, work_order::to_new_task);
        prop_assert_eq!(crossed.task_id.as_str(), sent.task_id.as_str());
        let paths: Vec<&str> = crossed.inputs.iter().flatten().map(|input| input.path.as_str()).collect();
        prop_assert!(paths.contains(&sent.context.epic_file.as_str()));
        let words = sent.constraints.as_ref().map(RunConstraints::to_sentences).unwrap_or_default();
        prop_assert_eq!(crossed.constraints_and_rules.clone().unwrap_or_default(), words);
        is_valid(DocumentKind::NewTask, crossed.to_map())?;
        let envelope = with_source(&made, |source| work_order::to_handoff_request(source, now()));
        let text = Value::Object(envelope).to_string();
        let read = adjutant_core::protocols::aof::read(text.as_bytes());
        prop_assert!(matches!(read, adjutant_core::protocols::aof::IncomingText::Message(_)), "{:?}", read);
    }

    #[test]
    fn new_task_document_converts_into_the_other_dialects(sent in new_task()) {
        let made = made(&sent.to_map());
        let crossed = with_source(&made, work_order::to_mission);
        is_valid(DocumentKind::Mission, crossed.to_map())?;
        for output in sent.expected_outputs.iter().flatten() {
            prop_assert!(crossed.instruction.contains(output.path.as_str()));
        }
        if let Some(due) = sent.due_by() {
            prop_assert!(crossed.instruction.contains(&due.to_string()));
        }
        let envelope = with_source(&made, |source| work_order::to_handoff_request(source, now()));
        let (parent, due) = (&envelope["payload"]["parentTaskId"], &envelope["payload"]["dueBy"]);
        let whole = if sent.parent_task_id.is_some() { PARENT } else { work_order::NO_PARENT };
        prop_assert_eq!(parent.as_str(), Some(whole));
        let until = sent.due_by().map_or(work_order::NO_DUE_DATE.to_owned(), |due| due.to_string());
        prop_assert_eq!(due.as_str(), Some(until.as_str()));
        let expected = sent.expected_outputs.iter().flatten().map(|output| output.path.as_str());
        let expected: Vec<Value> = expected.map(Value::from).collect();
        prop_assert_eq!(envelope["payload"]["expectedOutputs"].as_array(), Some(&expected));
        let text = Value::Object(envelope).to_string();
        let read = adjutant_core::protocols::aof::read(text.as_bytes());
        prop_assert!(matches!(read, adjutant_core::protocols::aof::IncomingText::Message(_)), "{:?}", read);
    }

    #[test]
    fn new_task_document_reflects_later_changes_of_the_task(sent in new_task(), to in said()) {
        let (world, mut task, _) = made(&sent.to_map());
        task.priority = adjutant_model::Priority::Critical;
        task.due_by = Some(now());
        let body = format!("z{}", to.trim());
        let changed = with_source(&(world, task, body.clone()), work_order::to_new_task);
        prop_assert_eq!(changed.priority, Some(NewTaskPriority::High));
        let until = now().to_string();
        prop_assert_eq!(changed.deadline_hint.as_deref(), Some(until.as_str()));
        prop_assert_eq!(changed.objective, sent.objective);
        let whole = adjutant_model::work_log::strip_work_log(&body).trim_end_matches(['\n', '\r']);
        prop_assert_eq!(changed.context.as_deref(), Some(whole));
    }
}
