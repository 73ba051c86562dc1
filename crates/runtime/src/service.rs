//! The engine in a thread of its own, so that many can ask at once and share one commit.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use adjutant_store::{Store, StoreError};
use thiserror::Error;

use crate::engine::{Answered, Engine, Request};

/// The most requests that share one commit.
const GROUP_MAX: usize = 256;

/// The engine, running.
pub struct Service {
    thread: JoinHandle<Result<(), StoreError>>,
    client: Client,
}

/// A way to ask the engine. Clones ask the same one.
#[derive(Clone)]
pub struct Client {
    queue: Sender<Waiting>,
}

struct Waiting {
    request: Request,
    answer: SyncSender<Result<Answered, Arc<StoreError>>>,
}

/// Why a request has no answer.
#[derive(Debug, Clone, Error)]
pub enum Unanswered {
    /// The store could not keep it.
    #[error("the request could not be committed")]
    Store(#[source] Arc<StoreError>),
    /// The engine is not running any more.
    #[error("the engine has stopped")]
    Stopped,
}

impl Service {
    /// Starts the engine.
    pub fn start<S: Store + Send + 'static>(engine: Engine<S>) -> Self {
        let (queue, waiting) = channel();
        let named = thread::Builder::new().name("engine".to_owned());
        let thread = named.spawn(move || serve(engine, &waiting)).expect("a thread can be started");
        Self { thread, client: Client { queue } }
    }

    /// Returns a way to ask it.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Stops when everybody else has stopped asking, and leaves the store at rest.
    pub fn stop(self) -> Result<(), StoreError> {
        drop(self.client);
        self.thread.join().unwrap_or(Err(StoreError::Stopped))
    }
}

impl Client {
    /// Asks, and waits until the answer is durable.
    pub fn ask(&self, request: Request) -> Result<Answered, Unanswered> {
        self.put(request)?.wait()
    }

    /// Asks, and lets the caller wait when it likes.
    pub fn put(&self, request: Request) -> Result<Asked, Unanswered> {
        let (answer, answered) = sync_channel(1);
        self.queue.send(Waiting { request, answer }).map_err(|_| Unanswered::Stopped)?;
        Ok(Asked { answered })
    }
}

/// A request on its way.
pub struct Asked {
    answered: Receiver<Result<Answered, Arc<StoreError>>>,
}

impl Asked {
    /// Waits until the answer is durable.
    pub fn wait(self) -> Result<Answered, Unanswered> {
        let answered = self.answered.recv().map_err(|_| Unanswered::Stopped)?;
        answered.map_err(Unanswered::Store)
    }
}

/// Takes whatever waits, as one group, again and again.
fn serve<S: Store>(mut engine: Engine<S>, queue: &Receiver<Waiting>) -> Result<(), StoreError> {
    while let Ok(first) = queue.recv() {
        let mut group = vec![first];
        group.extend(queue.try_iter().take(GROUP_MAX - 1));
        let (requests, answers): (Vec<Request>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.request, waiting.answer)).unzip();
        reply(engine.submit(&requests), &answers);
    }
    engine.rest()
}

/// Somebody who no longer waits for the answer does not need it.
fn reply(
    answered: Result<Vec<Answered>, StoreError>,
    answers: &[SyncSender<Result<Answered, Arc<StoreError>>>],
) {
    match answered {
        Ok(all) => {
            for (one, answer) in all.into_iter().zip(answers) {
                let _ = answer.send(Ok(one));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for answer in answers {
                let _ = answer.send(Err(Arc::clone(&error)));
            }
        }
    }
}
