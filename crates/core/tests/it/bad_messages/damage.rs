//! Messages damaged in transit: cut off, altered, or with bytes that are not UTF-8.

use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_model::answer::{AnswerVerdict, Reason};

use super::{
    a_completion, check_harmless, check_ignored, check_refused, decided, shown, valid, with,
};

const NAMES_US: &str = "\"protocol\":\"aof\"";

/// Checks that a text is refused as invalid JSON, ignoring the parser's position.
pub(crate) fn check_not_json(raw: impl AsRef<[u8]>) {
    let raw = raw.as_ref();
    let IncomingText::Refused(refusal) = aof::read(raw) else {
        panic!("not refused: {}", shown(raw));
    };
    assert_eq!(refusal.problems.len(), 1, "{}", shown(raw));
    let problem = refusal.problems[0].to_string();
    assert!(problem.starts_with("is not JSON: "), "{problem}");
    check_refused(raw, Reason::InvalidJson, &[&problem]);
}

#[test]
fn message_cut_off_anywhere_is_never_applied() {
    for message in valid() {
        let text = message.to_string();
        let named = text.find(NAMES_US).expect("the protocol") + NAMES_US.len();
        for end in 0..text.len() {
            let cut = &text.as_bytes()[..end];
            if end < named {
                check_ignored(cut);
            } else {
                check_not_json(cut);
            }
        }
    }
}

#[test]
fn prefixed_message_cut_off_anywhere_is_never_applied() {
    for message in valid() {
        let text = format!("AOF/1 {message}");
        for end in 0.."AOF/1 ".len() {
            check_ignored(&text[..end]);
        }
        for end in "AOF/1 {".len()..text.len() {
            check_not_json(&text[..end]);
        }
    }
}

#[test]
fn message_cut_off_inside_a_character_is_never_applied() {
    let text = with(&a_completion(), "payload.notes", "ü€😀".repeat(3)).to_string();
    let named = text.find(NAMES_US).expect("the protocol") + NAMES_US.len();
    for end in named..text.len() {
        check_not_json(&text.as_bytes()[..end]);
    }
}

#[test]
fn message_without_its_beginning_is_never_applied() {
    for message in valid() {
        let text = message.to_string();
        for start in 1..text.len() {
            let decision = decided(&text.as_bytes()[start..]);
            assert_ne!(decision.answer.verdict, AnswerVerdict::Applied, "{}", &text[start..]);
            check_harmless(text.as_bytes(), &decision);
        }
    }
}

#[test]
fn nested_message_cut_off_is_never_applied() {
    for message in valid() {
        let text = serde_json::json!({"content": format!("AOF/1 {message}")}).to_string();
        for end in 0..text.len() {
            check_ignored(&text[..end]);
        }
    }
}

#[test]
fn invalid_utf8_is_refused_anywhere() {
    for message in valid() {
        let text = message.to_string();
        let start = text.find(NAMES_US).expect("the protocol");
        let end = start + NAMES_US.len();
        for at in 0..=text.len() {
            for bad in [&b"\xff"[..], b"\xc3\x28", b"\xed\xa0\x80", b"\xf8"] {
                let (before, after) = text.as_bytes().split_at(at);
                let mangled = [before, bad, after].concat();
                if at == 0 || (start < at && at < end) {
                    check_ignored(mangled);
                } else {
                    check_not_json(mangled);
                }
            }
        }
    }
}

#[test]
fn invalid_utf8_after_prefix_is_refused() {
    check_not_json(b"AOF/1 \xff");
    check_not_json(b"AOF/1 {\"protocol\":\"aof\"}\xff");
    check_not_json(b"\xef\xbb\xbfAOF/1 \xff");
    check_ignored(b"\xff\xfe\x00");
    check_ignored(b"chat \xff");
}

#[test]
fn text_in_another_encoding_is_ignored() {
    let text = a_completion().to_string();
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    check_ignored([&b"\xff\xfe"[..], &wide].concat());
    check_ignored(wide);
}

#[test]
fn lone_surrogate_is_refused() {
    for half in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud83dx", "\\udfff"] {
        let message = with(&a_completion(), "payload.notes", "HERE");
        check_not_json(message.to_string().replace("HERE", half));
        let message = with(&a_completion(), "extra", "HERE");
        check_not_json(message.to_string().replace("HERE", half));
    }
    let message = with(&a_completion(), "payload.notes", "HERE");
    super::check_taken(message.to_string().replace("HERE", "\\ud83d\\ude00"));
}

#[test]
fn invalid_json_escapes_and_control_characters_are_refused() {
    for bad in ["\\x41", "\\", "\\u12", "\\u{41}", "\n", "\t", "\u{1}", "\""] {
        let message = with(&a_completion(), "payload.notes", "HERE");
        check_not_json(message.to_string().replace("HERE", bad));
    }
}

#[test]
fn message_with_a_changed_byte_is_applied_whole_or_not_at_all() {
    for message in valid() {
        let text = message.to_string();
        for at in 0..text.len() {
            for byte in [0, b'"', b'{', b'}', b'\\', b'0', b' ', 0x80] {
                let mut changed = text.clone().into_bytes();
                changed[at] = byte;
                let decision = decided(&changed);
                if !matches!(aof::read(&changed), IncomingText::Message(_)) {
                    check_harmless(&changed, &decision);
                }
            }
        }
    }
}
