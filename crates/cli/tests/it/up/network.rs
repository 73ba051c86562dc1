//! The network of a run with a list of hosts: the proxy, and the forwarder inside a real network
//! namespace, used by `curl`. Each test runs as this user, and as an ordinary user if this is root.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};

use adjutant_core::network::{AllowedHost, HostRules};
use adjutant_runs::network::{FORWARDER_PORT, NetworkProxy, RefusedTarget, proxy_variables};
use adjutant_test_support::skip::skip;
use tempfile::TempDir;

use crate::up::project::{DaemonProject, wait_for};
use crate::up::strict_sandbox::has_bubblewrap;
use crate::up::worktrees::{repository, task};

const ORDINARY_USER: u32 = 65534;

/// A network namespace with a forwarder, and the proxy outside it.
struct NetworkFixture {
    home: TempDir,
    user: Option<u32>,
    ports: Vec<u16>,
    refused: Receiver<String>,
    _proxy: NetworkProxy,
}

/// Starts a server that answers every request with `hello`, and returns its port.
fn web_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1)
            {
                head.extend(byte);
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

impl NetworkFixture {
    fn new(user: Option<u32>, hosts: &[String]) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let parse = |text: &String| AllowedHost::parse(text).expect("a host");
        let rules = HostRules::new(hosts.iter().map(parse).collect());
        let ports = rules.loopback_ports();
        let (tell, refused) = channel();
        let on_refused = move |it: &RefusedTarget| drop(tell.send(it.host.with_port(it.port)));
        let socket = home.path().join("proxy.sock");
        let proxy = NetworkProxy::start(&socket, rules, on_refused).expect("it listens");
        for path in [home.path(), &socket] {
            chown(path, user, user).expect("only root names another user");
        }
        Self { home, user, ports, refused, _proxy: proxy }
    }

    /// Runs a script in the namespace once the forwarder is ready.
    fn run(&self, script: &str) -> Output {
        let home = self.home.path().to_str().expect("a path that is text");
        let ports: Vec<String> = self.ports.iter().map(ToString::to_string).collect();
        let program = env!("CARGO_BIN_EXE_adjutant");
        let script = format!(
            "mkfifo ready\n{program} network-forwarder proxy.sock {} >ready & read line <ready\n\
             [ \"$line\" = ready ] || exit 99\n{script}",
            ports.join(" ")
        );
        let _ = fs::remove_file(self.home.path().join("ready"));
        let mut command = Command::new("bwrap");
        command.args([
            "--unshare-net",
            "--unshare-pid",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
        ]);
        command.args(["--dev", "/dev", "--proc", "/proc", "--bind", home, home, "--chdir", home]);
        command.args(["sh", "-c", &script]).env_clear();
        command.env("PATH", "/usr/bin:/bin").envs(proxy_variables());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.output().expect("bubblewrap starts")
    }

    /// Runs `curl` and returns what it printed: the body, or the status of the proxy's answer.
    fn curl(&self, arguments: &str) -> String {
        let code = "-w '%{http_code}:%{http_connect}'";
        let ran = self.run(&format!("curl -sS --max-time 60 {code} {arguments}; true"));
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{text} {}", String::from_utf8_lossy(&ran.stderr));
        text
    }

    fn refused(&self) -> Vec<String> {
        self.refused.try_iter().collect()
    }
}

/// Checks a list of hosts for each user, if bubblewrap works on this machine.
fn each_user(hosts: &[String], check: impl Fn(&NetworkFixture)) {
    if !Path::new("/usr/bin/bwrap").exists() {
        skip("there is no bubblewrap", "apt-get install bubblewrap");
        return;
    }
    check(&NetworkFixture::new(None, hosts));
    if rustix::process::geteuid().is_root() {
        check(&NetworkFixture::new(Some(ORDINARY_USER), hosts));
    }
}

#[test]
fn listed_host_is_reached_by_every_protocol() {
    let port = web_server();
    each_user(&[format!("127.0.0.1:{port}")], |stage| {
        let proxy = format!("http://127.0.0.1:{FORWARDER_PORT}");
        let url = format!("http://127.0.0.1:{port}/");
        let all = "--noproxy ''";
        assert_eq!(stage.curl(&format!("{all} -x {proxy} {url}")), "hello200:000");
        assert_eq!(stage.curl(&format!("{all} -p -x {proxy} {url}")), "hello200:200");
        let socks = format!("--socks5-hostname 127.0.0.1:{FORWARDER_PORT}");
        assert_eq!(stage.curl(&format!("{all} {socks} {url}")), "hello200:000");
        let named = format!("http://localhost:{port}/");
        assert_eq!(stage.curl(&format!("{all} {socks} {named}")), "hello200:000");
        assert!(stage.refused().is_empty());
    });
}

#[test]
fn listed_port_of_this_machine_is_forwarded_into_namespace() {
    let (port, other) = (web_server(), web_server());
    each_user(&[format!("localhost:{port}")], |stage| {
        // The variables say that no proxy is used for this machine.
        assert_eq!(stage.curl(&format!("http://127.0.0.1:{port}/")), "hello200:000");
        assert_eq!(stage.curl(&format!("http://localhost:{port}/")), "hello200:000");
        assert_eq!(stage.curl(&format!("http://127.0.0.1:{other}/")), "000:000");
        assert!(stage.refused().is_empty());
    });
}

#[test]
fn other_hosts_are_refused_and_reported_once() {
    let (port, other) = (web_server(), web_server());
    each_user(&[format!("127.0.0.1:{port}"), "listed.example".to_owned()], |stage| {
        for _ in 0..2 {
            let refused = stage.curl("http://evil.example/");
            assert!(refused.ends_with("evil.example:80 is not on the list of this agent\n403:000"));
            assert_eq!(stage.curl("https://evil.example/"), "000:403");
            assert!(stage.curl("http://10.0.0.1/").ends_with("403:000"));
            assert!(stage.curl("http://169.254.169.254/latest/").ends_with("403:000"));
            let all = format!("--noproxy '' http://127.0.0.1:{other}/");
            assert!(stage.curl(&all).ends_with("403:000"));
            assert!(stage.curl("http://listed.example:22/").ends_with("403:000"));
        }
        let mut refused = stage.refused();
        refused.sort();
        let mut expected = vec![
            "10.0.0.1:80".to_owned(),
            format!("127.0.0.1:{other}"),
            "169.254.169.254:80".to_owned(),
            "evil.example:443".to_owned(),
            "evil.example:80".to_owned(),
            "listed.example:22".to_owned(),
        ];
        expected.sort();
        assert_eq!(refused, expected);
    });
}

#[test]
fn namespace_has_no_other_way_out() {
    let port = web_server();
    each_user(&[], |stage| {
        let direct = format!("--noproxy '*' http://127.0.0.1:{port}/");
        assert_eq!(stage.curl(&direct), "000:000");
        assert_eq!(stage.curl("--noproxy '*' http://1.1.1.1/"), "000:000");
        let devices = stage.run("cat /proc/net/dev");
        let devices = String::from_utf8_lossy(&devices.stdout).into_owned();
        let names: Vec<&str> =
            devices.lines().filter_map(|line| line.split_once(':')).map(|it| it.0.trim()).collect();
        assert_eq!(names, ["lo"], "{devices}");
    });
}

/// A script that prints what it can reach, for an agent in a `strict` sandbox.
const TRY_HOSTS: &str = r#"
cat > /dev/null
try() { if curl -sSf --max-time 60 "$2" > out 2>> errors; then echo "$1: $(cat out)"; else echo "$1: no"; fi; }
try listed "http://127.0.0.1:$LISTED/"
try "not listed" "http://127.0.0.1:$OTHER/"
try "another host" http://evil.example/
curl -sS --max-time 60 --noproxy '*' http://192.0.2.1/ > /dev/null 2>&1 || echo "around the proxy: no"
rm -f out errors
echo a > a.txt; git add a.txt; git commit -qm a
adjutant report done
"#;

#[test]
fn strict_run_and_its_checks_reach_listed_hosts_only() {
    if !has_bubblewrap() {
        return;
    }
    let (port, other) = (web_server(), web_server());
    let settings = format!(
        "workspace = \"worktree\"\nsandbox = \"strict\"\nnetwork = [\"127.0.0.1:{port}\"]\n\
         env = {{ LISTED = \"{port}\", OTHER = \"{other}\" }}\n[project]\nchecks = [\"curl -sSf \
         http://127.0.0.1:{port}/ && ! curl -sSf http://127.0.0.1:{other}/ && ! curl -sSf \
         http://evil.example/\"]\n"
    );
    let stage = DaemonProject::new("").with_command("dev", TRY_HOSTS, &settings);
    repository(&stage);
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("it is checked", || !stage.events_of(&id, "work.checked").is_empty());
    let log = fs::read_to_string(stage.attempt(&id, 1).join("output.log")).unwrap_or_default();
    let reached = "listed: hello\nnot listed: no\nanother host: no\naround the proxy: no\n";
    assert!(log.contains(reached), "{log}");
    let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
    assert_eq!(checked["exit"], "code:0", "{checked}");
    let refused = stage.events_of(&id, "network.refused");
    let hosts: Vec<&str> =
        refused.iter().filter_map(|event| event["payload"]["host"].as_str()).collect();
    assert_eq!(hosts, ["evil.example:80"], "{refused:?}");
    let inbox = stage.json(&["inbox"]);
    let items = inbox.as_array().expect("a list");
    let item = items.iter().find(|item| item["kind"] == "network").expect("it is in the inbox");
    let allow = item["actions"][0].as_str().expect("an action");
    stage.run_ok(allow.trim_start_matches("adjutant ").split(' '));
    let config = fs::read_to_string(stage.path("adjutant.toml")).expect("a configuration");
    assert!(config.contains(&format!("\"127.0.0.1:{port}\", \"evil.example:80\"")), "{config}");
    up.kill();
    stage.until_idle();
}

#[test]
fn strict_run_without_network_reaches_nothing() {
    if !has_bubblewrap() {
        return;
    }
    let (port, other) = (web_server(), web_server());
    let settings = format!(
        "workspace = \"worktree\"\nsandbox = \"strict\"\nnetwork = \"off\"\n\
         env = {{ LISTED = \"{port}\", OTHER = \"{other}\" }}\n"
    );
    let stage = DaemonProject::new("").with_command("dev", TRY_HOSTS, &settings);
    repository(&stage);
    let id = task(&stage, "dev");
    stage.until_idle();
    let log = fs::read_to_string(stage.attempt(&id, 1).join("output.log")).unwrap_or_default();
    let reached = "listed: no\nnot listed: no\nanother host: no\naround the proxy: no\n";
    assert!(log.contains(reached), "{log}");
    assert_eq!(stage.status(&id), "review", "{log}");
}

#[test]
fn agents_command_lists_hosts() {
    let settings = "[agents.a]\nkind = \"claude\"\nworkspace = \"worktree\"\n\
                    sandbox = \"strict\"\nnetwork = [\"a.example\", \"127.0.0.1:8080\"]\n\
                    [agents.b]\nkind = \"command\"\ncommand = [\"true\"]\n\
                    sandbox = \"strict\"\nnetwork = \"off\"\n";
    let stage = DaemonProject::new("").with_settings(settings);
    let listed = stage.run_ok(["agents"]);
    for line in [
        "a: sandbox strict, network only to a.example, 127.0.0.1:8080\n",
        "b: sandbox strict, no network\n",
        "a: its program connects to api.anthropic.com",
    ] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
}
