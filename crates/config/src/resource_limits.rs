//! `processes_max` and `memory_max`: how much of the machine a run may take.

use std::borrow::Cow;
use std::num::NonZeroU64;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The default of `processes_max`.
pub const PROCESSES_MAX_DEFAULT: u32 = 4096;

/// The smallest `processes_max`: build tools start hundreds of threads, and the kernel cannot limit a
/// process namespace to less than 301.
pub(super) const PROCESSES_MAX_LEAST: u32 = 512;

/// The largest number of processes that Linux can have.
pub(super) const PROCESSES_MAX_MOST: u32 = 4_194_304;

/// How much memory a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryLimit {
    #[default]
    Off,
    Bytes(NonZeroU64),
}

const EXPECTED: &str = "expected \"off\" or a size like \"512MiB\" or \"4GiB\"";

/// The units of a size, and how many bytes they are as a power of two.
const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

impl MemoryLimit {
    /// Returns the limit in bytes; `None` if it is off.
    pub fn as_bytes(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Bytes(bytes) => Some(bytes.get()),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "off" {
            return Some(Self::Off);
        }
        let (number, bits) =
            UNITS.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)))?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| is_number)?;
        number.checked_mul(1 << bits).and_then(NonZeroU64::new).map(Self::Bytes)
    }
}

impl<'de> Deserialize<'de> for MemoryLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format_args!("{EXPECTED}, not {text:?}")))
    }
}

impl JsonSchema for MemoryLimit {
    fn schema_name() -> Cow<'static, str> {
        "MemoryLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(off|[0-9]+(KiB|MiB|GiB))$",
            "description": "A size like 512MiB or 4GiB, or off.",
        })
    }
}
