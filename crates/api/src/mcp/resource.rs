//! Task files and what runs printed, as resources. A run sees its own and no other's.

use adjutant_core::TaskId;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use super::{Bearer, Session, broken};
use crate::office::{Trouble, Wanted};

const TASKS: &str = "adjutant://tasks/";
const OUTPUTS: &str = "adjutant://outputs/";
/// The most tasks that are listed; all can be read.
const LISTED_MAX: usize = 100;

/// Returns the resources there are: of an operator the tasks, of a run its own.
pub(super) fn list(session: &Session) -> Result<Vec<Resource>, Trouble> {
    let tasks = match own(session) {
        Some(None) => vec![],
        Some(Some(task)) => vec![(task.to_string(), "The task".to_owned())],
        None => {
            let wanted = Wanted { limit: Some(LISTED_MAX), ..Wanted::default() };
            let listed = session.office.list(&wanted)?;
            let text = |task: &Value, key: &str| task[key].as_str().unwrap_or_default().to_owned();
            let pair = |task: &Value| (text(task, "id"), text(task, "title"));
            listed.as_array().into_iter().flatten().map(pair).collect()
        }
    };
    Ok(tasks.iter().flat_map(|(id, title)| [task(id, title), output(id, title)]).collect())
}

fn task(id: &str, title: &str) -> Resource {
    Resource::new(format!("{TASKS}{id}"), id).with_title(title).with_mime_type("text/markdown")
}

fn output(id: &str, title: &str) -> Resource {
    Resource::new(format!("{OUTPUTS}{id}"), format!("{id} output"))
        .with_title(format!("What its last run printed: {title}"))
        .with_mime_type("text/plain")
}

/// Returns how the resources of any task are named.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{TASKS}{{id}}"), "task")
            .with_description("The file of a task.")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new(format!("{OUTPUTS}{{id}}"), "output")
            .with_description("The end of what the last run of a task printed.")
            .with_mime_type("text/plain"),
    ]
}

/// Reads a resource.
pub(super) fn read(session: &Session, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("there is no resource {uri:?}"), None);
    let named = |prefix: &str| uri.strip_prefix(prefix).and_then(|id| TaskId::parse(id).ok());
    let (id, kind, read) = if let Some(id) = named(TASKS) {
        let read = session.office.document(allowed(session, &id).ok_or_else(unknown)?);
        (id, "text/markdown", read)
    } else if let Some(id) = named(OUTPUTS) {
        let read = session.office.output(allowed(session, &id).ok_or_else(unknown)?);
        (id, "text/plain", read)
    } else {
        return Err(unknown());
    };
    let text = read.map_err(|trouble| match trouble.code.as_str() {
        "task_not_found" | "no_log" => {
            ErrorData::resource_not_found(format!("{id}: {trouble}"), None)
        }
        _ => broken(&trouble),
    })?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

/// Returns the one task a session may see, if it may see only one.
#[expect(clippy::option_option, reason = "no limit, or one task, or none yet")]
fn own(session: &Session) -> Option<Option<TaskId>> {
    match &session.bearer {
        Bearer::Operator(_) => None,
        Bearer::Run(_) | Bearer::Agent(_) => Some(session.run().ok().map(|run| run.task)),
    }
}

fn allowed<'a>(session: &Session, id: &'a TaskId) -> Option<&'a TaskId> {
    own(session).is_none_or(|own| own.as_ref() == Some(id)).then_some(id)
}
