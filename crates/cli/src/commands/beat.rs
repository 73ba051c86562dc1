//! `adjutant beat`: a sign of life of an agent that nobody here looks after.

use std::process::ExitCode;

use adjutant_core::Actor;
use adjutant_runtime::Request;

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
        let by = Some(inside.agent.clone()).filter(|agent| !agent.is_reserved());
        let request = Request::LifeSign {
            task: inside.task.clone(),
            by: by.map_or(Actor::System, Actor::Agent),
            token: inside.token.clone(),
        };
        let answered = data.submit(request, out)?;
        inside.touch(data.folder.root());
        answer::print(out, &answered).map_err(unheard)?;
        Ok(ExitCode::from(u8::from(answer::is_refused(&answered))))
    }
}
