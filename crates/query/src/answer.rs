//! The engine's answer to a request, in the form that every channel gives it.

use adjutant_engine::EngineAnswer;
use adjutant_model::answer::AnswerDocument;

pub fn answer_document(answered: &EngineAnswer) -> AnswerDocument {
    AnswerDocument::new(&answered.answer, answered.event_ids().collect())
}
