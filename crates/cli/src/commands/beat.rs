//! `adjutant beat`: a sign of life of an agent that nobody here looks after.

use std::process::ExitCode;

use adjutant_core::input::Token;
use adjutant_core::{Answer, Reason};
use adjutant_runtime::Request;
use adjutant_runtime::token::Secret;

use super::send::unheard;
use crate::data::Data;
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::Output;
use crate::view::answer;

/// Give a sign of life of the run this is called from
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For agents that work elsewhere: a run that was started here is looked after, and \
    need not beat.\nWhich run it is comes from the environment, as for `adjutant report`.\n\
    Exit code: 1 if the run has been replaced or is over, and should stop."
)]
pub(crate) struct Beat {}

impl Beat {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<Data, Failure>,
        out: &Output,
    ) -> Result<ExitCode, Failure> {
        let inside = Inside::find("cannot give a sign of life")?;
        let data = data()?;
        let fence = fence(&data, &inside)?;
        let answered = data.submit(Request::Beat { task: inside.task.clone(), fence }, out)?;
        inside.touch(data.folder.root());
        answer::print(out, &answered).map_err(unheard)?;
        // A beat that has nothing to renew is fine; a beat of nobody is not.
        Ok(ExitCode::from(u8::from(answered.answer.reason.is_some())))
    }
}

/// Returns the fence of the run whose token this is.
fn fence(data: &Data, inside: &Inside) -> Result<u64, Failure> {
    let tasks = std::slice::from_ref(&inside.task);
    // Without a secret, no token was ever given out.
    let token = Secret::read(data.folder.root())
        .map_or(Token::Unknown, |secret| secret.judge(Some(&inside.token), tasks));
    match token {
        Token::Run { fence, .. } => Ok(fence),
        Token::None | Token::Unknown => {
            let answer = Answer::rejected(Reason::UnknownToken, Some(inside.task.clone()));
            Err(Failure::refused(format!("cannot beat for {}", inside.task), &answer))
        }
    }
}
