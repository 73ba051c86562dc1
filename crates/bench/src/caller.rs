//! Somebody who calls a server over a connection that is kept, and how quick the answers are.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// How many call at once.
const CALLERS: usize = 8;

/// Where a server is, and what opens it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) authority: String,
    pub(crate) token: String,
}

/// A call to be made.
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
}

impl Call {
    pub(crate) fn get(path: &str) -> Self {
        Self { method: "GET", path: path.to_owned(), body: String::new() }
    }

    pub(crate) fn post(path: &str, body: String) -> Self {
        Self { method: "POST", path: path.to_owned(), body }
    }
}

/// What calls came to.
pub(crate) struct Rate {
    pub(crate) a_second: f64,
    pub(crate) p99: Duration,
}

/// A connection that is kept.
pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    place: Place,
}

impl Caller {
    pub(crate) fn new(place: &Place) -> Self {
        let stream = TcpStream::connect(&place.authority).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), place: place.clone() }
    }

    /// Calls, and returns the status and what was answered.
    pub(crate) fn call(&mut self, call: &Call) -> (u16, Vec<u8>) {
        self.call_with(call, "")
    }

    /// Calls with further headers, each with its line break.
    pub(crate) fn call_with(&mut self, call: &Call, more: &str) -> (u16, Vec<u8>) {
        let Place { authority, token } = &self.place;
        let Call { method, path, body } = call;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(text.as_bytes()).expect("it listens");
        let (status, length) = self.head();
        let body = match length {
            Some(length) => self.bytes(length),
            None => self.chunks(),
        };
        (status, body)
    }

    /// Reads the head of an answer: the status, and how long what follows is, if that is known.
    fn head(&mut self) -> (u16, Option<usize>) {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut length = Some(0);
        loop {
            let line = self.line().to_ascii_lowercase();
            if let Some(number) = line.strip_prefix("content-length: ") {
                length = Some(number.parse().expect("a length"));
            } else if line == "transfer-encoding: chunked" {
                length = None;
            } else if line.is_empty() {
                return (status.expect("a status"), length);
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).expect("an answer") > 0, "it hung up");
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("a body");
        bytes
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.line(), 16).expect("a size");
            all.extend(self.bytes(size));
            self.line();
            if size == 0 {
                return all;
            }
        }
    }
}

/// Has several call for a while, each the next when it has its answer.
pub(crate) fn rate(
    place: &Place,
    lasts: Duration,
    call: &(dyn Fn(usize, usize) -> Call + Sync),
) -> Rate {
    let until = Instant::now() + lasts;
    let one = |caller: usize| {
        let (mut line, mut times) = (Caller::new(place), Vec::new());
        while Instant::now() < until {
            let call = call(caller, times.len());
            let began = Instant::now();
            let (status, said) = line.call(&call);
            times.push(began.elapsed());
            let said = || String::from_utf8_lossy(&said).into_owned();
            assert!((200..300).contains(&status), "{} {}: {}", call.method, call.path, said());
        }
        times
    };
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let one = &one;
        let callers: Vec<_> = (0..CALLERS).map(|n| scope.spawn(move || one(n))).collect();
        callers.into_iter().flat_map(|caller| caller.join().expect("a caller")).collect()
    });
    times.sort_unstable();
    let p99 = times[(times.len() * 99 / 100).min(times.len() - 1)];
    Rate { a_second: times.len() as f64 / lasts.as_secs_f64(), p99 }
}
