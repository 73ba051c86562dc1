//! The work order: what an agent is told to do, in plain words.
//!
//! Pure text from what is known of a task. How it gets to the agent is not known here.

use std::fmt::Write as _;

/// What a work order is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Order<'a> {
    /// The id of the task.
    pub task: &'a str,
    /// What is to be done, in one line.
    pub title: &'a str,
    /// What is to be done, at length.
    pub body: &'a str,
    /// Who is to do it.
    pub agent: &'a str,
    /// Which attempt this is.
    pub attempt: u32,
    /// When it should be done.
    pub due: Option<&'a str>,
    /// The task's own folder, where results go.
    pub folder: &'a str,
    /// The `handoff.md` of whoever handed the task on.
    pub handoff: Option<&'a str>,
    /// The files to read first.
    pub context: &'a [&'a str],
    /// What is checked when the work is done.
    pub rules: &'a [&'a str],
    /// The commands that are run when the work is said to be done, and must pass.
    pub checks: &'a [&'a str],
    /// Why a reviewer sent the last attempt back.
    pub feedback: Option<&'a str>,
    /// What a person answered to questions of earlier attempts.
    pub answers: &'a [&'a str],
    /// The check that the last attempt did not pass, and what it printed.
    pub check: Option<&'a str>,
    /// Why earlier attempts came to nothing, the first one first.
    pub failures: &'a [&'a str],
    /// How the agent is told to report.
    pub by: By,
}

/// How an agent is told to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// By a command.
    #[default]
    Command,
    /// By a command, or by lines on standard output, which are messages.
    Lines,
    /// By the tools of our MCP server, or by a command.
    Tools,
    /// By HTTP, from elsewhere.
    Http,
    /// The same as by tools, to one that was told before, and goes on with what it was at.
    GoOn,
}

/// Writes the work order of a task.
pub fn text(order: &Order<'_>) -> String {
    if order.by == By::GoOn {
        return go_on(order);
    }
    let mut text = format!("# Work order: {}\n\n", one_line(order.title));
    head(&mut text, order);
    section(&mut text, "What to do", Some(order.body));
    section(&mut text, "Handed on to you", order.handoff.map(below).as_deref());
    list(&mut text, "Read first", order.context);
    list(&mut text, "Rules, which are checked", order.rules);
    commands(&mut text, order.checks);
    section(&mut text, "A reviewer sent the last attempt back", order.feedback);
    section(&mut text, "A check of the last attempt failed", order.check);
    list(&mut text, "Answers from a person", order.answers);
    list(&mut text, "Earlier attempts came to nothing", order.failures);
    text.push_str(&how_to_report(order));
    text
}

/// Writes what an agent is told that remembers its work order.
fn go_on(order: &Order<'_>) -> String {
    let mut text = String::from(if order.check.is_some() || order.feedback.is_some() {
        "Your work was sent back. Look at what is there and at what was said of it, mend it, and \
         report again.\n\n"
    } else {
        "You were stopped before you had reported. Look at what is there, and go on with your \
         work order where you were.\n\n"
    });
    section(&mut text, "A reviewer sent the last attempt back", order.feedback);
    section(&mut text, "A check of the last attempt failed", order.check);
    commands(&mut text, order.checks);
    list(&mut text, "Answers from a person", order.answers);
    list(&mut text, "Earlier attempts came to nothing", order.failures);
    text.push_str(TOOLS);
    text
}

fn head(text: &mut String, order: &Order<'_>) {
    let _ = writeln!(text, "- Task: {}", order.task);
    let _ = writeln!(text, "- You are: {}, attempt {}", order.agent, order.attempt);
    if let Some(due) = order.due {
        let _ = writeln!(text, "- Due: {due}");
    }
    let _ = writeln!(text, "- Its folder: {}\n", order.folder);
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

/// Names the commands that decide whether the work counts.
fn commands(text: &mut String, checks: &[&str]) {
    if checks.is_empty() {
        return;
    }
    text.push_str(CHECKS);
    for check in checks {
        let _ = writeln!(text, "    {}", one_line(check));
    }
    text.push('\n');
}

/// A document within another has no title of its own, and its sections are parts of one.
fn below(document: &str) -> String {
    let lines = document.lines().filter(|line| !line.starts_with("# "));
    let lower =
        |line: &str| if line.starts_with("##") { format!("#{line}") } else { line.to_owned() };
    lines.map(lower).collect::<Vec<_>>().join("\n")
}

fn how_to_report(order: &Order<'_>) -> String {
    if order.by == By::Http {
        let line = completion(order.task, order.agent);
        return format!("{HTTP}\n```\n{line}\n```\n");
    }
    if order.by == By::Tools {
        return format!("{TOOLS}\n{OR_COMMAND}");
    }
    let mut text = String::from(REPORT);
    if order.by == By::Lines {
        let line = completion(order.task, order.agent);
        let _ = write!(
            text,
            "\nWhere that command cannot be run, print one line on standard output instead:\n\n\
             ```\nAOF/1 {line}\n```\n"
        );
    }
    text
}

/// Writes a report as an agent that is done could send it.
fn completion(task: &str, agent: &str) -> String {
    format!(
        "{{\"protocol\":\"aof\",\"version\":1,\"type\":\"completion.report\",\
         \"taskId\":{task:?},\"fromAgent\":{agent:?},\"toAgent\":\"dispatcher\",\
         \"sentAt\":\"<now, RFC 3339>\",\"payload\":{{\"outcome\":\"done\",\
         \"summaryRef\":\"outputs/summary.md\",\"tests\":{{\"total\":0,\"passed\":0,\
         \"failed\":0}},\"notes\":\"<what was done>\"}}}}"
    )
}

const HTTP: &str = "\
## How to report

Answer the call that brought this with a report, or say that you have taken it (`202`) and post the report to `reportTo`, with `authorization: Bearer` and the `runToken`.
Until then post to `beatTo` with the same token now and then, so that you are not taken for gone.
An outcome is `done`, `partial`, `blocked` (with `blockers`) or `needs_review`; a report is:
";

const TOOLS: &str = "\
## How to report

Work in the current folder.
When you are done, call the tool `complete` of the MCP server `adjutant`, with what you did and how many tests passed; if you cannot go on, `report_blocked`; if a person has to decide something, `ask_human`; on the way, `report_progress`.
Ending without one of the first three counts as an attempt that came to nothing.
";

const CHECKS: &str = "\
## Checks

When you say that you are done, these commands are run in your folder, one after the other, and must pass; run them yourself first:

";

const OR_COMMAND: &str = "\
Where these tools cannot be called, run one of these instead:

```
adjutant report done --notes \"what was done\" --tests TOTAL/PASSED/FAILED
adjutant report blocked --blocker \"what is in the way\"
```
";

const REPORT: &str = "\
## How to report

Work in the current folder.
Write what you did to `outputs/summary.md` in the folder of the task, then run one of these; ending without a report counts as an attempt that came to nothing.

```
adjutant report done --notes \"what was done\" --tests TOTAL/PASSED/FAILED
adjutant report partial --notes \"what is done and what is not\"
adjutant report blocked --blocker \"what is in the way\"
adjutant report needs-review --notes \"what somebody should look at\"
adjutant report progress \"how far it is\"
```
";

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use adjutant_test_support::golden::GoldenFolder;

    use super::*;

    const PLAIN: Order<'static> = Order {
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
        by: By::Lines,
    };

    #[test]
    fn work_order_forms_match_golden_files() {
        let everything = Order {
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
            by: By::Command,
            ..PLAIN
        };
        let failures = &["attempt 1: killed by signal 9"];
        let mut golden = GoldenFolder::new("work-orders/forms");
        golden.add("plain.md", text(&PLAIN));
        golden.add("everything.md", text(&everything));
        golden.add("tools.md", text(&Order { by: By::Tools, ..PLAIN }));
        golden.add("http.md", text(&Order { by: By::Http, ..PLAIN }));
        golden.add("go_on.md", text(&Order { by: By::GoOn, failures, ..PLAIN }));
        golden.check();
    }

    #[test]
    fn work_order_of_rejected_work_says_so_first() {
        let failures = &["attempt 1: killed by signal 9"];
        let sent_back = Some("`make test`: exit code 2");
        let order = Order { by: By::GoOn, failures, check: sent_back, ..PLAIN };
        assert!(text(&order).starts_with("Your work was sent back."), "{}", text(&order));
        assert!(text(&order).contains("exit code 2"), "{}", text(&order));
    }

    #[test]
    fn nothing_in_a_title_or_an_answer_makes_a_section() {
        let order = Order { title: "x\n## y", answers: &["a\n\n## b"], body: " \n", ..PLAIN };
        let made = text(&order);
        let sections: Vec<&str> = made.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(sections, ["## Answers from a person", "## How to report"]);
    }
}
