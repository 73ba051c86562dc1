//! Sends the server's requests to a folder that other processes may write to.

use std::sync::Arc;

use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_query::failure::CommandFailure;
use adjutant_query::open_secret;
use adjutant_server::project_access::RequestSender;
use adjutant_store::StoreError;
use parking_lot::Mutex;

use crate::data::ProjectData;
use crate::folder_writer::{ProjectEngine, rest};
use crate::output::CommandOutput;
use crate::repeated_requests::{RepeatedRequests, SendResult};

#[derive(Clone)]
pub(crate) struct FolderSender(Arc<SharedEngine>);

struct SharedEngine {
    data: ProjectData,
    /// Used while no daemon runs. Stays open once opened.
    engine: Mutex<Option<Box<ProjectEngine>>>,
}

impl FolderSender {
    pub(crate) fn new(data: ProjectData) -> Self {
        Self(Arc::new(SharedEngine { data, engine: Mutex::default() }))
    }

    /// Brings the folder to rest, so that it opens quickly.
    pub(crate) fn rest(&self) {
        if let Some(engine) = self.0.engine.lock().as_mut() {
            rest(engine, &CommandOutput::new(true));
        }
    }
}

impl RequestSender for FolderSender {
    fn send(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, CommandFailure> {
        let SharedEngine { data, engine } = &*self.0;
        let mut engine = engine.lock();
        let mut requests = RepeatedRequests::new(requests);
        loop {
            let engine = &mut *engine;
            let mut writer = data.choose_writer(move || {
                if engine.is_none() {
                    // The engine stays open and must accept tokens issued from now on, so the
                    // secret has to exist.
                    open_secret(data.folder.root())?;
                    *engine = Some(Box::new(data.open_engine()?));
                }
                engine.as_deref_mut().ok_or_else(|| StoreError::Stopped.into())
            })?;
            if let SendResult::Answered(answers) = requests.send(&mut writer)? {
                return Ok(answers);
            }
        }
    }

    fn check_ready(&self) -> Result<(), CommandFailure> {
        Ok(())
    }
}
