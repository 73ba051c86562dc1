//! The number of the fleet's wire protocol, which all nodes must have in common.
//!
//! The fleet keeps its number with the other agreements on the servers. A fleet that was begun
//! before there was a number speaks 1. The number only rises, and only while no node is up, so that
//! nodes of two protocols are never up together.

use std::cmp::Ordering;

use adjutant_store::format::FLEET_PROTOCOL;
use adjutant_store::{Net, StoreError};

use super::pact::{Unfit, up};

/// What the number is agreed on under.
const PROTOCOL: &str = "protocol";

/// The number of nodes that say none.
const FIRST: u32 = 1;

/// Refuses a fleet whose protocol is another than that of this version.
pub fn check_protocol(net: &dyn Net) -> Result<(), Unfit> {
    check(net, FLEET_PROTOCOL)
}

/// Agrees with the others on the protocol. A fleet of an older one goes over to that of this version
/// if no node is up; otherwise this node is refused.
pub fn agree_on_protocol(net: &dyn Net) -> Result<(), Unfit> {
    agree(net, FLEET_PROTOCOL)
}

fn check(net: &dyn Net, own: u32) -> Result<(), Unfit> {
    let theirs = number(read(net)?.as_deref())?;
    if own == theirs {
        return Ok(());
    }
    let nodes = if own > theirs { up(net)? } else { vec![] };
    Err(Unfit::Protocol { own, theirs, nodes })
}

fn agree(net: &dyn Net, own: u32) -> Result<(), Unfit> {
    loop {
        let stored = read(net)?;
        let theirs = number(stored.as_deref())?;
        match own.cmp(&theirs) {
            Ordering::Equal => return Ok(()),
            Ordering::Less => return Err(Unfit::Protocol { own, theirs, nodes: vec![] }),
            Ordering::Greater => {}
        }
        let nodes = up(net)?;
        if !nodes.is_empty() {
            return Err(Unfit::Protocol { own, theirs, nodes });
        }
        // Another node may have been quicker; then its number is looked at.
        let own = own.to_string();
        let is_written = match stored {
            None => net.agree(PROTOCOL, &own)?.text == own,
            Some(text) => net.change(PROTOCOL, &text, &own)?.is_some(),
        };
        if is_written {
            return Ok(());
        }
    }
}

/// Reads the number without writing one: the servers of a new fleet have not been checked yet.
fn read(net: &dyn Net) -> Result<Option<String>, StoreError> {
    Ok(net.agreed(PROTOCOL)?.map(|agreed| agreed.text))
}

fn number(stored: Option<&str>) -> Result<u32, StoreError> {
    let Some(text) = stored else { return Ok(FIRST) };
    text.parse().map_err(|_| {
        let what = format!("the fleet's protocol is {text:?}, which is no number");
        StoreError::Damaged { path: PROTOCOL.into(), what }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::forward::tests::Lossy;

    fn refusal(joined: Result<(), Unfit>) -> String {
        joined.expect_err("it is refused").to_string()
    }

    #[test]
    fn protocol_of_fleet_without_number_is_1() {
        let net = Lossy::default();
        check(&net, 1).expect("it is the same");
        assert_eq!(net.agreed(PROTOCOL).expect("an answer"), None, "nothing is written");
    }

    #[test]
    fn protocol_rises_while_no_node_is_up_and_never_falls() {
        let net = Lossy::default();
        agree(&net, 1).expect("it is the first");
        let text = refusal(check(&net, 2));
        assert_eq!(
            text,
            "this version of Adjutant speaks fleet protocol 2, and the fleet speaks 1"
        );
        agree(&net, 2).expect("no node is up");
        check(&net, 2).expect("it is the same now");
        let text = refusal(agree(&net, 1));
        assert_eq!(
            text,
            "this version of Adjutant speaks fleet protocol 1, and the fleet speaks 2"
        );
        assert_eq!(refusal(check(&net, 1)), text);
    }

    #[test]
    fn protocol_that_is_no_number_is_damage() {
        let net = Lossy::default();
        net.agree(PROTOCOL, "new").expect("it is written");
        assert_eq!(
            refusal(agree(&net, 1)),
            "protocol: the fleet's protocol is \"new\", which is no number"
        );
    }
}
