//! A project with a listening daemon, and an HTTP client that sends exactly the given bytes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A generous timeout, because the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Lets this process, and the daemons that it starts, have as many files open as the machine allows.
pub(crate) fn raise_file_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised)
        .expect("it can be raised");
}

pub(crate) struct HttpProject {
    home: TempDir,
}

/// A listening daemon. Dropping it kills it.
pub(crate) struct ListeningDaemon {
    child: Child,
    pub(crate) url: String,
    pub(crate) login: String,
    pub(crate) token: String,
}

/// A browser that has signed in: its cookie, and the anti-forgery token that the script of the
/// sign-in page keeps in the storage of the origin.
pub(crate) struct SignedInBrowser<'a> {
    up: &'a ListeningDaemon,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
    /// The page that the script opens after sign-in.
    pub(crate) next: String,
}

#[derive(Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    /// Where a redirect leads to.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl HttpProject {
    pub(crate) fn new() -> Self {
        Self::with_settings("")
    }

    /// Creates a project with these settings.
    pub(crate) fn with_settings(settings: &str) -> Self {
        let stage = Self { home: tempfile::tempdir().expect("a temporary folder") };
        stage.ok(&["init", "."]);
        fs::write(stage.path("adjutant.toml"), settings).expect("written");
        stage
    }

    /// Returns a path in the data folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.home.path().join(".adjutant").join(relative)
    }

    /// Returns a command whose environment contains only what the tests set.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        let ours = |name: &str| name.starts_with("ADJUTANT_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.env("USER", "alice").stdin(Stdio::null()).current_dir(self.home.path()).args(args);
        crate::with_trust(&mut command);
        command
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("it starts");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs a command with `--json`, and returns the document.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.command(args).arg("--json").output().expect("it starts");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
    }

    /// Adds a task, and returns its id.
    pub(crate) fn add(&self, args: &[&str]) -> String {
        let task = self.json(&[&["task", "add"], args].concat());
        task["id"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned()
    }

    /// Returns the events of a type.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let lines = self.ok(&["events", "--json", "--type", kind]);
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Waits until the event log contains `count` events of a type, and returns them.
    pub(crate) fn wait_for(&self, kind: &str, count: usize) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let events = self.events(kind);
            if events.len() >= count {
                return events;
            }
            assert!(Instant::now() < until, "{kind}: {events:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts a daemon that listens on any free port.
    pub(crate) fn up(&self) -> ListeningDaemon {
        self.up_with(&["--listen", "127.0.0.1:0"])
    }

    /// Starts a daemon, and waits until it prints its address.
    pub(crate) fn up_with(&self, args: &[&str]) -> ListeningDaemon {
        let mut command = self.command(&[&["up", "--json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut lines = out.lines().map_while(Result::ok);
        let place = lines.find_map(|line| {
            let said: Value = serde_json::from_str(&line).ok()?;
            said["url"].is_string().then_some(said)
        });
        std::thread::spawn(move || lines.for_each(drop));
        let place = place.expect("it says where it listens");
        let text = |key: &str| place[key].as_str().expect("a text").to_owned();
        let token = fs::read_to_string(self.path("operator-token")).expect("a token");
        ListeningDaemon {
            child,
            url: text("url"),
            login: text("login"),
            token: token.trim().to_owned(),
        }
    }
}

impl ListeningDaemon {
    pub(crate) fn authority(&self) -> &str {
        self.url.strip_prefix("http://").expect("an address")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.authority()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        stream
    }

    /// Sends bytes unchanged, and reads the answer until the connection closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> HttpReply {
        let mut stream = self.connect();
        // The server may refuse a request before it has read all of it.
        let _ = stream.write_all(bytes);
        HttpReply::read(stream)
    }

    /// Sends a request with exactly these headers.
    pub(crate) fn call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpReply {
        let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            lines.push(format!("Host: {}", self.authority()));
        }
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.push(format!("Content-Length: {}\r\n\r\n", body.len()));
        self.raw(&[lines.join("\r\n").as_bytes(), body].concat())
    }

    pub(crate) fn call_as(&self, token: &str, method: &str, path: &str, body: &str) -> HttpReply {
        let bearer = format!("Bearer {token}");
        self.call_with(method, path, &[("Authorization", &bearer)], body.as_bytes())
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> HttpReply {
        self.call_as(&self.token, method, path, body)
    }

    pub(crate) fn get(&self, path: &str) -> HttpReply {
        self.call("GET", path, "")
    }

    /// Sends a POST request with an idempotency key.
    pub(crate) fn post_once(&self, path: &str, key: &str, body: &str) -> HttpReply {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", &*bearer), ("Idempotency-Key", key)];
        self.call_with("POST", path, &headers, body.as_bytes())
    }

    /// Returns how many bytes the daemon has read so far, from files and sockets; 0 where the
    /// kernel does not count them.
    pub(crate) fn bytes_read(&self) -> u64 {
        let counted = fs::read_to_string(format!("/proc/{}/io", self.child.id()));
        let counted = counted.unwrap_or_default();
        let read = counted.lines().find_map(|line| line.strip_prefix("rchar: "));
        read.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Kills the daemon without a chance to clean up.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl<'a> SignedInBrowser<'a> {
    /// Signs in with the link that the daemon printed.
    pub(crate) fn new(up: &'a ListeningDaemon) -> Self {
        Self::with_link(up, &up.login)
    }

    pub(crate) fn with_link(up: &'a ListeningDaemon, link: &str) -> Self {
        let path = link.strip_prefix(&up.url).expect("a path");
        Self::from_reply(up, &up.call_with("GET", path, &[], b""))
    }

    /// Reads what the browser keeps from the answer to a sign-in.
    pub(crate) fn from_reply(up: &'a ListeningDaemon, signed_in: &HttpReply) -> Self {
        let cookie = signed_in.header("set-cookie").unwrap_or_else(|| panic!("{signed_in:?}"));
        let page = signed_in.text();
        Self {
            up,
            cookie: cookie.split(';').next().unwrap_or_default().to_owned(),
            csrf: attribute(&page, "data-csrf"),
            next: attribute(&page, "data-next"),
        }
    }

    pub(crate) fn get(&self, path: &str) -> HttpReply {
        self.up.call_with("GET", path, &[("Cookie", &self.cookie)], b"")
    }

    pub(crate) fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.text()
    }

    /// Sends exactly these fields of a form.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> HttpReply {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let headers = [form, ("Cookie", &*self.cookie)];
        self.up.call_with("POST", path, &headers, body.join("&").as_bytes())
    }

    /// Sends a form with the proof that the script adds.
    pub(crate) fn post_signed(&self, path: &str, fields: &[(&str, &str)]) -> HttpReply {
        self.post(path, &[fields, &[("csrf", self.csrf.as_str())]].concat())
    }

    /// Submits a form of a page, with the values that a person types into it.
    pub(crate) fn submit(&self, page: &str, action: &str, written: &[(&str, &str)]) -> HttpReply {
        let page = self.page(page);
        let form = page.split("<form").find(|form| form.contains(&format!("action=\"{action}\"")));
        let form = form.unwrap_or_else(|| panic!("no form for {action}: {page}"));
        let form = form.split("</form>").next().unwrap_or_default();
        let inputs = form.split("<input type=\"hidden\" ").skip(1);
        let hidden = inputs.map(|input| (attribute(input, "name"), attribute(input, "value")));
        let hidden: Vec<(String, String)> = hidden.collect();
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.post_signed(action, &hidden.chain(written.iter().copied()).collect::<Vec<_>>())
    }
}

/// Returns the first value of an attribute in markup.
fn attribute(markup: &str, name: &str) -> String {
    let value = markup.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_default().replace("&quot;", "\"").replace("&amp;", "&")
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let one =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

impl Drop for ListeningDaemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl HttpReply {
    /// Reads an answer until the connection closes.
    pub(crate) fn read(mut stream: impl Read) -> Self {
        let mut bytes = Vec::new();
        // A connection that the server cut off may or may not have delivered an answer.
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let Some(end) = end else {
            return Self { status: 0, head: String::new(), location: None, body: bytes };
        };
        let lines = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = lines.lines().filter_map(|line| line.split_once(": "));
        let location = lines.find(|(name, _)| name.eq_ignore_ascii_case("location"));
        let location = location.map(|(_, path)| path.to_owned());
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = bytes[end + 4..].to_vec();
        let body =
            if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
        Self { status, head, location, body }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key == name);
        Some(self.head.lines().find(of)?.split_once(':')?.1.trim())
    }

    /// Asserts that the answer is a problem document with this status and code.
    pub(crate) fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).ok();
        let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok()).unwrap_or(0);
        let rest = &bytes[at + 2..];
        if size == 0 || rest.len() < size {
            break;
        }
        whole.extend_from_slice(&rest[..size]);
        bytes = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}
