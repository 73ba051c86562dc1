//! What the executor of a step says, for the person who is asked and for the next executor.

/// The longest summary and the longest question, in characters.
const LINE_CHARS_MAX: usize = 1_000;

const QUESTIONS_MAX: usize = 20;

/// The longest notes, in characters.
const NOTES_CHARS_MAX: usize = 8_000;

/// The longest short form, in characters.
const WORDS_CHARS_MAX: usize = 2_000;

/// What an executor says about its step, beside the result: never empty, and of limited length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecutorMessage {
    summary: Option<String>,
    questions: Vec<String>,
    notes: Option<String>,
}

impl ExecutorMessage {
    /// Shortens what an executor wrote. Returns `None` if nothing is left.
    pub fn new(
        summary: Option<&str>,
        questions: impl IntoIterator<Item = String>,
        notes: Option<&str>,
    ) -> Option<Self> {
        let questions = questions.into_iter().filter_map(|text| shorten(&text, LINE_CHARS_MAX));
        let message = Self {
            summary: summary.and_then(|text| shorten(text, LINE_CHARS_MAX)),
            questions: questions.take(QUESTIONS_MAX).collect(),
            notes: notes.and_then(|text| shorten(text, NOTES_CHARS_MAX)),
        };
        (message != Self::default()).then_some(message)
    }

    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    pub fn questions(&self) -> &[String] {
        &self.questions
    }

    /// Returns the text after the front matter of the hand-over.
    pub fn notes(&self) -> Option<&str> {
        self.notes.as_deref()
    }

    /// Fills gaps from the message in another file of the same executor.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            summary: self.summary.or(other.summary),
            questions: if self.questions.is_empty() { other.questions } else { self.questions },
            notes: self.notes.or(other.notes),
        }
    }

    /// Returns the summary and the questions, else the first line of the notes below its heading.
    pub fn in_words(&self) -> String {
        let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        let parts = self.summary.iter().chain(&self.questions).map(String::as_str);
        let text = parts.collect::<Vec<_>>().join(" ");
        let notes = || self.notes.as_deref()?.lines().find(is_said).map(str::to_owned);
        let text = Some(text).filter(|text| !text.is_empty()).or_else(notes);
        shorten(&text.unwrap_or_default(), WORDS_CHARS_MAX).unwrap_or_default()
    }
}

fn shorten(text: &str, chars_max: usize) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.chars().nth(chars_max).is_none() {
        return Some(text.to_owned());
    }
    Some(text.chars().take(chars_max - 1).chain(['…']).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executor_message_without_text_is_none() {
        assert_eq!(ExecutorMessage::new(Some(" "), ["\n".to_owned()], Some("")), None);
    }

    #[test]
    fn executor_message_in_words_prefers_the_summary() {
        let words = |summary: Option<&str>, questions: &[&str]| {
            let questions = questions.iter().map(|text| (*text).to_owned());
            let notes = Some("# HANDOFF\n\nThe draft is there.\nMore.");
            ExecutorMessage::new(summary, questions, notes).map(|message| message.in_words())
        };
        assert_eq!(words(Some("It broke."), &["Why?"]).as_deref(), Some("It broke. Why?"));
        assert_eq!(words(None, &["Why?"]).as_deref(), Some("Why?"));
        assert_eq!(words(None, &[]).as_deref(), Some("The draft is there."));
    }
}
