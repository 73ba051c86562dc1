//! Fuzz target: what a run writes to its proxy.

use adjutant_core::network::TargetHost;
use adjutant_runs::network::proxy_request::{
    HttpRequestKind, parse_http, parse_socks, parse_socks_greeting,
};

/// Requests to the proxy of a run, which the run writes. A host that is accepted has one form, and a
/// forwarded head is a single request to it.
pub fn proxy_request(bytes: &[u8]) {
    if let Ok(Some(request)) = parse_http(bytes) {
        assert!(request.head_bytes <= bytes.len());
        check_host(&request.host);
        if let HttpRequestKind::Forward { head } = request.kind {
            check_head(&head, &request.host);
        }
        let shorter = parse_http(&bytes[..request.head_bytes - 1]);
        assert!(!matches!(shorter, Ok(Some(_))), "one head is read: {shorter:?}");
    }
    if let Some((length, _)) = parse_socks_greeting(bytes) {
        assert!(length <= bytes.len());
    }
    if let Ok(Some(request)) = parse_socks(bytes) {
        assert!(request.bytes <= bytes.len() && request.port > 0);
        check_host(&request.host);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok((host, _)) = TargetHost::parse_with_port(text)
    {
        check_host(&host);
    }
}

/// The text of a host is the host again, and has nothing that another program could read differently.
fn check_host(host: &TargetHost) {
    let text = host.to_string();
    assert_eq!(TargetHost::parse(&text).as_ref(), Ok(host));
    assert_eq!(TargetHost::parse_with_port(&host.with_port(80)), Ok((host.clone(), Some(80))));
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"@/\\?#%*".contains(&byte);
    assert!(text.bytes().all(is_plain), "{text:?}");
}

/// A head has one `Host`, which is the one that was judged, and ends where it should.
fn check_head(head: &[u8], host: &TargetHost) {
    assert_eq!(head.windows(4).filter(|part| part == b"\r\n\r\n").count(), 1);
    assert!(head.ends_with(b"\r\nConnection: close\r\n\r\n"));
    let lines: Vec<Vec<u8>> =
        head.split(|byte| *byte == b'\n').map(<[u8]>::to_ascii_lowercase).collect();
    let hosts: Vec<&Vec<u8>> = lines.iter().filter(|line| line.starts_with(b"host:")).collect();
    let [line] = &hosts[..] else { panic!("{} hosts", hosts.len()) };
    let named = host.to_string().to_ascii_lowercase();
    assert!(String::from_utf8_lossy(line).contains(&named));
}
