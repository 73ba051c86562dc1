//! An HTTP client that keeps its connection open and measures how fast a server answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const CALLERS: usize = 8;

#[derive(Clone)]
pub(crate) struct ServerEndpoint {
    pub(crate) authority: String,
    pub(crate) token: String,
}

pub(crate) struct BenchCall {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
}

impl BenchCall {
    pub(crate) fn get(path: &str) -> Self {
        Self { method: "GET", path: path.to_owned(), body: String::new() }
    }

    pub(crate) fn post(path: &str, body: String) -> Self {
        Self { method: "POST", path: path.to_owned(), body }
    }
}

pub(crate) struct MeasuredRate {
    pub(crate) calls_per_second: f64,
    pub(crate) p99: Duration,
}

pub(crate) struct HttpConnection {
    stream: BufReader<TcpStream>,
    place: ServerEndpoint,
}

impl HttpConnection {
    pub(crate) fn new(place: &ServerEndpoint) -> Self {
        let stream = TcpStream::connect(&place.authority).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), place: place.clone() }
    }

    pub(crate) fn call(&mut self, call: &BenchCall) -> (u16, Vec<u8>) {
        self.call_with(call, "")
    }

    /// `more` holds further header lines, each with its line break.
    pub(crate) fn call_with(&mut self, call: &BenchCall, more: &str) -> (u16, Vec<u8>) {
        let ServerEndpoint { authority, token } = &self.place;
        let BenchCall { method, path, body } = call;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\n{more}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(text.as_bytes()).expect("it listens");
        let (status, length) = self.read_head();
        let body = match length {
            Some(length) => self.read_bytes(length),
            None => self.read_chunks(),
        };
        (status, body)
    }

    /// Reads the head of an answer: the status, and the body length if the server sent one.
    fn read_head(&mut self) -> (u16, Option<usize>) {
        let first = self.read_line();
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut length = Some(0);
        loop {
            let line = self.read_line().to_ascii_lowercase();
            if let Some(number) = line.strip_prefix("content-length: ") {
                length = Some(number.parse().expect("a length"));
            } else if line == "transfer-encoding: chunked" {
                length = None;
            } else if line.is_empty() {
                return (status.expect("a status"), length);
            }
        }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stream.read_line(&mut line).expect("an answer") > 0, "it hung up");
        line.trim_end().to_owned()
    }

    fn read_bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).expect("a body");
        bytes
    }

    fn read_chunks(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.read_line(), 16).expect("a size");
            all.extend(self.read_bytes(size));
            self.read_line();
            if size == 0 {
                return all;
            }
        }
    }
}

pub(crate) fn measure_rate(
    place: &ServerEndpoint,
    lasts: Duration,
    call: &(dyn Fn(usize, usize) -> BenchCall + Sync),
) -> MeasuredRate {
    let until = Instant::now() + lasts;
    let one = |caller: usize| {
        let (mut line, mut times) = (HttpConnection::new(place), Vec::new());
        while Instant::now() < until {
            let call = call(caller, times.len());
            let began = Instant::now();
            let (status, body) = line.call(&call);
            times.push(began.elapsed());
            let body = || String::from_utf8_lossy(&body).into_owned();
            assert!((200..300).contains(&status), "{} {}: {}", call.method, call.path, body());
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
    MeasuredRate { calls_per_second: times.len() as f64 / lasts.as_secs_f64(), p99 }
}
