//! Agent output is parsed as events: samples of the real programs, recorded with a scripted model,
//! whole and in chunks.

use std::path::Path;

use adjutant_config::Kind;
use adjutant_runs::agent::{AgentSelfReport, AgentStreamParser, LocalNow};

/// 2027-01-15 at 8:00 UTC, and 9:00 local time.
const NOW: LocalNow = LocalNow { secs: 1_800_000_000, utc_offset_secs: 3_600 };

/// Parses a sample, in chunks of several sizes, and returns the telemetry.
fn parse_stream(kind: Kind, stream: &[u8]) -> AgentSelfReport {
    let listen = |size: usize| {
        let mut ear = AgentStreamParser::new(kind, Some("ours".to_owned()));
        stream
            .chunks(size)
            .fold(AgentSelfReport::default(), |last, piece| ear.push(piece, NOW).unwrap_or(last))
    };
    let whole = listen(stream.len().max(1));
    for size in [1, 7, 4096] {
        assert_eq!(json(&listen(size)), json(&whole), "in pieces of {size}");
    }
    whole
}

fn json(told: &AgentSelfReport) -> String {
    serde_json::to_string(told).expect("text and numbers always make JSON")
}

fn sample(name: &str) -> AgentSelfReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/streams/{name}.jsonl"));
    let kind = Kind::parse(name.split('-').next().unwrap_or_default()).expect("a kind");
    parse_stream(kind, &std::fs::read(path).expect("a sample"))
}

/// Formats the telemetry as one line.
fn short_telemetry(told: &AgentSelfReport) -> String {
    let trouble = match (&told.unusable, &told.limited) {
        (Some(words), _) => format!("unusable: {words}"),
        (None, Some(limited)) => format!("limited until {:?}: {}", limited.until, limited.words),
        (None, None) => format!("{:?}", told.failure_text().unwrap_or_default()),
    };
    let used = (told.used.input, told.used.output, told.used.cost);
    format!("{} {used:?} {trouble}", told.session.as_deref().map_or("-", |id| &id[..4]))
}

#[test]
fn successful_stream_gives_session_and_usage() {
    assert_eq!(
        short_telemetry(&sample("claude-ok")),
        r#"c7d4 (87535, 80, 263805) "it said: done""#
    );
    assert_eq!(sample("claude-ok").version.as_deref(), Some("2.1.325"));
    assert_eq!(short_telemetry(&sample("codex-ok")), r#"01a1 (36177, 60, 0) "it said: done""#);
    assert_eq!(short_telemetry(&sample("goose-ok")), r#"ours (18745, 60, 0) "it said: done""#);
    assert_eq!(short_telemetry(&sample("acp-ok")), r#"e70d (4000, 80, 16500) "it said: done""#);
    assert_eq!(short_telemetry(&sample("opencode-ok")), r#"ses_ (1000, 20, 0) "it said: done""#);
    assert_eq!(
        short_telemetry(&sample("gemini-ok")),
        r#"b84c (0, 0, 0) "it said: done""#,
        "it tells none"
    );
    let version = |name| sample(name).version.unwrap_or_default();
    assert_eq!(["gemini-ok", "opencode-ok"].map(version), ["0.61.0", "1.18.33"]);
}

#[test]
fn stream_without_login_marks_agent_unusable() {
    let claude = "651e (0, 0, 0) unusable: Failed to authenticate. API Error: 401 mock says 401";
    assert_eq!(short_telemetry(&sample("claude-401")), claude);
    assert_eq!(
        short_telemetry(&sample("codex-401")),
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
fn stream_reports_usage_limit() {
    let claude = "7650 (0, 0, 0) limited until None: API Error: Request rejected (429) · mock \
                  says 429";
    assert_eq!(short_telemetry(&sample("claude-429")), claude);
    // It keeps retrying and reports the limit once.
    let codex = "01a1 (0, 0, 0) limited until None: Reconnecting... 1/5 (exceeded retry limit, \
                 last status: 429 Too Many Requests)";
    assert_eq!(short_telemetry(&sample("codex-429")), codex);
    let limited = sample("acp-429").limited.map(|limited| limited.words).unwrap_or_default();
    assert!(
        limited.ends_with("API Error: Request rejected (429) · The usage limit has been reached")
    );
}

#[test]
fn log_line_reports_usage_limit_that_agent_waits_for() {
    let gemini = "ddaa (0, 0, 0) limited until None: status 429: The usage limit has been reached";
    assert_eq!(short_telemetry(&sample("gemini-429")), gemini);
    let opencode = "ses_ (0, 0, 0) limited until None: AI_APICallError: The usage limit has been \
                    reached";
    assert_eq!(short_telemetry(&sample("opencode-429")), opencode);
    let goose = format!(
        "- (0, 0, 0) limited until {:?}: Rate limit exceeded: The usage limit has been reached",
        Some(NOW.secs + 3_600)
    );
    assert_eq!(short_telemetry(&sample("goose-429")), goose);
}

#[test]
fn log_line_without_limit_gives_its_own_error() {
    let short =
        |kind, line: &str| short_telemetry(&parse_stream(kind, format!("{line}\n").as_bytes()));
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
    // Lines in another agent's format are not parsed.
    assert_eq!(short(Kind::Acp, "Attempt 1 failed with status 429. x"), nothing);
}

#[test]
fn version_that_is_untested_gives_a_warning() {
    let warned = |version: &str| {
        let line = format!(r#"{{"type":"agent","name":"gemini-cli","version":"{version}"}}"#);
        parse_stream(Kind::Gemini, format!("{line}\n").as_bytes()).untried.unwrap_or_default()
    };
    assert_eq!(warned("0.61.0"), "");
    assert_eq!(warned("0.62.0"), "version 0.62.0 was not tested with Adjutant; tested: 0.61.0");
    assert_eq!(warned("0.9.1"), "version 0.9.1 is too old: 0.50.0 or newer is needed");
    assert_eq!(sample("claude-ok").untried, None);
}

#[test]
fn permission_denied_is_reported_and_cancelled_is_not() {
    let denied = |answer: &str| {
        let line = format!(
            r#"{{"type":"permission","tool":"execute","text":"execute: make","answer":"{answer}"}}"#
        );
        parse_stream(Kind::Acp, format!("{line}\n").as_bytes()).failure_text()
    };
    let words = "it was denied the tool execute: make".to_owned();
    assert_eq!(denied("denied"), Some(words));
    assert_eq!((denied("cancelled"), denied("allowed")), (None, None));
}

#[test]
fn limit_end_is_parsed_from_several_forms() {
    let until = |kind, line: &str| {
        parse_stream(kind, format!("{line}\n").as_bytes()).limited.and_then(|limited| limited.until)
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
fn error_text_is_quoted_from_the_agent() {
    let words = |name| sample(name).failure_text().unwrap_or_default();
    assert!(words("claude-500").starts_with("API Error: 500 mock says 500."));
    assert!(words("codex-500").contains("experiencing high demand"));
    assert!(words("goose-500").contains("Server error (500 Internal Server Error)"));
    assert!(words("codex-cut").contains("stream disconnected before completion"));
    assert!(words("goose-cut").contains("Stream decode error"));
    // The stream was cut off, and the program took the partial text for the answer: only a report
    // would count.
    assert_eq!(words("claude-cut"), "it said: You should never see the end of this sentence.");
    for name in ["claude-500", "codex-500", "goose-500", "codex-cut", "goose-cut"] {
        assert!(!sample(name).is_in_trouble(), "{name} may be tried again");
    }
}

#[test]
fn mcp_server_that_failed_is_reported() {
    let told = sample("claude-no-server");
    assert_eq!(
        told.failure_text().as_deref(),
        Some(
            "the MCP server was not connected: its status is \"failed\"\nit said: Hello from the mock model."
        )
    );
    let denied = sample("claude-denied");
    assert_eq!((denied.no_server.as_ref(), denied.denied.as_deref()), (None, Some("Write")));
}

#[test]
fn session_id_that_is_unsafe_is_not_kept() {
    let session = |id: &str| {
        let line = serde_json::json!({"type": "session", "id": id, "canGoOn": true});
        parse_stream(Kind::Acp, format!("{line}\n").as_bytes()).session
    };
    let longest = "x".repeat(256);
    assert_eq!(session(&longest), Some(longest.clone()));
    let odd = [&*format!("{longest}x"), "--dangerously-skip-permissions", "a\nb", "a\u{1b}[2J"];
    assert_eq!(odd.map(session), [None, None, None, None]);
}

#[test]
fn stream_lines_that_are_no_event_are_skipped() {
    for stream in
        [&b"\xff\xfe\n"[..], b"{}\n[]\n1\nnull\n\"x\"\n", b"{\"type\":\"result\"", b"\n\n"]
    {
        for kind in Kind::ALL {
            assert_eq!(parse_stream(kind, stream), AgentSelfReport::default(), "{kind:?}");
        }
    }
}

#[test]
fn stream_line_without_end_is_cut_off() {
    let mut ear = AgentStreamParser::new(Kind::Claude, None);
    for _ in 0..200 {
        assert_eq!(ear.push(&vec![b'x'; 64 << 10], NOW), None);
    }
    assert_eq!(ear.push(b"\n", NOW), None);
    let ok = br#"{"type":"thread.started","thread_id":"t"}"#;
    let mut ear = AgentStreamParser::new(Kind::Codex, None);
    assert_eq!(ear.push(ok, NOW), None, "it is not whole");
    assert_eq!(ear.push(b"\n", NOW).and_then(|told| told.session).as_deref(), Some("t"));
}
