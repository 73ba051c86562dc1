//! Values with a text form: enums whose variants are words, and ids that are checked when parsed.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// An enum whose variants are written as words.
pub trait WordEnum: Copy + Sized + 'static {
    const ALL: &'static [Self];

    fn word(self) -> &'static str;
}

/// Declares an enum whose variants are words, named by strum's `serialize_all` and `serialize`. The
/// word is also the serialized form, and its JSON Schema lists all words.
macro_rules! word_enum {
    ($(#[$attribute:meta])* pub enum $type:ident {
        $($(#[$variant_attribute:meta])* $variant:ident,)+
    }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(strum::IntoStaticStr, strum::EnumCount, strum::EnumString, strum::VariantArray)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(transform = $crate::text_value::list_words::<$type>))]
        #[strum(const_into_str)]
        $(#[$attribute])*
        pub enum $type {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $type {
            /// Every variant, in the order of declaration.
            pub const ALL: [Self; <Self as strum::EnumCount>::COUNT] =
                *<Self as strum::VariantArray>::VARIANTS.first_chunk().expect("as many as COUNT");

            pub const fn as_str(self) -> &'static str {
                self.into_str()
            }

            pub fn parse(word: &str) -> Option<Self> {
                word.parse().ok()
            }
        }

        impl $crate::text_value::WordEnum for $type {
            const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

            fn word(self) -> &'static str {
                self.into_str()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.into_str())
            }
        }

        $crate::text_value::serde_as_text!($type, |text: &str| {
            <$type>::parse(text).ok_or("is not a known word")
        });
    };
}

/// Gives a type with `as_str` and a fallible `parse` its `Display` and its serialized form.
macro_rules! text_id {
    ($($type:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $crate::text_value::serde_as_text!($type, <$type>::parse);
    )+};
}

/// Serializes a type by its `Display`, and deserializes it by a function that returns a `Result`.
macro_rules! serde_as_text {
    ($type:ty, $parse:expr) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text_value::deserialize_text(deserializer, $parse)
            }
        }
    };
}

pub(crate) use {serde_as_text, text_id, word_enum};

/// Replaces the derived schema of an enum with the list of its words.
#[cfg(feature = "schema")]
pub(crate) fn list_words<T: WordEnum>(schema: &mut schemars::Schema) {
    schema.remove("oneOf");
    let words: Vec<&str> = T::ALL.iter().map(|word| word.word()).collect();
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), words.into());
}

/// Deserializes a text without copying it first.
pub(crate) fn deserialize_text<'de, D, T, E, F>(deserializer: D, parse: F) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
    F: FnOnce(&str) -> Result<T, E>,
{
    deserializer.deserialize_str(TextVisitor { parse, value: PhantomData })
}

/// How much of a text that cannot be read is repeated in the error.
const QUOTED_CHARS_MAX: usize = 100;

struct TextVisitor<F, T> {
    parse: F,
    value: PhantomData<T>,
}

impl<T, E, F> Visitor<'_> for TextVisitor<F, T>
where
    E: fmt::Display,
    F: FnOnce(&str) -> Result<T, E>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<T, R> {
        (self.parse)(text).map_err(|error| {
            let shown: String = text.chars().take(QUOTED_CHARS_MAX).collect();
            R::custom(format_args!("{shown:?}: {error}"))
        })
    }
}
