//! Three NATS servers on loopback, clustered, each syncing before it answers.
//!
//! `cargo xtask test` brings the program. Tests that leave the servers alone share one cluster:
//! the first who needs it starts it, and a keeper ends it when the last who uses it is gone,
//! however that one ended. A test that kills servers has a cluster of its own, which dies with it.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, iter, thread};

use tempfile::TempDir;

/// The version that `cargo xtask test` provides.
pub const VERSION: &str = "2.15.1";

/// How long servers are given to be there.
const START: Duration = Duration::from_mins(1);

/// What ends the shared servers. It holds nothing open but its own files, and its servers die with
/// it whatever kills it.
const KEEPER: &str = r#"
servers=
for n in 1 2 3; do
  $DIE "$SERVER" -c "s$n.conf" >"s$n.log" 2>&1 &
  servers="$servers $!"
done
while :; do
  flock -x ../users true
  sleep 3
  flock -x ../start sh -c 'flock -xn ../users true && rm -f ../ready && touch over'
  [ -e over ] && break
done
kill $servers
wait
cd .. && rm -rf "$OLDPWD"
"#;

/// Where a cluster listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    clients: Vec<u16>,
    routes: Vec<u16>,
}

/// The cluster that tests share, for as long as this lives.
pub struct Shared {
    ports: Ports,
    _user: File,
}

/// A cluster of one's own.
pub struct Cluster {
    home: TempDir,
    ports: Ports,
    servers: Vec<Option<Child>>,
    starter: mpsc::Sender<(Command, mpsc::Sender<Child>)>,
}

/// What a server is told to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It syncs before it answers, and tells so.
    Always,
    /// It syncs every two minutes, as servers do by default, and tells so.
    Seldom,
    /// It syncs before it answers, and nobody may ask.
    Untold,
}

impl Shared {
    /// Joins the cluster, or starts it.
    pub fn join() -> Self {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cluster");
        fs::create_dir_all(&home).expect("a folder for the cluster");
        let lock = File::create(home.join("start")).expect("a lock");
        lock.lock().expect("the lock can be taken");
        let user = File::create(home.join("users")).expect("a lock");
        user.lock_shared().expect("nobody holds it alone for long");
        let ready = home.join("ready");
        let ports = read(&ready).filter(Ports::are_open).unwrap_or_else(|| {
            let ports = keep(&home);
            fs::write(&ready, ports.to_line()).expect("a note of the ports");
            ports
        });
        Self { ports, _user: user }
    }

    /// Returns the address of the cluster, as a store names it.
    pub fn address(&self) -> String {
        self.ports.address()
    }
}

/// Starts the shared servers with their keeper.
fn keep(home: &Path) -> Ports {
    let ports = Ports::free(3);
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(home).expect("a folder").keep();
    ports.configure(&folder, Sync::Always);
    let die = if mortal().is_some() { "setpriv --pdeathsig KILL --" } else { "" };
    // The keeper is nobody's child: it outlives whoever started it.
    let started = Command::new("sh")
        .args(["-c", "sh -c \"$KEEPER\" &"])
        .env("KEEPER", KEEPER)
        .env("SERVER", program())
        .env("DIE", die)
        .current_dir(&folder)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(started.expect("a shell").success());
    ports.wait();
    ports
}

fn read(ready: &Path) -> Option<Ports> {
    Ports::parse(&fs::read_to_string(ready).ok()?)
}

impl Cluster {
    /// Starts three servers that sync before they answer.
    pub fn start() -> Self {
        Self::start_with(3, Sync::Always)
    }

    /// Starts so many servers, told to be like this.
    pub fn start_with(count: usize, sync: Sync) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = Ports::free(count);
        ports.configure(home.path(), sync);
        Self::begin(home, ports)
    }

    /// Starts three servers whose user may do only this, in the words of their configuration.
    pub fn with_rights(rights: &str) -> Self {
        let user = "user: fleet, password: fleet";
        Self::told(|server, clients, routes| {
            let ports = Ports { clients: clients.to_vec(), routes: routes.to_vec() };
            ports.config(server, Sync::Always).replace(user, &format!("{user}, {rights}"))
        })
    }

    /// Starts three servers, each of which is told what is made of its number and of the ports of
    /// all, for clients and for each other.
    pub fn told(config: impl Fn(usize, &[u16], &[u16]) -> String) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = Ports::free(3);
        for server in 0..3 {
            let config = config(server, &ports.clients, &ports.routes);
            fs::write(home.path().join(format!("s{}.conf", server + 1)), config).expect("a file");
        }
        Self::begin(home, ports)
    }

    /// Starts one server that is told this besides where it listens and what it keeps.
    pub fn alone(told: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = Ports::free(1);
        let port = ports.clients[0];
        let config = format!(
            "server_name: s1\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: d1 }}\n{told}"
        );
        fs::write(home.path().join("s1.conf"), config).expect("a file");
        Self::begin(home, ports)
    }

    fn begin(home: TempDir, ports: Ports) -> Self {
        let count = ports.clients.len();
        let servers = iter::repeat_with(|| None).take(count).collect();
        let mut cluster = Self { home, ports, servers, starter: starter() };
        (0..count).for_each(|server| cluster.revive(server));
        cluster.ports.wait();
        cluster
    }

    /// Returns the address of the cluster, as a store names it.
    pub fn address(&self) -> String {
        self.ports.address()
    }

    /// Returns how many servers there are.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Says whether there is no server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns what a server has said.
    pub fn said(&self, server: usize) -> String {
        let log = self.home.path().join(format!("s{}.log", server + 1));
        fs::read_to_string(log).unwrap_or_default()
    }

    /// Kills a server, as a power cut would.
    pub fn kill(&mut self, server: usize) {
        if let Some(mut child) = self.servers[server].take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it can be waited for");
        }
    }

    /// Starts a server that was killed, on what it kept.
    pub fn revive(&mut self, server: usize) {
        let log = self.home.path().join(format!("s{}.log", server + 1));
        let log = File::options().create(true).append(true).open(log).expect("a log");
        let mut words = mortal().into_iter().flatten().map(ToOwned::to_owned);
        let first = words.next();
        let mut command = Command::new(first.map_or_else(program, PathBuf::from));
        command.args(words);
        if command.get_program() != program() {
            command.arg(program());
        }
        command.args(["-c", &format!("s{}.conf", server + 1)]).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let (tell, told) = mpsc::channel();
        self.starter.send((command, tell)).expect("the starter lives as long as this");
        self.servers[server] = Some(told.recv().expect("it can be started"));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.servers.len()).for_each(|server| self.kill(server));
    }
}

/// A thread that starts servers and lives as long as their cluster: a server dies with the thread
/// that started it.
fn starter() -> mpsc::Sender<(Command, mpsc::Sender<Child>)> {
    let (tell, told) = mpsc::channel::<(Command, mpsc::Sender<Child>)>();
    thread::spawn(move || {
        for (mut command, answer) in told {
            let started = command.spawn().expect("the server can be started");
            answer.send(started).expect("somebody waits for it");
        }
    });
    tell
}

/// What makes a process die with whoever started it, where the system can do that.
fn mortal() -> Option<[&'static str; 4]> {
    let here = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("setpriv").is_file());
    here.then_some(["setpriv", "--pdeathsig", "KILL", "--"])
}

/// Returns where the server's program is.
fn program() -> PathBuf {
    let provided = format!("../../target/tools/nats-server-{VERSION}/bin/nats-server");
    let provided = Path::new(env!("CARGO_MANIFEST_DIR")).join(provided);
    let named = env::var_os("ADJUTANT_NATS_SERVER").map(PathBuf::from);
    let program = named.unwrap_or(provided);
    assert!(program.is_file(), "{} is missing: `cargo xtask tools` brings it", program.display());
    program
}

impl Ports {
    /// Finds ports that nobody listens on. They are held open together, so that none comes twice.
    fn free(servers: usize) -> Self {
        let listen = |_| TcpListener::bind("127.0.0.1:0").expect("a free port");
        let held: Vec<TcpListener> = (0..2 * servers).map(listen).collect();
        let port = |one: &TcpListener| one.local_addr().expect("it listens").port();
        let ports: Vec<u16> = held.iter().map(port).collect();
        Self { clients: ports[..servers].to_vec(), routes: ports[servers..].to_vec() }
    }

    fn address(&self) -> String {
        let hosts: Vec<String> =
            self.clients.iter().map(|port| format!("fleet:fleet@127.0.0.1:{port}")).collect();
        format!("nats://{}", hosts.join(","))
    }

    fn are_open(&self) -> bool {
        self.clients.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
    }

    fn wait(&self) {
        let until = Instant::now() + START;
        while !self.are_open() {
            assert!(Instant::now() < until, "the servers did not come up");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn to_line(&self) -> String {
        let ports = self.clients.iter().chain(&self.routes);
        ports.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    fn parse(line: &str) -> Option<Self> {
        let ports: Option<Vec<u16>> = line.split(' ').map(|port| port.parse().ok()).collect();
        let ports = ports.filter(|ports| ports.len() == 6)?;
        Some(Self { clients: ports[..3].to_vec(), routes: ports[3..].to_vec() })
    }

    fn configure(&self, folder: &Path, sync: Sync) {
        for server in 0..self.clients.len() {
            let path = folder.join(format!("s{}.conf", server + 1));
            fs::write(path, self.config(server, sync)).expect("a file");
        }
    }

    /// A single server is no cluster.
    fn config(&self, server: usize, sync: Sync) -> String {
        let (name, client, route) = (server + 1, self.clients[server], self.routes[server]);
        let routes: Vec<String> =
            self.routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let cluster = match self.clients.len() {
            1 => String::new(),
            _ => format!(
                "cluster {{ name: fleet, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                routes.join(", ")
            ),
        };
        let interval = if sync == Sync::Seldom { "2m" } else { "always" };
        let asked = "$SYS.REQ.SERVER.PING.JSZ";
        let (export, import) = match sync {
            Sync::Untold => (String::new(), String::new()),
            Sync::Always | Sync::Seldom => (
                format!(
                    "exports: [{{ service: \"{asked}\", response_type: stream, accounts: [FLEET] }}]"
                ),
                format!("imports: [{{ service: {{ account: SYS, subject: \"{asked}\" }} }}]"),
            ),
        };
        format!(
            "server_name: s{name}\nlisten: \"127.0.0.1:{client}\"\n\
             jetstream {{ store_dir: \"d{name}\", sync_interval: {interval} }}\n{cluster}\
             system_account: SYS\naccounts {{\n  SYS: {{ {export} }}\n  \
             FLEET: {{ jetstream: enabled, users: [{{ user: fleet, password: fleet }}], {import} }}\n}}\n"
        )
    }
}
