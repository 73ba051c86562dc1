//! Texts of limited length, and lists of limited size.

use std::borrow::Cow;
use std::marker::PhantomData;

use adjutant_core::aof::LIST_ITEMS_MAX;
use adjutant_core::path::PATH_CHARS_MAX;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The most characters an item of a list, or a token, may have: as many as a path.
pub(super) const ITEM_CHARS_MAX: usize = PATH_CHARS_MAX;

/// No control character anywhere.
pub(super) const NO_CONTROL: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// One line without control characters, with something on it that is not a blank.
pub(super) const LINE: &str = concat!(
    r"^[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"[^\u0000-\u001f\u007f-\u009f]*$",
);

/// Something that is not a blank.
pub(super) const NOT_BLANK: &str =
    r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// Everything but the NUL character.
pub(super) const NO_NUL: &str = r"^[^\u0000]*$";

/// A text of at most so many characters.
pub(super) struct Text<const CHARS_MAX: usize>;

/// An item of a list.
pub(super) type Item = Text<ITEM_CHARS_MAX>;

impl<const CHARS_MAX: usize> JsonSchema for Text<CHARS_MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{CHARS_MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": CHARS_MAX, "pattern": NO_NUL})
    }
}

/// A list of as many items as a message may have.
pub(super) struct List<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for List<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({"type": "array", "maxItems": LIST_ITEMS_MAX, "items": items})
    }
}
