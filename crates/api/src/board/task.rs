//! One task: what it is, why it stands where it stands, and everything that came of it.

use adjutant_core::{Priority, Status, Time};
use maud::{Markup, html};

use super::columns::urgency;
use super::form::{Act, Form};
use super::markdown;
use super::output;
use super::record::{Line, lines};
use super::words::{ago, counted, moment, plain_times, span};

/// A task, with all there is about it.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is.
    pub priority: Priority,
    /// Everything else about it, in Markdown, as people and agents wrote it.
    pub body: String,
    /// Why it is not running, a sentence each.
    pub holds: Vec<String>,
    /// What a person can do.
    pub acts: Vec<Act>,
    /// What there is to say in the margin, by name.
    pub facts: Vec<(String, Fact)>,
    /// Its runs, the last first.
    pub runs: Vec<Run>,
    /// What the last run printed, as far as it is shown.
    pub output: Option<Output>,
    /// What was checked.
    pub checks: Vec<Check>,
    /// What changed, in words, with the diff.
    pub changes: Option<Changes>,
    /// Files that lie with it.
    pub files: Vec<File>,
    /// The last of what the record has about it.
    pub record: Vec<Line>,
    /// When the page was made.
    pub now: Time,
}

/// Something in the margin.
#[derive(Debug, Clone)]
pub enum Fact {
    /// Words.
    Text(String),
    /// Other tasks.
    Tasks(Vec<String>),
    /// A moment.
    Moment(Time),
}

/// A run of a task.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its number.
    pub attempt: u32,
    /// Who ran.
    pub agent: String,
    /// When it began.
    pub began: Option<Time>,
    /// When it ended; none while it runs.
    pub ended: Option<Time>,
    /// What came of it.
    pub outcome: String,
    /// What it cost, where the agent says so.
    pub cost: Option<String>,
}

/// What a run printed.
#[derive(Debug, Clone)]
pub struct Output {
    /// The run.
    pub attempt: u32,
    /// The end of what it printed.
    pub text: String,
    /// How much it printed in all, in bytes.
    pub size: u64,
    /// Where the text ends in it, in bytes: a script goes on from there.
    pub offset: u64,
    /// Whether more will come.
    pub runs: bool,
    /// What is looked for.
    pub search: Option<String>,
    /// The lines it was found in, with their numbers.
    pub hits: Vec<(u64, String)>,
}

/// Something that was checked.
#[derive(Debug, Clone)]
pub struct Check {
    /// The command.
    pub command: String,
    /// Whether it passed.
    pub passed: bool,
    /// How it ended, and on what.
    pub detail: String,
    /// The end of what it printed.
    pub tail: String,
}

/// What changed.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In a line.
    pub stat: String,
    /// The diff, as far as it is shown.
    pub diff: String,
}

/// A file that lies with a task.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path below the folder of the task.
    pub path: String,
    /// How large it is, in bytes.
    pub size: u64,
}

impl Page {
    /// Shows the page.
    pub fn shown(&self, csrf: &str) -> Markup {
        html! {
            div.head {
                h1 { (self.title) }
                span class={ "pill s-" (self.status.as_str()) } data-live="status" { (self.status.as_str()) }
                (urgency(self.priority))
            }
            div.pair {
                div {
                    (self.standing(csrf))
                    (self.evidence())
                    (self.printed())
                    (self.runs())
                    (self.about())
                    (self.files())
                    (self.record())
                }
                aside aria-label="About the task" { (self.margin()) }
            }
        }
    }

    fn standing(&self, csrf: &str) -> Markup {
        let back = format!("/tasks/{}", self.id);
        let form = |act| Form { act, task: &self.id, csrf, back: &back, report: None };
        html! {
            section class={ "sheet s-" (self.status.as_str()) } data-live="standing" aria-labelledby="standing" {
                h2 #standing { "Where it stands" }
                div.note {
                    @for hold in &self.holds { p { (plain_times(hold)) } }
                    @if self.holds.is_empty() { p { "Nothing holds it back: it is given out next." } }
                }
                div.acts { @for act in &self.acts { (form(*act).shown()) } }
            }
        }
    }

    fn evidence(&self) -> Markup {
        if self.checks.is_empty() && self.changes.is_none() {
            return html! {};
        }
        html! {
            section.sheet data-live="evidence" aria-labelledby="evidence" {
                h2 #evidence { "What was done" }
                @if let Some(changes) = &self.changes { (changes.shown()) }
                @for check in &self.checks { (check.shown()) }
            }
        }
    }

    fn printed(&self) -> Markup {
        html! {
            div data-output { @if let Some(output) = &self.output { (output.shown(&self.id)) } }
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
                            th scope="col" { "run" } th scope="col" { "agent" } th scope="col" { "began" }
                            th scope="col" .num { "took" } th scope="col" { "what came of it" }
                            th scope="col" .num { "cost" }
                        } }
                        tbody { @for run in &self.runs { (run.shown(&self.id, self.now)) } }
                    }
                }
            }
        }
    }

    fn about(&self) -> Markup {
        html! {
            section.sheet data-live="about" aria-labelledby="about" {
                h2 #about { "What it is" }
                div.prose {
                    @if self.body.trim().is_empty() { p.soft { "Nobody wrote more than the title." } }
                    (markdown::shown(&self.body))
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
                            a.mono href={ "/tasks/" (self.id) "/files/" (address(&file.path)) } { (output::visible(&file.path)) }
                            " " span.soft.small { (output::size(file.size)) }
                        }
                    }
                }
            }
        }
    }

    fn record(&self) -> Markup {
        html! {
            section.sheet data-live="record" aria-labelledby="record" {
                h2 #record { "Record" }
                (lines(&self.record, false))
                p.small { a href={ "/record?task=" (self.id) } { "All of it" } }
            }
        }
    }

    fn margin(&self) -> Markup {
        html! {
            section.sheet data-live="facts" aria-labelledby="facts" {
                h2 #facts { "About" }
                dl.facts {
                    dt { "id" } dd.mono { (self.id) }
                    @for (name, fact) in &self.facts { dt { (name) } dd { (fact.shown()) } }
                }
            }
        }
    }
}

impl Fact {
    fn shown(&self) -> Markup {
        match self {
            Self::Text(text) => html! { (text) },
            Self::Moment(time) => moment(*time),
            Self::Tasks(ids) => html! {
                @for id in ids { a.mono href={ "/tasks/" (id) } { (id) } " " }
            },
        }
    }
}

impl Run {
    fn shown(&self, task: &str, now: Time) -> Markup {
        let took = |from: Time, to: Time| span(to.as_millis().saturating_sub(from.as_millis()));
        html! {
            tr {
                td.num { a href={ "/tasks/" (task) "?run=" (self.attempt) "#output" } { (self.attempt) } }
                td { (self.agent) }
                td { @if let Some(began) = self.began { (moment(began)) } }
                td.num {
                    @match (self.began, self.ended) {
                        (Some(began), Some(ended)) => { (took(began, ended)) }
                        (Some(began), None) => { (ago(began, now)) }
                        (None, _) => {}
                    }
                }
                td { (self.outcome) }
                td.num { (self.cost.as_deref().unwrap_or("")) }
            }
        }
    }
}

impl Output {
    fn shown(&self, task: &str) -> Markup {
        let from = format!("/v1/tasks/{task}/log?attempt={}", self.attempt);
        html! {
            section.sheet #output aria-labelledby="printed" {
                div.row {
                    h2 #printed { "Output of run " (self.attempt) }
                    span.soft.small data-live="size" { (output::size(self.size)) @if self.runs { ", and more to come" } }
                    form.push method="get" action={ "/tasks/" (task) "#output" } {
                        input type="hidden" name="run" value=(self.attempt);
                        label.unseen for="find" { "Find in the output" }
                        input #find type="search" name="find" placeholder="find in the output" value=[self.search.as_deref()];
                    }
                    a.small href=(from) { "all of it" }
                }
                @if let Some(search) = &self.search { (self.found(search)) }
                pre.log tabindex="0" aria-labelledby="printed" data-run=[self.runs.then_some(self.attempt)]
                    data-from=(from) data-offset=(self.offset) { (output::marked(&self.text, self.search.as_deref())) }
            }
        }
    }

    fn found(&self, search: &str) -> Markup {
        html! {
            p.small role="status" { (counted(self.hits.len(), "line")) " with “" (search) "”" }
            ol.hits.mono {
                @for (number, line) in &self.hits {
                    li { span.soft { (number) } " " (output::marked(line, Some(search))) }
                }
            }
        }
    }
}

impl Check {
    fn shown(&self) -> Markup {
        html! {
            details.check open[!self.passed] {
                summary {
                    strong class=(if self.passed { "good" } else { "bad" }) { (if self.passed { "passed" } else { "failed" }) }
                    " " code { (output::visible(&self.command)) } " " span.soft { (self.detail) }
                }
                pre.log tabindex="0" { (output::visible(&self.tail)) }
            }
        }
    }
}

impl Changes {
    fn shown(&self) -> Markup {
        html! {
            p { (self.stat) }
            @if !self.diff.is_empty() {
                details { summary { "Diff" } pre.log.diff tabindex="0" { (output::diff(&self.diff)) } }
            }
        }
    }
}

/// Writes a path as a part of an address.
fn address(path: &str) -> String {
    let part = |part: &str| form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>();
    path.split('/').map(part).collect::<Vec<_>>().join("/").replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let evil = "<img src=x onerror=alert(1)>";
        Page {
            id: "TASK-2026-11-16-001".to_owned(),
            title: evil.to_owned(),
            status: Status::Review,
            priority: Priority::Normal,
            body: format!("# Hi\n\n{evil}\n\n[go](javascript:alert(1))\n"),
            holds: vec![evil.to_owned()],
            acts: vec![Act::Approve, Act::Reject],
            facts: vec![("agent".to_owned(), Fact::Text(evil.to_owned()))],
            runs: vec![],
            output: Some(Output {
                attempt: 1,
                text: format!("\u{1b}[31m{evil}"),
                size: 10,
                offset: 10,
                runs: true,
                search: Some("img".to_owned()),
                hits: vec![(1, evil.to_owned())],
            }),
            checks: vec![Check {
                command: evil.to_owned(),
                passed: false,
                detail: evil.to_owned(),
                tail: evil.to_owned(),
            }],
            changes: Some(Changes { stat: evil.to_owned(), diff: format!("+{evil}\n") }),
            files: vec![File { path: format!("outputs/{evil}"), size: 3 }],
            record: vec![],
            now: Time::parse("2026-11-16T08:02:00Z").expect("a time"),
        }
    }

    #[test]
    fn nothing_an_agent_wrote_becomes_markup() {
        let shown = page().shown("c").into_string();
        assert!(!shown.contains("<img"), "{shown}");
        assert!(!shown.contains("href=\"javascript"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn a_path_becomes_a_part_of_an_address() {
        assert_eq!(address("outputs/a b/ä?.md"), "outputs/a%20b/%C3%A4%3F.md");
    }
}
