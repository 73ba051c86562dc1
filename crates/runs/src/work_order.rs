//! The text of a work order: what an agent must do, in plain words.
//!
//! Pure text from what is known about a task. It does not know how the text reaches the agent.

use std::borrow::Cow;
use std::fmt::Write as _;

use adjutant_core::protocols::aof::MESSAGE_PREFIX;
use adjutant_model::work_log::strip_work_log;

/// The content of a work order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkOrderContent<'a> {
    pub task: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    pub agent: &'a str,
    pub attempt: u32,
    pub due: Option<&'a str>,
    /// The task's own folder, where results go.
    pub folder: &'a str,
    /// The `handoff.md` of the agent that delegated the task.
    pub handoff: Option<&'a str>,
    /// The files to read first.
    pub context: &'a [&'a str],
    /// Constraints that are checked when the work is done.
    pub rules: &'a [&'a str],
    /// The commands that must pass when the agent reports done.
    pub checks: &'a [&'a str],
    /// Why a reviewer sent the last attempt back.
    pub feedback: Option<&'a str>,
    /// The operator's answers to questions of earlier attempts.
    pub answers: &'a [&'a str],
    /// The check that failed in the last attempt, with its output.
    pub check: Option<&'a str>,
    /// Why earlier attempts failed, oldest first.
    pub failures: &'a [&'a str],
    pub by: ReportingMethod,
}

/// How the work order tells the agent to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportingMethod {
    #[default]
    Command,
    /// With a command, or with message lines on standard output.
    Lines,
    /// With the tools of the MCP server, or with a command.
    Tools,
    /// By HTTP, for a remote agent.
    Http,
    /// With tools; a short order for an agent that resumes its session and knows the task.
    ResumedTools,
}

pub fn write_order(order: &WorkOrderContent<'_>) -> String {
    if order.by == ReportingMethod::ResumedTools {
        return write_resume_order(order);
    }
    let mut text = format!("# Work order: {}\n\n", one_line(order.title));
    write_head(&mut text, order);
    section(&mut text, "What to do", Some(&what_to_do(order)));
    section(&mut text, "Handoff", order.handoff.map(embed_document).as_deref());
    list(&mut text, "Read first", order.context);
    list(&mut text, "Rules (Adjutant checks them)", order.rules);
    write_checks(&mut text, order.checks);
    section(&mut text, "Why the last attempt was sent back", order.feedback);
    section(&mut text, "A check failed in the last attempt", order.check);
    list(&mut text, "Answers from a person", order.answers);
    list(&mut text, "Failed attempts", order.failures);
    text.push_str(&how_to_report(order));
    text
}

/// Returns the body, preceded by the title if the body says nothing but what was done so far.
fn what_to_do<'a>(order: &WorkOrderContent<'a>) -> Cow<'a, str> {
    if strip_work_log(order.body).trim().is_empty() {
        return format!("{}\n\n{}", one_line(order.title), order.body).into();
    }
    order.body.into()
}

/// Writes the short order for an agent that resumes its session.
fn write_resume_order(order: &WorkOrderContent<'_>) -> String {
    let mut text = String::from(if order.check.is_some() || order.feedback.is_some() {
        "Your last attempt was rejected. Read the reasons below, correct your work, and report \
         again.\n\n"
    } else {
        "You were stopped before you reported. Check the state of your work, then continue with \
         your work order.\n\n"
    });
    section(&mut text, "Why the last attempt was sent back", order.feedback);
    section(&mut text, "A check failed in the last attempt", order.check);
    write_checks(&mut text, order.checks);
    list(&mut text, "Answers from a person", order.answers);
    list(&mut text, "Failed attempts", order.failures);
    text.push_str(TOOLS);
    text
}

fn write_head(text: &mut String, order: &WorkOrderContent<'_>) {
    let _ = writeln!(text, "- Task: {}", order.task);
    let _ = writeln!(text, "- You are: {}, attempt {}", order.agent, order.attempt);
    if let Some(due) = order.due {
        let _ = writeln!(text, "- Due: {due}");
    }
    let _ = writeln!(text, "- Task folder: {}\n", order.folder);
}

fn section(text: &mut String, title: &str, body: Option<&str>) {
    if let Some(body) = body.map(str::trim).filter(|body| !body.is_empty()) {
        let _ = write!(text, "## {title}\n\n{body}\n\n");
    }
}

fn list(text: &mut String, title: &str, items: &[&str]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "## {title}\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", one_line(item));
    }
    text.push('\n');
}

/// Lists the commands that decide whether the work counts.
fn write_checks(text: &mut String, checks: &[&str]) {
    if checks.is_empty() {
        return;
    }
    text.push_str(CHECKS);
    for check in checks {
        let _ = writeln!(text, "    {}", one_line(check));
    }
    text.push('\n');
}

/// Embeds a document: drops its title and moves its headings one level down.
fn embed_document(document: &str) -> String {
    let lines = document.lines().filter(|line| !line.starts_with("# "));
    let lower =
        |line: &str| if line.starts_with("##") { format!("#{line}") } else { line.to_owned() };
    lines.map(lower).collect::<Vec<_>>().join("\n")
}

fn how_to_report(order: &WorkOrderContent<'_>) -> String {
    if order.by == ReportingMethod::Http {
        let line = example_completion(order.task, order.agent, "");
        return format!("{HTTP}\n```\n{line}\n```\n");
    }
    if order.by == ReportingMethod::Tools {
        return format!("{TOOLS}\n{OR_COMMAND}");
    }
    let mut text = String::from(REPORT);
    if order.by == ReportingMethod::Lines {
        let token = "\"runToken\":\"<the value of ADJUTANT_RUN_TOKEN>\",";
        let line = example_completion(order.task, order.agent, token);
        let _ = write!(
            text,
            "\nIf you cannot run these commands, print one line on standard output instead.\n\
             It counts only with the run token, which is in the environment variable \
             `ADJUTANT_RUN_TOKEN`:\n\n\
             ```\n{MESSAGE_PREFIX}{line}\n```\n"
        );
    }
    text
}

/// Writes an example of a completion report. `token` is the field with the run token, if it has one.
fn example_completion(task: &str, agent: &str, token: &str) -> String {
    format!(
        "{{\"protocol\":\"aof\",\"version\":1,\"type\":\"completion.report\",\
         \"taskId\":{task:?},\"fromAgent\":{agent:?},\"toAgent\":\"dispatcher\",\
         \"sentAt\":\"<now, RFC 3339>\",{token}\"payload\":{{\"outcome\":\"done\",\
         \"summaryRef\":\"outputs/summary.md\",\"tests\":{{\"total\":0,\"passed\":0,\
         \"failed\":0}},\"notes\":\"<what was done>\"}}}}"
    )
}

const HTTP: &str = "\
## How to report

Answer the HTTP request that brought this work order with your report.
Or answer with `202` and send the report later: POST it to `reportTo` with the header `authorization: Bearer <runToken>`.
Until you report, POST to `beatTo` regularly with the same header: these are your heartbeats, and a run without heartbeats counts as dead.
The outcome is `done`, `partial`, `blocked` (with `blockers`) or `needs_review`. An example of a report:
";

const TOOLS: &str = "\
## How to report

Work in the current folder.
Before you stop, call one of these tools of the MCP server `adjutant`:

- `complete`: the work is done; say what you did and how many tests passed.
- `report_blocked`: you cannot continue; say what is in the way.
- `ask_human`: a person must decide something.

If you stop without calling one of them, the attempt counts as failed.
Call `report_progress` along the way.
";

const CHECKS: &str = "\
## Checks

When you report that you are done, these commands run in your folder, in this order, and all of them must pass.
Run them yourself first:

";

const OR_COMMAND: &str = "\
If you cannot call these tools, run one of these commands instead:

```
adjutant report done --notes \"what was done\" --tests TOTAL/PASSED/FAILED
adjutant report blocked --blocker \"what is in the way\"
```
";

const REPORT: &str = "\
## How to report

Work in the current folder.
Write a summary of what you did to `outputs/summary.md` in the task folder.
Then run one of the first four commands; if you stop without it, the attempt counts as failed.
Run the last one along the way.

```
adjutant report done --notes \"what was done\" --tests TOTAL/PASSED/FAILED
adjutant report partial --notes \"what is done and what is not\"
adjutant report blocked --blocker \"what is in the way\"
adjutant report needs-review --notes \"what needs a review\"
adjutant report progress \"what is done so far\"
```
";

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use adjutant_test_support::golden::GoldenFolder;

    use super::*;

    const PLAIN: WorkOrderContent<'static> = WorkOrderContent {
        task: "TASK-2026-02-09-057",
        title: "Mend the gate",
        body: "It squeaks.\n\nDo not paint it.\n",
        agent: "swe-backend",
        attempt: 1,
        due: None,
        folder: "/p/.adjutant/tasks/in-progress/TASK-2026-02-09-057",
        handoff: None,
        context: &[],
        rules: &[],
        checks: &[],
        feedback: None,
        answers: &[],
        check: None,
        failures: &[],
        by: ReportingMethod::Lines,
    };

    #[test]
    fn work_order_forms_match_golden_files() {
        let everything = WorkOrderContent {
            attempt: 3,
            due: Some("2026-02-10T12:00:00.000Z"),
            handoff: Some("# Handoff\n\n## Constraints\n\n- No paint\n"),
            context: &["docs/gate.md"],
            rules: &["Change at most 1 files."],
            checks: &["make test", "make lint"],
            feedback: Some("The hinge is on the wrong side."),
            answers: &["Oil is in the\nshed."],
            check: Some("`make test`: exit code 2\n\n```\nit squeaks\n```"),
            failures: &["attempt 1: exit 1: no oil", "attempt 2: timed out"],
            by: ReportingMethod::Command,
            ..PLAIN
        };
        let failures = &["attempt 1: killed by signal 9"];
        let mut golden = GoldenFolder::new("work-orders/forms");
        golden.add("plain.md", write_order(&PLAIN));
        golden.add("everything.md", write_order(&everything));
        golden.add(
            "tools.md",
            write_order(&WorkOrderContent { by: ReportingMethod::Tools, ..PLAIN }),
        );
        golden
            .add("http.md", write_order(&WorkOrderContent { by: ReportingMethod::Http, ..PLAIN }));
        golden.add(
            "go_on.md",
            write_order(&WorkOrderContent { by: ReportingMethod::ResumedTools, failures, ..PLAIN }),
        );
        golden.check();
    }

    #[test]
    fn work_order_of_rejected_work_says_so_first() {
        let failures = &["attempt 1: killed by signal 9"];
        let sent_back = Some("`make test`: exit code 2");
        let order = WorkOrderContent {
            by: ReportingMethod::ResumedTools,
            failures,
            check: sent_back,
            ..PLAIN
        };
        assert!(
            write_order(&order).starts_with("Your last attempt was rejected."),
            "{}",
            write_order(&order)
        );
        assert!(write_order(&order).contains("exit code 2"), "{}", write_order(&order));
    }

    #[test]
    fn work_order_title_and_answers_cannot_add_sections() {
        let order =
            WorkOrderContent { title: "x\n## y", answers: &["a\n\n## b"], body: " \n", ..PLAIN };
        let made = write_order(&order);
        let sections: Vec<&str> = made.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(sections, ["## What to do", "## Answers from a person", "## How to report"]);
    }
}
