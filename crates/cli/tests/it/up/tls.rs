//! Webhooks over TLS: a notice is sent only if the server's certificate is trusted.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, crypto};

use crate::up::notifications::{block, events};
use crate::up::project::DaemonProject;
use crate::up::webhook_receiver::WebhookReceiver;

fn openssl(folder: &Path, args: &str) {
    let mut command = Command::new("openssl");
    let output = command.current_dir(folder).args(args.split(' ')).output().expect("openssl");
    assert!(output.status.success(), "openssl {args}: {output:?}");
}

/// Creates a certificate authority, and a server certificate for this machine.
fn certificates(folder: &Path) -> Arc<ServerConfig> {
    openssl(
        folder,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
         -subj /CN=authority -keyout ca.key -out ca.pem",
    );
    openssl(
        folder,
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=receiver \
         -addext subjectAltName=IP:127.0.0.1 -keyout own.key -out own.csr",
    );
    openssl(
        folder,
        "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -days 2 -copy_extensions copy -out own.pem",
    );
    let own = CertificateDer::from_pem_file(folder.join("own.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join("own.key")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own], key);
    Arc::new(config.expect("they fit"))
}

/// Runs a daemon that trusts these certificates until it has tried to send the pending notices.
fn tell(stage: &DaemonProject, trusted: &Path) {
    let mut up = stage.command(["up", "--until-idle", "--json"]);
    let output = up.env("SSL_CERT_FILE", trusted).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn webhook_over_tls_needs_trusted_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = WebhookReceiver::over_tls(certificates(folder.path()));
    let stage = DaemonProject::new("").with_settings(&format!(
        "[[notify]]\non = [\"blocked\"]\ntarget = \"webhook\"\nattempts_max = 100\n\
         url = \"https://127.0.0.1:{}/hook\"\n",
        receiver.port
    ));
    let id = block(&stage, "no way");
    let others = tempfile::tempdir().expect("a folder");
    certificates(others.path());
    tell(&stage, &others.path().join("ca.pem"));
    assert_eq!((receiver.requests().len(), events(&stage, "notify.sent").len()), (0, 0));
    tell(&stage, &folder.path().join("ca.pem"));
    let heard = receiver.requests();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].body["notices"][0]["taskId"], id[..]);
    assert_eq!(events(&stage, "notify.sent").len(), 1, "once, and not lost");
}
