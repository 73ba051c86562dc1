//! A webhook receiver that misbehaves as its script says.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::up::project::document;

/// The longest time that a held request waits to be released.
const LONG: Duration = Duration::from_mins(2);

/// How the server answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReceiverAnswer {
    /// Accepts the request.
    Ok,
    /// Answers with this status and an additional header.
    Status(u16, &'static str),
    /// Reads the request, and closes the connection.
    Cut,
    /// Reads the request, and accepts it only after `go_on` is called.
    Hold,
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
    pub(crate) body: Value,
    pub(crate) answer: ReceiverAnswer,
}

#[derive(Default)]
struct ReceiverState {
    script: VecDeque<ReceiverAnswer>,
    heard: Vec<ReceivedRequest>,
    go_on: bool,
}

/// The server. It follows its script, and accepts everything after the script has ended.
#[derive(Clone)]
pub(crate) struct WebhookReceiver {
    state: Arc<(Mutex<ReceiverState>, Condvar)>,
    pub(crate) port: u16,
    tls: Option<Arc<ServerConfig>>,
}

impl WebhookReceiver {
    /// Listens on a port; 0 is any free port.
    pub(crate) fn at(port: u16, script: &[ReceiverAnswer]) -> Self {
        Self::listening(port, script, None)
    }

    fn listening(port: u16, script: &[ReceiverAnswer], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let script = script.iter().copied().collect();
        let state = Arc::new((
            Mutex::new(ReceiverState { script, ..ReceiverState::default() }),
            Condvar::new(),
        ));
        let receiver = Self { state, port, tls };
        let serves = receiver.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serves = serves.clone();
                std::thread::spawn(move || match &serves.tls {
                    Some(tls) => {
                        let tls = ServerConnection::new(Arc::clone(tls)).expect("settings");
                        serves.serve(StreamOwned::new(tls, stream));
                    }
                    None => serves.serve(stream),
                });
            }
        });
        receiver
    }

    /// Listens with TLS on any free port.
    pub(crate) fn over_tls(tls: Arc<ServerConfig>) -> Self {
        Self::listening(0, &[], Some(tls))
    }

    pub(crate) fn new(script: &[ReceiverAnswer]) -> Self {
        Self::at(0, script)
    }

    /// Returns a port that is not in use now.
    pub(crate) fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    }

    fn state(&self) -> MutexGuard<'_, ReceiverState> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all requests, in the order of arrival.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.state().heard.clone()
    }

    /// Returns how often each notice was accepted, by notice id.
    pub(crate) fn accepted_counts(&self) -> BTreeMap<String, u32> {
        let mut taken = BTreeMap::new();
        let took = |heard: &&ReceivedRequest| {
            matches!(heard.answer, ReceiverAnswer::Ok | ReceiverAnswer::Hold)
        };
        for heard in self.state().heard.iter().filter(took) {
            for notice in heard.body["notices"].as_array().into_iter().flatten() {
                let id = notice["id"].as_str().expect("an id").to_owned();
                *taken.entry(id).or_default() += 1;
            }
        }
        taken
    }

    /// Releases the held requests.
    pub(crate) fn release_held(&self) {
        self.state().go_on = true;
        self.state.1.notify_all();
    }

    fn serve(&self, mut stream: impl Read + Write) {
        let Some((head, text)) = read(&mut stream) else { return };
        let headers: BTreeMap<String, String> = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let id = headers.get("webhook-id").cloned().unwrap_or_default();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = document(&text);
        let mut state = self.state();
        let answer = state.script.pop_front().unwrap_or(ReceiverAnswer::Ok);
        state.heard.push(ReceivedRequest { path, id, headers, text, body, answer });
        let more = match answer {
            ReceiverAnswer::Cut => return,
            ReceiverAnswer::Status(status, header) => format!("{status} Said\r\n{header}"),
            ReceiverAnswer::Ok => "200 OK\r\n".to_owned(),
            ReceiverAnswer::Hold => {
                let waited = self.state.1.wait_timeout_while(state, LONG, |state| !state.go_on);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                "204 Thanks\r\n".to_owned()
            }
        };
        drop(state);
        let _ = write!(stream, "HTTP/1.1 {more}Content-Length: 0\r\nConnection: close\r\n\r\n");
    }
}

fn read(stream: &mut impl Read) -> Option<(String, String)> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1)?.lines().next()?.trim().to_owned();
            if body.len() >= length.parse().ok()? {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
