//! Reads the fields of a JSON object and collects every problem with them, for all dialects.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::actor::AgentId;
use crate::answer::FieldProblem;
use crate::relative_path::RelPath;
use crate::task_id::TaskId;
use crate::text_value::WordEnum;
use crate::time::Timestamp;

pub const NOTES_CHARS_MAX: usize = 10_000;
pub const PROGRESS_CHARS_MAX: usize = 1_000;
pub const REASON_CHARS_MAX: usize = 512;
/// The most characters an item of a list may have.
pub const ITEM_CHARS_MAX: usize = 256;
/// The most items a list may have.
pub const LIST_ITEMS_MAX: usize = 50;

/// Limits the schema of a list of texts to the size that a message may have.
#[cfg(feature = "schema")]
pub fn limit_items(schema: &mut schemars::Schema) {
    let text = serde_json::json!({
        "type": "string",
        "maxLength": ITEM_CHARS_MAX,
        "pattern": crate::schema::NO_NUL,
    });
    schema.insert("maxItems".into(), LIST_ITEMS_MAX.into());
    schema.insert("items".into(), text);
}

#[derive(Clone, Copy, PartialEq)]
pub enum FieldNeed {
    Required,
    Optional,
}

/// A JSON object being read, and the problems found so far.
pub struct FieldReader<'a> {
    object: &'a Map<String, Value>,
    prefix: Cow<'static, str>,
    problems: Vec<FieldProblem>,
    null: NullMeaning,
}

/// What a field with the value null is.
#[derive(Clone, Copy, PartialEq)]
enum NullMeaning {
    WrongValue,
    Absent,
}

impl<'a> FieldReader<'a> {
    /// Starts to read an object; `prefix` precedes every path in a problem, such as `payload.`.
    pub fn new(object: &'a Map<String, Value>, prefix: impl Into<Cow<'static, str>>) -> Self {
        let null = NullMeaning::WrongValue;
        Self { object, prefix: prefix.into(), problems: Vec::new(), null }
    }

    /// Reads null as an absent field, also in the objects inside.
    #[must_use]
    pub fn with_null_as_absent(self) -> Self {
        Self { null: NullMeaning::Absent, ..self }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        let is_absent = |value: &Value| self.null == NullMeaning::Absent && value.is_null();
        self.object.get(key).filter(|value| !is_absent(value))
    }

    pub fn add_problem(&mut self, key: &str, message: impl Into<String>) {
        let path = format!("{}{key}", self.prefix);
        self.problems.push(FieldProblem::new(path.trim_end_matches('.'), message));
    }

    pub fn into_problems(self) -> Vec<FieldProblem> {
        self.problems
    }

    /// Returns a field that is present. Null counts as a wrong value, unless it means absent.
    pub fn value(&mut self, key: &str, need: FieldNeed) -> Option<&'a Value> {
        let value = self.get(key);
        if value.is_none() && need == FieldNeed::Required {
            self.add_problem(key, "is required");
        }
        value
    }

    /// Reads a text of at most `chars_max` characters.
    pub fn text(&mut self, key: &str, need: FieldNeed, chars_max: usize) -> Option<&'a str> {
        let value = self.value(key, need)?;
        let Some(text) = value.as_str() else {
            self.add_problem(key, format!("must be text, not {}", json_type_name(value)));
            return None;
        };
        self.check(key, check_text(text, chars_max).map(|()| text))
    }

    /// Reads a text and parses it with the given function.
    pub fn parsed<T, E: ToString>(
        &mut self,
        key: &str,
        need: FieldNeed,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(key, need, usize::MAX)?;
        self.check(key, parse(text).map_err(|error| error.to_string()))
    }

    /// Reads a required task id.
    pub fn task_id(&mut self, key: &str) -> Option<TaskId> {
        self.parsed(key, FieldNeed::Required, TaskId::parse)
    }

    /// Reads a required agent name.
    pub fn agent(&mut self, key: &str) -> Option<AgentId> {
        self.parsed(key, FieldNeed::Required, AgentId::parse)
    }

    /// Reads a required date and time.
    pub fn timestamp(&mut self, key: &str) -> Option<Timestamp> {
        self.parsed(key, FieldNeed::Required, Timestamp::parse)
    }

    /// Reads a required path.
    pub fn path(&mut self, key: &str) -> Option<RelPath> {
        self.parsed(key, FieldNeed::Required, RelPath::parse)
    }

    /// Reads a list of texts; empty if the field is absent.
    pub fn texts(&mut self, key: &str) -> Vec<String> {
        let items = self.list(key);
        self.items(key, items, text_item)
    }

    /// Reads a list of paths; empty if the field is absent.
    pub fn paths(&mut self, key: &str) -> Vec<RelPath> {
        let items = self.list(key);
        self.items(key, items, |text| RelPath::parse(text).map_err(|error| error.to_string()))
    }

    /// Reads a word of the enum `T`.
    pub fn one_of<T: WordEnum>(&mut self, key: &str, need: FieldNeed) -> Option<T> {
        self.parsed(key, need, |text| {
            T::ALL.iter().copied().find(|value| value.word() == text).ok_or_else(|| {
                let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
                format!("must be one of: {}", words.join(", "))
            })
        })
    }

    /// Reads a text that is not blank.
    pub fn nonblank_text(
        &mut self,
        key: &str,
        need: FieldNeed,
        chars_max: usize,
    ) -> Option<String> {
        let text = self.text(key, need, chars_max)?;
        if text.trim().is_empty() {
            self.add_problem(key, "must not be empty");
            return None;
        }
        Some(text.to_owned())
    }

    pub fn optional_path(&mut self, key: &str) -> Option<RelPath> {
        self.parsed(key, FieldNeed::Optional, RelPath::parse)
    }

    /// Reads an optional integer that is not negative.
    pub fn parse_count(&mut self, key: &str) -> Option<u64> {
        let value = self.value(key, FieldNeed::Optional)?;
        self.check(key, parse_count(Some(value)))
    }

    /// Reads an optional boolean.
    pub fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.value(key, FieldNeed::Optional)?;
        let flag = value.as_bool();
        self.check(
            key,
            flag.ok_or_else(|| format!("must be true or false, not {}", json_type_name(value))),
        )
    }

    /// Reads an optional object with the given function.
    pub fn nested<T>(
        &mut self,
        key: &str,
        need: FieldNeed,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let value = self.value(key, need)?;
        self.read_inner_object(key, value, read)
    }

    /// Reads a list of objects, each with the given function; empty if the field is absent.
    pub fn objects<T>(
        &mut self,
        key: &str,
        need: FieldNeed,
        items_max: usize,
        read: impl Fn(&mut Self) -> Option<T>,
    ) -> Vec<T> {
        let _ = self.value(key, need);
        let items = self.list(key);
        if items.len() > items_max {
            self.add_problem(
                key,
                format!("must have at most {items_max} items, not {}", items.len()),
            );
        }
        let one = |fields: &mut Self, (i, item): (usize, &'a Value)| {
            fields.read_inner_object(&format!("{key}[{i}]"), item, &read).flatten()
        };
        items.iter().enumerate().take(items_max).filter_map(|item| one(self, item)).collect()
    }

    fn read_inner_object<T>(
        &mut self,
        key: &str,
        value: &'a Value,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let Some(object) = value.as_object() else {
            self.add_problem(key, format!("must be an object, not {}", json_type_name(value)));
            return None;
        };
        let inner = Self::new(object, format!("{}{key}.", self.prefix));
        let mut inner = Self { null: self.null, ..inner };
        let read = read(&mut inner);
        self.problems.extend(inner.problems);
        Some(read)
    }

    /// Reads a list of texts with limits of its own; empty if the field is absent.
    pub fn long_texts(&mut self, key: &str, chars_max: usize, items_max: usize) -> Vec<String> {
        let items = self.list(key);
        if items.len() > items_max {
            self.add_problem(
                key,
                format!("must have at most {items_max} items, not {}", items.len()),
            );
        }
        let text = |text: &str| check_text(text, chars_max).map(|()| text.to_owned());
        self.parse_each(key, items.iter().enumerate().take(items_max).collect(), text)
    }

    /// Returns a warning for every field that is not in `known`.
    pub fn unknown_field_warnings(&self, known: &[&str]) -> Vec<FieldProblem> {
        let strange = self.object.keys().filter(|key| !known.contains(&key.as_str()));
        let warning = |key: &String| {
            FieldProblem::new(format!("{}{key}", self.prefix), "is unknown and was ignored")
        };
        strange.map(warning).collect()
    }

    /// Reads a list of texts. Drops items that are not texts, with a warning instead of a problem.
    pub fn texts_or_warnings(&mut self, key: &str) -> (Vec<String>, Vec<FieldProblem>) {
        let place = format!("{}{key}", self.prefix);
        let dropped = |path: String, value: &Value| {
            FieldProblem::new(
                path,
                format!("is {}, not text, and was dropped", json_type_name(value)),
            )
        };
        match self.get(key) {
            None => (vec![], vec![]),
            Some(Value::Array(items)) => {
                let warnings = items.iter().enumerate().filter(|(_, item)| !item.is_string());
                let warnings =
                    warnings.map(|(i, item)| dropped(format!("{place}[{i}]"), item)).collect();
                let kept: Vec<(usize, &Value)> =
                    items.iter().enumerate().filter(|(_, item)| item.is_string()).collect();
                self.check_count(key, items.len());
                (
                    self.parse_each(
                        key,
                        kept.into_iter().take(LIST_ITEMS_MAX).collect(),
                        text_item,
                    ),
                    warnings,
                )
            }
            Some(other) => (vec![], vec![dropped(place, other)]),
        }
    }

    /// Reads a required object.
    pub fn object(&mut self, key: &str) -> Option<&'a Map<String, Value>> {
        let value = self.value(key, FieldNeed::Required)?;
        if value.as_object().is_none() {
            self.add_problem(key, format!("must be an object, not {}", json_type_name(value)));
        }
        value.as_object()
    }

    fn list(&mut self, key: &str) -> &'a [Value] {
        match self.get(key) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.add_problem(key, format!("must be a list, not {}", json_type_name(other)));
                &[]
            }
        }
    }

    fn items<T>(
        &mut self,
        key: &str,
        items: &'a [Value],
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        self.check_count(key, items.len());
        self.parse_each(key, items.iter().enumerate().take(LIST_ITEMS_MAX).collect(), parse)
    }

    fn parse_each<T>(
        &mut self,
        key: &str,
        items: Vec<(usize, &Value)>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let read = |fields: &mut Self, (i, item): (usize, &Value)| {
            let text =
                item.as_str().ok_or_else(|| format!("must be text, not {}", json_type_name(item)));
            fields.check(&format!("{key}[{i}]"), text.and_then(&parse))
        };
        items.into_iter().filter_map(|item| read(self, item)).collect()
    }

    fn check_count(&mut self, key: &str, count: usize) {
        if count > LIST_ITEMS_MAX {
            self.add_problem(key, format!("must have at most {LIST_ITEMS_MAX} items, not {count}"));
        }
    }

    fn check<T>(&mut self, key: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.add_problem(key, message)).ok()
    }
}

fn text_item(text: &str) -> Result<String, String> {
    check_text(text, ITEM_CHARS_MAX).map(|()| text.to_owned())
}

fn check_text(text: &str, chars_max: usize) -> Result<(), String> {
    if text.chars().nth(chars_max).is_some() {
        return Err(format!("must have at most {chars_max} characters"));
    }
    if text.contains('\0') {
        return Err("must not contain a NUL character".to_owned());
    }
    Ok(())
}

/// Parses a required integer that is not negative.
pub fn parse_count(value: Option<&Value>) -> Result<u64, String> {
    let value = value.ok_or("is required")?;
    let Value::Number(number) = value else {
        return Err(format!("must be a whole number, not {}", json_type_name(value)));
    };
    if number.as_f64().is_some_and(|number| number < 0.0) {
        return Err("must be non-negative".to_owned());
    }
    number.as_u64().ok_or_else(|| "must be a whole number".to_owned())
}

/// Returns the JSON type of a value, as problems name it.
pub fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
