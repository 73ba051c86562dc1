//! An amount of money, written in dollars in the configuration.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// An amount of money, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DollarAmount(pub u64);

impl<'de> Deserialize<'de> for DollarAmount {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        let whole = (dollars * 1e6).round();
        if !(0.0..9e15).contains(&whole) {
            return Err(D::Error::custom(format_args!(
                "expected dollars, like 2.5, not {dollars}"
            )));
        }
        Ok(Self(whole as u64))
    }
}

impl JsonSchema for DollarAmount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0})
    }
}
