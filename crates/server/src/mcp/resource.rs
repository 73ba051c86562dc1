//! Task files and run output as MCP resources. A run sees only its own.

use adjutant_model::TaskId;
use adjutant_query::failure::CommandFailure;
use adjutant_query::task::TaskView;
use adjutant_query::task_list::TaskQuery;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::{McpServerSession, SessionIdentity, to_internal_error};

const TASKS: &str = "adjutant://tasks/";
const OUTPUTS: &str = "adjutant://outputs/";
/// The most tasks that are listed; unlisted ones can be read, too.
const LISTED_MAX: usize = 100;

/// Lists the resources: all tasks for an operator, its own task for a run.
pub(super) fn list(session: &McpServerSession) -> Result<Vec<Resource>, CommandFailure> {
    let tasks = match only_task(session) {
        Some(None) => vec![],
        Some(Some(task)) => vec![(task.to_string(), "Your task".to_owned())],
        None => {
            let query = TaskQuery { limit: Some(LISTED_MAX), ..TaskQuery::default() };
            let listed = session.project()?.queries.tasks(&query)?;
            let text = |task: &TaskView, key| task.text(key).unwrap_or_default().to_owned();
            listed.iter().map(|task| (text(task, "id"), text(task, "title"))).collect()
        }
    };
    Ok(tasks
        .iter()
        .flat_map(|(id, title)| [task_resource(id, title), output_resource(id, title)])
        .collect())
}

fn task_resource(id: &str, title: &str) -> Resource {
    Resource::new(format!("{TASKS}{id}"), id).with_title(title).with_mime_type("text/markdown")
}

fn output_resource(id: &str, title: &str) -> Resource {
    Resource::new(format!("{OUTPUTS}{id}"), format!("{id} output"))
        .with_title(format!("Output of the last run: {title}"))
        .with_mime_type("text/plain")
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{TASKS}{{id}}"), "task")
            .with_description("The file of a task: front matter and description.")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new(format!("{OUTPUTS}{{id}}"), "output")
            .with_description("The end of the output of a task's last run.")
            .with_mime_type("text/plain"),
    ]
}

pub(super) fn read(session: &McpServerSession, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("there is no resource {uri:?}"), None);
    let named = |prefix: &str| uri.strip_prefix(prefix).and_then(|id| TaskId::parse(id).ok());
    let (id, kind, read) = if let Some(id) = named(TASKS) {
        let read =
            session.run_access().task_file_text(check_visible(session, &id).ok_or_else(unknown)?);
        (id, "text/markdown", read)
    } else if let Some(id) = named(OUTPUTS) {
        let read =
            session.run_access().last_output(check_visible(session, &id).ok_or_else(unknown)?);
        (id, "text/plain", read)
    } else {
        return Err(unknown());
    };
    let text = read.map_err(|failure| match failure.code {
        "task_not_found" | "no_log" => {
            ErrorData::resource_not_found(format!("{id}: {failure}"), None)
        }
        _ => to_internal_error(&failure),
    })?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

/// Returns the only task a session may see. `None` means all tasks, `Some(None)` no task yet.
#[expect(clippy::option_option, reason = "no limit, or one task, or none yet")]
fn only_task(session: &McpServerSession) -> Option<Option<TaskId>> {
    match &session.identity {
        SessionIdentity::Operator(_) => None,
        SessionIdentity::Run(_) | SessionIdentity::Agent(_) => {
            Some(session.run().ok().map(|run| run.task))
        }
    }
}

fn check_visible<'a>(session: &McpServerSession, id: &'a TaskId) -> Option<&'a TaskId> {
    only_task(session).is_none_or(|own| own.as_ref() == Some(id)).then_some(id)
}
