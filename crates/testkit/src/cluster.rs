//! Three clustered NATS servers on loopback, each of which syncs before it answers.
//!
//! `cargo xtask test` installs the program. Tests that do not disturb the servers share one
//! cluster: the first test that needs it starts it, and a keeper process ends it when its last user
//! is gone, even if that one was killed. A test that kills servers has its own cluster, which dies
//! with it.

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

/// The only user of the servers, in their configuration.
const FLEET_USER: &str = "{ user: fleet, password: fleet }";

/// The time servers get to start.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// Ends the shared servers. The keeper holds nothing open but its own files, and its servers die
/// with it however it is killed.
const KEEPER_SCRIPT: &str = r#"
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPorts {
    clients: Vec<u16>,
    routes: Vec<u16>,
}

/// Keeps the shared cluster alive as long as this value lives.
pub struct SharedCluster {
    ports: ClusterPorts,
    _user: File,
}

pub struct NatsCluster {
    home: TempDir,
    ports: ClusterPorts,
    servers: Vec<Option<Child>>,
    start_requests: mpsc::Sender<(Command, mpsc::Sender<Child>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncSetting {
    /// Syncs before it answers, and answers questions about that.
    Always,
    /// Syncs every two minutes, the default, and answers questions about that.
    Periodic,
    /// Syncs before it answers, and does not let clients ask.
    Undisclosed,
}

impl SharedCluster {
    /// Joins the cluster, or starts it.
    pub fn join() -> Self {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cluster");
        fs::create_dir_all(&home).expect("a folder for the cluster");
        let lock = File::create(home.join("start")).expect("a lock");
        lock.lock().expect("the lock can be taken");
        let user = File::create(home.join("users")).expect("a lock");
        user.lock_shared().expect("no process holds it alone for long");
        let ready = home.join("ready");
        let ports = read_ports(&ready).filter(ClusterPorts::are_open).unwrap_or_else(|| {
            let ports = start_with_keeper(&home);
            fs::write(&ready, ports.to_line()).expect("a note of the ports");
            ports
        });
        Self { ports, _user: user }
    }

    pub fn address(&self) -> String {
        self.ports.address()
    }
}

/// Starts the shared servers with their keeper.
fn start_with_keeper(home: &Path) -> ClusterPorts {
    let ports = ClusterPorts::find_free(3);
    let folder = tempfile::Builder::new().prefix("run-").tempdir_in(home).expect("a folder").keep();
    ports.write_configs(&folder, SyncSetting::Always);
    let die = if die_with_parent_args().is_some() { "setpriv --pdeathsig KILL --" } else { "" };
    // The keeper must not be a child of this process: it outlives the test that started it.
    let started = Command::new("sh")
        .args(["-c", "sh -c \"$KEEPER\" &"])
        .env("KEEPER", KEEPER_SCRIPT)
        .env("SERVER", server_program())
        .env("DIE", die)
        .current_dir(&folder)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(started.expect("a shell").success());
    ports.wait_until_open();
    ports
}

fn read_ports(ready: &Path) -> Option<ClusterPorts> {
    ClusterPorts::parse(&fs::read_to_string(ready).ok()?)
}

impl NatsCluster {
    /// Starts three servers that sync before they answer.
    pub fn start() -> Self {
        Self::start_with(3, SyncSetting::Always)
    }

    pub fn start_with(count: usize, sync: SyncSetting) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = ClusterPorts::find_free(count);
        ports.write_configs(home.path(), sync);
        Self::start_servers(home, ports)
    }

    /// Starts three servers with these users only (NATS configuration).
    pub fn with_users(users: &str) -> Self {
        Self::with_config(|server, clients, routes| {
            let ports = ClusterPorts { clients: clients.to_vec(), routes: routes.to_vec() };
            ports.config(server, SyncSetting::Always).replace(FLEET_USER, users)
        })
    }

    /// Starts three servers. `config` gets a server's number, all client ports and all route ports.
    pub fn with_config(config: impl Fn(usize, &[u16], &[u16]) -> String) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = ClusterPorts::find_free(3);
        for server in 0..3 {
            let config = config(server, &ports.clients, &ports.routes);
            fs::write(home.path().join(format!("s{}.conf", server + 1)), config).expect("a file");
        }
        Self::start_servers(home, ports)
    }

    /// Starts one server with further configuration besides its address and its storage.
    pub fn start_single(settings: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let ports = ClusterPorts::find_free(1);
        let port = ports.clients[0];
        let config = format!(
            "server_name: s1\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: d1 }}\n{settings}"
        );
        fs::write(home.path().join("s1.conf"), config).expect("a file");
        Self::start_servers(home, ports)
    }

    fn start_servers(home: TempDir, ports: ClusterPorts) -> Self {
        let count = ports.clients.len();
        let servers = iter::repeat_with(|| None).take(count).collect();
        let mut cluster = Self { home, ports, servers, start_requests: spawn_starter() };
        (0..count).for_each(|server| cluster.restart_server(server));
        cluster.ports.wait_until_open();
        cluster
    }

    pub fn address(&self) -> String {
        self.ports.address()
    }

    pub fn len(&self) -> usize {
        self.servers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns the log of a server.
    pub fn server_log(&self, server: usize) -> String {
        let log = self.home.path().join(format!("s{}.log", server + 1));
        fs::read_to_string(log).unwrap_or_default()
    }

    /// Kills a server, as a power cut would.
    pub fn kill_server(&mut self, server: usize) {
        if let Some(mut child) = self.servers[server].take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it can be waited for");
        }
    }

    /// Restarts a killed server with its stored data.
    pub fn restart_server(&mut self, server: usize) {
        let log = self.home.path().join(format!("s{}.log", server + 1));
        let log = File::options().create(true).append(true).open(log).expect("a log");
        let mut words = die_with_parent_args().into_iter().flatten().map(ToOwned::to_owned);
        let first = words.next();
        let mut command = Command::new(first.map_or_else(server_program, PathBuf::from));
        command.args(words);
        if command.get_program() != server_program() {
            command.arg(server_program());
        }
        command.args(["-c", &format!("s{}.conf", server + 1)]).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let (answer, child) = mpsc::channel();
        self.start_requests.send((command, answer)).expect("the starter lives as long as this");
        self.servers[server] = Some(child.recv().expect("it can be started"));
    }
}

impl Drop for NatsCluster {
    fn drop(&mut self) {
        (0..self.servers.len()).for_each(|server| self.kill_server(server));
    }
}

/// A thread that starts servers and lives as long as their cluster, because a server dies with the
/// thread that started it.
fn spawn_starter() -> mpsc::Sender<(Command, mpsc::Sender<Child>)> {
    let (sender, commands) = mpsc::channel::<(Command, mpsc::Sender<Child>)>();
    thread::spawn(move || {
        for (mut command, answer) in commands {
            let started = command.spawn().expect("the server can be started");
            answer.send(started).expect("the caller waits for it");
        }
    });
    sender
}

/// The command that makes a process die with its parent, where the system has it.
fn die_with_parent_args() -> Option<[&'static str; 4]> {
    let here = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("setpriv").is_file());
    here.then_some(["setpriv", "--pdeathsig", "KILL", "--"])
}

fn server_program() -> PathBuf {
    let provided = format!("../../target/tools/nats-server-{VERSION}/bin/nats-server");
    let provided = Path::new(env!("CARGO_MANIFEST_DIR")).join(provided);
    let named = env::var_os("ADJUTANT_NATS_SERVER").map(PathBuf::from);
    let program = named.unwrap_or(provided);
    assert!(program.is_file(), "{} is missing: `cargo xtask tools` brings it", program.display());
    program
}

impl ClusterPorts {
    /// Finds free ports. All are held open together, so that no port is chosen twice.
    fn find_free(servers: usize) -> Self {
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

    fn wait_until_open(&self) {
        let until = Instant::now() + START_TIMEOUT;
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

    fn write_configs(&self, folder: &Path, sync: SyncSetting) {
        for server in 0..self.clients.len() {
            let path = folder.join(format!("s{}.conf", server + 1));
            fs::write(path, self.config(server, sync)).expect("a file");
        }
    }

    /// Returns the configuration of a server; a single server gets no cluster section.
    fn config(&self, server: usize, sync: SyncSetting) -> String {
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
        let interval = if sync == SyncSetting::Periodic { "2m" } else { "always" };
        let asked = "$SYS.REQ.SERVER.PING.JSZ";
        let (export, import) = match sync {
            SyncSetting::Undisclosed => (String::new(), String::new()),
            SyncSetting::Always | SyncSetting::Periodic => (
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
             FLEET: {{ jetstream: enabled, users: [{FLEET_USER}], {import} }}\n}}\n"
        )
    }
}
