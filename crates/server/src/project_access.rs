//! What the server needs of a project: queries, and a way to change it.

use adjutant_config::SharedConfig;
use adjutant_config::redact::SecretRedactor;
use adjutant_engine::{EngineAnswer, EngineHandle, EngineRequest};
use adjutant_model::TaskId;
use adjutant_model::story::StoryId;
use adjutant_query::failure::CommandFailure;
use adjutant_query::story::open_project;
use adjutant_query::{ProjectQueries, RunCredentials};
use adjutant_runs::summary_file::store_summary;
use adjutant_store::StoreError;
use adjutant_stories::{StepChecks, StoryCommandAnswer};

use crate::story_operation::{StoryOperation, apply_operation};

/// Commits requests: the engine of this process, or the process that writes to a shared folder.
pub trait RequestSender: Send + Sync + 'static {
    /// Sends requests in one commit, and returns once it is durable.
    fn send(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, CommandFailure>;

    /// Checks that requests would be answered.
    fn check_ready(&self) -> Result<(), CommandFailure>;
}

impl RequestSender for EngineHandle {
    fn send(&self, mut requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, CommandFailure> {
        match requests.pop() {
            // A single request may share its commit with those of other callers.
            Some(only) if requests.is_empty() => Ok(vec![self.ask(only)?]),
            last => {
                requests.extend(last);
                Ok(self.ask_all(requests)?)
            }
        }
    }

    fn check_ready(&self) -> Result<(), CommandFailure> {
        Ok(self.view(|_| ())?)
    }
}

/// What the MCP tools of a run need: from the project itself, or through the socket of the run.
pub trait RunAccess: Send + Sync + 'static {
    fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, CommandFailure>;

    /// Returns the work order of the run.
    fn work_order(&self, run: &RunCredentials) -> Result<String, CommandFailure>;

    /// Stores the summary of the work in the folder of the task.
    fn store_summary(&self, task: &TaskId, text: &str) -> Result<(), CommandFailure>;

    fn task_file_text(&self, task: &TaskId) -> Result<String, CommandFailure>;

    /// Returns the end of the output of the task's last run.
    fn last_output(&self, task: &TaskId) -> Result<String, CommandFailure>;
}

impl RunAccess for ProjectAccess {
    fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, CommandFailure> {
        Self::ask(self, request)
    }

    fn work_order(&self, run: &RunCredentials) -> Result<String, CommandFailure> {
        self.queries.work_order(&run.task, &run.agent, run.attempt)
    }

    fn store_summary(&self, task: &TaskId, text: &str) -> Result<(), CommandFailure> {
        store_summary(self.queries.root(), task, text).map_err(|error| {
            CommandFailure::broken(format!("cannot store the summary of {task}"), &error)
        })
    }

    fn task_file_text(&self, task: &TaskId) -> Result<String, CommandFailure> {
        self.queries.task_file_text(task)
    }

    fn last_output(&self, task: &TaskId) -> Result<String, CommandFailure> {
        self.queries.last_output(task)
    }
}

/// A project as the server sees it.
pub struct ProjectAccess {
    pub queries: ProjectQueries,
    sender: Box<dyn RequestSender>,
    /// Redacts the secrets of the project in answers.
    pub(crate) redactor: SecretRedactor,
}

impl ProjectAccess {
    pub fn new(queries: ProjectQueries, sender: Box<dyn RequestSender>) -> Self {
        Self { queries, sender, redactor: SecretRedactor::default() }
    }

    #[must_use]
    pub fn with_redactor(mut self, redactor: SecretRedactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Sends a request to the engine, and returns once its commit is durable.
    pub(crate) fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, CommandFailure> {
        self.ask_all(vec![request])?.pop().ok_or_else(|| StoreError::Stopped.into())
    }

    /// Sends several requests in one commit, and returns once it is durable.
    pub(crate) fn ask_all(
        &self,
        requests: Vec<EngineRequest>,
    ) -> Result<Vec<EngineAnswer>, CommandFailure> {
        self.sender.send(requests)
    }

    /// Checks that the engine answers.
    pub(crate) fn check_ready(&self) -> Result<(), CommandFailure> {
        self.sender.check_ready()
    }

    /// Performs an operation on a story's files, and returns its new state. Operations with the
    /// same request id are performed once.
    pub(crate) fn apply_story_operation(
        &self,
        story: &StoryId,
        operation: &StoryOperation,
        request_id: Option<String>,
    ) -> Result<StoryCommandAnswer, CommandFailure> {
        let project = open_project(&self.queries.workspace())?.with_request_id(request_id);
        let config = self.queries.config();
        let program = std::env::current_exe().map_err(|error| {
            CommandFailure::broken("cannot find the path of this program", &error)
        })?;
        let shared = SharedConfig::new(config.as_ref().clone());
        let checks = StepChecks::new(program, Some(self.queries.root()), shared);
        apply_operation(&project, &config, &checks, story, operation)
    }
}
