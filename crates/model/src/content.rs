//! The content of a file as JSON: a string if it is UTF-8, else an object with base64.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The only key of the object for binary content.
const BASE64: &str = "base64";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent<'a>(Cow<'a, [u8]>);

impl FileContent<'_> {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }
}

impl<'a> From<&'a [u8]> for FileContent<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for FileContent<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Cow::Owned(bytes))
    }
}

impl<'a> From<&'a str> for FileContent<'a> {
    fn from(text: &'a str) -> Self {
        text.as_bytes().into()
    }
}

impl Serialize for FileContent<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = str::from_utf8(&self.0) {
            return to.serialize_str(text);
        }
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(BASE64, &STANDARD.encode(&self.0))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for FileContent<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ContentVisitor).map(Self::from)
    }
}

/// Serializes bytes in this form; for `#[serde(with = "content")]`.
pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    FileContent::from(bytes).serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    FileContent::deserialize(from).map(FileContent::into_bytes)
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "text, or other bytes as {{\"{BASE64}\": …}}")
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
                STANDARD.decode(&*code).map_err(|_| A::Error::custom("this is not base64"))
            }
            Some(_) | None => Err(A::Error::missing_field(BASE64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(bytes: &[u8]) -> String {
        let json = serde_json::to_string(&FileContent::from(bytes)).expect("it makes JSON");
        let back: FileContent<'static> = serde_json::from_str(&json).expect("it is read back");
        assert_eq!(back.as_bytes(), bytes);
        json
    }

    #[test]
    fn content_round_trips_as_text_or_base64() {
        assert_eq!(there_and_back(b"a \"word\"\n"), r#""a \"word\"\n""#);
        assert_eq!(there_and_back(b""), r#""""#);
        assert_eq!(there_and_back(b"\x89PNG\r\n"), r#"{"base64":"iVBORw0K"}"#);
        there_and_back(&(0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn content_of_wrong_shape_is_rejected() {
        for bad in [r#"{"base64":"!"}"#, r#"{"hex":"00"}"#, "{}", "7", "null"] {
            assert!(serde_json::from_str::<FileContent<'static>>(bad).is_err(), "{bad}");
        }
    }
}
