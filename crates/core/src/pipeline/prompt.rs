//! Fills a prompt: a template with names, conditions and lists, and the values for them.
//!
//! `{name}` stands for a value, `{if name}` … `{endif}` and `{if attempt > 1}` … `{endif}` for what
//! is there only sometimes, `{for file in names}` … `{endfor}` for every item of a list. A line with
//! nothing but one of these is no line of the prompt. Values are never looked into.

use std::collections::BTreeMap;
use std::fmt;

/// A value for a name in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text; an empty one is none.
    Text(String),
    /// A number.
    Number(u32),
    /// A list of texts.
    List(Vec<String>),
}

/// The values for the names in a template.
pub type Values = BTreeMap<&'static str, Value>;

/// A template that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTemplate {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Fills a template.
pub fn fill(template: &str, values: &Values) -> Result<String, BadTemplate> {
    let mut filler = Filler { values, items: Vec::new(), open: Vec::new(), out: String::new() };
    let lines: Vec<&str> = template.split_inclusive('\n').collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at = filler.line(line, at).map_err(|what| BadTemplate { line: at + 1, what })?;
    }
    match filler.open.last() {
        Some(open) => Err(BadTemplate { line: open.line + 1, what: "is never closed".to_owned() }),
        None => Ok(filler.out),
    }
}

/// A condition or a list that is not closed yet.
struct Open {
    kind: Kind,
    /// The line it begins at.
    line: usize,
    /// Whether what is inside is left out.
    skipped: bool,
}

enum Kind {
    If,
    For { item: String, rest: Vec<String> },
}

struct Filler<'a> {
    values: &'a Values,
    /// The items of the lists that are being gone through, by the name each has there.
    items: Vec<(String, String)>,
    open: Vec<Open>,
    out: String,
}

impl Filler<'_> {
    /// Fills one line, and returns which one comes next.
    fn line(&mut self, line: &str, at: usize) -> Result<usize, String> {
        match directive(line) {
            Some(Directive::If(condition)) => {
                let skipped = self.skips() || !self.holds(condition)?;
                self.open.push(Open { kind: Kind::If, line: at, skipped });
            }
            Some(Directive::For { item, list }) => {
                let mut rest = self.list(list)?;
                let skipped = self.skips() || rest.is_empty();
                rest.reverse();
                if let Some(first) = rest.pop() {
                    self.items.push((item.to_owned(), first));
                } else {
                    self.items.push((item.to_owned(), String::new()));
                }
                self.open.push(Open {
                    kind: Kind::For { item: item.to_owned(), rest },
                    line: at,
                    skipped,
                });
            }
            Some(Directive::EndIf) => match self.open.pop() {
                Some(Open { kind: Kind::If, .. }) => {}
                _ => return Err("`{endif}` closes no `{if …}`".to_owned()),
            },
            Some(Directive::EndFor) => return self.end_for(at),
            None if self.skips() => {}
            None => {
                let text = self.text(line)?;
                self.out.push_str(&text);
            }
        }
        Ok(at + 1)
    }

    fn end_for(&mut self, at: usize) -> Result<usize, String> {
        let closes_nothing = || "`{endfor}` closes no `{for …}`".to_owned();
        let mut open = self.open.pop().ok_or_else(closes_nothing)?;
        let Kind::For { item, rest } = &mut open.kind else { return Err(closes_nothing()) };
        self.items.pop();
        let again = if open.skipped { None } else { rest.pop() };
        let Some(next) = again else { return Ok(at + 1) };
        self.items.push((item.clone(), next));
        let first = open.line + 1;
        self.open.push(open);
        Ok(first)
    }

    fn skips(&self) -> bool {
        self.open.iter().any(|open| open.skipped)
    }

    fn holds(&self, condition: &str) -> Result<bool, String> {
        if let Some((name, limit)) = condition.split_once('>') {
            let name = name.trim();
            let limit: u32 = limit
                .trim()
                .parse()
                .map_err(|_| format!("`{condition}` compares with no number"))?;
            return match self.value(name)? {
                Value::Number(number) => Ok(*number > limit),
                Value::Text(_) | Value::List(_) => Err(format!("`{name}` is no number")),
            };
        }
        Ok(match self.value(condition)? {
            Value::Text(text) => !text.is_empty(),
            Value::Number(number) => *number > 0,
            Value::List(list) => !list.is_empty(),
        })
    }

    fn list(&self, name: &str) -> Result<Vec<String>, String> {
        match self.value(name)? {
            Value::List(list) => Ok(list.clone()),
            Value::Text(_) | Value::Number(_) => Err(format!("`{name}` is no list")),
        }
    }

    fn value(&self, name: &str) -> Result<&Value, String> {
        let known = || self.values.keys().copied().collect::<Vec<_>>().join(", ");
        self.values.get(name).ok_or_else(|| format!("`{name}` is not one of: {}", known()))
    }

    /// Puts values into a line. Braces around what can be no name stay as they are.
    fn text(&self, line: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                text.push('{');
                rest = &from[1..];
                continue;
            };
            text.push_str(&self.shown(name)?);
            rest = &from[name.len() + 2..];
        }
        text.push_str(rest);
        Ok(text)
    }

    fn shown(&self, name: &str) -> Result<String, String> {
        if let Some((_, item)) = self.items.iter().rev().find(|(item, _)| item == name) {
            return Ok(item.clone());
        }
        Ok(match self.value(name)? {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::List(list) => list.join(", "),
        })
    }
}

enum Directive<'a> {
    If(&'a str),
    For { item: &'a str, list: &'a str },
    EndIf,
    EndFor,
}

/// Reads a line that is nothing but a condition, a list or the end of one.
fn directive(line: &str) -> Option<Directive<'_>> {
    let inner = line.trim().strip_prefix('{')?.strip_suffix('}')?;
    match inner {
        "endif" => return Some(Directive::EndIf),
        "endfor" => return Some(Directive::EndFor),
        _ => {}
    }
    if let Some(condition) = inner.strip_prefix("if ") {
        return Some(Directive::If(condition.trim()));
    }
    let (item, list) = inner.strip_prefix("for ")?.split_once(" in ")?;
    Some(Directive::For { item: item.trim(), list: list.trim() })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadTemplate {}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        BTreeMap::from([
            ("story", Value::Text("US-005".into())),
            ("note", Value::Text(String::new())),
            ("attempt", Value::Number(2)),
            ("files", Value::List(vec!["a {story}".into(), "b".into()])),
            ("none", Value::List(vec![])),
        ])
    }

    fn check(template: &str, expected: &str) {
        assert_eq!(fill(template, &values()), Ok(expected.to_owned()), "{template}");
    }

    fn wrong(template: &str, line: usize, what: &str) {
        let bad = BadTemplate { line, what: what.to_owned() };
        assert_eq!(fill(template, &values()), Err(bad), "{template}");
    }

    #[test]
    fn a_template_is_filled_and_a_value_never_looked_into() {
        check("For {story}, {attempt}.\n", "For US-005, 2.\n");
        check("{for file in files}\n- {file}\n{endfor}\nend", "- a {story}\n- b\nend");
        check("{for f in none}\n- {f}\n{endfor}\nx\n", "x\n");
        check("{if note}\nx\n{endif}\ny\n", "y\n");
        check("{if attempt > 1}\nx\n{endif}\n", "x\n");
        check("{if attempt > 2}\nx\n{for f in files}\n{f}\n{endfor}\n{endif}\ny\n", "y\n");
        check("{\"json\": {}} {Not A Name} {", "{\"json\": {}} {Not A Name} {");
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        wrong("a\n{stroy}\n", 2, "`stroy` is not one of: attempt, files, none, note, story");
        wrong("a\n{if note}\n", 2, "is never closed");
        wrong("{endif}\n", 1, "`{endif}` closes no `{if …}`");
        wrong("{if note}\n{endfor}\n", 2, "`{endfor}` closes no `{for …}`");
        wrong("{for x in story}\n{endfor}\n", 1, "`story` is no list");
        wrong("{if story > 1}\n{endif}\n", 1, "`story` is no number");
    }
}
