//! The version of the fleet's wire protocol, which all nodes must share.
//!
//! The fleet stores its version with the other agreements on the servers. A fleet without a stored
//! version speaks 1. The version only rises, and only while no node is up, so that nodes with
//! different protocols are never up together.

use std::cmp::Ordering;

use adjutant_store::format::FLEET_PROTOCOL;
use adjutant_store::{FleetNetwork, StoreError};

use super::membership_agreement::{MembershipError, TIMES, nodes_up};

/// The key under which the version is agreed.
const PROTOCOL: &str = "protocol";

/// The version of a fleet that has none stored.
const FIRST: u32 = 1;

/// Refuses a fleet whose protocol differs from that of this program.
pub fn check_protocol(net: &dyn FleetNetwork) -> Result<(), MembershipError> {
    check(net, FLEET_PROTOCOL)
}

/// Agrees with the other nodes on the protocol. A fleet with an older protocol is upgraded if no
/// node is up; otherwise this node is refused.
pub fn agree_on_protocol(net: &dyn FleetNetwork) -> Result<(), MembershipError> {
    agree(net, FLEET_PROTOCOL)
}

fn check(net: &dyn FleetNetwork, own: u32) -> Result<(), MembershipError> {
    loop {
        let stored = read(net)?;
        let theirs = number(stored.as_deref())?;
        if own == theirs || (stored.is_none() && is_new(net)?) {
            return Ok(());
        }
        let nodes = if own > theirs { nodes_up(net)? } else { vec![] };
        if read(net)? == stored {
            return Err(MembershipError::Protocol { own, theirs, nodes });
        }
    }
}

fn agree(net: &dyn FleetNetwork, own: u32) -> Result<(), MembershipError> {
    loop {
        let stored = read(net)?;
        let theirs = number(stored.as_deref())?;
        match own.cmp(&theirs) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => return Err(MembershipError::Protocol { own, theirs, nodes: vec![] }),
            Ordering::Greater => {}
        }
        let nodes = nodes_up(net)?;
        // A node writes the version before it comes up. If it came up since the version was read,
        // what was read no longer counts.
        if !nodes.is_empty() {
            if read(net)? != stored {
                continue;
            }
            return Err(MembershipError::Protocol { own, theirs, nodes });
        }
        // If another node was quicker, the loop reads its version.
        let own = own.to_string();
        let is_written = match stored {
            None => net.propose_agreement(PROTOCOL, &own)?.text == own,
            Some(text) => net.replace_agreement(PROTOCOL, &text, &own)?.is_some(),
        };
        if is_written {
            return Ok(());
        }
    }
}

/// Reads the version without writing one: the servers of a new fleet are not checked yet.
fn read(net: &dyn FleetNetwork) -> Result<Option<String>, StoreError> {
    Ok(net.read_agreement(PROTOCOL)?.map(|agreed| agreed.text))
}

/// Says whether no node was ever up. Every node that comes up agrees on times, those of versions
/// without a protocol number too.
fn is_new(net: &dyn FleetNetwork) -> Result<bool, StoreError> {
    Ok(net.read_agreement(TIMES)?.is_none())
}

fn number(stored: Option<&str>) -> Result<u32, StoreError> {
    let Some(text) = stored else { return Ok(FIRST) };
    text.parse().map_err(|_| {
        let what = format!("the fleet's protocol is {text:?}, which is not a number");
        StoreError::Damaged { path: PROTOCOL.into(), what }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::forward::tests::{LossyNet, NodeArrival};
    use crate::fleet::member::lock;

    fn refusal(joined: Result<(), MembershipError>) -> String {
        joined.expect_err("it is refused").to_string()
    }

    #[test]
    fn protocol_of_fleet_without_number_is_1() {
        let net = LossyNet::default();
        net.propose_agreement(TIMES, "{}").expect("it is written");
        check(&net, 1).expect("it is the same");
        assert!(check(&net, 2).is_err(), "a node of an older version was up");
        assert_eq!(net.read_agreement(PROTOCOL).expect("an answer"), None, "nothing is written");
    }

    #[test]
    fn protocol_of_new_fleet_is_not_decided() {
        let net = LossyNet::default();
        check(&net, 2).expect("no node was ever up");
        assert_eq!(net.read_agreement(PROTOCOL).expect("an answer"), None, "nothing is written");
    }

    #[test]
    fn protocol_rises_while_no_node_is_up_and_never_falls() {
        let net = LossyNet::default();
        agree(&net, 1).expect("it is the first");
        net.propose_agreement(TIMES, "{}").expect("it is written");
        let text = refusal(check(&net, 2));
        assert_eq!(
            text,
            "this version of Adjutant speaks fleet protocol 2, but the fleet speaks 1"
        );
        agree(&net, 2).expect("no node is up");
        check(&net, 2).expect("it is the same now");
        let text = refusal(agree(&net, 1));
        assert_eq!(
            text,
            "this version of Adjutant speaks fleet protocol 1, but the fleet speaks 2"
        );
        assert_eq!(refusal(check(&net, 1)), text);
    }

    /// Two nodes of one version start a new fleet at the same time: the other writes the version and
    /// comes up after this one has read that there is none.
    #[test]
    fn protocol_written_by_node_that_comes_up_meanwhile_counts() {
        for reads_before in 0..4 {
            for (name, join) in [("agree", agree as fn(&_, _) -> _), ("check", check)] {
                let net = LossyNet::default();
                let agreements = vec![(PROTOCOL, "2"), (TIMES, "{}")];
                *lock(&net.arrival) = Some(NodeArrival { reads_before, agreements });
                let joined: Result<(), MembershipError> = join(&net, 2);
                assert!(joined.is_ok(), "{name} after {reads_before} reads: {joined:?}");
            }
        }
    }

    #[test]
    fn protocol_that_is_no_number_is_damage() {
        let net = LossyNet::default();
        net.propose_agreement(PROTOCOL, "new").expect("it is written");
        assert_eq!(
            refusal(agree(&net, 1)),
            "protocol: the fleet's protocol is \"new\", which is not a number"
        );
    }
}
