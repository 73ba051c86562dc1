//! What agents print of themselves: read, or passed over, but never a panic.

use adjutant_runtime::agent::{Ear, Now, Told};
use adjutant_runtime::config::Kind;
use adjutant_runtime::shim::files::Exit;

const NOW: Now = Now { secs: 1_800_000_000, ahead: 3_600 };

/// However it comes in pieces, the same is told of it; what is kept is short, and fit for a terminal.
pub fn agent_stream(bytes: &[u8]) {
    for kind in Kind::ALL {
        let whole = told(kind, bytes, bytes.len().max(1));
        let in_pieces = told(kind, bytes, 1 + bytes.len() % 7);
        assert_eq!(json(&whole), json(&in_pieces), "{kind:?}");
        let names = [&whole.session, &whole.version];
        let words =
            [&whole.no_server, &whole.denied, &whole.unusable, &whole.stumbled, &whole.words];
        for text in names.into_iter().chain(words).flatten() {
            assert!(text.chars().count() <= 500 && !text.contains(is_odd), "{text:?}");
        }
        let _ = (whole.last_words(&Exit::Idle, "x"), whole.for_decision());
    }
}

fn is_odd(c: char) -> bool {
    c.is_control() && c != '\n'
}

fn told(kind: Kind, bytes: &[u8], size: usize) -> Told {
    let mut ear = Ear::new(kind, None);
    for piece in bytes.chunks(size) {
        ear.push(piece, NOW);
    }
    ear.told().clone()
}

fn json(told: &Told) -> String {
    serde_json::to_string(told).expect("text and numbers always make JSON")
}
