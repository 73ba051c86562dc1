//! The task page: description, status, evidence, runs, output and events of one task.

use adjutant_model::{Priority, Status, Time};
use adjutant_query::changes::{ChangeSet, ChangedFile, ChangedLine, LineKind};
use adjutant_query::run::{RunView, RunViewState};
use adjutant_run_files::attempt_files::ProcessExit;
use maud::{Markup, html};

use super::agent_output::sanitize;
use super::columns::render_priority;
use super::event_log::{EventRow, render_events};
use super::form::{TaskAct, TaskForm, TaskFormFacts};
use super::format::{format_count, format_span, render_age, render_time, shorten_timestamps};
use super::{agent_output, markdown};

#[derive(Debug, Clone)]
pub struct TaskPage {
    pub id: String,
    pub title: String,
    pub status: Status,
    pub priority: Priority,
    /// The description in Markdown, as people and agents wrote it.
    pub body: String,
    /// The reasons why the task is not running, one sentence each.
    pub hold_reasons: Vec<String>,
    /// What a person can do, and what the action is about.
    pub acts: Vec<(TaskAct, Option<String>)>,
    /// The permission request or the question that the task waits with.
    pub question: Option<QuestionView>,
    /// What the forms say about the task.
    pub facts: TaskFormFacts,
    /// The entries of the side column: label and value.
    pub side_values: Vec<(String, SideValue)>,
    /// The newest run comes first.
    pub runs: Vec<RunView>,
    /// Output of the selected or latest run.
    pub output: Option<OutputView>,
    pub checks: Vec<CheckView>,
    pub changes: Option<ChangesView>,
    /// Files in the task's folder.
    pub files: Vec<TaskFile>,
    /// The latest events about the task.
    pub record: Vec<EventRow>,
    pub now: Time,
}

/// A value in the side column.
#[derive(Debug, Clone)]
pub enum SideValue {
    Text(String),
    /// Ids of tasks, shown as links.
    Tasks(Vec<String>),
    Moment(Time),
}

/// A permission request or a question, and the actions that answer it.
#[derive(Debug, Clone)]
pub struct QuestionView {
    pub heading: String,
    pub text: String,
    pub acts: Vec<(TaskAct, Option<String>)>,
    /// Commands for answers that have no form, without `adjutant`.
    pub commands: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct OutputView {
    pub attempt: u32,
    /// The end of the output.
    pub text: String,
    /// The size of the whole output in bytes.
    pub size: u64,
    /// The byte offset at which `text` ends; the script continues from there.
    pub offset: u64,
    /// Whether the run is active, so that more output may follow.
    pub is_running: bool,
    pub search: Option<String>,
    /// The matching lines, with their line numbers.
    pub matches: Vec<(u64, String)>,
}

#[derive(Debug, Clone)]
pub struct CheckView {
    pub command: String,
    pub passed: bool,
    /// The exit status and the duration.
    pub detail: String,
    /// The end of the check's output.
    pub tail: String,
}

#[derive(Debug, Clone)]
pub struct ChangesView {
    /// A one-line summary.
    pub stat: String,
    /// The changes by file, possibly truncated.
    pub changes: ChangeSet,
}

#[derive(Debug, Clone)]
pub struct TaskFile {
    /// Relative to the task's folder.
    pub path: String,
    pub size: u64,
}

impl TaskPage {
    pub fn render(&self) -> Markup {
        html! {
            div.head {
                h1 { (sanitize(&self.title)) }
                span class={ "pill s-" (self.status.as_str()) } data-live="status" { (self.status.as_str()) }
                (render_priority(self.priority))
            }
            div.pair {
                div {
                    (self.render_question())
                    (self.render_status())
                    (self.render_evidence())
                    (self.render_output())
                    (self.runs())
                    (self.render_description())
                    (self.files())
                    (self.record())
                }
                aside aria-label="About the task" { (self.render_side_column()) }
            }
        }
    }

    fn render_form(&self, act: TaskAct, report: Option<&str>) -> Markup {
        let back = format!("/tasks/{}", self.id);
        TaskForm { act, task: &self.id, facts: &self.facts, back: &back, report }.render()
    }

    fn render_question(&self) -> Markup {
        let Some(question) = &self.question else { return html! {} };
        html! {
            section.sheet.s-blocked data-live="question" aria-labelledby="question" {
                h2 #question { (sanitize(&question.heading)) }
                pre.asked tabindex="0" { (sanitize(&question.text)) }
                div.acts {
                    @for (act, subject) in &question.acts { (self.render_form(*act, subject.as_deref())) }
                    @for command in &question.commands { code.soft { "adjutant " (sanitize(command)) } }
                }
            }
        }
    }

    fn render_status(&self) -> Markup {
        html! {
            section class={ "sheet s-" (self.status.as_str()) } data-live="standing" aria-labelledby="standing" {
                h2 #standing { "Status" }
                div.note {
                    @for hold in &self.hold_reasons { p { (shorten_timestamps(&sanitize(hold))) } }
                    @if self.hold_reasons.is_empty() { p { "Nothing holds the task back: it starts at the next scheduler run." } }
                }
                div.acts {
                    @for (act, subject) in &self.acts { (self.render_form(*act, subject.as_deref())) }
                }
            }
        }
    }

    fn render_evidence(&self) -> Markup {
        if self.checks.is_empty() && self.changes.is_none() {
            return html! {};
        }
        html! {
            section.sheet data-live="evidence" aria-labelledby="evidence" {
                h2 #evidence { "Changes" }
                @if let Some(changes) = &self.changes { (changes.render()) }
                @for check in &self.checks { (check.render()) }
            }
        }
    }

    fn render_output(&self) -> Markup {
        html! {
            div data-output { @if let Some(output) = &self.output { (output.render(&self.id)) } }
        }
    }

    fn runs(&self) -> Markup {
        if self.runs.is_empty() {
            return html! {};
        }
        html! {
            section.sheet data-live="runs" aria-labelledby="runs" {
                h2 #runs { "Runs" }
                div.wide tabindex="0" role="region" aria-label="Table of runs" {
                    table {
                        thead { tr {
                            th scope="col" { "run" } th scope="col" { "agent" } th scope="col" { "started" }
                            th scope="col" .num { "duration" } th scope="col" { "result" }
                        } }
                        tbody { @for run in &self.runs { (render_run(run, &self.id, self.now)) } }
                    }
                }
            }
        }
    }

    fn render_description(&self) -> Markup {
        html! {
            section.sheet data-live="about" aria-labelledby="about" {
                h2 #about { "Description" }
                div.prose {
                    @if self.body.trim().is_empty() { p.soft { "No description." } }
                    (markdown::render_markdown(&self.body))
                }
            }
        }
    }

    fn files(&self) -> Markup {
        if self.files.is_empty() {
            return html! {};
        }
        html! {
            section.sheet data-live="files" aria-labelledby="files" {
                h2 #files { "Files" }
                ul.plain {
                    @for file in &self.files {
                        li {
                            a.mono href={ "/tasks/" (self.id) "/files/" (encode_path(&file.path)) } { (sanitize(&file.path)) }
                            " " span.soft.small { (agent_output::format_size(file.size)) }
                        }
                    }
                }
            }
        }
    }

    fn record(&self) -> Markup {
        html! {
            section.sheet data-live="record" aria-labelledby="record" {
                h2 #record { "Events" }
                (render_events(&self.record, false))
                p.small { a href={ "/record?task=" (self.id) } { "All events of this task" } }
            }
        }
    }

    fn render_side_column(&self) -> Markup {
        html! {
            section.sheet data-live="facts" aria-labelledby="facts" {
                h2 #facts { "About" }
                dl.facts {
                    dt { "id" } dd.mono { (self.id) }
                    @for (name, fact) in &self.side_values { dt { (name) } dd { (fact.render()) } }
                }
            }
        }
    }
}

impl SideValue {
    fn render(&self) -> Markup {
        match self {
            Self::Text(text) => html! { (sanitize(text)) },
            Self::Moment(time) => render_time(*time),
            Self::Tasks(ids) => html! {
                @for id in ids { a.mono href={ "/tasks/" (id) } { (id) } " " }
            },
        }
    }
}

fn render_run(run: &RunView, task: &str, now: Time) -> Markup {
    let started = Time::parse(&run.started_at).ok();
    let ended = run.ended_at.as_deref().and_then(|ended| Time::parse(ended).ok());
    let took = |from: Time, to: Time| format_span(to.as_millis().saturating_sub(from.as_millis()));
    html! {
        tr {
            td.num { a href={ "/tasks/" (task) "?run=" (run.attempt) "#output" } { (run.attempt) } }
            td { (run.agent) }
            td { @if let Some(began) = started { (render_time(began)) } }
            td.num {
                @match (started, ended) {
                    (Some(began), Some(ended)) => { (took(began, ended)) }
                    (Some(began), None) => { (render_age(began, now)) }
                    (None, _) => {}
                }
            }
            td { (sanitize(&describe_result(run))) }
        }
    }
}

fn describe_result(run: &RunView) -> String {
    match (run.state, &run.exit) {
        (RunViewState::Running, _) => "running".to_owned(),
        (RunViewState::Lost, _) => "lost".to_owned(),
        (RunViewState::Over, None) => "ended".to_owned(),
        (RunViewState::Over, Some(exit)) => match exit {
            ProcessExit::Code(code) => format!("exit code {code}"),
            ProcessExit::Signal(signal) => format!("killed by signal {signal}"),
            ProcessExit::TimedOut => "timed out".to_owned(),
            ProcessExit::Idle => "stopped: no output for too long".to_owned(),
            ProcessExit::OverBudget => "stopped: over budget".to_owned(),
            ProcessExit::Stopped(reason) => format!("stopped: {reason}"),
            ProcessExit::Lost => "lost".to_owned(),
            ProcessExit::NotStarted(reason) => format!("not started: {reason}"),
        },
    }
}

impl OutputView {
    fn render(&self, task: &str) -> Markup {
        let from = format!("/v1/tasks/{task}/log?attempt={}", self.attempt);
        html! {
            section.sheet #output aria-labelledby="printed" {
                div.row {
                    h2 #printed { "Output of run " (self.attempt) }
                    span.soft.small data-live="size" { (agent_output::format_size(self.size)) @if self.is_running { ", still running" } }
                    form.push method="get" action={ "/tasks/" (task) "#output" } {
                        input type="hidden" name="run" value=(self.attempt);
                        label.unseen for="find" { "Search the output" }
                        input #find type="search" name="find" placeholder="search the output" value=[self.search.as_deref()];
                    }
                    a.small href=(from) { "full output" }
                }
                @if let Some(search) = &self.search { (self.render_matches(search)) }
                pre.log tabindex="0" aria-labelledby="printed" data-run=[self.is_running.then_some(self.attempt)]
                    data-from=(from) data-offset=(self.offset) { (agent_output::highlight(&self.text, self.search.as_deref())) }
            }
        }
    }

    fn render_matches(&self, search: &str) -> Markup {
        html! {
            p.small role="status" { (format_count(self.matches.len(), "line")) " with “" (search) "”" }
            ol.hits.mono {
                @for (number, line) in &self.matches {
                    li { span.soft { (number) } " " (agent_output::highlight(line, Some(search))) }
                }
            }
        }
    }
}

impl CheckView {
    fn render(&self) -> Markup {
        html! {
            details.check data-key={ "check " (self.command) } open[!self.passed] {
                summary {
                    strong class=(if self.passed { "good" } else { "bad" }) { (if self.passed { "passed" } else { "failed" }) }
                    " " code { (sanitize(&self.command)) } " " span.soft { (self.detail) }
                }
                pre.log tabindex="0" { (sanitize(&self.tail)) }
            }
        }
    }
}

impl ChangesView {
    fn render(&self) -> Markup {
        let changes = &self.changes;
        html! {
            p { (self.stat) }
            @for file in &changes.files { (render_file(file)) }
            @if changes.files_left_out > 0 {
                p.soft { (format_count(changes.files_left_out, "more file")) " are left out." }
            }
            @if changes.is_cut {
                p.soft { "The change is too long for this page: " code { "adjutant task diff" } " shows all of it." }
            }
        }
    }
}

/// Shows the changes of a file: closed until a person opens it.
fn render_file(file: &ChangedFile) -> Markup {
    html! {
        details.file data-key={ "file " (file.path) } {
            summary {
                span.mono { (sanitize(&file.path)) }
                @if let Some(old) = &file.old_path { " " span.soft.small { "from " (sanitize(old)) } }
                " " span.chip { (file.status.as_str()) }
                " " span.good.num { "+" (file.added) } " " span.bad.num { "-" (file.removed) }
            }
            @if file.is_binary { p.soft { "A binary file." } }
            @if !file.lines.is_empty() {
                div.wide tabindex="0" role="region" aria-label={ "Changes of " (sanitize(&file.path)) } {
                    table.diff { tbody { @for line in &file.lines { (render_line(line)) } } }
                }
            }
        }
    }
}

fn render_line(line: &ChangedLine) -> Markup {
    let (class, mark) = match line.kind {
        LineKind::Hunk => ("hunk", ""),
        LineKind::Context => ("", " "),
        LineKind::Added => ("came", "+"),
        LineKind::Removed => ("went", "-"),
        LineKind::Note => ("soft", ""),
    };
    html! {
        tr class=(class) {
            td.num { @if let Some(old) = line.old { (old) } }
            td.num { @if let Some(new) = line.new { (new) } }
            td.code { (mark) (sanitize(&line.text)) }
        }
    }
}

/// Percent-encodes a path as part of a URL.
fn encode_path(path: &str) -> String {
    let part = |part: &str| form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>();
    path.split('/').map(part).collect::<Vec<_>>().join("/").replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> TaskPage {
        let evil = "<img src=x onerror=alert(1)>";
        TaskPage {
            id: "TASK-2026-11-16-001".to_owned(),
            title: evil.to_owned(),
            status: Status::Review,
            priority: Priority::Normal,
            body: format!("# Hi\n\n{evil}\n\n[go](javascript:alert(1))\n"),
            hold_reasons: vec![evil.to_owned()],
            acts: vec![(TaskAct::Approve, None), (TaskAct::Reject, None)],
            question: Some(QuestionView {
                heading: evil.to_owned(),
                text: evil.to_owned(),
                acts: vec![(TaskAct::Allow, Some(evil.to_owned()))],
                commands: vec![evil.to_owned()],
            }),
            facts: TaskFormFacts::default(),
            side_values: vec![("agent".to_owned(), SideValue::Text(evil.to_owned()))],
            runs: vec![],
            output: Some(OutputView {
                attempt: 1,
                text: format!("\u{1b}[31m{evil}"),
                size: 10,
                offset: 10,
                is_running: true,
                search: Some("img".to_owned()),
                matches: vec![(1, evil.to_owned())],
            }),
            checks: vec![CheckView {
                command: evil.to_owned(),
                passed: false,
                detail: evil.to_owned(),
                tail: evil.to_owned(),
            }],
            changes: Some(ChangesView {
                stat: evil.to_owned(),
                changes: ChangeSet::parse(&format!(
                    "diff --git a/{evil} b/{evil}\n@@ -0,0 +1 @@\n+{evil}\u{202e}\n"
                )),
            }),
            files: vec![TaskFile { path: format!("outputs/{evil}"), size: 3 }],
            record: vec![],
            now: Time::parse("2026-11-16T08:02:00Z").expect("a time"),
        }
    }

    #[test]
    fn task_page_escapes_agent_text() {
        let shown = page().render().into_string();
        assert!(!shown.contains("<img"), "{shown}");
        assert!(!shown.contains("href=\"javascript"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn run_result_is_shown_in_words() {
        let result = |state, exit| {
            let started_at = "2026-11-16T08:00:00Z".to_owned();
            let (agent, ended_at) = ("swe".to_owned(), None);
            let (attempt, fence, tail) = (1, 1, None);
            describe_result(&RunView {
                attempt,
                agent,
                fence,
                state,
                started_at,
                ended_at,
                exit,
                tail,
            })
        };
        assert_eq!(result(RunViewState::Running, None), "running");
        assert_eq!(result(RunViewState::Over, Some(ProcessExit::Code(3))), "exit code 3");
        let stopped = ProcessExit::Stopped("cancelled".to_owned());
        assert_eq!(result(RunViewState::Over, Some(stopped)), "stopped: cancelled");
        assert_eq!(result(RunViewState::Lost, None), "lost");
    }

    #[test]
    fn task_file_path_is_percent_encoded() {
        assert_eq!(encode_path("outputs/a b/ä?.md"), "outputs/a%20b/%C3%A4%3F.md");
    }
}
