//! The nodes that may take part in a fleet, by their public keys.

use adjutant_model::NodeId;

use crate::nats::node_key::{PublicNodeKey, SIGNATURE_BYTES};
use crate::nats::options::OptionsError;

/// The keys of the nodes of a fleet, as the operator lists them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AcceptedKeys(Vec<AcceptedKey>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AcceptedKey {
    node: NodeId,
    key: PublicNodeKey,
    /// The last commit that counts with this key; nothing else is accepted with it. `None` for a
    /// node of the fleet.
    until: Option<u64>,
}

/// What a signature is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignedKind {
    /// A message, or anything else that counts now.
    Message,
    /// The commit of this version. The commits of a node that has left stay valid.
    Commit(u64),
}

impl AcceptedKeys {
    /// Reads lines like `desk UABC…` and, for a node that has left, `old UDEF… until 812`.
    pub fn parse<T: AsRef<str>>(lines: &[T]) -> Result<Self, OptionsError> {
        let mut keys: Vec<AcceptedKey> = Vec::new();
        let mut wrong = Vec::new();
        for line in lines.iter().map(AsRef::as_ref) {
            match parse_line(line) {
                Ok(key) if keys.iter().any(|before| before.key == key.key) => {
                    wrong.push(format!("the key {} is listed twice", key.key));
                }
                Ok(key) => keys.push(key),
                Err(why) => wrong.push(format!("{line:?} {why}")),
            }
        }
        if wrong.is_empty() { Ok(Self(keys)) } else { Err(OptionsError(wrong)) }
    }

    /// Returns the public keys of the nodes of the fleet.
    pub(crate) fn current(&self) -> impl Iterator<Item = &PublicNodeKey> {
        self.0.iter().filter(|accepted| accepted.until.is_none()).map(|accepted| &accepted.key)
    }

    /// Returns whether this key belongs to this node of the fleet.
    pub(crate) fn has(&self, node: &NodeId, key: &PublicNodeKey) -> bool {
        let is_it = |accepted: &AcceptedKey| {
            accepted.node == *node && accepted.key == *key && accepted.until.is_none()
        };
        self.0.iter().any(is_it)
    }

    /// Returns the key of a node that made this signature and counts for its kind.
    pub(crate) fn signer(
        &self,
        node: &NodeId,
        kind: SignedKind,
        bytes: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> Option<&PublicNodeKey> {
        let counts = |accepted: &&AcceptedKey| {
            accepted.node == *node
                && match (accepted.until, kind) {
                    (None, _) => true,
                    (Some(until), SignedKind::Commit(version)) => version <= until,
                    (Some(_), SignedKind::Message) => false,
                }
        };
        let mut keys = self.0.iter().filter(counts).map(|accepted| &accepted.key);
        keys.find(|key| key.has_signed(bytes, signature))
    }

    /// Returns whether any key of this node is listed.
    pub(crate) fn knows(&self, node: &NodeId) -> bool {
        self.0.iter().any(|accepted| accepted.node == *node)
    }
}

fn parse_line(line: &str) -> Result<AcceptedKey, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (node, key, until) = match words[..] {
        [node, key] => (node, key, None),
        [node, key, "until", version] => {
            let version = version.parse().map_err(|_| "does not end with a version".to_owned())?;
            (node, key, Some(version))
        }
        _ => return Err("is not `NODE KEY` or `NODE KEY until VERSION`".to_owned()),
    };
    let node = NodeId::parse(node).map_err(|bad| format!("has a node name that {bad}"))?;
    let key = PublicNodeKey::parse(key).map_err(|bad| format!("has a key that {bad}"))?;
    Ok(AcceptedKey { node, key, until })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nats::node_key::NodeKey;

    fn node(name: &str) -> NodeId {
        NodeId::parse(name).expect("a good name")
    }

    #[test]
    fn key_of_node_that_left_counts_for_its_commits_only() {
        let (desk, old) = (NodeKey::generate(), NodeKey::generate());
        let lines = [format!("desk {}", desk.public()), format!("old {} until 7", old.public())];
        let keys = AcceptedKeys::parse(&lines).expect("good lines");
        let signs = |who: &str, key: &NodeKey, kind| {
            keys.signer(&node(who), kind, b"text", &key.sign(b"text")).is_some()
        };
        assert!(signs("desk", &desk, SignedKind::Message));
        assert!(signs("desk", &desk, SignedKind::Commit(9)));
        assert!(!signs("old", &desk, SignedKind::Message), "the key of another node");
        assert!(!signs("old", &old, SignedKind::Message));
        assert!(signs("old", &old, SignedKind::Commit(7)));
        assert!(!signs("old", &old, SignedKind::Commit(8)));
        assert_eq!(keys.current().count(), 1);
        assert!(keys.has(&node("desk"), &desk.public()) && !keys.has(&node("old"), &old.public()));
    }

    #[test]
    fn wrong_lines_are_all_named() {
        let key = NodeKey::generate().public();
        let lines = [
            format!("desk {key}"),
            format!("lamp {key}"),
            "desk".into(),
            "a.b UABC".into(),
            "lamp UABC".into(),
            format!("lamp {key} until then"),
        ];
        let wrong = AcceptedKeys::parse(&lines).expect_err("five are wrong").0;
        assert_eq!(
            wrong,
            [
                format!("the key {key} is listed twice"),
                "\"desk\" is not `NODE KEY` or `NODE KEY until VERSION`".into(),
                "\"a.b UABC\" has a node name that must be up to 64 letters, digits, - and _"
                    .into(),
                "\"lamp UABC\" has a key that is not the public key of a node, which begins with \
                 U and has 56 characters"
                    .into(),
                format!("\"lamp {key} until then\" does not end with a version"),
            ]
        );
    }
}
