//! The key of a node: it signs what the node sends, and opens what was sealed for the node.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crypto_box::aead::{Aead, AeadCore, OsRng};
use crypto_box::{PublicKey, SalsaBox, SecretKey};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use nkeys::{KeyPair, KeyPairType};
use thiserror::Error;

/// The length of the nonce before a sealed text.
const NONCE_BYTES: usize = 24;

/// The length of a signature.
pub(crate) const SIGNATURE_BYTES: usize = Signature::BYTE_SIZE;

/// A text that is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadKey {
    /// The text is no user key of NATS.
    #[error("is not the public key of a node, which begins with U and has 56 characters")]
    Public,
    /// The text is no seed of a user key of NATS.
    #[error("is not the seed of a node's key, which begins with SU and has 58 characters")]
    Seed,
}

/// The key of a node, a user key of NATS (nkey).
pub struct NodeKey {
    signing: SigningKey,
    seed: String,
}

/// The public part of a node's key.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicNodeKey {
    key: VerifyingKey,
    text: String,
}

impl NodeKey {
    /// Makes a new key.
    pub fn generate() -> Self {
        let seed = KeyPair::new_user().seed().expect("a new key has a seed");
        Self::parse(&seed).expect("a new key is valid")
    }

    /// Reads the seed of a key; space around it is ignored.
    pub fn parse(seed: &str) -> Result<Self, BadKey> {
        let seed = seed.trim();
        let (kind, bytes) = nkeys::decode_seed(seed).map_err(|_| BadKey::Seed)?;
        if KeyPairType::from(kind) != KeyPairType::User {
            return Err(BadKey::Seed);
        }
        Ok(Self { signing: SigningKey::from_bytes(&bytes), seed: seed.to_owned() })
    }

    /// Returns the text by which the key is stored.
    pub fn seed(&self) -> &str {
        &self.seed
    }

    pub fn public(&self) -> PublicNodeKey {
        let pair = KeyPair::from_seed(&self.seed).expect("the seed was parsed before");
        PublicNodeKey { key: self.signing.verifying_key(), text: pair.public_key() }
    }

    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.signing.sign(bytes).to_bytes()
    }

    /// Returns the bytes of the key as hexadecimal digits, for a new key that signs nothing.
    pub(crate) fn secret_hex(&self) -> String {
        use std::fmt::Write as _;
        self.signing.to_bytes().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Seals a text so that only the holder of `to` can open it.
    pub(crate) fn seal(&self, to: &PublicNodeKey, text: &str) -> String {
        let nonce = SalsaBox::generate_nonce(&mut OsRng);
        let sealed = self.shared_box(to).encrypt(&nonce, text.as_bytes());
        let sealed = sealed.expect("a text in memory is not too long to be sealed");
        STANDARD.encode([nonce.as_slice(), &sealed].concat())
    }

    /// Opens a text that the holder of `from` sealed for this node.
    pub(crate) fn open(&self, from: &PublicNodeKey, sealed: &str) -> Option<String> {
        let bytes = STANDARD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let opened = self.shared_box(from).decrypt(nonce.into(), sealed).ok()?;
        String::from_utf8(opened).ok()
    }

    /// The X25519 form of both keys; the signing key may be used for both (eprint 2021/509).
    fn shared_box(&self, other: &PublicNodeKey) -> SalsaBox {
        let own = SecretKey::from(self.signing.to_scalar_bytes());
        SalsaBox::new(&PublicKey::from(other.key.to_montgomery().to_bytes()), &own)
    }
}

impl PublicNodeKey {
    pub fn parse(text: &str) -> Result<Self, BadKey> {
        let (kind, bytes) = nkeys::from_public_key(text).map_err(|_| BadKey::Public)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| BadKey::Public)?;
        // A weak key accepts signatures that were made without its seed.
        if KeyPairType::from(kind) != KeyPairType::User || key.is_weak() {
            return Err(BadKey::Public);
        }
        Ok(Self { key, text: text.to_owned() })
    }

    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        self.key.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Display for PublicNodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PublicNodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Shows the public key only.
impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeKey({})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_key_reads_back_from_its_seed() {
        let key = NodeKey::generate();
        let again = NodeKey::parse(&format!("{}\n", key.seed())).expect("its own seed");
        assert_eq!(again.public(), key.public());
        let public = PublicNodeKey::parse(&key.public().to_string()).expect("its own key");
        assert_eq!(public, key.public());
        assert!(!format!("{key:?}").contains(key.seed()), "{key:?}");
    }

    #[test]
    fn key_of_another_kind_is_refused() {
        let account = KeyPair::new_account();
        let seed = account.seed().expect("a seed");
        assert_eq!(NodeKey::parse(&seed).map(drop), Err(BadKey::Seed));
        assert_eq!(PublicNodeKey::parse(&account.public_key()), Err(BadKey::Public));
        assert_eq!(PublicNodeKey::parse("UABC"), Err(BadKey::Public));
        assert_eq!(NodeKey::parse("").map(drop), Err(BadKey::Seed));
    }

    #[test]
    fn sealed_text_opens_only_for_its_receiver_and_from_its_sender() {
        let [a, b, c] = [(); 3].map(|()| NodeKey::generate());
        let sealed = a.seal(&b.public(), "a secret");
        assert!(!sealed.contains("a secret"));
        assert_eq!(b.open(&a.public(), &sealed).as_deref(), Some("a secret"));
        assert_eq!(c.open(&a.public(), &sealed), None);
        assert_eq!(b.open(&c.public(), &sealed), None);
        for damaged in ["", "AAAA", &sealed[4..]] {
            assert_eq!(b.open(&a.public(), damaged), None, "{damaged:?}");
        }
    }
}
