//! The link between a node and the servers, which a test can cut.
//!
//! Where the system allows it, the node is in its own network namespace, and a cut takes the
//! network link down: packets are lost silently. Elsewhere a relay forwards the bytes, and a cut
//! makes it hold them back.

#![expect(clippy::print_stdout, reason = "that a relay had to do is worth knowing")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) struct NodeLink {
    address: String,
    cut: Arc<AtomicBool>,
    network: Option<NetworkNamespace>,
}

/// A network namespace for one node.
struct NetworkNamespace {
    name: String,
    link: String,
    host: String,
}

impl NodeLink {
    /// Makes a link to servers at an address like `nats://user:password@host:port,…`.
    pub(crate) fn to(servers: &str) -> Self {
        let network = NetworkNamespace::make();
        if let Err(why) = &network {
            println!("NO NETWORK NAMESPACE CAN BE HAD, a relay does instead: {why}");
        }
        let (network, cut) = (network.ok(), Arc::<AtomicBool>::default());
        let host = network.as_ref().map_or("127.0.0.1", |network| &network.host);
        let hosts = servers.trim_start_matches("nats://").split(',').map(|server| {
            let (user, to) = server.split_once('@').expect("a user");
            format!("{user}@{}", relay(host, to, &cut))
        });
        let address = format!("nats://{}", hosts.collect::<Vec<_>>().join(","));
        Self { address, cut, network }
    }

    /// Returns the address at which the node reaches the servers.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the words that start a program at the node's end of the link.
    pub(crate) fn enter(&self) -> Vec<String> {
        let network = self.network.iter();
        let words =
            |network: &NetworkNamespace| ["ip", "netns", "exec", &network.name].map(str::to_owned);
        network.flat_map(words).collect()
    }

    /// Names the way in which the link is cut.
    pub(crate) fn means(&self) -> &'static str {
        if self.network.is_some() { "a network namespace" } else { "a relay" }
    }

    pub(crate) fn cut(&self) {
        match &self.network {
            Some(network) => ip(&["link", "set", &network.link, "down"]).expect("it is cut"),
            None => self.cut.store(true, Ordering::Release),
        }
    }

    pub(crate) fn mend(&self) {
        match &self.network {
            Some(network) => ip(&["link", "set", &network.link, "up"]).expect("it is mended"),
            None => self.cut.store(false, Ordering::Release),
        }
    }
}

impl NetworkNamespace {
    /// Makes a network namespace, or returns why that is not possible.
    fn make() -> Result<Self, String> {
        static COUNT: AtomicU8 = AtomicU8::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let (name, link) = (format!("adj{pid}x{count}"), format!("a{pid}x{count}"));
        let far = format!("b{pid}x{count}");
        let (third, fourth) = (pid % 250, 4 * u32::from(count) % 250);
        let host = format!("10.213.{third}.{}", fourth + 1);
        let inside = format!("10.213.{third}.{}/30", fourth + 2);
        ip(&["netns", "add", &name])?;
        let network = Self { name, link, host };
        let (name, link) = (&*network.name, &*network.link);
        ip(&["link", "add", link, "type", "veth", "peer", "name", &far])?;
        ip(&["link", "set", &far, "netns", name])?;
        ip(&["addr", "add", &format!("{}/30", network.host), "dev", link])?;
        ip(&["link", "set", link, "up"])?;
        ip(&["-n", name, "addr", "add", &inside, "dev", &far])?;
        ip(&["-n", name, "link", "set", &far, "up"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])?;
        Ok(network)
    }
}

impl Drop for NetworkNamespace {
    fn drop(&mut self) {
        let _ = ip(&["link", "del", &self.link]);
        let _ = ip(&["netns", "del", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let why = match ran {
        Ok(ran) if ran.status.success() => return Ok(()),
        Ok(ran) => String::from_utf8_lossy(&ran.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("`ip {}`: {why}", arguments.join(" ")))
}

/// Forwards connections to the server `to`, and returns the address it listens on.
fn relay(host: &str, to: &str, cut: &Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind((host, 0)).expect("a free port");
    let at = listener.local_addr().expect("it listens").to_string();
    let (to, cut) = (to.to_owned(), Arc::clone(cut));
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(&to) else { continue };
            let (Ok(back), Ok(answers)) = (near.try_clone(), far.try_clone()) else { continue };
            let (one, other) = (Arc::clone(&cut), Arc::clone(&cut));
            thread::spawn(move || pass(near, far, &one));
            thread::spawn(move || pass(answers, back, &other));
        }
    });
    at
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut bytes = vec![0; 64 << 10];
    let _ = from.set_read_timeout(Some(Duration::from_millis(50)));
    loop {
        if cut.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) if to.write_all(&bytes[..count]).is_ok() => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
