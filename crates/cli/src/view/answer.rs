//! Prints an engine answer, the same for every command.

use adjutant_engine::EngineAnswer;
use adjutant_model::AnswerVerdict;
use adjutant_query::answer::answer_document;

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};

/// Returns the answer as text: one line, and one more for every problem.
pub(crate) fn lines(out: &CommandOutput, answered: &EngineAnswer) -> Vec<String> {
    let answer = &answered.answer;
    let mut words = vec![out.paint(colour(answer.verdict), answer.verdict.as_str())];
    words.extend(answer.task.as_ref().map(ToString::to_string));
    words.extend(answer.status.map(|status| format!("({status})")));
    words.extend(answer.reason.map(|reason| format!("{reason}: {}", reason.meaning().trim())));
    let problems =
        answer.problems.iter().map(|problem| format!("  {}", clean(&problem.to_string())));
    std::iter::once(words.join(" ")).chain(problems).collect()
}

pub(crate) fn print(out: &CommandOutput, answered: &EngineAnswer) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.document(&answer_document(answered));
    }
    lines(out, answered).iter().try_for_each(|line| out.line(line))
}

pub(crate) fn is_refused(answered: &EngineAnswer) -> bool {
    matches!(answered.answer.verdict, AnswerVerdict::Rejected | AnswerVerdict::Unknown)
}

fn colour(verdict: AnswerVerdict) -> TextColour {
    match verdict {
        AnswerVerdict::Applied => TextColour::Green,
        AnswerVerdict::Noop | AnswerVerdict::Ignored => TextColour::Dim,
        AnswerVerdict::Rejected => TextColour::Red,
        AnswerVerdict::Unknown => TextColour::Yellow,
    }
}
