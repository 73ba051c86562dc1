//! Posts against servers that are sockets: what they say is written out here.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use super::*;

/// Answers one caller with these bytes, and returns what it was sent.
fn server(answer: &'static [u8]) -> (Address, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let to = Address::parse(&format!("http://127.0.0.1:{port}/services/T0/secret")).expect("one");
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        let heard = request(&mut stream);
        let _ = stream.write_all(answer);
        heard
    });
    (to, heard)
}

/// Reads a request with its body.
fn request(stream: &mut TcpStream) -> String {
    let (mut heard, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let text = String::from_utf8_lossy(&heard).to_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if let (Some(head), Some(length)) = (text.find("\r\n\r\n"), length)
            && heard.len() >= head + 4 + length.trim().parse::<usize>().expect("a length")
        {
            return String::from_utf8(heard).expect("text");
        }
        let read = stream.read(&mut piece).expect("some bytes");
        assert!(read > 0, "the caller went away: {text}");
        heard.extend_from_slice(&piece[..read]);
    }
}

fn try_post(to: &Address) -> Result<Reply, Unposted> {
    let headers = vec![("content-type", "application/json".to_owned()), ("x-id", "7".to_owned())];
    let timeout = Duration::from_secs(2);
    post(&Post { to, headers, body: b"{\"a\":1}", timeout, answer_bytes_max: 8 })
}

#[test]
fn a_post_arrives_as_it_was_made_and_its_answer_is_read_as_far_as_asked_for() {
    let (to, heard) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nabcdefghijkl");
    let reply = try_post(&to).expect("an answer");
    assert_eq!((reply.status, reply.is_success(), &*reply.body), (200, true, &b"abcdefgh"[..]));
    let heard = heard.join().expect("heard");
    assert!(heard.starts_with("POST /services/T0/secret HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains("x-id: 7\r\n") && heard.ends_with("\r\n\r\n{\"a\":1}"), "{heard}");
    assert!(heard.contains("user-agent: adjutant/"), "{heard}");
}

#[test]
fn a_redirect_is_an_answer_and_is_not_followed() {
    let there =
        b"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let (to, heard) = server(there);
    assert_eq!(try_post(&to).expect("an answer").status, 307);
    heard.join().expect("heard");
}

#[test]
fn an_answer_says_when_to_come_again() {
    for (head, expected) in [
        ("Retry-After: 17", Some(17)),
        ("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
        ("Retry-After: soon", None),
        ("Retry-After: -3", None),
        ("Other: 1", None),
    ] {
        let text = format!("HTTP/1.1 429 No\r\n{head}\r\nContent-Length: 0\r\n\r\n");
        let (to, heard) = server(text.leak().as_bytes());
        let reply = try_post(&to).expect("an answer");
        assert_eq!(reply.status, 429);
        assert_eq!(reply.retry_after.map(|wait| wait.as_secs()), expected, "{head}");
        heard.join().expect("heard");
    }
}

#[test]
fn who_cannot_be_reached_is_told_from_who_does_not_answer_and_neither_by_what_is_secret() {
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
    let nobody = Address::parse(&format!("http://{nobody}/services/secret")).expect("an address");
    let error = try_post(&nobody).expect_err("nobody is there");
    assert!(matches!(error, Unposted::NotSent { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    for answer in [&b""[..], b"SSH-2.0-hello\r\n"] {
        let (to, heard) = server(answer);
        let error = try_post(&to).expect_err("no answer");
        assert!(matches!(error, Unposted::Unanswered { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        heard.join().expect("heard");
    }
}

#[test]
fn who_takes_too_long_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = format!("http://{}/x", listener.local_addr().expect("an address"));
    let to = Address::parse(&to).expect("an address");
    let timeout = Duration::from_millis(100);
    let slow = Post { to: &to, headers: vec![], body: b"", timeout, answer_bytes_max: 0 };
    let error = post(&slow).expect_err("nobody answers");
    assert!(matches!(error, Unposted::Unanswered { .. }), "{error}");
}

#[test]
fn an_address_is_shown_without_what_leads_there() {
    let shown = |text: &str| Address::parse(text).map(|address| format!("{address} {address:?}"));
    let hook = "https://hooks.slack.com/services/T0/B0/secret?also=secret";
    let expected = "https://hooks.slack.com/… Address(https://hooks.slack.com/…)";
    assert_eq!(shown(hook), Ok(expected.to_owned()));
    assert_eq!(shown(" http://[::1]:80/\n"), Ok("http://[::1]:80 Address(http://[::1]:80)".into()));
    for (bad, why) in [
        ("", BadAddress::Unreadable),
        ("example.com/x", BadAddress::Unreadable),
        ("ftp://example.com/", BadAddress::NotHttp),
        ("https://me:secret@example.com/", BadAddress::HasPassword),
        ("https://", BadAddress::Unreadable),
        ("https:///x", BadAddress::Unreadable),
        ("not an address", BadAddress::Unreadable),
    ] {
        assert_eq!(Address::parse(bad), Err(why.clone()), "{bad:?}");
        assert!(!why.to_string().contains("secret"));
    }
}
