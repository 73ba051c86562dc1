//! The names of the machines in a fleet.

use std::fmt;
use std::sync::Arc;

use crate::text_value::text_id;

/// The most characters the name of a node may have.
pub const NODE_CHARS_MAX: usize = 64;

/// The name of a node of a fleet: safe as a part of a NATS subject.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("maxLength" = NODE_CHARS_MAX, "pattern" = "^[A-Za-z0-9_-]+$"))
)]
pub struct NodeId(Arc<str>);

/// A text that is not a valid node name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadNode;

impl NodeId {
    /// Parses a name of ASCII letters, digits, `-` and `_`, at most [`NODE_CHARS_MAX`] long.
    pub fn parse(text: &str) -> Result<Self, BadNode> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = !text.is_empty() && text.len() <= NODE_CHARS_MAX;
        if fits && text.bytes().all(is_plain) { Ok(Self(text.into())) } else { Err(BadNode) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_id!(NodeId);

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for BadNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be up to {NODE_CHARS_MAX} letters, digits, - and _")
    }
}

impl std::error::Error for BadNode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_name_must_fit_into_an_address() {
        assert_eq!(
            NodeId::parse("mac-mini_2").map(|node| node.to_string()),
            Ok("mac-mini_2".into())
        );
        for bad in ["", "a.b", "a b", "*", ">", "ä", &"x".repeat(65)] {
            assert_eq!(NodeId::parse(bad), Err(BadNode), "{bad:?}");
        }
    }
}
