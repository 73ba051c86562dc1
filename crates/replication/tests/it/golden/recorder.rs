//! A NATS client that records every message as it is sent.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// The subject prefix of an object's metadata, before its name.
const META_SUBJECT: &str = "$O.golden_objects.M.";

const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct SentMessage {
    pub(super) subject: String,
    headers: String,
    payload: Vec<u8>,
}

pub(super) struct MessageRecorder {
    stream: BufReader<TcpStream>,
}

impl MessageRecorder {
    /// Connects to a server at an address like `nats://user:password@host:port`.
    pub(super) fn start(address: &str) -> Self {
        let place = address.rsplit('@').next().expect("a host");
        let stream = TcpStream::connect(place).expect("the server is there");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut recorder = Self { stream: BufReader::new(stream) };
        let login = r#"{"verbose":false,"pedantic":false,"headers":true,"protocol":1,"user":"fleet","pass":"fleet"}"#;
        recorder.send_text(&format!("CONNECT {login}\r\nSUB > 1\r\nPING\r\n"));
        while recorder.line() != "PONG" {}
        recorder
    }

    fn send_text(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).expect("the server listens");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("the server talks");
        assert!(!line.is_empty(), "the server is gone");
        assert!(!line.starts_with("-ERR"), "{line}");
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("the server talks");
        bytes
    }

    /// Returns every message, up to and including the first for which `is_last` is true.
    pub(super) fn until(mut self, is_last: impl Fn(&SentMessage) -> bool) -> Vec<SentMessage> {
        let mut all = Vec::new();
        loop {
            if let Some(sent) = self.next() {
                all.push(sent);
                if all.last().is_some_and(&is_last) {
                    return all;
                }
            }
        }
    }

    /// Reads one protocol line. Returns the message it starts, if it starts one.
    fn next(&mut self) -> Option<SentMessage> {
        let line = self.line();
        let words: Vec<&str> = line.split(' ').collect();
        let last = |back: usize| words[words.len() - back].parse().expect("a length");
        let (headers, payload) = match words[0] {
            "MSG" => (vec![], self.bytes(last(1))),
            "HMSG" => {
                let (headers, total): (usize, usize) = (last(2), last(1));
                (self.bytes(headers), self.bytes(total - headers))
            }
            "PING" => {
                self.send_text("PONG\r\n");
                return None;
            }
            _ => return None,
        };
        self.bytes(2);
        let headers = String::from_utf8(headers).expect("headers are text");
        Some(SentMessage { subject: words[1].to_owned(), headers, payload })
    }
}

impl SentMessage {
    /// Returns whether the body of a signed message is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.payload.ends_with(b"}\n")
    }

    /// Returns whether the payload contains a text.
    pub(super) fn contains_text(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.payload).contains(text)
    }

    /// Returns the message as text with its varying parts masked: generated ids, sizes and digests
    /// of archives, and bytes that are not text.
    pub(super) fn masked(&self) -> String {
        let mut text = match self.subject.strip_prefix(META_SUBJECT) {
            Some(_) => format!("{META_SUBJECT}<base64 of the name>\n"),
            None => format!("{}\n", mask_ids(&self.subject)),
        };
        let mut headers: Vec<&str> = self.headers.lines().skip(1).collect();
        // A client sends headers in any order.
        headers.sort_unstable();
        for line in headers.into_iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "    {}", mask_ids(line));
        }
        text + &format!("    {}\n\n", mask_ids(&self.shown_payload()))
    }

    fn shown_payload(&self) -> String {
        match serde_json::from_slice::<Value>(&self.payload) {
            Ok(mut value) if self.subject.starts_with("$O.") => {
                for key in ["nuid", "mtime", "digest", "size", "chunks"] {
                    if let Some(field) = value.get_mut(key) {
                        *field = format!("<{key}>").into();
                    }
                }
                value.to_string()
            }
            _ if self.subject.starts_with("$O.") => "<a chunk>".to_owned(),
            _ if self.payload.len() > 100_000 => "<much text>".to_owned(),
            _ if self.contains_text("{\"sealed\":") => "<the sealed secret>".to_owned(),
            _ => String::from_utf8(self.payload.clone()).unwrap_or_else(|_| "<no text>".to_owned()),
        }
    }
}

/// Masks generated ids: of an inbox, which also names commits and objects, and
/// of an object's chunks.
fn mask_ids(text: &str) -> String {
    let text = mask_signature(text);
    ["_INBOX.mac.", "$O.golden_objects.C."].iter().fold(text, |text, before| {
        let mut parts = text.split(before);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |masked, part| {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            format!("{masked}{before}<id>{rest}")
        })
    })
}

/// Masks the signature and the number of a signed message; the first line has both.
fn mask_signature(text: &str) -> String {
    let parts =
        text.split_once(" {\"node\":\"mac\"").filter(|(signature, _)| signature.len() >= 88);
    let Some((before, rest)) = parts else { return text.to_owned() };
    let before = &before[..before.len() - 88];
    let (count, rest) = rest.split_once("\"count\":").expect("a number");
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{before}<signature> {{\"node\":\"mac\"{count}\"count\":<number>{rest}")
}
