//! Delivers the notices of one rule, one message after the other, in the order of the event log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use adjutant_core::notify::{self, FailedDelivery, NextDelivery, TargetHealth};
use adjutant_engine::tick::jitter;
use adjutant_model::notice::{NotifyRule, OperatorNotice};
use adjutant_model::request::DeliveryResult;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_store::EffectId;

use super::delivery_state::SharedDeliveries;
use super::notice_message::{NoticeItem, NoticeMessage};
use super::notify_targets::{RuleTarget, SendResult};
use super::{PendingNotices, notified_request};

/// How long to wait before a failed commit is retried.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct RuleWorker {
    rule: NotifyRule,
    target: RuleTarget,
    mark: String,
    shared: Arc<SharedDeliveries>,
}

/// The delivery state of a rule between two messages.
#[derive(Default)]
struct DeliveryMemory {
    standing: TargetHealth,
    tries: BTreeMap<EffectId, u32>,
    /// Effects that are settled and may still be listed as pending.
    settled: Vec<EffectId>,
}

impl RuleWorker {
    pub(super) fn new(
        rule: NotifyRule,
        target: RuleTarget,
        mark: String,
        shared: Arc<SharedDeliveries>,
    ) -> Self {
        Self { rule, target, mark, shared }
    }

    pub(super) fn run(&self) {
        self.target.end_strays();
        let mut memory = DeliveryMemory::default();
        while let Some((look, waiting)) = self.shared.pending_of(&self.rule.name) {
            let waiting = memory.without_settled(waiting);
            let notices: Vec<OperatorNotice> =
                waiting.iter().map(|(_, notice)| notice.clone()).collect();
            let now = SystemClock.now();
            match notify::next_delivery(&self.rule, &notices, memory.standing, now) {
                NextDelivery::Nothing => {
                    self.shared.wait_for_next_read(&self.rule.name, look, Duration::MAX);
                }
                NextDelivery::Wait(until) => {
                    let left = until.as_millis().saturating_sub(now.as_millis());
                    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1));
                    self.shared.wait_for_next_read(&self.rule.name, look, left);
                }
                NextDelivery::Send(places) => {
                    self.shared.mark_delivering(&self.rule.name);
                    self.send(&mut memory, &waiting, &notices, &places);
                }
            }
        }
    }

    fn send(
        &self,
        memory: &mut DeliveryMemory,
        waiting: &PendingNotices,
        notices: &[OperatorNotice],
        places: &[usize],
    ) {
        let chosen: PendingNotices = places.iter().map(|place| waiting[*place].clone()).collect();
        for (id, _) in &chosen {
            *memory.tries.entry(*id).or_default() += 1;
        }
        match self.target.send(&self.build_message(&chosen)) {
            SendResult::Accepted => {
                memory.standing.record_success();
                self.settle(memory, &chosen, &DeliveryResult::Sent);
            }
            // The target works; it only refuses this message.
            SendResult::Rejected(why) => {
                self.settle(memory, &chosen, &DeliveryResult::GivenUp(why));
            }
            SendResult::Later { why, after } => {
                let now = SystemClock.now();
                let asked = after.map(|after| i64::try_from(after.as_millis()).unwrap_or(i64::MAX));
                if memory.standing.record_failure(&self.rule, asked, jitter(), now)
                    == FailedDelivery::GiveUp
                {
                    let due = notify::due_notices(&self.rule, notices, now);
                    let all: PendingNotices =
                        due.iter().map(|place| waiting[*place].clone()).collect();
                    self.settle(memory, &all, &DeliveryResult::GivenUp(why));
                }
            }
        }
    }

    fn build_message(&self, chosen: &PendingNotices) -> NoticeMessage {
        let id = |id: &EffectId| format!("{}-{}-{}", self.mark, id.event.0, id.place);
        let item = |(effect, notice): &(EffectId, OperatorNotice)| {
            NoticeItem::new(id(effect), notice.clone())
        };
        let first = chosen.first().map_or(String::new(), |(effect, _)| id(effect));
        let id = if chosen.len() > 1 { format!("{first}+{}", chosen.len() - 1) } else { first };
        NoticeMessage { id, items: chosen.iter().map(item).collect() }
    }

    /// Commits the results and settles the effects. No other message is sent before the commit is
    /// durable, because it would otherwise be sent again.
    fn settle(&self, memory: &mut DeliveryMemory, some: &PendingNotices, result: &DeliveryResult) {
        let request = |(done, of): &(EffectId, OperatorNotice)| {
            let tries = memory.tries.get(done).copied().unwrap_or(0);
            notified_request(
                *done,
                &self.rule.name,
                self.target.kind_name(),
                of,
                tries,
                result.clone(),
            )
        };
        let requests: Vec<_> = some.iter().map(request).collect();
        while let Some(client) = self.shared.client() {
            if client.ask_all(requests.clone()).is_ok() {
                break;
            }
            drop(client);
            if self.shared.is_stopped() {
                return;
            }
            thread::sleep(PAUSE);
        }
        for (id, _) in some {
            memory.tries.remove(id);
            memory.settled.push(*id);
        }
    }
}

impl DeliveryMemory {
    /// Removes the notices that are settled already.
    fn without_settled(&mut self, mut waiting: PendingNotices) -> PendingNotices {
        self.settled.retain(|over| waiting.iter().any(|(id, _)| id == over));
        waiting.retain(|(id, _)| !self.settled.contains(id));
        waiting
    }
}
