//! Posts to plain sockets that send the replies written here.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use super::*;

/// Answers one caller with these bytes, and returns the request.
fn server(answer: &'static [u8]) -> (PostUrl, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let to = PostUrl::parse(&format!("http://127.0.0.1:{port}/services/T0/secret")).expect("one");
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a caller");
        let heard = request(&mut stream);
        let _ = stream.write_all(answer);
        heard
    });
    (to, heard)
}

/// Reads a request including its body.
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

fn try_post(to: &PostUrl) -> Result<PostReply, PostError> {
    let headers = vec![("content-type", "application/json".to_owned()), ("x-id", "7".to_owned())];
    let timeout = Duration::from_secs(2);
    post(&PostRequest { to, headers, body: b"{\"a\":1}", timeout, answer_bytes_max: 8 })
}

#[test]
fn post_arrives_unchanged_and_reply_is_read_up_to_limit() {
    let (to, heard) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nabcdefghijkl");
    let reply = try_post(&to).expect("an answer");
    assert_eq!((reply.status, reply.is_success(), &*reply.body), (200, true, &b"abcdefgh"[..]));
    let heard = heard.join().expect("heard");
    assert!(heard.starts_with("POST /services/T0/secret HTTP/1.1\r\n"), "{heard}");
    assert!(heard.contains("x-id: 7\r\n") && heard.ends_with("\r\n\r\n{\"a\":1}"), "{heard}");
    assert!(heard.contains("user-agent: adjutant/"), "{heard}");
}

#[test]
fn post_does_not_follow_redirect() {
    let there =
        b"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let (to, heard) = server(there);
    assert_eq!(try_post(&to).expect("an answer").status, 307);
    heard.join().expect("heard");
}

#[test]
fn reply_retry_after_is_parsed() {
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
fn post_error_tells_unsent_from_unanswered_without_the_path() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
    let closed = PostUrl::parse(&format!("http://{closed}/services/secret")).expect("an address");
    let error = try_post(&closed).expect_err("no server listens");
    assert!(matches!(error, PostError::NotSent { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    for answer in [&b""[..], b"SSH-2.0-hello\r\n"] {
        let (to, heard) = server(answer);
        let error = try_post(&to).expect_err("no answer");
        assert!(matches!(error, PostError::Unanswered { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        heard.join().expect("heard");
    }
}

#[test]
fn post_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = format!("http://{}/x", listener.local_addr().expect("an address"));
    let to = PostUrl::parse(&to).expect("an address");
    let timeout = Duration::from_millis(100);
    let slow = PostRequest { to: &to, headers: vec![], body: b"", timeout, answer_bytes_max: 0 };
    let error = post(&slow).expect_err("no answer comes");
    assert!(matches!(error, PostError::Unanswered { .. }), "{error}");
}

#[test]
fn address_is_shown_without_path_and_query() {
    let shown = |text: &str| PostUrl::parse(text).map(|address| format!("{address} {address:?}"));
    let hook = "https://hooks.slack.com/services/T0/B0/secret?also=secret";
    let expected = "https://hooks.slack.com/… Address(https://hooks.slack.com/…)";
    assert_eq!(shown(hook), Ok(expected.to_owned()));
    assert_eq!(shown(" http://[::1]:80/\n"), Ok("http://[::1]:80 Address(http://[::1]:80)".into()));
    for (bad, why) in [
        ("", PostUrlError::Unreadable),
        ("example.com/x", PostUrlError::Unreadable),
        ("ftp://example.com/", PostUrlError::NotHttp),
        ("https://me:secret@example.com/", PostUrlError::HasPassword),
        ("https://", PostUrlError::Unreadable),
        ("https:///x", PostUrlError::Unreadable),
        ("not an address", PostUrlError::Unreadable),
    ] {
        assert_eq!(PostUrl::parse(bad), Err(why.clone()), "{bad:?}");
        assert!(!why.to_string().contains("secret"));
    }
}
