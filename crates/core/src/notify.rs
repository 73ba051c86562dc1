//! Notices: which ones a decision requires, and which one is delivered next.
//!
//! This module does not know what a target is or how to reach it: a rule has a name, and the code
//! that delivers finds the target by that name.

mod delivery;
mod notify_effects;

pub use delivery::{FailedDelivery, NextDelivery, TargetHealth, due_notices, next_delivery};
pub(crate) use notify_effects::add_notify_effects;

use adjutant_model::notice::{NoticeKind, NotifyRule, OperatorNotice};
