//! Reads the fields of an object and writes down everything that is wrong with them, for every
//! dialect.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::answer::Problem;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::time::Stamp;

/// The most characters notes may have.
pub const NOTES_CHARS_MAX: usize = 10_000;
/// The most characters a progress text may have.
pub const PROGRESS_CHARS_MAX: usize = 1_000;
/// The most characters the reason of a rejection may have.
pub const REASON_CHARS_MAX: usize = 512;
/// The most characters an item of a list may have.
pub(crate) const ITEM_CHARS_MAX: usize = 256;
/// The most items a list may have.
pub const LIST_ITEMS_MAX: usize = 50;

/// Whether a field must be there.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// A JSON object being read, and the problems found so far.
pub(crate) struct Fields<'a> {
    object: &'a Map<String, Value>,
    prefix: Cow<'static, str>,
    problems: Vec<Problem>,
}

impl<'a> Fields<'a> {
    /// Starts to read an object; `prefix` stands before every path, as `payload.`.
    pub(crate) fn new(
        object: &'a Map<String, Value>,
        prefix: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { object, prefix: prefix.into(), problems: Vec::new() }
    }

    /// Writes down a problem with a field.
    pub(crate) fn problem(&mut self, key: &str, message: impl Into<String>) {
        let path = format!("{}{key}", self.prefix);
        self.problems.push(Problem::new(path.trim_end_matches('.'), message));
    }

    /// Ends the reading.
    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Returns a field that is there. Null counts as a wrong value, not as absence.
    pub(crate) fn value(&mut self, key: &str, need: Need) -> Option<&'a Value> {
        let value = self.object.get(key);
        if value.is_none() && need == Need::Required {
            self.problem(key, "is required");
        }
        value
    }

    /// Reads a text of at most `chars_max` characters.
    pub(crate) fn text(&mut self, key: &str, need: Need, chars_max: usize) -> Option<&'a str> {
        let value = self.value(key, need)?;
        let Some(text) = value.as_str() else {
            self.problem(key, format!("must be text, not {}", kind_of(value)));
            return None;
        };
        self.check(key, check_text(text, chars_max).map(|()| text))
    }

    /// Reads a text that some type parses.
    pub(crate) fn parsed<T, E: ToString>(
        &mut self,
        key: &str,
        need: Need,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(key, need, usize::MAX)?;
        self.check(key, parse(text).map_err(|error| error.to_string()))
    }

    /// Reads a task id.
    pub(crate) fn task_id(&mut self, key: &str) -> Option<TaskId> {
        self.parsed(key, Need::Required, TaskId::parse)
    }

    /// Reads the name of an agent.
    pub(crate) fn agent(&mut self, key: &str) -> Option<AgentId> {
        self.parsed(key, Need::Required, AgentId::parse)
    }

    /// Reads a date and time.
    pub(crate) fn stamp(&mut self, key: &str) -> Option<Stamp> {
        self.parsed(key, Need::Required, Stamp::parse)
    }

    /// Reads a path.
    pub(crate) fn path(&mut self, key: &str) -> Option<RelPath> {
        self.parsed(key, Need::Required, RelPath::parse)
    }

    /// Reads a list of texts; none if the field is not there.
    pub(crate) fn texts(&mut self, key: &str) -> Vec<String> {
        let items = self.list(key);
        self.items(key, items, text_item)
    }

    /// Reads a list of paths; none if the field is not there.
    pub(crate) fn paths(&mut self, key: &str) -> Vec<RelPath> {
        let items = self.list(key);
        self.items(key, items, |text| RelPath::parse(text).map_err(|error| error.to_string()))
    }

    /// Reads a word out of a list.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &str,
        need: Need,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        self.parsed(key, need, |text| {
            let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
            found.ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("must be one of: {}", words.join(", "))
            })
        })
    }

    /// Reads a text that says something.
    pub(crate) fn said(&mut self, key: &str, need: Need, chars_max: usize) -> Option<String> {
        let text = self.text(key, need, chars_max)?;
        if text.trim().is_empty() {
            self.problem(key, "must not be empty");
            return None;
        }
        Some(text.to_owned())
    }

    /// Reads a path that need not be there.
    pub(crate) fn optional_path(&mut self, key: &str) -> Option<RelPath> {
        self.parsed(key, Need::Optional, RelPath::parse)
    }

    /// Reads a whole number that is not negative.
    pub(crate) fn count(&mut self, key: &str) -> Option<u64> {
        let value = self.value(key, Need::Optional)?;
        self.check(key, count(Some(value)))
    }

    /// Reads yes or no.
    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        let value = self.value(key, Need::Optional)?;
        let flag = value.as_bool();
        self.check(
            key,
            flag.ok_or_else(|| format!("must be true or false, not {}", kind_of(value))),
        )
    }

    /// Reads an object of its own that need not be there, by its own reader.
    pub(crate) fn nested<T>(
        &mut self,
        key: &str,
        need: Need,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let value = self.value(key, need)?;
        self.inner(key, value, read)
    }

    /// Reads a list of objects, each by its own reader; none if the field is not there.
    pub(crate) fn objects<T>(
        &mut self,
        key: &str,
        need: Need,
        items_max: usize,
        read: impl Fn(&mut Self) -> Option<T>,
    ) -> Vec<T> {
        let _ = self.value(key, need);
        let items = self.list(key);
        if items.len() > items_max {
            self.problem(key, format!("must have at most {items_max} items, not {}", items.len()));
        }
        let one = |fields: &mut Self, (i, item): (usize, &'a Value)| {
            fields.inner(&format!("{key}[{i}]"), item, &read).flatten()
        };
        items.iter().enumerate().take(items_max).filter_map(|item| one(self, item)).collect()
    }

    fn inner<T>(
        &mut self,
        key: &str,
        value: &'a Value,
        read: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let Some(object) = value.as_object() else {
            self.problem(key, format!("must be an object, not {}", kind_of(value)));
            return None;
        };
        let mut inner = Self::new(object, format!("{}{key}.", self.prefix));
        let read = read(&mut inner);
        self.problems.extend(inner.problems);
        Some(read)
    }

    /// Reads a list of texts of at most so many characters; none if the field is not there.
    pub(crate) fn long_texts(
        &mut self,
        key: &str,
        chars_max: usize,
        items_max: usize,
    ) -> Vec<String> {
        let items = self.list(key);
        if items.len() > items_max {
            self.problem(key, format!("must have at most {items_max} items, not {}", items.len()));
        }
        let text = |text: &str| check_text(text, chars_max).map(|()| text.to_owned());
        self.each(key, items.iter().enumerate().take(items_max).collect(), text)
    }

    /// Returns the names of the fields that are not among these.
    pub(crate) fn strangers(&self, known: &[&str]) -> Vec<Problem> {
        let strange = self.object.keys().filter(|key| !known.contains(&key.as_str()));
        let warning = |key: &String| {
            Problem::new(format!("{}{key}", self.prefix), "is not known here, and was ignored")
        };
        strange.map(warning).collect()
    }

    /// Reads a list of texts, and instead of refusing what is none, drops it with a warning.
    pub(crate) fn texts_or_warnings(&mut self, key: &str) -> (Vec<String>, Vec<Problem>) {
        let place = format!("{}{key}", self.prefix);
        let dropped = |path: String, value: &Value| {
            Problem::new(path, format!("is {}, not text, and was dropped", kind_of(value)))
        };
        match self.object.get(key) {
            None => (vec![], vec![]),
            Some(Value::Array(items)) => {
                let warnings = items.iter().enumerate().filter(|(_, item)| !item.is_string());
                let warnings =
                    warnings.map(|(i, item)| dropped(format!("{place}[{i}]"), item)).collect();
                let kept: Vec<(usize, &Value)> =
                    items.iter().enumerate().filter(|(_, item)| item.is_string()).collect();
                self.check_count(key, items.len());
                (
                    self.each(key, kept.into_iter().take(LIST_ITEMS_MAX).collect(), text_item),
                    warnings,
                )
            }
            Some(other) => (vec![], vec![dropped(place, other)]),
        }
    }

    /// Reads an object of its own.
    pub(crate) fn object(&mut self, key: &str) -> Option<&'a Map<String, Value>> {
        let value = self.value(key, Need::Required)?;
        if value.as_object().is_none() {
            self.problem(key, format!("must be an object, not {}", kind_of(value)));
        }
        value.as_object()
    }

    fn list(&mut self, key: &str) -> &'a [Value] {
        match self.object.get(key) {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.problem(key, format!("must be a list, not {}", kind_of(other)));
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
        self.each(key, items.iter().enumerate().take(LIST_ITEMS_MAX).collect(), parse)
    }

    fn each<T>(
        &mut self,
        key: &str,
        items: Vec<(usize, &Value)>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let read = |fields: &mut Self, (i, item): (usize, &Value)| {
            let text = item.as_str().ok_or_else(|| format!("must be text, not {}", kind_of(item)));
            fields.check(&format!("{key}[{i}]"), text.and_then(&parse))
        };
        items.into_iter().filter_map(|item| read(self, item)).collect()
    }

    fn check_count(&mut self, key: &str, count: usize) {
        if count > LIST_ITEMS_MAX {
            self.problem(key, format!("must have at most {LIST_ITEMS_MAX} items, not {count}"));
        }
    }

    fn check<T>(&mut self, key: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.problem(key, message)).ok()
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

/// Reads a whole number that is not negative.
pub(crate) fn count(value: Option<&Value>) -> Result<u64, String> {
    let value = value.ok_or("is required")?;
    let Value::Number(number) = value else {
        return Err(format!("must be a whole number, not {}", kind_of(value)));
    };
    if number.as_f64().is_some_and(|number| number < 0.0) {
        return Err("must be non-negative".to_owned());
    }
    number.as_u64().ok_or_else(|| "must be a whole number".to_owned())
}

/// Returns what kind of JSON a value is, in words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
