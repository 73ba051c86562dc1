//! Administers NATS servers: changes streams in ways that none of our programs does.
//!
//! It implements the NATS text protocol itself, so that it shares no code with the client under
//! test.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use serde_json::{Value, json};

/// The timeout for an answer, long enough for a busy machine.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// A connection to the first server of a cluster.
pub struct NatsAdmin {
    address: String,
    server: BufReader<TcpStream>,
    requests_sent: u64,
}

/// The messages of a subject, as they are sent.
pub struct MessageRecording(Receiver<Vec<u8>>);

impl MessageRecording {
    /// Waits for the next messages.
    pub fn take(&self, count: usize) -> Vec<Vec<u8>> {
        let next = |_| self.0.recv_timeout(ANSWER_TIMEOUT).expect("a message is sent");
        (0..count).map(next).collect()
    }
}

impl NatsAdmin {
    /// Connects to servers with an address like `nats://user:password@host:port,…`, once they have
    /// elected a leader: before that they do not answer.
    pub fn connect_when_ready(address: &str) -> Self {
        let until = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let mut admin = Self::connect(address);
            admin.set_read_timeout(Duration::from_secs(2));
            if admin.try_publish("$JS.API.INFO", b"").is_ok_and(|info| info["error"].is_null()) {
                admin.set_read_timeout(ANSWER_TIMEOUT);
                return admin;
            }
            assert!(Instant::now() < until, "the servers never agree");
        }
    }

    fn connect(address: &str) -> Self {
        let first = address.trim_start_matches("nats://").split(',').next().expect("a server");
        let (login, host) = first.split_once('@').expect("a user");
        let (user, password) = login.split_once(':').expect("a password");
        Self::sign_in(address, host, |_| json!({ "user": user, "pass": password }))
    }

    /// Connects to servers at `nats://host:port,…` as the user of this seed.
    pub fn connect_as(address: &str, seed: &str) -> Self {
        let first = address.trim_start_matches("nats://").split(',').next().expect("a server");
        let key = KeyPair::from_seed(seed).expect("a seed");
        Self::sign_in(address, first, |info| {
            let nonce = info["nonce"].as_str().expect("a nonce");
            let signature = key.sign(nonce.as_bytes()).expect("a signature");
            json!({ "nkey": key.public_key(), "sig": URL_SAFE_NO_PAD.encode(signature) })
        })
    }

    fn sign_in(address: &str, host: &str, login: impl Fn(&Value) -> Value) -> Self {
        let stream = TcpStream::connect(host).expect("it listens");
        let (address, server) = (address.to_owned(), BufReader::new(stream));
        let mut admin = Self { address, server, requests_sent: 0 };
        admin.set_read_timeout(ANSWER_TIMEOUT);
        let info = admin.read_line().expect("the server greets");
        let info = serde_json::from_str(info.trim_start_matches("INFO ")).expect("a greeting");
        let mut hello = login(&info);
        for (key, value) in [("verbose", false), ("headers", true), ("no_responders", true)] {
            hello[key] = value.into();
        }
        hello["protocol"] = 1.into();
        admin.write_bytes(format!("CONNECT {hello}\r\nPING\r\n").as_bytes());
        while admin.read_line().expect("the server answers") != "PONG" {}
        admin
    }

    /// Sends a line of the protocol, and returns what the server has against it.
    pub fn complaints(&mut self, line: &str) -> Vec<String> {
        self.write_bytes(format!("{line}\r\nPING\r\n").as_bytes());
        let mut complaints = Vec::new();
        loop {
            let line = self.read_line().expect("the server answers");
            match line.strip_prefix("-ERR ") {
                Some(complaint) => complaints.push(complaint.to_owned()),
                None if line == "PONG" => return complaints,
                None => {}
            }
        }
    }

    fn set_read_timeout(&self, time: Duration) {
        self.server.get_ref().set_read_timeout(Some(time)).expect("a time that is not zero");
    }

    /// Sends a request to the `JetStream` API and returns its answer; an error is a panic.
    pub fn call_api(&mut self, what: &str, body: &Value) -> Value {
        let answer = self.publish(&format!("$JS.API.{what}"), body.to_string().as_bytes());
        assert!(answer["error"].is_null(), "{what} {body}: {answer}");
        answer
    }

    /// Publishes a message to a stream and returns the acknowledgement.
    pub fn publish(&mut self, subject: &str, payload: &[u8]) -> Value {
        self.try_publish(subject, payload).expect("the server answers")
    }

    fn try_publish(&mut self, subject: &str, payload: &[u8]) -> io::Result<Value> {
        self.requests_sent += 1;
        let (inbox, length) = (format!("_INBOX.desk.{}", self.requests_sent), payload.len());
        let head =
            format!("SUB {inbox} {}\r\nPUB {subject} {inbox} {length}\r\n", self.requests_sent);
        self.write_bytes(&[head.as_bytes(), payload, b"\r\n"].concat());
        loop {
            let line = self.read_line()?;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["PING"] => self.write_bytes(b"PONG\r\n"),
                ["MSG", to, _, length] => {
                    let answer = self.read_body(length);
                    if to == inbox {
                        return Ok(serde_json::from_slice(&answer).expect("an answer in JSON"));
                    }
                }
                ["HMSG", ..] => {
                    return Err(io::Error::other(format!("no server answers {subject}")));
                }
                ["-ERR", ..] => panic!("{subject}: {line}"),
                _ => {}
            }
        }
    }

    /// Publishes a message without waiting for anything but the server.
    pub fn send(&mut self, subject: &str, payload: &[u8]) {
        let head = format!("PUB {subject} {}\r\n", payload.len());
        self.write_bytes(&[head.as_bytes(), payload, b"\r\nPING\r\n"].concat());
        while self.read_line().expect("the server answers") != "PONG" {}
    }

    /// Records the messages of a subject from now on.
    pub fn record(&self, subject: &str) -> MessageRecording {
        let mut listener = Self::connect(&self.address);
        listener.write_bytes(format!("SUB {subject} 1\r\nPING\r\n").as_bytes());
        while listener.read_line().expect("the server answers") != "PONG" {}
        let (heard, messages) = channel();
        thread::spawn(move || {
            while let Ok(line) = listener.read_line() {
                let words: Vec<&str> = line.split(' ').collect();
                let payload = match words[..] {
                    ["PING"] => {
                        listener.write_bytes(b"PONG\r\n");
                        continue;
                    }
                    ["MSG", .., length] => listener.read_body(length),
                    ["HMSG", .., headers, length] => {
                        let headers: usize = headers.parse().expect("a length");
                        listener.read_body(length).split_off(headers)
                    }
                    _ => continue,
                };
                if heard.send(payload).is_err() {
                    return;
                }
            }
        });
        MessageRecording(messages)
    }

    /// Returns every message of a stream, with its sequence number.
    pub fn messages(&mut self, stream: &str) -> Vec<(u64, Vec<u8>)> {
        let state = self.call_api(&format!("STREAM.INFO.{stream}"), &json!({}))["state"].clone();
        let number = |of: &str| state[of].as_u64().expect("a number");
        let get = format!("$JS.API.STREAM.MSG.GET.{stream}");
        let mut messages = Vec::new();
        for seq in number("first_seq")..=number("last_seq") {
            let message = self.publish(&get, json!({ "seq": seq }).to_string().as_bytes());
            if message["error"].is_null() {
                let data = message["message"]["data"].as_str().unwrap_or_default();
                messages.push((seq, STANDARD.decode(data).expect("base64")));
            }
        }
        messages
    }

    /// Recreates a stream with the same messages and with `settings` over its own.
    pub fn recreate_stream(&mut self, stream: &str, settings: &Value) {
        let messages = self.messages(stream);
        let info = self.call_api(&format!("STREAM.INFO.{stream}"), &json!({}));
        let mut config = info["config"].clone();
        for (key, value) in settings.as_object().expect("settings") {
            config[key] = value.clone();
        }
        let subject = config["subjects"][0].as_str().expect("a subject").to_owned();
        self.call_api(&format!("STREAM.DELETE.{stream}"), &json!({}));
        self.call_api(&format!("STREAM.CREATE.{stream}"), &config);
        for (number, message) in messages {
            assert_eq!(self.publish(&subject, &message)["seq"], number, "in its place");
        }
    }

    pub fn update_stream(&mut self, stream: &str, key: &str, value: Value) {
        let info = self.call_api(&format!("STREAM.INFO.{stream}"), &json!({}));
        let mut config = info["config"].clone();
        config[key] = value;
        self.call_api(&format!("STREAM.UPDATE.{stream}"), &config);
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        self.server.get_mut().write_all(bytes).expect("the server hears");
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.server.read_line(&mut line)?;
        assert!(!line.is_empty(), "the server hung up");
        Ok(line.trim_end().to_owned())
    }

    fn read_body(&mut self, length: &str) -> Vec<u8> {
        let mut bytes = vec![0; length.parse::<usize>().expect("a length") + 2];
        self.server.read_exact(&mut bytes).expect("all of it comes");
        bytes.truncate(bytes.len() - 2);
        bytes
    }
}
