//! What stands behind the question mark of a call. What nobody knows is named, not passed over.

use adjutant_core::{AgentId, Status, TaskId};
use schemars::json_schema;

use super::operation::ApiParameter;
use super::problem::Problem;

/// The most of anything on one page.
pub(super) const PAGE_MAX: usize = 1000;
/// How much is on a page if nobody says anything.
pub(super) const PAGE: usize = 100;

/// The parameter that [`Params::limit`] reads.
pub(super) const LIMIT: ApiParameter = ApiParameter {
    name: "limit",
    location: "query",
    description: "How many on a page; 100 if nothing is said",
    schema: |_| json_schema!({ "type": "integer", "maximum": PAGE_MAX, "minimum": 1 }),
};

/// The parameters of a call, and everything that is wrong with them.
pub(super) struct Params {
    pairs: Vec<(String, String)>,
    errors: Vec<String>,
}

impl Params {
    /// Reads the parameters of a call that has these and no others.
    pub(super) fn read(query: Option<&str>, known: &[&str]) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs: Vec<(String, String)> = pairs.into_owned().collect();
        let unknown = pairs.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let errors = unknown
            .map(|(key, _)| format!("{key}: there is no such parameter; there are: {known}"));
        let errors = errors.collect();
        Self { pairs, errors }
    }

    /// Returns a parameter; the last one, if it is there more than once.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.all(key).pop()
    }

    /// Returns all of a parameter that may be there more than once.
    pub(super) fn all(&self, key: &str) -> Vec<String> {
        let named = self.pairs.iter().filter(|(name, _)| name == key);
        named.map(|(_, value)| value.clone()).collect()
    }

    /// Reads a parameter as something that can be wrong.
    pub(super) fn parsed<T>(
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

    /// Reads how much is wanted on a page.
    pub(super) fn limit(&mut self) -> usize {
        let number = |text: &str| match text.parse() {
            Ok(number) if (1..=PAGE_MAX).contains(&number) => Ok(number),
            _ => Err(format!("must be a number from 1 to {PAGE_MAX}")),
        };
        self.parsed("limit", number).unwrap_or(PAGE)
    }

    /// Reads the number of an event.
    pub(super) fn number(&mut self, key: &str) -> Option<u64> {
        self.parsed(key, |text| text.parse().map_err(|_| "must be a number".to_owned()))
    }

    /// Reads a yes or no.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        let flag = |text: &str| match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        };
        self.parsed(key, flag).unwrap_or(false)
    }

    /// Reads the statuses that are wanted.
    pub(super) fn statuses(&mut self) -> Vec<String> {
        let statuses = self.all("status");
        for status in statuses.iter().filter(|status| Status::parse(status).is_none()) {
            let all = Status::ALL.map(Status::as_str).join(", ");
            self.errors.push(format!("status: {status:?} must be one of: {all}"));
        }
        statuses
    }

    /// Reads the name of an agent.
    pub(super) fn agent(&mut self) -> Option<String> {
        let name = |text: &str| match AgentId::parse(text) {
            Ok(id) => Ok(id.to_string()),
            Err(bad) => Err(format!("is no name of an agent: it {bad}")),
        };
        self.parsed("agent", name)
    }

    /// Reads the id of a task.
    pub(super) fn task(&mut self, key: &str) -> Option<TaskId> {
        self.parsed(key, |text| TaskId::parse(text).map_err(|bad| format!("is no id: it {bad}")))
    }

    /// Says everything that is wrong, if anything is.
    pub(super) fn check(self) -> Result<(), Problem> {
        if self.errors.is_empty() { Ok(()) } else { Err(Problem::invalid(self.errors)) }
    }
}
