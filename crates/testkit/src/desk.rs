//! Where servers are administered: whoever sits here does to streams what no program of ours does.
//!
//! It speaks the text protocol of NATS itself, so that nothing of the client under test is in it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How long an answer is waited for, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection to the first of some servers.
pub struct Desk {
    server: BufReader<TcpStream>,
    asked: u64,
}

impl Desk {
    /// Sits down at servers with an address like `nats://user:password@host:port,…`, when they have
    /// agreed on who leads: before that they answer nothing.
    pub fn at(address: &str) -> Self {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut desk = Self::connect(address);
            desk.wait_for(Duration::from_secs(2));
            if desk.try_publish("$JS.API.INFO", b"").is_ok_and(|info| info["error"].is_null()) {
                desk.wait_for(PATIENCE);
                return desk;
            }
            assert!(Instant::now() < until, "the servers never agree");
        }
    }

    fn connect(address: &str) -> Self {
        let first = address.trim_start_matches("nats://").split(',').next().expect("a server");
        let (login, host) = first.split_once('@').expect("a user");
        let (user, password) = login.split_once(':').expect("a password");
        let stream = TcpStream::connect(host).expect("it listens");
        let mut desk = Self { server: BufReader::new(stream), asked: 0 };
        desk.wait_for(PATIENCE);
        let hello = json!({
            "verbose": false, "user": user, "pass": password, "headers": true, "protocol": 1,
            "no_responders": true,
        });
        desk.say(format!("CONNECT {hello}\r\nPING\r\n").as_bytes());
        while desk.line().expect("the server answers") != "PONG" {}
        desk
    }

    fn wait_for(&self, time: Duration) {
        self.server.get_ref().set_read_timeout(Some(time)).expect("a time that is not zero");
    }

    /// Asks the keeper of streams for something that it must do, and returns its answer.
    pub fn ask(&mut self, what: &str, body: &Value) -> Value {
        let answer = self.publish(&format!("$JS.API.{what}"), body.to_string().as_bytes());
        assert!(answer["error"].is_null(), "{what} {body}: {answer}");
        answer
    }

    /// Sends a message to a stream, and returns its answer.
    pub fn publish(&mut self, subject: &str, payload: &[u8]) -> Value {
        self.try_publish(subject, payload).expect("the server answers")
    }

    fn try_publish(&mut self, subject: &str, payload: &[u8]) -> io::Result<Value> {
        self.asked += 1;
        let (inbox, length) = (format!("_INBOX.desk.{}", self.asked), payload.len());
        let head = format!("SUB {inbox} {}\r\nPUB {subject} {inbox} {length}\r\n", self.asked);
        self.say(&[head.as_bytes(), payload, b"\r\n"].concat());
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["PING"] => self.say(b"PONG\r\n"),
                ["MSG", to, _, length] => {
                    let answer = self.body(length);
                    if to == inbox {
                        return Ok(serde_json::from_slice(&answer).expect("an answer in JSON"));
                    }
                }
                ["HMSG", ..] => return Err(io::Error::other(format!("nobody answers {subject}"))),
                ["-ERR", ..] => panic!("{subject}: {line}"),
                _ => {}
            }
        }
    }

    /// Returns every message of a stream, with its number.
    pub fn messages(&mut self, stream: &str) -> Vec<(u64, Vec<u8>)> {
        let state = self.ask(&format!("STREAM.INFO.{stream}"), &json!({}))["state"].clone();
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

    /// Makes a stream anew, with the same messages and other settings besides its own.
    pub fn make_anew(&mut self, stream: &str, settings: &Value) {
        let messages = self.messages(stream);
        let info = self.ask(&format!("STREAM.INFO.{stream}"), &json!({}));
        let mut config = info["config"].clone();
        for (key, value) in settings.as_object().expect("settings") {
            config[key] = value.clone();
        }
        let subject = config["subjects"][0].as_str().expect("a subject").to_owned();
        self.ask(&format!("STREAM.DELETE.{stream}"), &json!({}));
        self.ask(&format!("STREAM.CREATE.{stream}"), &config);
        for (number, message) in messages {
            assert_eq!(self.publish(&subject, &message)["seq"], number, "in its place");
        }
    }

    /// Sets something of a stream otherwise.
    pub fn set(&mut self, stream: &str, key: &str, value: Value) {
        let info = self.ask(&format!("STREAM.INFO.{stream}"), &json!({}));
        let mut config = info["config"].clone();
        config[key] = value;
        self.ask(&format!("STREAM.UPDATE.{stream}"), &config);
    }

    fn say(&mut self, bytes: &[u8]) {
        self.server.get_mut().write_all(bytes).expect("the server hears");
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.server.read_line(&mut line)?;
        assert!(!line.is_empty(), "the server hung up");
        Ok(line.trim_end().to_owned())
    }

    fn body(&mut self, length: &str) -> Vec<u8> {
        let mut bytes = vec![0; length.parse::<usize>().expect("a length") + 2];
        self.server.read_exact(&mut bytes).expect("all of it comes");
        bytes.truncate(bytes.len() - 2);
        bytes
    }
}
