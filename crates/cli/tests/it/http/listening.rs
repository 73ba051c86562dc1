//! The address that a daemon listens on.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use adjutant_testkit::fleet_keys::{accepted_line, node_key};

use crate::http::project::{HttpProject, HttpReply};

fn failed(stage: &HttpProject, args: &[&str]) -> String {
    let output = stage.command(&[&["up"], args].concat()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn listen_address_in_use_fails_startup() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let stage = HttpProject::new();
    let said = failed(&stage, &["--listen", &address]);
    assert!(
        said.contains(&format!("cannot listen on {address}")) && said.contains("hint:"),
        "{said}"
    );
    assert_eq!(stage.json(&["status"])["running"], false);
    let stage = HttpProject::with_settings(&format!("[server]\nlisten = \"{address}\"\n"));
    assert!(failed(&stage, &[]).contains(&format!("cannot listen on {address}")));
}

#[test]
fn listen_addresses_of_two_projects_differ() {
    let (one, two) = (HttpProject::new(), HttpProject::new());
    let (first, second) = (one.up_with(&[]), two.up_with(&[]));
    assert_ne!(first.url, second.url);
    assert_eq!(one.json(&["status"])["url"], first.url);
    assert_eq!(two.json(&["status"])["url"], second.url);
    first.call_as(&second.token, "GET", "/v1/tasks", "").assert_problem(401, "unauthenticated");
    first.kill();
    assert_eq!(
        one.json(&["status"])["url"],
        serde_json::Value::Null,
        "what it left counts for nothing"
    );
}

#[test]
fn listen_on_public_address_needs_operator_token() {
    let stage = HttpProject::new();
    let public = ["--listen", "0.0.0.0:0", "--insecure"];
    let said = failed(&stage, &public);
    assert!(said.contains("no token file was created") && said.contains("umask 077"), "{said}");
    assert!(!stage.path("operator-token").exists());
    std::fs::write(stage.path("operator-token"), "x".repeat(40)).expect("written");
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o644))
        .expect("changed");
    let said = failed(&stage, &public);
    assert!(
        said.contains("users other than the owner can read") && said.contains("chmod 600"),
        "{said}"
    );
    std::fs::set_permissions(stage.path("operator-token"), std::fs::Permissions::from_mode(0o600))
        .expect("changed");
    let up = stage.up_with(&public);
    assert_eq!(up.get("/v1/tasks").status, 200);
}

/// Writes a token that others cannot read.
fn write_token(stage: &HttpProject) {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = file.open(stage.path("operator-token")).expect("created");
    file.write_all("x".repeat(40).as_bytes()).expect("written");
}

#[test]
fn listen_on_public_address_needs_tls_or_insecure() {
    let stage = HttpProject::new();
    write_token(&stage);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let said = failed(&stage, &["--listen", address]);
        assert!(said.contains("connections to it are not encrypted"), "{said}");
        assert!(said.contains("`tls_cert`") && said.contains("--insecure"), "{said}");
    }
    let public = HttpProject::with_settings("[server]\nlisten = \"0.0.0.0:0\"\n");
    write_token(&public);
    assert!(failed(&public, &[]).contains("connections to it are not encrypted"));
    let detached = public.command(&["up", "--detach"]).output().expect("it starts");
    assert_eq!(detached.status.code(), Some(3), "{detached:?}");
    let said = public.json(&["up", "--detach", "--insecure"]);
    assert!(said["url"].as_str().is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{said}");
    public.ok(&["down"]);
}

/// Creates a certificate for this machine that signs itself, and its key.
fn create_certificate(stage: &HttpProject) {
    let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=board \
                -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
                -keyout tls.key -out tls.pem";
    let mut openssl = Command::new("openssl");
    let output = openssl.current_dir(stage.path("")).args(args.split_whitespace()).output();
    let output = output.expect("openssl");
    assert!(output.status.success(), "{output:?}");
}

const TLS: &str =
    "[server]\nlisten = \"0.0.0.0:0\"\ntls_cert = \"tls.pem\"\ntls_key = \"tls.key\"\n";

/// Calls a server over TLS, trusting only its own certificate.
fn call_over_tls(stage: &HttpProject, url: &str, path: &str, header: &str) -> HttpReply {
    let place = url.strip_prefix("https://").expect("an address with TLS");
    let mut roots = RootCertStore::empty();
    let own = CertificateDer::from_pem_file(stage.path("tls.pem")).expect("a certificate");
    roots.add(own).expect("it can be trusted");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(client, TcpStream::connect(place).expect("it listens"));
    let head = format!("GET {path} HTTP/1.1\r\nHost: {place}\r\n{header}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it listens");
    HttpReply::read(stream)
}

#[test]
fn listen_with_tls_serves_encrypted_connections_only() {
    let stage = HttpProject::with_settings(TLS);
    create_certificate(&stage);
    write_token(&stage);
    let said = stage.json(&["up", "--detach"]);
    let url = said["url"].as_str().unwrap_or_else(|| panic!("{said}"));
    let token = format!("Authorization: Bearer {}\r\n", "x".repeat(40));
    assert_eq!(call_over_tls(&stage, url, "/v1/tasks", &token).status, 200);
    let login = said["login"].as_str().expect("a link").strip_prefix(url).expect("a path");
    let signed_in = call_over_tls(&stage, url, login, "");
    let cookie = signed_in.header("set-cookie").expect("a cookie");
    assert!(cookie.ends_with("; secure"), "{cookie}");
    let mut plain =
        TcpStream::connect(url.strip_prefix("https://").expect("an address")).expect("it listens");
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("written");
    assert_eq!(HttpReply::read(plain).status, 0, "nothing is served in the clear");
    stage.ok(&["down"]);
}

#[test]
fn tls_files_that_cannot_be_used_are_named() {
    let stage = HttpProject::with_settings(TLS);
    write_token(&stage);
    assert!(failed(&stage, &[]).contains("tls.pem"));
    create_certificate(&stage);
    let set_mode = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(stage.path(name), mode).expect("changed");
    };
    set_mode("tls.key", 0o644);
    let said = failed(&stage, &[]);
    assert!(said.contains("every user can read the key") && said.contains("chmod o-rwx"), "{said}");
    set_mode("tls.key", 0o600);
    std::fs::write(stage.path("tls.key"), "no key").expect("written");
    assert!(failed(&stage, &[]).contains("there is no private key"));
    std::fs::write(stage.path("tls.pem"), "").expect("written");
    assert!(failed(&stage, &[]).contains("there is no certificate"));
    let half = HttpProject::with_settings("[server]\ntls_cert = \"tls.pem\"\n");
    let output = half.command(&["up"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("`tls_cert` and `tls_key` must be set together"), "{said}");
}

/// A pipe would be waited for, a device read for ever.
#[test]
fn configured_file_that_is_no_regular_file_is_refused() {
    let fleet = format!(
        "store = \"nats://127.0.0.1:1\"\n[nats]\nnode = \"desk\"\naccepted_keys = [{:?}]\n",
        accepted_line("desk")
    );
    let settings = [
        "[server]\ntoken_file = \"odd\"\n".to_owned(),
        "[server]\ntls_cert = \"odd\"\ntls_key = \"odd\"\n".to_owned(),
        format!("{fleet}credentials = \"odd\"\n"),
        format!("{fleet}ca = \"odd\"\n"),
    ];
    for settings in &settings {
        let stage = HttpProject::with_settings(settings);
        std::fs::write(stage.path("node-key"), node_key("desk").seed()).expect("written");
        std::fs::set_permissions(stage.path("node-key"), std::fs::Permissions::from_mode(0o600))
            .expect("it is ours");
        let odd = stage.path("odd");
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(&odd).status().expect("mkfifo");
        assert!(made.success());
        let said = failed(&stage, &["--listen", "127.0.0.1:0"]);
        assert!(said.contains("not a regular file"), "{settings}: {said}");
        std::fs::remove_file(&odd).expect("removed");
        std::fs::create_dir(&odd).expect("made");
        let said = failed(&stage, &["--listen", "127.0.0.1:0"]);
        assert!(said.contains("not a regular file"), "{settings}: {said}");
        std::fs::remove_dir(&odd).expect("removed");
        std::os::unix::fs::symlink("/dev/zero", &odd).expect("linked");
        let said = failed(&stage, &["--listen", "127.0.0.1:0"]);
        assert!(said.contains("not a regular file"), "{settings}: {said}");
    }
}

#[test]
fn notification_secret_that_is_a_pipe_does_not_hold_up_the_daemon() {
    let stage = HttpProject::with_settings(
        "[[notify]]\non = [\"blocked\"]\ntarget = \"webhook\"\nurl_file = \"odd\"\n",
    );
    let made = Command::new("mkfifo").arg(stage.path("odd")).status().expect("mkfifo");
    assert!(made.success());
    let up = stage.up();
    assert_eq!(up.get("/healthz").status, 200);
}

#[test]
fn listen_off_serves_nothing_and_token_is_private() {
    let stage = HttpProject::new();
    stage.ok(&["up", "--detach", "--listen", "off"]);
    assert_eq!(stage.json(&["status"])["url"], serde_json::Value::Null);
    stage.ok(&["down"]);
    stage.ok(&["up", "--until-idle"]);
    assert!(!stage.path("operator-token").exists(), "nobody listened");
    let said = stage.json(&["up", "--detach", "--listen", "127.0.0.1:0"]);
    assert_eq!(stage.json(&["status"])["url"], said["url"]);
    let mode = stage.path("operator-token").metadata().expect("a token").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(stage.ok(&["status"]).contains(said["url"].as_str().expect("an address")));
    stage.ok(&["down"]);
    assert!(!stage.path("journal/http").exists());
}
