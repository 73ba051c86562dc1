use proptest::prelude::*;

use super::*;
use crate::Config;

const KEY: &str = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
const TOKEN: &str = "12-affa43e082c8bbf32057d45e7feafca3";
const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n\
                   MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL\n\
                   MNOPQRSTUVWXYZabcd==\nshort1\n-----END RSA PRIVATE KEY-----";

#[test]
fn secret_like_values_are_redacted() {
    for (text, shown) in [
        (format!("key sk-ant-{KEY} is set"), "key sk-**** is set".to_owned()),
        (format!("ghp_{KEY}"), "ghp_****".to_owned()),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AKIA****".to_owned()),
        (format!("(glpat-{KEY})\n"), "(glpat-****)\n".to_owned()),
        (format!("gldt-{KEY} glrt-{KEY}"), "gldt-**** glrt-****".to_owned()),
        (format!("xai-{KEY}{KEY} gsk_{KEY}{KEY}"), "xai-**** gsk_****".to_owned()),
        (format!("r8_{KEY}"), "r8_****".to_owned()),
        (format!("Authorization: Bearer {KEY}"), "Authorization: Bearer ****".to_owned()),
        ("DB_PASSWORD=hunter2hunter2".to_owned(), "DB_PASSWORD=****".to_owned()),
        (format!("{{\"api_key\": \"{KEY}\"}}"), "{\"api_key\": \"****\"}".to_owned()),
        (format!(r#"{{\"api_key\": \"{KEY}\"}}"#), r#"{\"api_key\": \"****\"}"#.to_owned()),
        (format!(r"is:\nsk-ant-{KEY}\n"), r"is:\nsk-****\n".to_owned()),
        (format!("token: {KEY}"), "token: ****".to_owned()),
        ("postgres://me:s3cret@db/x".to_owned(), "postgres://me:****@db/x".to_owned()),
        (format!("é {KEY} ghp_{KEY} ü"), format!("é {KEY} ghp_**** ü")),
        (
            format!("<https://hooks.slack.com/services/T0/B0/{KEY}|x>"),
            "<https://hooks.slack.com/services/****|x>".to_owned(),
        ),
        (
            format!("https://discord.com/api/webhooks/123456/{KEY}"),
            "https://discord.com/api/webhooks/****".to_owned(),
        ),
        (
            format!("AccountName=a;AccountKey={KEY}/{KEY}==;EndpointSuffix=x"),
            "AccountName=a;AccountKey=****==;EndpointSuffix=x".to_owned(),
        ),
        (
            format!("https://a.blob.core.windows.net/b?sv=2024&sig={KEY}%3D&se=2"),
            "https://a.blob.core.windows.net/b?sv=2024&sig=****&se=2".to_owned(),
        ),
        (
            format!("http://127.0.0.1:7474/login?code={}", &TOKEN[3..]),
            "http://127.0.0.1:7474/login?code=****".to_owned(),
        ),
        (format!("runToken: {TOKEN}, {TOKEN}"), "runToken: ****, ****".to_owned()),
    ] {
        assert_eq!(redact_text(&text), shown, "{text}");
    }
}

#[test]
fn ordinary_text_is_not_redacted() {
    for text in [
        "",
        "the token is expired",
        "token: something-else",
        "max_token=40960000",
        "password: required",
        "TASK-2026-02-09-057",
        "https://example.com:8080/a@b",
        "https://hooks.slack.com/services/ is the start",
        "sk-learn is a library with a long name",
        "see docs/secret-handling.md",
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "passwords of users are hashed",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "2026-11-18 10:20:45 and 12-13 and a 1-2",
        "\u{1b}[31mred\u{1b}[0m \u{1b}(B \u{1b}]0;title\u{7} \u{1b}",
    ] {
        assert!(matches!(redact_text(text), Cow::Borrowed(_)), "{text}: {}", redact_text(text));
    }
}

#[test]
fn key_split_by_escape_codes_is_redacted() {
    let (begin, rest) = KEY.split_at(7);
    for code in ["\u{1b}[0m", "\u{1b}[1;31m\u{1b}[K", "\u{1b}(B", "\\u001b[0m"] {
        let text = format!("key sk-{code}{begin}{code}{rest} is set");
        assert_eq!(redact_text(&text), format!("key sk-{code}****{code} is set"), "{code:?}");
        let redactor = SecretRedactor::from_values([KEY]);
        let text = format!("x{begin}{code}{rest}y");
        let shown = redactor.redact(&text, RedactionScope::KnownValues);
        assert_eq!(shown, format!("x****{code}y"), "{code:?}");
    }
}

#[test]
fn pem_key_is_redacted_and_its_frame_is_shown() {
    let shown = "-----BEGIN RSA PRIVATE KEY-----****-----END RSA PRIVATE KEY-----";
    assert_eq!(redact_text(&format!("a\n{PEM}\nb")), format!("a\n{shown}\nb"));
    let json = PEM.replace('\n', "\\n");
    let text = format!("{{\"key\":\"{json}\",\"next\":1}}");
    assert_eq!(redact_text(&text), format!("{{\"key\":\"{shown}\",\"next\":1}}"));
    let coloured = PEM.replace('\n', "\u{1b}[0m\n\u{1b}[32m");
    let redacted = redact_text(&coloured);
    assert!(redacted.contains("****") && !redacted.contains("MIIE"), "{redacted}");
    assert!(!redacted.contains("short1"), "{redacted}");
}

#[test]
fn pem_header_without_key_redacts_at_most_a_few_words() {
    let prose = "the header -----BEGIN PRIVATE KEY----- is ".to_owned();
    let text = prose + &"followed by base64 text ".repeat(20) + "end";
    assert!(redact_text(&text).ends_with("base64 text end"), "{}", redact_text(&text));
    let json = r#"{"header":"-----BEGIN PRIVATE KEY-----","escaped":"a \"b\""}"#;
    let shown = r#"{"header":"-----BEGIN PRIVATE KEY-----****","escaped":"a \"b\""}"#;
    assert_eq!(redact_text(json), shown);
}

#[test]
fn known_value_is_redacted_wherever_it_is() {
    let redactor = SecretRedactor::from_values(["hunter2 \"x\"", "abcdefgh", "cdefghij", "short"]);
    for (text, shown) in [
        ("=hunter2 \"x\"=", "=****="),
        (r#"{"a":"hunter2 \"x\""}"#, r#"{"a":"****"}"#),
        ("1abcdefgh2", "1****2"),
        ("abcdefghij abcdefgh", "**** ****"),
        ("abcdefg short", "abcdefg short"),
    ] {
        assert_eq!(redactor.redact(text, RedactionScope::KnownValues), shown, "{text}");
    }
    redactor.clone().add("added-later");
    assert_eq!(redactor.redact("added-later", RedactionScope::KnownValues), "****");
}

#[test]
fn scope_says_what_is_redacted() {
    let redactor = SecretRedactor::from_values(["known-value"]);
    let text = format!("known-value {TOKEN} ghp_{KEY}");
    for (scope, shown) in [
        (RedactionScope::KnownValues, format!("**** {TOKEN} ghp_{KEY}")),
        (RedactionScope::OwnSecrets, format!("**** **** ghp_{KEY}")),
        (RedactionScope::LookAlikes, "**** **** ghp_****".to_owned()),
    ] {
        assert_eq!(redactor.redact(&text, scope), shown, "{scope:?}");
    }
}

#[test]
fn project_secrets_are_found_in_files_variables_and_settings() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text);
    write("operator-token", "operator-token-of-this-project-0123\n").expect("written");
    write("secret", "0123456789abcdef0123456789abcdef\n").expect("written");
    write("nats.creds", "-----BEGIN NATS USER JWT-----\njwt-of-the-node-of-the-fleet\n")
        .expect("written");
    let config = "store = \"nats://me:fleet-password@host\"\n[nats]\ncredentials = \"nats.creds\"\n\
                  [[notify]]\non = [\"done\"]\ntarget = \"webhook\"\nurl = \"https://a.example/hooks/of-ops\"\n";
    let config = Config::read(config, std::iter::empty()).expect("it is good");
    let redactor = SecretRedactor::for_project(home.path(), &config);
    let mut values = redactor.values();
    values.sort();
    assert_eq!(
        values,
        [
            "0123456789abcdef0123456789abcdef",
            "fleet-password",
            "hooks/of-ops",
            "jwt-of-the-node-of-the-fleet",
            "operator-token-of-this-project-0123",
        ]
    );
}

#[test]
fn plain_text_is_not_held_back() {
    for plain in ["Continue? [y/n]", "half way", "50%", "reading docs/a.md", "", "it costs 1.5"] {
        let mut stream = SecretRedactor::from_values([KEY]).stream(RedactionScope::LookAlikes);
        let mut out = Vec::new();
        stream.push(plain.as_bytes(), |bytes| out.extend_from_slice(bytes));
        assert_eq!(out, plain.as_bytes(), "{plain}");
    }
}

#[test]
fn stream_holds_back_only_bounded_bytes() {
    let mut stream = SecretRedactor::default().stream(RedactionScope::LookAlikes);
    let (mut passed, word) = (0_usize, "aB3".repeat(1000));
    for text in ["-----BEGIN PRIVATE KEY-----\n", &word, &word, "\nsk-", &word, &word] {
        stream.push(text.as_bytes(), |bytes| passed += bytes.len());
        assert!(stream.held_bytes() <= 1024, "{}", stream.held_bytes());
    }
    assert!(passed < 200, "the key and the word are left out: {passed}");
}

fn in_chunks(redactor: &SecretRedactor, text: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut stream = redactor.stream(RedactionScope::LookAlikes);
    let (mut out, mut rest, mut sizes) = (Vec::new(), text, sizes.iter().cycle());
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| (*size).clamp(1, rest.len()));
        stream.push(&rest[..size], |bytes| out.extend_from_slice(bytes));
        rest = &rest[size..];
    }
    stream.finish(|bytes| out.extend_from_slice(bytes));
    out
}

/// The parts of which random output is made.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-zA-Z0-9 ./:=_%+-]{0,12}",
        1 => "[ \\n\"'\\\\,;?&@{}]{1,3}",
        1 => Just("\u{1b}[0m".to_owned()),
        1 => Just("\\u001b[31m".to_owned()),
        1 => Just("\u{1b}".to_owned()),
        1 => Just("-----".to_owned()),
        1 => Just(format!("ghp_{KEY}")),
        1 => Just(format!("sk-\u{1b}[0m{KEY}{}", "x1".repeat(400))),
        1 => Just(format!("\\nAuthorization: Bearer {KEY}")),
        1 => Just(format!("DB_PASSWORD=\"{KEY}\"")),
        1 => Just(format!("https://hooks.slack.com/services/T0/{KEY}")),
        1 => Just(TOKEN.to_owned()),
        1 => Just("known value, with spaces".to_owned()),
        1 => Just("with spaces, and another".to_owned()),
        1 => Just(PEM.to_owned()),
        1 => Just(PEM.replace('\n', "\\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn stream_is_redacted_the_same_in_any_chunks(
        parts in prop::collection::vec(part(), 1..12),
        sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let redactor =
            SecretRedactor::from_values(["known value, with spaces", "with spaces, and another"]);
        let text = parts.concat();
        let whole = in_chunks(&redactor, text.as_bytes(), &[]);
        let cut = in_chunks(&redactor, text.as_bytes(), &sizes);
        let (whole, cut) = (String::from_utf8_lossy(&whole), String::from_utf8_lossy(&cut));
        prop_assert_eq!(whole, cut, "{:?}", text);
    }

    #[test]
    fn secret_never_shows_whatever_the_chunks(
        before in "[ -~\\n]{0,40}[ \\n\"=]",
        after in "[ \\n\"][ -~\\n]{0,40}",
        secret in prop::sample::select(vec![
            format!("ghp_{KEY}"),
            format!("Bearer {KEY}"),
            format!("API_KEY={KEY}"),
            format!("eyJ{}", KEY.repeat(60)),
            format!("https://discord.com/api/webhooks/1/{KEY}"),
            format!("AccountKey={KEY}"),
            PEM.replace("MIIEpAIBAAKCAQEA1234567890", KEY),
            format!("1-{}", "0123456789abcdef".repeat(2)),
            "known value, with spaces".to_owned(),
        ]),
        colour in prop::option::of(1_usize..60),
        sizes in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let mut coloured = secret.clone();
        if let Some(at) = colour.filter(|at| *at < coloured.len()) {
            coloured.insert_str(at, "\u{1b}[0m");
        }
        let redactor = SecretRedactor::from_values(["known value, with spaces"]);
        let text = format!("{before}{coloured}{after}");
        let shown = in_chunks(&redactor, text.as_bytes(), &sizes);
        let shown = String::from_utf8_lossy(&shown).replace("\u{1b}[0m", "");
        let hidden = [KEY, "0123456789abcdef0123456789abcdef", "known value, with spaces"];
        prop_assert!(hidden.iter().all(|secret| !shown.contains(secret)), "{shown}");
        // Not even a part of it.
        prop_assert!(!shown.contains(&KEY[10..]) && !shown.contains("known value, with"), "{shown}");
    }
}
