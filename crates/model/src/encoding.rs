//! Serde encodings for single fields: numbers as text, dollars as a decimal, one value or a list.

use serde::Serialize;
use serde_json::{Map, Value};

/// Returns a struct as a JSON object.
pub(crate) fn object_of(document: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(document) {
        Ok(Value::Object(object)) => object,
        _ => unreachable!("a struct with named fields is an object"),
    }
}

/// A number that is only compared, as sixteen hexadecimal digits.
pub mod hex_u64 {
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        crate::text_value::deserialize_text(deserializer, |text| u64::from_str_radix(text, 16))
    }
}

/// Millionths of a dollar, written in dollars.
pub mod usd {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::cast_precision_loss, reason = "no budget comes near 2^53 millionths")]
    pub fn dollars(millionths: u64) -> f64 {
        millionths as f64 / 1e6
    }

    /// Returns `None` for amounts that are negative, too large or not a number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    pub fn millionths(dollars: f64) -> Option<u64> {
        let whole = (dollars * 1e6).round();
        (0.0..9e15).contains(&whole).then_some(whole as u64)
    }

    pub fn serialize<S: Serializer>(cost: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(dollars(*cost))
    }

    /// An invalid amount counts as 0.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        f64::deserialize(deserializer).map(|dollars| millionths(dollars).unwrap_or(0))
    }
}

/// A limit in millionths of a dollar, written in dollars.
pub mod optional_usd {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::usd;

    pub fn serialize<S: Serializer>(cost: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        cost.map(usd::dollars).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.and_then(usd::millionths))
    }
}

/// A list that is written without brackets if it has one item.
pub mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// One value, or a list.
    #[derive(Deserialize)]
    #[serde(untagged)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(crate) enum OneOrMany<T> {
        One(T),
        Many(Vec<T>),
    }

    pub fn serialize<S: Serializer, T: Serialize>(
        list: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match list {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(match OneOrMany::deserialize(deserializer)? {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        })
    }
}

/// A field that people and other programs may have changed: an unreadable value counts as absent.
pub mod lenient {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer};
    use serde_json::Value;

    pub fn deserialize<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: DeserializeOwned,
    {
        Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
    }

    /// Reads a value, or its default if it cannot be read.
    pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: DeserializeOwned + Default,
    {
        deserialize(deserializer).map(Option::unwrap_or_default)
    }

    /// Reads a list, and leaves out the items that cannot be read. What is no list is empty.
    pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: DeserializeOwned,
    {
        let items: Option<Vec<Value>> = deserialize(deserializer)?;
        let items = items.unwrap_or_default().into_iter();
        let mut read: Vec<T> = items.filter_map(|item| serde_json::from_value(item).ok()).collect();
        // Without this the list would keep the room of its JSON.
        read.shrink_to_fit();
        Ok(read)
    }
}

/// A change to an optional field: a list of one value or none, because JSON cannot distinguish
/// `None` from an absent field.
pub mod optional_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer, T: Serialize>(
        change: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        change.as_ref().map(Vec::from_iter).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        let list = Option::<Vec<T>>::deserialize(deserializer)?;
        Ok(list.map(|values| values.into_iter().next()))
    }
}
