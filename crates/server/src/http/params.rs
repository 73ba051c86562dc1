//! Reads query parameters. An unknown parameter is an error and is not ignored.

use adjutant_model::{AgentId, Status, TaskId};
use adjutant_query::task_list::parse_status;
use schemars::json_schema;

use super::operation::ApiParameter;
use super::problem::ApiProblem;

/// The largest page size.
pub(super) const PAGE_MAX: usize = 1000;
/// The default page size.
pub(super) const PAGE: usize = 100;

/// The parameter that [`QueryParams::limit`] reads.
pub(super) const LIMIT: ApiParameter = ApiParameter {
    name: "limit",
    location: "query",
    description: "The page size; 100 by default",
    schema: |_| json_schema!({ "type": "integer", "maximum": PAGE_MAX, "minimum": 1 }),
};

/// The query parameters of a call, and the errors found so far.
pub(super) struct QueryParams {
    pairs: Vec<(String, String)>,
    errors: Vec<String>,
}

impl QueryParams {
    /// Parses a query; any parameter not in `known` is an error.
    pub(super) fn parse(query: Option<&str>, known: &[&str]) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs: Vec<(String, String)> = pairs.into_owned().collect();
        let unknown = pairs.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let errors = unknown
            .map(|(key, _)| format!("{key}: unknown parameter; the known parameters are: {known}"));
        let errors = errors.collect();
        Self { pairs, errors }
    }

    /// Returns a parameter; if it is repeated, its last value.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.all(key).pop()
    }

    /// Returns all values of a parameter that may be repeated.
    pub(super) fn all(&self, key: &str) -> Vec<String> {
        let named = self.pairs.iter().filter(|(name, _)| name == key);
        named.map(|(_, value)| value.clone()).collect()
    }

    /// Parses a parameter. A failure is recorded for [`QueryParams::check`], and
    /// the result is `None`.
    pub(super) fn parse_value<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.text(key)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.errors.push(format!("{key}: {text:?} {wrong}"));
                None
            }
        }
    }

    pub(super) fn limit(&mut self) -> usize {
        let number = |text: &str| match text.parse() {
            Ok(number) if (1..=PAGE_MAX).contains(&number) => Ok(number),
            _ => Err(format!("must be a number from 1 to {PAGE_MAX}")),
        };
        self.parse_value("limit", number).unwrap_or(PAGE)
    }

    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        self.parse_value(key, |text| text.parse().map_err(|_| "must be a number".to_owned()))
    }

    pub(super) fn flag(&mut self, key: &str) -> bool {
        let flag = |text: &str| match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        };
        self.parse_value(key, flag).unwrap_or(false)
    }

    pub(super) fn statuses(&mut self) -> Vec<Status> {
        let mut statuses = vec![];
        for text in self.all("status") {
            match parse_status(&text) {
                Ok(status) => statuses.push(status),
                Err(wrong) => self.errors.push(format!("status: {text:?} {wrong}")),
            }
        }
        statuses
    }

    pub(super) fn agent(&mut self) -> Option<AgentId> {
        self.parse_value("agent", |text| {
            AgentId::parse(text).map_err(|bad| format!("is not an agent name: it {bad}"))
        })
    }

    pub(super) fn task(&mut self, key: &str) -> Option<TaskId> {
        self.parse_value(key, |text| {
            TaskId::parse(text).map_err(|bad| format!("is not a task id: it {bad}"))
        })
    }

    /// Returns all recorded errors as one problem.
    pub(super) fn check(self) -> Result<(), ApiProblem> {
        if self.errors.is_empty() { Ok(()) } else { Err(ApiProblem::invalid(self.errors)) }
    }
}
