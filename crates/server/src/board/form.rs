//! The actions on tasks, as forms that work without a script.

use adjutant_core::World;
use adjutant_core::schedule::{InboxAction, approval_merges};
use adjutant_model::Task;
use maud::{Markup, html};

use super::agent_output::sanitize;

/// What a person can do to a task on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAct {
    Approve,
    /// Approves work that changes protected paths.
    ApproveProtected,
    /// Accepts the checks in the file of a task.
    AcceptChecks,
    Reject,
    Answer,
    /// Grants a permission that a run waits for.
    Allow,
    /// Denies a permission that a run waits for.
    Deny,
    Retry,
    Cancel,
    /// Applies a report that arrived too late.
    Apply,
    /// Moves a task from the backlog to ready.
    Ready,
    /// Returns a cancelled task to the backlog.
    Reopen,
}

impl TaskAct {
    pub const ALL: [Self; 12] = [
        Self::Approve,
        Self::ApproveProtected,
        Self::AcceptChecks,
        Self::Reject,
        Self::Answer,
        Self::Allow,
        Self::Deny,
        Self::Retry,
        Self::Cancel,
        Self::Apply,
        Self::Ready,
        Self::Reopen,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveProtected => "approve-protected",
            Self::AcceptChecks => "accept-checks",
            Self::Reject => "reject",
            Self::Answer => "answer",
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Apply => "apply",
            Self::Ready => "ready",
            Self::Reopen => "reopen-task",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == text)
    }

    /// Returns the form for an inbox action, or `None` if the board has none and shows the command.
    pub fn for_action(action: &InboxAction) -> Option<Self> {
        match action {
            InboxAction::Approve | InboxAction::ApproveWithNote => Some(Self::Approve),
            InboxAction::ApproveProtected { .. } => Some(Self::ApproveProtected),
            InboxAction::AcceptChecks { .. } => Some(Self::AcceptChecks),
            InboxAction::Reject => Some(Self::Reject),
            InboxAction::Answer => Some(Self::Answer),
            InboxAction::Allow { .. } => Some(Self::Allow),
            InboxAction::Deny { .. } => Some(Self::Deny),
            InboxAction::Retry => Some(Self::Retry),
            InboxAction::Cancel => Some(Self::Cancel),
            InboxAction::ApplySalvage { .. } => Some(Self::Apply),
            InboxAction::Choose { .. }
            | InboxAction::Edit
            | InboxAction::ShowDiff
            | InboxAction::Explain
            | InboxAction::TestAgent { .. }
            | InboxAction::AllowHost { .. }
            | InboxAction::Diagnose
            | InboxAction::AcceptConfig
            | InboxAction::ApproveStory { .. }
            | InboxAction::RejectStory { .. } => None,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::ApproveProtected => "Approve with protected paths",
            Self::AcceptChecks => "Accept checks",
            Self::Reject => "Reject",
            Self::Answer => "Answer",
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Retry => "Retry",
            Self::Cancel => "Cancel task",
            Self::Apply => "Apply report",
            Self::Ready => "Move to ready",
            Self::Reopen => "Reopen task",
        }
    }

    /// Returns the text field of the form, if the action has one.
    fn text_field(self) -> Option<TextField> {
        match self {
            Self::Reject => Some(TextField { label: "What must change", is_required: true }),
            Self::Answer => Some(TextField { label: "Your answer", is_required: true }),
            Self::Approve | Self::ApproveProtected => {
                Some(TextField { label: "Note (optional)", is_required: false })
            }
            Self::AcceptChecks
            | Self::Allow
            | Self::Deny
            | Self::Retry
            | Self::Cancel
            | Self::Apply
            | Self::Ready
            | Self::Reopen => None,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Approve
            | Self::ApproveProtected
            | Self::AcceptChecks
            | Self::Answer
            | Self::Allow => "do",
            Self::Reject | Self::Deny | Self::Cancel => "no",
            Self::Retry | Self::Apply | Self::Ready | Self::Reopen => "",
        }
    }
}

struct TextField {
    label: &'static str,
    is_required: bool,
}

/// What a form says about its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFormFacts {
    pub title: String,
    /// The status and the attempt, so that the script notices that the task has moved on.
    pub state: String,
    /// Whether approving the task merges its work.
    pub merges: bool,
}

impl TaskFormFacts {
    pub fn of(world: &World, task: &Task) -> Self {
        let attempt = task.last_run.as_ref().map(|run| run.attempt);
        let attempt = attempt.map_or_else(String::new, |number| format!(", attempt {number}"));
        Self {
            title: task.title.to_string(),
            state: format!("{}{attempt}", task.status()),
            merges: approval_merges(world, task),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TaskForm<'a> {
    pub act: TaskAct,
    pub task: &'a str,
    pub facts: &'a TaskFormFacts,
    /// The path to redirect to afterwards.
    pub back: &'a str,
    /// The report, the number of the question, the protected files or the checks that the action is
    /// about, if any.
    pub report: Option<&'a str>,
}

impl TaskForm<'_> {
    /// Returns what the person is asked before the form is sent, if anything.
    fn confirmation(&self) -> Option<String> {
        let name = format!("{} {}", self.task, sanitize(&self.facts.title));
        match self.act {
            TaskAct::Approve | TaskAct::ApproveProtected if self.facts.merges => {
                Some(format!("Approve this task and merge its work?\n{name}"))
            }
            TaskAct::Cancel => {
                Some(format!("Cancel this task? A run that is under way is stopped.\n{name}"))
            }
            TaskAct::Approve
            | TaskAct::ApproveProtected
            | TaskAct::AcceptChecks
            | TaskAct::Reject
            | TaskAct::Answer
            | TaskAct::Allow
            | TaskAct::Deny
            | TaskAct::Retry
            | TaskAct::Apply
            | TaskAct::Ready
            | TaskAct::Reopen => None,
        }
    }

    pub fn render(&self) -> Markup {
        let field = format!("{}-{}", self.act.as_str(), self.task);
        html! {
            form method="post" action={ "/tasks/" (self.task) "/" (self.act.as_str()) }
                data-act=(self.act.as_str()) data-about=[self.report] data-at=(self.facts.state)
                data-confirm=[self.confirmation()] {
                (render_back_field(self.back))
                @if let Some(report) = self.report {
                    input type="hidden" name="report" value=(report);
                }
                @if let Some(ask) = self.act.text_field() {
                    label.unseen for=(field) { (ask.label) }
                    input type="text" id=(field) name="text" placeholder=(ask.label)
                        required[ask.is_required] maxlength="10000" autocomplete="off";
                }
                @if self.act == TaskAct::ApproveProtected {
                    label.small {
                        input type="checkbox" name="consent" value="yes" required;
                        " Merge its changes of protected paths: "
                        (sanitize(self.report.unwrap_or_default()))
                    }
                }
                button class=(self.act.class()) { (self.act.label()) }
            }
        }
    }
}

/// The hidden field of every form. The script adds the anti-forgery token: pages do not contain it,
/// because a server on another port, which gets the cookie, can read them.
pub fn render_back_field(back: &str) -> Markup {
    html! { input type="hidden" name="back" value=(back); }
}

pub fn render_new_task_form(agents: &[String]) -> Markup {
    html! {
        div.head { h1 { "New task" } }
        form.sheet.tall method="post" action="/tasks" {
            (render_back_field("/"))
            label for="title" { "Title" }
            input #title type="text" name="title" required maxlength="512" autocomplete="off" autofocus;
            label for="body" { "Description (Markdown)" }
            textarea #body name="body" rows="10" maxlength="200000" {}
            label for="checks" { "Checks: commands that must pass, one per line, instead of the project's checks" }
            textarea #checks name="checks" rows="2" maxlength="20000" spellcheck="false" {}
            div.row {
                label for="priority" { "Priority" }
                select #priority name="priority" {
                    @for word in ["critical", "high", "normal", "low"] {
                        option value=(word) selected[word == "normal"] { (word) }
                    }
                }
                label for="agent" { "Agent" }
                select #agent name="agent" {
                    option value="" { "any agent" }
                    @for agent in agents { option value=(agent) { (agent) } }
                }
                label for="status" { "Initial status" }
                select #status name="status" {
                    option value="ready" { "ready" }
                    option value="backlog" { "backlog" }
                }
            }
            div.row { button.do { "Create task" } a href="/" { "Cancel" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_act_word_parses_back() {
        for act in TaskAct::ALL {
            assert_eq!(TaskAct::parse(act.as_str()), Some(act));
        }
        assert_eq!(TaskAct::parse("delete"), None);
    }

    #[test]
    fn inbox_action_becomes_form() {
        let name = "x".to_owned();
        let actions = [
            InboxAction::Approve,
            InboxAction::Reject,
            InboxAction::Retry,
            InboxAction::ApplySalvage { name },
            InboxAction::Diagnose,
        ];
        assert_eq!(
            actions.each_ref().map(TaskAct::for_action),
            [
                Some(TaskAct::Approve),
                Some(TaskAct::Reject),
                Some(TaskAct::Retry),
                Some(TaskAct::Apply),
                None
            ]
        );
    }

    #[test]
    fn permission_choices_become_allow_and_deny_forms() {
        let actions = [
            InboxAction::Allow { request: 3 },
            InboxAction::Deny { request: 3 },
            InboxAction::Choose { request: 3, choice: "always".to_owned() },
            InboxAction::Answer,
        ];
        assert_eq!(
            actions.each_ref().map(TaskAct::for_action),
            [Some(TaskAct::Allow), Some(TaskAct::Deny), None, Some(TaskAct::Answer)]
        );
    }

    #[test]
    fn form_that_merges_or_cancels_asks_first() {
        let check = |act, merges, expected: Option<&str>| {
            let facts =
                TaskFormFacts { title: "Fix it".to_owned(), merges, ..TaskFormFacts::default() };
            let (task, back, report) = ("TASK-2026-11-16-001", "/inbox", None);
            let asked = TaskForm { act, task, facts: &facts, back, report }.confirmation();
            assert_eq!(asked.as_deref(), expected, "{act:?}");
        };
        let merge = "Approve this task and merge its work?\nTASK-2026-11-16-001 Fix it";
        check(TaskAct::Approve, true, Some(merge));
        check(TaskAct::ApproveProtected, true, Some(merge));
        check(TaskAct::Approve, false, None);
        let cancel =
            "Cancel this task? A run that is under way is stopped.\nTASK-2026-11-16-001 Fix it";
        check(TaskAct::Cancel, false, Some(cancel));
        check(TaskAct::Reject, true, None);
    }

    #[test]
    fn form_escapes_report_name() {
        let form = TaskForm {
            act: TaskAct::Apply,
            task: "TASK-2026-11-16-001",
            facts: &TaskFormFacts::default(),
            back: "/inbox",
            report: Some("\"><script>alert(1)</script>"),
        };
        let text = form.render().into_string();
        assert!(!text.contains("<script"), "{text}");
    }
}
