//! A server that is told things, and behaves as badly as it is asked to.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::up::stage::document;

/// How long to wait for somebody who may never go on.
const LONG: Duration = Duration::from_mins(2);

/// What it does with a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Takes it.
    Ok,
    /// Answers with a status, and with another header.
    Status(u16, &'static str),
    /// Reads it, and hangs up.
    Cut,
    /// Reads it, and says nothing until it is told to go on; then it takes it.
    Hold,
}

/// A post that came.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) text: String,
    pub(crate) body: Value,
    pub(crate) answer: Answer,
}

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    heard: Vec<Heard>,
    go_on: bool,
}

/// The server. It does what its script says, and takes everything when that is over.
#[derive(Clone)]
pub(crate) struct Receiver {
    state: Arc<(Mutex<State>, Condvar)>,
    pub(crate) port: u16,
    tls: Option<Arc<ServerConfig>>,
}

impl Receiver {
    /// Listens at a port, or at any.
    pub(crate) fn at(port: u16, script: &[Answer]) -> Self {
        Self::listening(port, script, None)
    }

    fn listening(port: u16, script: &[Answer], tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let script = script.iter().copied().collect();
        let state = Arc::new((Mutex::new(State { script, ..State::default() }), Condvar::new()));
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

    /// Listens at any port, for those who speak TLS.
    pub(crate) fn over_tls(tls: Arc<ServerConfig>) -> Self {
        Self::listening(0, &[], Some(tls))
    }

    pub(crate) fn new(script: &[Answer]) -> Self {
        Self::at(0, script)
    }

    /// Returns a port that nobody listens at now.
    pub(crate) fn free_port() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns everything that came, in order.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.state().heard.clone()
    }

    /// Returns how often each notice was taken, by its id.
    pub(crate) fn taken(&self) -> BTreeMap<String, u32> {
        let mut taken = BTreeMap::new();
        let took = |heard: &&Heard| matches!(heard.answer, Answer::Ok | Answer::Hold);
        for heard in self.state().heard.iter().filter(took) {
            for notice in heard.body["notices"].as_array().into_iter().flatten() {
                let id = notice["id"].as_str().expect("an id").to_owned();
                *taken.entry(id).or_default() += 1;
            }
        }
        taken
    }

    /// Lets whoever is held go on.
    pub(crate) fn go_on(&self) {
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
        let answer = state.script.pop_front().unwrap_or(Answer::Ok);
        state.heard.push(Heard { path, id, headers, text, body, answer });
        let more = match answer {
            Answer::Cut => return,
            Answer::Status(status, header) => format!("{status} Said\r\n{header}"),
            Answer::Ok => "200 OK\r\n".to_owned(),
            Answer::Hold => {
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
