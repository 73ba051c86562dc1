//! The HTTP server of a running daemon, and a client for it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::project::GoldenProject;
use crate::http::project::HttpReply;

/// A generous timeout, because the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// A daemon that listens on a free port. Dropping it stops the daemon and its runs.
pub(super) struct GoldenServer<'a> {
    project: &'a GoldenProject,
    child: Child,
    authority: String,
    login: String,
    token: String,
}

/// An HTTP request without the headers that every request has.
pub(super) struct HttpCall<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: Vec<(&'a str, String)>,
    pub(super) body: &'a str,
}

impl<'a> GoldenServer<'a> {
    pub(super) fn start(project: &'a GoldenProject) -> Self {
        let mut command = project.command(&["up", "--json", "--listen", "127.0.0.1:0"]);
        command.env_remove("ADJUTANT_SERVER_LISTEN").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the daemon starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut lines = out.lines().map_while(Result::ok);
        let place = lines.find_map(|line| {
            let said: Value = serde_json::from_str(&line).ok()?;
            Some((said["url"].as_str()?.to_owned(), said["login"].as_str()?.to_owned()))
        });
        std::thread::spawn(move || lines.for_each(drop));
        let (url, login) = place.expect("the daemon says where it listens");
        let authority = url.strip_prefix("http://").expect("an address").to_owned();
        let login = login.strip_prefix(&url).expect("a path").to_owned();
        let token = project.read(".adjutant/operator-token").trim().to_owned();
        Self { project, child, authority, login, token }
    }

    pub(super) fn bearer(&self) -> (&'static str, String) {
        ("Authorization", format!("Bearer {}", self.token))
    }

    pub(super) fn call(&self, call: &HttpCall<'_>) -> HttpReply {
        HttpReply::read(self.send(call))
    }

    /// Calls a route whose answer does not end, and reads until `mark` has occurred `times` times.
    pub(super) fn call_until(&self, call: &HttpCall<'_>, mark: &str, times: usize) -> HttpReply {
        let mut stream = self.send(call);
        let (mut read, mut piece) = (Vec::new(), [0; 4096]);
        while String::from_utf8_lossy(&read).matches(mark).count() < times {
            let length = stream.read(&mut piece).expect("it goes on");
            assert_ne!(length, 0, "it ends: {}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&piece[..length]);
        }
        HttpReply::read(read.as_slice())
    }

    fn send(&self, call: &HttpCall<'_>) -> TcpStream {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", call.method, call.path);
        let mut add = |name: &str, value: &str| {
            let _ = write!(head, "{name}: {value}\r\n");
        };
        if !call.headers.iter().any(|(name, _)| *name == "Host") {
            add("Host", &self.authority);
        }
        call.headers.iter().for_each(|(name, value)| add(name, value));
        add("Content-Length", &call.body.len().to_string());
        let mut stream = TcpStream::connect(&self.authority).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        // The server may refuse a call before it has read all of it.
        let _ = stream.write_all(format!("{head}\r\n{}", call.body).as_bytes());
        stream
    }

    pub(super) fn operator(&self, method: &str, path: &str, body: &str) -> HttpReply {
        self.call(&HttpCall { method, path, headers: vec![self.bearer()], body })
    }

    pub(super) fn get(&self, path: &str) -> HttpReply {
        self.operator("GET", path, "")
    }

    /// Signs in as a browser does, and returns the cookie.
    pub(super) fn sign_in(&self) -> String {
        let call = HttpCall { method: "GET", path: &self.login, headers: vec![], body: "" };
        let signed = self.call(&call);
        let cookie = signed.header("set-cookie").unwrap_or_else(|| panic!("{signed:?}"));
        cookie.split(';').next().unwrap_or_default().to_owned()
    }
}

impl Drop for GoldenServer<'_> {
    fn drop(&mut self) {
        self.project.run("down --stop");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
