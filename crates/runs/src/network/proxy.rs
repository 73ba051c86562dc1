//! The proxy of a run: connects to the hosts that the run may use, and to no others.
//!
//! It serves HTTP CONNECT, requests for `http://` addresses, and SOCKS5 on one Unix socket. A name is
//! resolved once, and the address that was judged is the one that is connected to. Every connection
//! has threads of its own and limits, so that a client can stop nothing but itself.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::network::{HostRules, HostVerdict, TargetHost};
use adjutant_run_files::attempt_files::AttemptFolder;
use parking_lot::Mutex;

use super::proxy_request::{
    HEAD_BYTES_MAX, HttpRequest, HttpRequestKind, RequestFault, SOCKS_VERSION, SocksFault,
    parse_http, parse_socks, parse_socks_greeting,
};
use super::relay::relay;

/// The most connections at once.
const CONNECTIONS_MAX: usize = 128;
/// How long a client may take for its request.
const REQUEST_PATIENCE: Duration = Duration::from_secs(10);
/// How long one address may take to answer.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;
/// The most refused hosts that are reported in a run.
const REFUSED_MAX: usize = 50;
/// How long to wait before accepting again after an error, such as a lack of descriptors.
const ERROR_PAUSE: Duration = Duration::from_millis(50);

/// A host that a run wanted to connect to and may not. Reported once per run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedTarget {
    pub host: TargetHost,
    pub port: u16,
}

/// The proxy of a run. Dropping it removes its socket; connections end with the process.
pub struct NetworkProxy {
    path: PathBuf,
}

struct ProxyContext {
    rules: HostRules,
    refused: Mutex<BTreeSet<RefusedTarget>>,
    on_refused: Box<dyn Fn(&RefusedTarget) + Send + Sync>,
    resolve: fn(&str, u16) -> io::Result<Vec<IpAddr>>,
}

/// Why there is no connection to a host.
enum ConnectFault {
    Refused,
    Unreachable,
}

impl NetworkProxy {
    /// Starts the proxy of a run, which notes refused hosts in the folder of its attempt.
    pub fn start_for_run(
        path: &Path,
        rules: HostRules,
        folder: &AttemptFolder,
    ) -> io::Result<Self> {
        let folder = folder.clone();
        Self::start(path, rules, move |refused| {
            // A full disk must not stop the proxy.
            let _ = folder.add_refused_host(&refused.host.with_port(refused.port));
        })
    }

    /// Listens on a socket for the owner only. The path must be short, as it is for every Unix
    /// socket; a name in the working directory is. `on_refused` is called once for each host, for a
    /// limited number of them.
    pub fn start(
        path: &Path,
        rules: HostRules,
        on_refused: impl Fn(&RefusedTarget) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::start_with_resolver(path, rules, on_refused, resolve)
    }

    fn start_with_resolver(
        path: &Path,
        rules: HostRules,
        on_refused: impl Fn(&RefusedTarget) + Send + Sync + 'static,
        resolve: fn(&str, u16) -> io::Result<Vec<IpAddr>>,
    ) -> io::Result<Self> {
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        let on_refused = Box::new(on_refused);
        let context = ProxyContext { rules, refused: Mutex::default(), on_refused, resolve };
        let accepting = std::thread::Builder::new().name("proxy".to_owned());
        accepting.spawn(move || accept(&listener, &Arc::new(context)))?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for NetworkProxy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, context: &Arc<ProxyContext>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((client, _)) = listener.accept() else {
            std::thread::sleep(ERROR_PAUSE);
            continue;
        };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        let (context, counter) = (Arc::clone(context), Arc::clone(&open));
        open.fetch_add(1, Ordering::Relaxed);
        let serve = move || {
            // The client sees the closed connection.
            let _ = serve(&client, &context);
            counter.fetch_sub(1, Ordering::Relaxed);
        };
        // Resolving a name needs more stack than the rest.
        let started = std::thread::Builder::new().stack_size(256 << 10).spawn(serve);
        if started.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Reads a request within its time and size.
struct RequestReader<'a> {
    client: &'a UnixStream,
    bytes: Vec<u8>,
    deadline: Instant,
}

impl RequestReader<'_> {
    /// Reads until `parse` has its result.
    fn read_until<T>(&mut self, mut parse: impl FnMut(&[u8]) -> Option<T>) -> io::Result<T> {
        loop {
            if let Some(parsed) = parse(&self.bytes) {
                return Ok(parsed);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.bytes.len() >= HEAD_BYTES_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.client.set_read_timeout(Some(left))?;
            let mut bytes = [0; 4 << 10];
            match (&mut &*self.client).read(&mut bytes)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.bytes.extend_from_slice(&bytes[..read]),
            }
        }
    }
}

fn serve(client: &UnixStream, context: &ProxyContext) -> io::Result<()> {
    client.set_write_timeout(Some(REQUEST_PATIENCE))?;
    let deadline = Instant::now() + REQUEST_PATIENCE;
    let mut reader = RequestReader { client, bytes: vec![], deadline };
    match reader.read_until(|bytes| bytes.first().copied())? {
        SOCKS_VERSION => serve_socks(&mut reader, context),
        _ => serve_http(&mut reader, context),
    }
}

fn serve_http(reader: &mut RequestReader<'_>, context: &ProxyContext) -> io::Result<()> {
    let parsed = reader.read_until(|bytes| parse_http(bytes).transpose())?;
    let mut client = reader.client;
    let request = match parsed {
        Ok(request) => request,
        Err(fault) => return client.write_all(&refusal(400, fault_text(fault))),
    };
    let HttpRequest { host, port, kind, head_bytes } = request;
    let mut server = match context.connect(&host, port) {
        Ok(server) => server,
        Err(ConnectFault::Refused) => {
            let text = format!("{} is not on the list of this agent", host.with_port(port));
            return client.write_all(&refusal(403, &text));
        }
        Err(ConnectFault::Unreachable) => {
            let text = format!("{} cannot be reached", host.with_port(port));
            return client.write_all(&refusal(502, &text));
        }
    };
    match kind {
        HttpRequestKind::Connect => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        }
        HttpRequestKind::Forward { head } => server.write_all(&head)?,
    }
    server.write_all(&reader.bytes[head_bytes..])?;
    relay(client, &server);
    Ok(())
}

fn serve_socks(reader: &mut RequestReader<'_>, context: &ProxyContext) -> io::Result<()> {
    let mut client = reader.client;
    let (length, is_open) = reader.read_until(parse_socks_greeting)?;
    reader.bytes.drain(..length);
    // No password, or no method that both have.
    client.write_all(&[SOCKS_VERSION, if is_open { 0 } else { 0xff }])?;
    if !is_open {
        return Ok(());
    }
    let parsed = reader.read_until(|bytes| parse_socks(bytes).transpose())?;
    let connected = parsed.and_then(|request| {
        let connected = context.connect(&request.host, request.port);
        connected.map(|server| (server, request.bytes)).map_err(|fault| match fault {
            ConnectFault::Refused => SocksFault::NotAllowed,
            ConnectFault::Unreachable => SocksFault::Unreachable,
        })
    });
    let code = connected.as_ref().map_or_else(|fault| *fault as u8, |_| 0);
    client.write_all(&[SOCKS_VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0])?;
    if let Ok((mut server, length)) = connected {
        server.write_all(&reader.bytes[length..])?;
        relay(client, &server);
    }
    Ok(())
}

fn fault_text(fault: RequestFault) -> &'static str {
    match fault {
        RequestFault::Malformed => "the request is not valid HTTP",
        RequestFault::Target => "the target of the request is not a host that a proxy can use",
    }
}

/// Writes an answer without a connection to a host. The text has no line breaks.
fn refusal(status: u16, text: &str) -> Vec<u8> {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        _ => "Bad Gateway",
    };
    let body = format!("adjutant: {text}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

impl ProxyContext {
    /// Connects to a host if the run may. A name is resolved here and nowhere else.
    fn connect(&self, host: &TargetHost, port: u16) -> Result<TcpStream, ConnectFault> {
        let addresses = match self.rules.judge(host, port) {
            HostVerdict::Connect(addresses) => addresses,
            HostVerdict::Resolve(name) => {
                let found = (self.resolve)(&name, port).map_err(|_| ConnectFault::Unreachable)?;
                let usable = self.rules.usable_addresses(&found, port);
                if usable.is_empty() {
                    return Err(self.refuse(host, port));
                }
                usable
            }
            HostVerdict::Refuse => return Err(self.refuse(host, port)),
        };
        let connect = |address: &IpAddr| {
            TcpStream::connect_timeout(&SocketAddr::new(*address, port), CONNECT_PATIENCE).ok()
        };
        let stream = addresses.iter().take(ADDRESSES_MAX).find_map(connect);
        stream.ok_or(ConnectFault::Unreachable)
    }

    /// Reports a refused host, unless it was reported before.
    fn refuse(&self, host: &TargetHost, port: u16) -> ConnectFault {
        let refused = RefusedTarget { host: host.clone(), port };
        let mut known = self.refused.lock();
        if known.len() < REFUSED_MAX && known.insert(refused.clone()) {
            drop(known);
            (self.on_refused)(&refused);
        }
        ConnectFault::Refused
    }
}

fn resolve(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    Ok((name, port).to_socket_addrs()?.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    use adjutant_core::network::AllowedHost;
    use tempfile::TempDir;

    use super::*;

    struct ProxyFixture {
        home: TempDir,
        refused: Receiver<String>,
        _proxy: NetworkProxy,
    }

    /// A resolver that leads every name to this machine, as a hostile name server could.
    #[expect(clippy::unnecessary_wraps, reason = "it is a resolver like the real one")]
    fn resolve_to_loopback(_: &str, _: u16) -> io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([169, 254, 169, 254])])
    }

    impl ProxyFixture {
        fn new(hosts: &[String]) -> Self {
            let parse = |text: &String| AllowedHost::parse(text).expect("a host");
            let rules = HostRules::new(hosts.iter().map(parse).collect());
            let home = tempfile::tempdir().expect("a temporary folder");
            let (tell, refused) = channel();
            let on_refused = move |it: &RefusedTarget| drop(tell.send(it.host.with_port(it.port)));
            let path = home.path().join("proxy.sock");
            let proxy =
                NetworkProxy::start_with_resolver(&path, rules, on_refused, resolve_to_loopback);
            Self { home, refused, _proxy: proxy.expect("it listens") }
        }

        fn client(&self) -> UnixStream {
            let path = self.home.path().join("proxy.sock");
            let client = UnixStream::connect(path).expect("it accepts");
            client.set_read_timeout(Some(Duration::from_mins(1))).expect("set");
            client
        }

        /// Sends bytes, closes that direction, and returns everything that comes back.
        fn ask(&self, bytes: &[u8]) -> Vec<u8> {
            let mut client = self.client();
            client.write_all(bytes).expect("it is sent");
            client.shutdown(std::net::Shutdown::Write).expect("closed");
            let mut answer = vec![];
            client.read_to_end(&mut answer).expect("it answers");
            answer
        }

        fn refused(&self) -> Vec<String> {
            self.refused.try_iter().collect()
        }
    }

    /// Starts a server that echoes everything until its client is done, and returns its port.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mut from, mut to) = (&stream, &stream);
                let _ = io::copy(&mut from, &mut to);
                let _ = stream.shutdown(std::net::Shutdown::Write);
            }
        });
        port
    }

    #[test]
    fn proxy_connects_to_listed_host_in_each_protocol() {
        let port = echo();
        let stage = ProxyFixture::new(&[format!("127.0.0.1:{port}")]);
        let connect =
            stage.ask(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello").as_bytes());
        assert_eq!(connect, b"HTTP/1.1 200 Connection established\r\n\r\nhello");
        let get =
            stage.ask(format!("GET http://localhost:{port}/a HTTP/1.1\r\n\r\nmore").as_bytes());
        let expected =
            format!("GET /a HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\nmore");
        assert_eq!(String::from_utf8_lossy(&get), expected);
        let socks = [&[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1][..], &port.to_be_bytes(), b"hello"];
        let answer = stage.ask(&socks.concat());
        assert_eq!(answer, [&[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"hello"].concat());
        assert!(stage.refused().is_empty());
    }

    #[test]
    fn proxy_reports_each_refused_host_once() {
        let stage = ProxyFixture::new(&["example.com".to_owned()]);
        for _ in 0..3 {
            let answer = stage.ask(b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
            assert!(answer.starts_with(b"HTTP/1.1 403 Forbidden\r\n"), "{answer:?}");
        }
        let socks = [&[5, 1, 0, 5, 1, 0, 3, 12][..], b"Evil.example", &[1, 187]].concat();
        assert_eq!(stage.ask(&socks)[..4], [5, 0, 5, 2]);
        assert_eq!(stage.refused(), ["evil.example:443"]);
        for port in 1..200 {
            stage.ask(format!("CONNECT other.example:{port} HTTP/1.1\r\n\r\n").as_bytes());
        }
        assert_eq!(stage.refused().len(), REFUSED_MAX - 1);
    }

    #[test]
    fn proxy_refuses_listed_name_that_leads_to_this_machine() {
        let port = echo();
        let stage = ProxyFixture::new(&[format!("example.com:{port}")]);
        let answer = stage.ask(format!("CONNECT example.com:{port} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(answer.starts_with(b"HTTP/1.1 403 "), "{answer:?}");
        assert_eq!(stage.refused(), [format!("example.com:{port}")]);
    }

    #[test]
    fn proxy_survives_clients_that_send_nothing_sensible() {
        let port = echo();
        let stage = ProxyFixture::new(&[format!("127.0.0.1:{port}")]);
        let silent: Vec<UnixStream> = (0..20).map(|_| stage.client()).collect();
        assert!(stage.ask(b"\x04\x01").starts_with(b"HTTP/1.1 400 "));
        assert_eq!(stage.ask(&[5, 1, 2]), [5, 0xff]);
        assert!(stage.ask(b"GET / HTTP/1.1\r\n\r\n").starts_with(b"HTTP/1.1 400 "));
        // A head without an end: the rest may be unread when the proxy gives up.
        let _ = stage.client().write_all(&vec![b'x'; 1 << 20]);
        let good = stage.ask(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes());
        assert!(good.starts_with(b"HTTP/1.1 200 "), "{good:?}");
        drop(silent);
    }
}
