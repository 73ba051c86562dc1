//! What a file says, as JSON: text as text, anything else in base64.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The one key of what is no text.
const BASE64: &str = "base64";

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content<'a>(Cow<'a, [u8]>);

impl Content<'_> {
    /// Returns it byte for byte.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns it byte for byte.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl<'a> From<&'a [u8]> for Content<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Content<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a str> for Content<'a> {
    fn from(text: &'a str) -> Self {
        text.as_bytes().into()
    }
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = str::from_utf8(&self.0) {
            return to.serialize_str(text);
        }
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(BASE64, &STANDARD.encode(&self.0))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Content<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading).map(Self::from)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Vec<u8>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "text, or what is no text as {{\"{BASE64}\": …}}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Vec<u8>, E> {
        Ok(text.into_bytes())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<u8>, A::Error> {
        match map.next_entry::<Cow<'_, str>, Cow<'_, str>>()? {
            Some((key, code)) if key == BASE64 => {
                STANDARD.decode(&*code).map_err(|_| A::Error::custom("this is no base64"))
            }
            Some(_) | None => Err(A::Error::missing_field(BASE64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(bytes: &[u8]) -> String {
        let json = serde_json::to_string(&Content::from(bytes)).expect("it makes JSON");
        let back: Content<'static> = serde_json::from_str(&json).expect("it is read back");
        assert_eq!(back.as_bytes(), bytes);
        json
    }

    #[test]
    fn text_stays_text_and_all_else_comes_back_byte_for_byte() {
        assert_eq!(there_and_back(b"a \"word\"\n"), r#""a \"word\"\n""#);
        assert_eq!(there_and_back(b""), r#""""#);
        assert_eq!(there_and_back(b"\x89PNG\r\n"), r#"{"base64":"iVBORw0K"}"#);
        there_and_back(&(0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for bad in [r#"{"base64":"!"}"#, r#"{"hex":"00"}"#, "{}", "7", "null"] {
            assert!(serde_json::from_str::<Content<'static>>(bad).is_err(), "{bad}");
        }
    }
}
