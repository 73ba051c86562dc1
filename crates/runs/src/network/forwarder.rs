//! Inside the network namespace of a run: listens on its loopback interface and relays to the proxy.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::FORWARDER_PORT;
use super::relay::relay;

/// The most connections at once.
const CONNECTIONS_MAX: usize = 256;
/// How long the proxy may take to connect.
const CONNECT_PATIENCE: Duration = Duration::from_mins(1);
/// The longest answer of the proxy to a CONNECT.
const ANSWER_BYTES_MAX: usize = 1 << 10;
/// How long to wait before accepting again after an error, such as a lack of descriptors.
const ERROR_PAUSE: Duration = Duration::from_millis(50);

/// What a connection to a port of the namespace leads to.
#[derive(Clone, Copy)]
enum ForwardTarget {
    /// The proxy itself.
    Proxy,
    /// A port of the machine outside.
    LoopbackPort(u16),
}

/// Starts a forwarder that outlives this process, and returns when it listens.
pub fn start_forwarder_process(socket: &Path, ports: &[u16]) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("network-forwarder").arg(socket).args(ports.iter().map(ToString::to_string));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = &mut child.stdout {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if line.is_empty() { Err(io::Error::other("it ended before it listened")) } else { Ok(()) }
}

/// Listens, calls `ready`, and relays until the process ends. `socket` is the proxy's, as the
/// namespace sees it, and `ports` are those of the machine outside that the run may use.
pub fn run_forwarder(
    socket: &Path,
    ports: &[u16],
    ready: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let socket: Arc<PathBuf> = Arc::new(socket.to_owned());
    let open = Arc::new(AtomicUsize::new(0));
    let own = (FORWARDER_PORT, ForwardTarget::Proxy);
    let outside = ports.iter().map(|port| (*port, ForwardTarget::LoopbackPort(*port)));
    let mut threads = vec![];
    for (port, target) in [own].into_iter().chain(outside.filter(|(port, _)| *port != own.0)) {
        let mut addresses = vec![IpAddr::from(Ipv4Addr::LOCALHOST)];
        if matches!(target, ForwardTarget::LoopbackPort(_)) {
            addresses.push(Ipv6Addr::LOCALHOST.into());
        }
        for address in addresses {
            let listener = match TcpListener::bind((address, port)) {
                // The namespace may be without IPv6.
                Err(_) if address.is_ipv6() => continue,
                listener => listener?,
            };
            let (socket, open) = (Arc::clone(&socket), Arc::clone(&open));
            threads.push(std::thread::spawn(move || accept(&listener, target, &socket, &open)));
        }
    }
    ready()?;
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

fn accept(
    listener: &TcpListener,
    target: ForwardTarget,
    socket: &Arc<PathBuf>,
    open: &Arc<AtomicUsize>,
) {
    loop {
        let Ok((client, _)) = listener.accept() else {
            std::thread::sleep(ERROR_PAUSE);
            continue;
        };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        let (socket, counter) = (Arc::clone(socket), Arc::clone(open));
        open.fetch_add(1, Ordering::Relaxed);
        let serve = move || {
            let _ = forward(&client, target, &socket);
            counter.fetch_sub(1, Ordering::Relaxed);
        };
        let started = std::thread::Builder::new().stack_size(128 << 10).spawn(serve);
        if started.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn forward(client: &TcpStream, target: ForwardTarget, socket: &Path) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    if let ForwardTarget::LoopbackPort(port) = target {
        open_tunnel(&proxy, port)?;
    }
    relay(client, &proxy);
    Ok(())
}

/// Asks the proxy for a connection to a port of the machine outside.
fn open_tunnel(proxy: &UnixStream, port: u16) -> io::Result<()> {
    proxy.set_read_timeout(Some(CONNECT_PATIENCE))?;
    let request = format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n");
    (&mut &*proxy).write_all(request.as_bytes())?;
    let mut answer = vec![];
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if answer.len() >= ANSWER_BYTES_MAX || (&mut &*proxy).read(&mut byte)? == 0 {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        answer.extend(byte);
    }
    if answer.starts_with(b"HTTP/1.1 200 ") {
        Ok(())
    } else {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}
