//! Fills a prompt template with values.
//!
//! `{name}` inserts a value. `{if name}` … `{endif}` and `{if attempt > 1}` … `{endif}` enclose
//! conditional text, in lines of their own or inside one line; `{for file in names}` … `{endfor}` repeats lines for every item of a list. A
//! line that contains only a directive does not appear in the prompt. Directives inside values are
//! not expanded.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateValue {
    /// An empty text counts as false in a condition.
    Text(String),
    Number(u32),
    List(Vec<String>),
}

/// The values by the names that templates use.
pub type TemplateValues = BTreeMap<&'static str, TemplateValue>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTemplate {
    /// The line number, from 1.
    pub line: usize,
    pub what: String,
}

pub fn fill_template(template: &str, values: &TemplateValues) -> Result<String, BadTemplate> {
    let mut filler =
        TemplateFiller { values, items: Vec::new(), open: Vec::new(), out: String::new() };
    let lines: Vec<&str> = template.split_inclusive('\n').collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at = filler.process_line(line, at).map_err(|what| BadTemplate { line: at + 1, what })?;
    }
    match filler.open.last() {
        Some(open) => Err(BadTemplate { line: open.line + 1, what: "is never closed".to_owned() }),
        None => Ok(filler.out),
    }
}

/// A condition or loop that is not closed yet.
struct OpenBlock {
    kind: BlockKind,
    /// The line of the directive, from 0.
    line: usize,
    /// Whether the lines inside are left out.
    skipped: bool,
}

enum BlockKind {
    If,
    For { item: String, rest: Vec<String> },
}

struct TemplateFiller<'a> {
    values: &'a TemplateValues,
    /// The current items of the open loops, as pairs of name and item.
    items: Vec<(String, String)>,
    open: Vec<OpenBlock>,
    out: String,
}

impl TemplateFiller<'_> {
    /// Processes one line, and returns the index of the next one: a loop may jump back.
    fn process_line(&mut self, line: &str, at: usize) -> Result<usize, String> {
        match parse_directive(line) {
            Some(TemplateDirective::If(condition)) => {
                let skipped = self.is_skipping() || !self.evaluate_condition(condition)?;
                self.open.push(OpenBlock { kind: BlockKind::If, line: at, skipped });
            }
            Some(TemplateDirective::For { item, list }) => {
                let mut rest = self.list(list)?;
                let skipped = self.is_skipping() || rest.is_empty();
                rest.reverse();
                if let Some(first) = rest.pop() {
                    self.items.push((item.to_owned(), first));
                } else {
                    self.items.push((item.to_owned(), String::new()));
                }
                self.open.push(OpenBlock {
                    kind: BlockKind::For { item: item.to_owned(), rest },
                    line: at,
                    skipped,
                });
            }
            Some(TemplateDirective::EndIf) => match self.open.pop() {
                Some(OpenBlock { kind: BlockKind::If, .. }) => {}
                _ => return Err("`{endif}` has no matching `{if …}`".to_owned()),
            },
            Some(TemplateDirective::EndFor) => return self.end_for(at),
            None if self.is_skipping() => {}
            None => {
                let text = self.render_line(line)?;
                // A line that has only conditions, none of which holds, does not appear.
                let is_left_out = line.trim_start().starts_with("{if ") && text.trim().is_empty();
                if !is_left_out {
                    self.out.push_str(&text);
                }
            }
        }
        Ok(at + 1)
    }

    fn end_for(&mut self, at: usize) -> Result<usize, String> {
        let closes_nothing = || "`{endfor}` has no matching `{for …}`".to_owned();
        let mut open = self.open.pop().ok_or_else(closes_nothing)?;
        let BlockKind::For { item, rest } = &mut open.kind else { return Err(closes_nothing()) };
        self.items.pop();
        let again = if open.skipped { None } else { rest.pop() };
        let Some(next) = again else { return Ok(at + 1) };
        self.items.push((item.clone(), next));
        let first = open.line + 1;
        self.open.push(open);
        Ok(first)
    }

    fn is_skipping(&self) -> bool {
        self.open.iter().any(|open| open.skipped)
    }

    fn evaluate_condition(&self, condition: &str) -> Result<bool, String> {
        if let Some((name, limit)) = condition.split_once('>') {
            let name = name.trim();
            let limit: u32 = limit
                .trim()
                .parse()
                .map_err(|_| format!("`{condition}` does not compare with a number"))?;
            return match self.value(name)? {
                TemplateValue::Number(number) => Ok(*number > limit),
                TemplateValue::Text(_) | TemplateValue::List(_) => {
                    Err(format!("`{name}` is not a number"))
                }
            };
        }
        Ok(match self.value(condition)? {
            TemplateValue::Text(text) => !text.is_empty(),
            TemplateValue::Number(number) => *number > 0,
            TemplateValue::List(list) => !list.is_empty(),
        })
    }

    fn list(&self, name: &str) -> Result<Vec<String>, String> {
        match self.value(name)? {
            TemplateValue::List(list) => Ok(list.clone()),
            TemplateValue::Text(_) | TemplateValue::Number(_) => {
                Err(format!("`{name}` is not a list"))
            }
        }
    }

    fn value(&self, name: &str) -> Result<&TemplateValue, String> {
        let known = || self.values.keys().copied().collect::<Vec<_>>().join(", ");
        self.values.get(name).ok_or_else(|| format!("`{name}` is not one of: {}", known()))
    }

    /// Inserts values and conditional text into a line. Braces around anything else are kept.
    fn render_line(&self, line: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            if let Some(condition) = from.strip_prefix("{if ") {
                let (inner, after) = split_condition(condition)?;
                if self.evaluate_condition(inner.condition)? {
                    text.push_str(&self.render_line(inner.text)?);
                }
                rest = after;
                continue;
            }
            let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                text.push('{');
                rest = &from[1..];
                continue;
            };
            text.push_str(&self.render_value(name)?);
            rest = &from[name.len() + 2..];
        }
        text.push_str(rest);
        Ok(text)
    }

    fn render_value(&self, name: &str) -> Result<String, String> {
        if let Some((_, item)) = self.items.iter().rev().find(|(item, _)| item == name) {
            return Ok(item.clone());
        }
        Ok(match self.value(name)? {
            TemplateValue::Text(text) => text.clone(),
            TemplateValue::Number(number) => number.to_string(),
            TemplateValue::List(list) => list.join(", "),
        })
    }
}

/// Conditional text inside a line.
struct InlineCondition<'a> {
    condition: &'a str,
    text: &'a str,
}

/// Splits `attempt > 1}text{endif}rest` into its parts.
fn split_condition(from: &str) -> Result<(InlineCondition<'_>, &str), String> {
    let unclosed = || "`{if …}` inside a line must be closed on the same line".to_owned();
    let (condition, inside) = from.split_once('}').ok_or_else(unclosed)?;
    let mut depth = 1_u32;
    let mut at = 0;
    while let Some(found) = inside[at..].find('{') {
        at += found;
        if inside[at..].starts_with("{if ") {
            depth += 1;
        } else if let Some(after) = inside[at..].strip_prefix("{endif}") {
            depth -= 1;
            if depth == 0 {
                let text = &inside[..at];
                return Ok((InlineCondition { condition: condition.trim(), text }, after));
            }
        }
        at += 1;
    }
    Err(unclosed())
}

enum TemplateDirective<'a> {
    If(&'a str),
    For { item: &'a str, list: &'a str },
    EndIf,
    EndFor,
}

/// Parses a line that contains only a directive.
fn parse_directive(line: &str) -> Option<TemplateDirective<'_>> {
    let inner = line.trim().strip_prefix('{')?.strip_suffix('}')?;
    if inner.contains(['{', '}']) {
        return None;
    }
    match inner {
        "endif" => return Some(TemplateDirective::EndIf),
        "endfor" => return Some(TemplateDirective::EndFor),
        _ => {}
    }
    if let Some(condition) = inner.strip_prefix("if ") {
        return Some(TemplateDirective::If(condition.trim()));
    }
    let (item, list) = inner.strip_prefix("for ")?.split_once(" in ")?;
    Some(TemplateDirective::For { item: item.trim(), list: list.trim() })
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

    fn values() -> TemplateValues {
        BTreeMap::from([
            ("story", TemplateValue::Text("US-005".into())),
            ("note", TemplateValue::Text(String::new())),
            ("attempt", TemplateValue::Number(2)),
            ("files", TemplateValue::List(vec!["a {story}".into(), "b".into()])),
            ("none", TemplateValue::List(vec![])),
        ])
    }

    fn check(template: &str, expected: &str) {
        assert_eq!(fill_template(template, &values()), Ok(expected.to_owned()), "{template}");
    }

    fn check_error(template: &str, line: usize, what: &str) {
        let bad = BadTemplate { line, what: what.to_owned() };
        assert_eq!(fill_template(template, &values()), Err(bad), "{template}");
    }

    #[test]
    fn template_is_filled_without_expanding_values() {
        check("For {story}, {attempt}.\n", "For US-005, 2.\n");
        check("{for file in files}\n- {file}\n{endfor}\nend", "- a {story}\n- b\nend");
        check("{for f in none}\n- {f}\n{endfor}\nx\n", "x\n");
        check("{if note}\nx\n{endif}\ny\n", "y\n");
        check("{if attempt > 1}\nx\n{endif}\n", "x\n");
        check("{if attempt > 2}\nx\n{for f in files}\n{f}\n{endfor}\n{endif}\ny\n", "y\n");
        check("{if attempt > 1}(Attempt {attempt} of 3){endif}\nx\n", "(Attempt 2 of 3)\nx\n");
        check("{if attempt > 2}(Attempt {attempt}){endif}\nx\n", "x\n");
        check("a {if note}{note}{endif}b{if story} {if note}x{endif}c{endif}\n", "a b c\n");
        check("{\"json\": {}} {Not A Name} {", "{\"json\": {}} {Not A Name} {");
    }

    #[test]
    fn template_mistake_is_reported_with_its_line() {
        check_error("a\n{stroy}\n", 2, "`stroy` is not one of: attempt, files, none, note, story");
        check_error("a\n{if note}\n", 2, "is never closed");
        check_error("{endif}\n", 1, "`{endif}` has no matching `{if …}`");
        check_error("a {if note}b\n", 1, "`{if …}` inside a line must be closed on the same line");
        check_error("{if note}\n{endfor}\n", 2, "`{endfor}` has no matching `{for …}`");
        check_error("{for x in story}\n{endfor}\n", 1, "`story` is not a list");
        check_error("{if story > 1}\n{endif}\n", 1, "`story` is not a number");
    }
}
