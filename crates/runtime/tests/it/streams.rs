//! What agents print is read as events: samples of the real programs, taken from them with a
//! scripted model, whole and in pieces.

use std::path::Path;

use adjutant_runtime::agent::{Ear, Now, Told};
use adjutant_runtime::config::Kind;

/// 2027-01-15 at 8:00 in UTC, and at 9:00 on the wall.
const NOW: Now = Now { secs: 1_800_000_000, ahead: 3_600 };

/// Listens to a sample, in pieces of several sizes, and returns what was told.
fn told(kind: Kind, stream: &[u8]) -> Told {
    let listen = |size: usize| {
        let mut ear = Ear::new(kind, Some("ours".to_owned()));
        stream
            .chunks(size)
            .fold(Told::default(), |last, piece| ear.push(piece, NOW).unwrap_or(last))
    };
    let whole = listen(stream.len().max(1));
    for size in [1, 7, 4096] {
        assert_eq!(json(&listen(size)), json(&whole), "in pieces of {size}");
    }
    whole
}

fn json(told: &Told) -> String {
    serde_json::to_string(told).expect("text and numbers always make JSON")
}

fn sample(name: &str) -> Told {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/streams/{name}.jsonl"));
    let kind = Kind::parse(name.split('-').next().unwrap_or_default()).expect("a kind");
    told(kind, &std::fs::read(path).expect("a sample"))
}

/// Says in a line what was told.
fn short(told: &Told) -> String {
    let trouble = match (&told.unusable, &told.limited) {
        (Some(words), _) => format!("unusable: {words}"),
        (None, Some(limited)) => format!("limited until {:?}: {}", limited.until, limited.words),
        (None, None) => format!("{:?}", told.in_words().unwrap_or_default()),
    };
    let used = (told.used.input, told.used.output, told.used.cost);
    format!("{} {used:?} {trouble}", told.session.as_deref().map_or("-", |id| &id[..4]))
}

#[test]
fn a_run_that_goes_well_tells_its_conversation_and_what_it_used() {
    assert_eq!(short(&sample("claude-ok")), r#"c7d4 (87535, 80, 263805) "it said: done""#);
    assert_eq!(sample("claude-ok").version.as_deref(), Some("2.1.325"));
    assert_eq!(short(&sample("codex-ok")), r#"01a1 (36177, 60, 0) "it said: done""#);
    assert_eq!(short(&sample("goose-ok")), r#"ours (18745, 60, 0) "it said: done""#);
    assert_eq!(short(&sample("acp-ok")), r#"e70d (4000, 80, 16500) "it said: done""#);
    assert_eq!(short(&sample("opencode-ok")), r#"ses_ (1000, 20, 0) "it said: done""#);
    assert_eq!(short(&sample("gemini-ok")), r#"b84c (0, 0, 0) "it said: done""#, "it tells none");
    let version = |name| sample(name).version.unwrap_or_default();
    assert_eq!(["gemini-ok", "opencode-ok"].map(version), ["0.61.0", "1.18.33"]);
}

#[test]
fn an_agent_that_is_not_signed_in_says_so() {
    let claude = "651e (0, 0, 0) unusable: Failed to authenticate. API Error: 401 mock says 401";
    assert_eq!(short(&sample("claude-401")), claude);
    assert_eq!(
        short(&sample("codex-401")),
        "01a1 (0, 0, 0) unusable: unexpected status 401 Unauthorized: mock says 401, url: \
         http://127.0.0.1:8399/v1/responses"
    );
    let goose = sample("goose-401");
    assert!(goose.unusable.is_some_and(|words| words.contains("Authentication failed")));
    assert_eq!(goose.session, None, "it never began");
    let unusable = |name| sample(name).unusable.unwrap_or_default();
    assert_eq!(unusable("acp-401"), "Authentication required");
    assert!(unusable("gemini-401").contains("UNAUTHENTICATED"), "{}", unusable("gemini-401"));
    assert!(unusable("opencode-401").ends_with("invalid x-api-key"));
}

#[test]
fn an_agent_that_has_reached_a_limit_says_so() {
    let claude = "7650 (0, 0, 0) limited until None: API Error: Request rejected (429) · mock \
                  says 429";
    assert_eq!(short(&sample("claude-429")), claude);
    // It goes on trying, and says it once.
    let codex = "01a1 (0, 0, 0) limited until None: Reconnecting... 1/5 (exceeded retry limit, \
                 last status: 429 Too Many Requests)";
    assert_eq!(short(&sample("codex-429")), codex);
    let limited = sample("acp-429").limited.map(|limited| limited.words).unwrap_or_default();
    assert!(
        limited.ends_with("API Error: Request rejected (429) · The usage limit has been reached")
    );
}

#[test]
fn an_agent_that_waits_for_a_limit_to_end_says_so_in_its_log() {
    let gemini = "ddaa (0, 0, 0) limited until None: status 429: The usage limit has been reached";
    assert_eq!(short(&sample("gemini-429")), gemini);
    let opencode = "ses_ (0, 0, 0) limited until None: AI_APICallError: The usage limit has been \
                    reached";
    assert_eq!(short(&sample("opencode-429")), opencode);
    let goose = format!(
        "- (0, 0, 0) limited until {:?}: Rate limit exceeded: The usage limit has been reached",
        Some(NOW.secs + 3_600)
    );
    assert_eq!(short(&sample("goose-429")), goose);
}

#[test]
fn what_is_in_a_log_and_is_no_limit_is_told_as_what_it_is() {
    let short = |kind, line: &str| short(&told(kind, format!("{line}\n").as_bytes()));
    let nothing = r#"- (0, 0, 0) """#;
    let gemini = |rest: &str| short(Kind::Gemini, &format!("Attempt 1 failed with status {rest}"));
    let stumbled = r#"- (0, 0, 0) "status 500: oops""#;
    assert_eq!(gemini(r#"500. Retrying... _ApiError: {"error":{"message":"oops"}}"#), stumbled);
    let delay = r#"429. _ApiError: {"error":{"details":[{"retryDelay":"36.4s"}]}} and more"#;
    assert_eq!(gemini(delay), "- (0, 0, 0) limited until Some(1800000037): status 429");
    assert_eq!(gemini("429"), nothing);
    assert_eq!(gemini("429. {{"), "- (0, 0, 0) limited until None: status 429");
    let error = r#"timestamp=x level=ERROR run=y message="stream error" small=false error.error=""#;
    let opencode = |rest: &str| short(Kind::Opencode, &format!("{error}{rest}"));
    assert_eq!(opencode(r#"the \"gate\" is shut""#), r#"- (0, 0, 0) "the \"gate\" is shut""#);
    assert_eq!(opencode(r#"Incorrect API key""#), "- (0, 0, 0) unusable: Incorrect API key");
    let title = error.replace("small=false", "small=true");
    assert_eq!(short(Kind::Opencode, &format!(r#"{title}429 Too Many Requests""#)), nothing);
    let body = r#"	 Body: String(Owned("Request failed, retrying (2/3): "#;
    let goose = |rest: &str| short(Kind::Goose, &format!(r#"{body}{rest}"))"#));
    let server = "ServerError(oops";
    assert_eq!(goose(server), format!("- (0, 0, 0) {server:?}"));
    // What others print is not theirs.
    assert_eq!(short(Kind::Acp, "Attempt 1 failed with status 429. x"), nothing);
}

#[test]
fn a_version_that_nobody_tried_is_warned_of() {
    let warned = |version: &str| {
        let line = format!(r#"{{"type":"agent","name":"gemini-cli","version":"{version}"}}"#);
        told(Kind::Gemini, format!("{line}\n").as_bytes()).untried.unwrap_or_default()
    };
    assert_eq!(warned("0.61.0"), "");
    assert_eq!(warned("0.62.0"), "version 0.62.0 was not tried with Adjutant, 0.61.0 was");
    assert_eq!(warned("0.9.1"), "version 0.9.1 is too old: 0.50.0 or newer is needed");
    assert_eq!(sample("claude-ok").untried, None);
}

#[test]
fn what_was_denied_is_told_and_what_was_cancelled_is_not() {
    let denied = |answer: &str| {
        let line = format!(
            r#"{{"type":"permission","tool":"execute","text":"execute: make","answer":"{answer}"}}"#
        );
        told(Kind::Acp, format!("{line}\n").as_bytes()).in_words()
    };
    let words = "it was not allowed to use execute: make".to_owned();
    assert_eq!(denied("denied"), Some(words));
    assert_eq!((denied("cancelled"), denied("allowed")), (None, None));
}

#[test]
fn the_time_a_limit_ends_is_told_in_several_ways() {
    let until = |kind, line: &str| {
        told(kind, format!("{line}\n").as_bytes()).limited.and_then(|limited| limited.until)
    };
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected",
        "resetsAt":1800007200,"rateLimitType":"five_hour","isUsingOverage":false}}"#;
    assert_eq!(until(Kind::Claude, &event.replace('\n', "")), Some(1_800_007_200));
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#;
    assert_eq!(until(Kind::Claude, allowed), None);
    let failed = r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again in 2 hours 5 minutes."}}"#;
    assert_eq!(until(Kind::Codex, failed), Some(NOW.secs + 7_500));
    let at = |when: &str| {
        let words = format!("You've hit your usage limit. Upgrade to Pro or try again at {when}.");
        let line = format!(r#"{{"type":"turn.failed","error":{{"message":"{words}"}}}}"#);
        until(Kind::Codex, &line).map(|at| at - NOW.secs)
    };
    assert_eq!(at("9:30 AM"), Some(30 * 60));
    assert_eq!(at("8:30 AM"), Some(24 * 3_600 - 30 * 60), "tomorrow");
    assert_eq!(at("Jan 17th, 2027 9:00 AM"), Some(48 * 3_600));
}

#[test]
fn what_went_wrong_is_told_in_the_words_of_the_agent() {
    let words = |name| sample(name).in_words().unwrap_or_default();
    assert!(words("claude-500").starts_with("API Error: 500 mock says 500."));
    assert!(words("codex-500").contains("experiencing high demand"));
    assert!(words("goose-500").contains("Server error (500 Internal Server Error)"));
    assert!(words("codex-cut").contains("stream disconnected before completion"));
    assert!(words("goose-cut").contains("Stream decode error"));
    // The stream was cut, and it took what it had for the answer: only a report would count.
    assert_eq!(words("claude-cut"), "it said: You should never see the end of this sentence.");
    for name in ["claude-500", "codex-500", "goose-500", "codex-cut", "goose-cut"] {
        assert!(!sample(name).is_in_trouble(), "{name} may be tried again");
    }
}

#[test]
fn a_server_that_is_not_there_is_seen() {
    let told = sample("claude-no-server");
    assert_eq!(
        told.in_words().as_deref(),
        Some(
            "the MCP server was not connected: its status is \"failed\"\nit said: Hello from the mock model."
        )
    );
    let denied = sample("claude-denied");
    assert_eq!((denied.no_server.as_ref(), denied.denied.as_deref()), (None, Some("Write")));
}

#[test]
fn a_conversation_that_no_program_could_be_given_again_is_not_kept() {
    let session = |id: &str| {
        let line = serde_json::json!({"type": "session", "id": id, "canGoOn": true});
        told(Kind::Acp, format!("{line}\n").as_bytes()).session
    };
    let longest = "x".repeat(256);
    assert_eq!(session(&longest), Some(longest.clone()));
    let odd = [&*format!("{longest}x"), "--dangerously-skip-permissions", "a\nb", "a\u{1b}[2J"];
    assert_eq!(odd.map(session), [None, None, None, None]);
}

#[test]
fn what_is_no_event_is_passed_over() {
    for stream in
        [&b"\xff\xfe\n"[..], b"{}\n[]\n1\nnull\n\"x\"\n", b"{\"type\":\"result\"", b"\n\n"]
    {
        for kind in Kind::ALL {
            assert_eq!(told(kind, stream), Told::default(), "{kind:?}");
        }
    }
}

#[test]
fn a_line_without_an_end_is_cut_off() {
    let mut ear = Ear::new(Kind::Claude, None);
    for _ in 0..200 {
        assert_eq!(ear.push(&vec![b'x'; 64 << 10], NOW), None);
    }
    assert_eq!(ear.push(b"\n", NOW), None);
    let ok = br#"{"type":"thread.started","thread_id":"t"}"#;
    let mut ear = Ear::new(Kind::Codex, None);
    assert_eq!(ear.push(ok, NOW), None, "it is not whole");
    assert_eq!(ear.push(b"\n", NOW).and_then(|told| told.session).as_deref(), Some("t"));
}
