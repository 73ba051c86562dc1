//! Reads the certificate and the key of the server.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_process::regular_file::{open_regular, read_up_to};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Error)]
pub enum TlsFileError {
    #[error("cannot read {}", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// Users outside the owner's group can read the key.
    #[error("every user can read the key {}", .0.display())]
    ReadableByOthers(PathBuf),
    #[error("there is no certificate in PEM format in {}", .0.display())]
    NoCertificate(PathBuf),
    #[error("there is no private key in PEM format in {}", .0.display())]
    NoKey(PathBuf),
    #[error("the certificate in {} cannot be used with its key", .0.display())]
    Unusable(PathBuf, #[source] rustls::Error),
}

/// Reads a certificate chain and its key, both in PEM format.
pub(super) fn load(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsFileError> {
    let text = read(cert, open(cert)?)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| TlsFileError::NoCertificate(cert.to_owned()))?;
    let unusable = |error| TlsFileError::Unusable(cert.to_owned(), error);
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, read_key(key)?)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsFileError> {
    let file = open(path)?;
    let mode = file.metadata().map_err(|error| TlsFileError::Io(path.to_owned(), error))?.mode();
    if mode & 0o007 != 0 {
        return Err(TlsFileError::ReadableByOthers(path.to_owned()));
    }
    let text = read(path, file)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| TlsFileError::NoKey(path.to_owned()))
}

fn open(path: &Path) -> Result<File, TlsFileError> {
    open_regular(path).map_err(|error| TlsFileError::Io(path.to_owned(), error))
}

fn read(path: &Path, file: File) -> Result<Vec<u8>, TlsFileError> {
    read_up_to(file, FILE_BYTES_MAX).map_err(|error| TlsFileError::Io(path.to_owned(), error))
}
