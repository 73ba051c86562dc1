//! What the server needs of a project: queries, and a way to change it.

use adjutant_config::SharedConfig;
use adjutant_config::redact::SecretRedactor;
use adjutant_engine::{EngineAnswer, EngineHandle, EngineRequest};
use adjutant_model::story::StoryId;
use adjutant_query::ProjectQueries;
use adjutant_query::failure::CommandFailure;
use adjutant_query::story::open_project;
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
