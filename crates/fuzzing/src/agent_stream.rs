//! Fuzz target: the output streams of agents are parsed or skipped, but never cause a panic.

use adjutant_config::Kind;
use adjutant_run_files::attempt_files::ProcessExit;
use adjutant_runs::agent::{AgentSelfReport, AgentStreamParser, LocalNow};

const NOW: LocalNow = LocalNow { secs: 1_800_000_000, utc_offset_secs: 3_600 };

/// Any split into chunks gives the same telemetry; kept texts are short and safe to print.
pub fn agent_stream(bytes: &[u8]) {
    for kind in Kind::ALL {
        let whole = parse_stream(kind, bytes, bytes.len().max(1));
        let in_pieces = parse_stream(kind, bytes, 1 + bytes.len() % 7);
        assert_eq!(json(&whole), json(&in_pieces), "{kind:?}");
        let names = [&whole.session, &whole.version];
        let words =
            [&whole.no_server, &whole.denied, &whole.unusable, &whole.stumbled, &whole.words];
        for text in names.into_iter().chain(words).flatten() {
            assert!(text.chars().count() <= 500 && !text.contains(is_odd), "{text:?}");
        }
        let _ = (whole.exit_text(&ProcessExit::Idle, "x"), whole.to_telemetry());
    }
}

fn is_odd(c: char) -> bool {
    c.is_control() && c != '\n'
}

fn parse_stream(kind: Kind, bytes: &[u8], size: usize) -> AgentSelfReport {
    let mut ear = AgentStreamParser::new(kind, None);
    for piece in bytes.chunks(size) {
        ear.push(piece, NOW);
    }
    ear.self_report().clone()
}

fn json(told: &AgentSelfReport) -> String {
    serde_json::to_string(told).expect("text and numbers always make JSON")
}
