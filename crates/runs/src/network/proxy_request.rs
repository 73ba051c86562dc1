//! Parses what a client asks of the proxy: an HTTP request or SOCKS5. Knows no rule and does no IO.

use adjutant_core::network::TargetHost;

/// The most bytes of an HTTP head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 100;

/// The first byte of SOCKS5; no HTTP request begins with it.
pub const SOCKS_VERSION: u8 = 5;

/// What a client asks for by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub host: TargetHost,
    pub port: u16,
    pub kind: HttpRequestKind,
    /// The length of the head; what follows is for the host.
    pub head_bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpRequestKind {
    /// A tunnel: all that follows is relayed.
    Connect,
    /// A request for an `http://` address, with the head that the host gets.
    Forward { head: Vec<u8> },
}

/// Why a request is refused before its host is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFault {
    /// The head is not valid HTTP, or too long.
    Malformed,
    /// The target is neither `host:port` of a CONNECT nor an `http://` address.
    Target,
}

/// Parses the head of an HTTP request; `None` if it is not complete yet.
pub fn parse_http(bytes: &[u8]) -> Result<Option<HttpRequest>, RequestFault> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
        Ok(httparse::Status::Partial) | Err(_) => return Err(RequestFault::Malformed),
    };
    let (Some(method), Some(target)) = (request.method, request.path) else {
        return Err(RequestFault::Malformed);
    };
    if method == "CONNECT" {
        let (host, port) = TargetHost::parse_with_port(target).map_err(|_| RequestFault::Target)?;
        let port = port.ok_or(RequestFault::Target)?;
        return Ok(Some(HttpRequest { host, port, kind: HttpRequestKind::Connect, head_bytes }));
    }
    let (authority, path) = split_address(target).ok_or(RequestFault::Target)?;
    let (host, port) = TargetHost::parse_with_port(authority).map_err(|_| RequestFault::Target)?;
    let port = port.unwrap_or(80);
    let head = forwarded_head(method, path, &host, port, request.headers);
    Ok(Some(HttpRequest { host, port, kind: HttpRequestKind::Forward { head }, head_bytes }))
}

/// Splits an `http://` address into its host with the port, and the path with the query.
fn split_address(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    (!path.contains('#')).then_some((authority, path))
}

/// Writes the head that the host gets. Its `Host` is that of the address, whatever the client said,
/// and the connection serves this one request.
fn forwarded_head(
    method: &str,
    path: &str,
    host: &TargetHost,
    port: u16,
    headers: &[httparse::Header<'_>],
) -> Vec<u8> {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let name = match (host, port) {
        (TargetHost::Name(name), 80) => name.clone(),
        (_, _) => host.with_port(port),
    };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {name}\r\n").into_bytes();
    for header in headers.iter().filter(|header| !is_for_proxy(header.name)) {
        head.extend_from_slice(header.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(header.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

/// Returns whether a header concerns the connection to the proxy and not the host.
fn is_for_proxy(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(&*name, "host" | "connection" | "keep-alive" | "upgrade") || name.starts_with("proxy-")
}

/// What a client asks for by SOCKS5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocksRequest {
    pub host: TargetHost,
    pub port: u16,
    pub bytes: usize,
}

/// Why a SOCKS5 request is refused before its host is looked at: the code of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocksFault {
    General = 1,
    NotAllowed = 2,
    Unreachable = 4,
    Command = 7,
    AddressType = 8,
}

/// Parses the greeting of a SOCKS5 client: returns its length and whether the client offers to go
/// without a password; `None` if it is not complete yet.
pub fn parse_socks_greeting(bytes: &[u8]) -> Option<(usize, bool)> {
    let count = usize::from(*bytes.get(1)?);
    let methods = bytes.get(2..2 + count)?;
    Some((2 + count, methods.contains(&0)))
}

/// Parses a SOCKS5 request; `None` if it is not complete yet.
pub fn parse_socks(bytes: &[u8]) -> Result<Option<SocksRequest>, SocksFault> {
    let [version, command, _, kind, rest @ ..] = bytes else { return Ok(None) };
    match (*version, *command) {
        (SOCKS_VERSION, 1) => {}
        (SOCKS_VERSION, _) => return Err(SocksFault::Command),
        (_, _) => return Err(SocksFault::General),
    }
    let (skipped, length) = match (kind, rest) {
        (1, _) => (0, 4),
        (4, _) => (0, 16),
        (3, []) => return Ok(None),
        (3, [length, ..]) => (1, usize::from(*length)),
        (_, _) => return Err(SocksFault::AddressType),
    };
    let end = skipped + length;
    let (Some(host), Some(port)) = (rest.get(skipped..end), rest.get(end..end + 2)) else {
        return Ok(None);
    };
    let host = match kind {
        1 => <[u8; 4]>::try_from(host).map(|octets| TargetHost::Address(octets.into())).ok(),
        4 => <[u8; 16]>::try_from(host)
            .map(|octets| TargetHost::Address(std::net::IpAddr::from(octets).to_canonical()))
            .ok(),
        _ => std::str::from_utf8(host).ok().and_then(|text| TargetHost::parse(text).ok()),
    };
    let port = u16::from_be_bytes([port[0], port[1]]);
    match host {
        Some(host) if port > 0 => Ok(Some(SocksRequest { host, port, bytes: 4 + end + 2 })),
        Some(_) | None => Err(SocksFault::NotAllowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(text: &str) -> Result<Option<HttpRequest>, RequestFault> {
        parse_http(text.as_bytes())
    }

    fn forwarded(text: &str) -> (String, String) {
        let request = http(text).expect("valid").expect("complete");
        let HttpRequestKind::Forward { head } = request.kind else { panic!("not forwarded") };
        (request.host.with_port(request.port), String::from_utf8(head).expect("text"))
    }

    #[test]
    fn http_connect_names_its_host() {
        let text = "CONNECT API.example.com.:443 HTTP/1.1\r\nHost: other\r\n\r\nmore";
        let request = http(text).expect("valid").expect("complete");
        assert_eq!(request.host, TargetHost::Name("api.example.com".to_owned()));
        assert_eq!((request.port, request.kind), (443, HttpRequestKind::Connect));
        assert_eq!(&text[request.head_bytes..], "more");
        assert_eq!(http("CONNECT a.b:443 HTTP/1.1\r\n"), Ok(None));
    }

    #[test]
    fn http_address_becomes_request_to_its_host_alone() {
        let (host, head) = forwarded(
            "GET http://Example.com/a?b=c HTTP/1.1\r\nHost: other.example\r\nAccept: x\r\n\
             Proxy-Authorization: secret\r\nConnection: keep-alive\r\n\r\n",
        );
        assert_eq!(host, "example.com:80");
        assert_eq!(
            head,
            "GET /a?b=c HTTP/1.1\r\nHost: example.com\r\nAccept: x\r\nConnection: close\r\n\r\n"
        );
        let (host, head) = forwarded("POST http://[::1]:8080 HTTP/1.0\r\n\r\n");
        assert_eq!(host, "[::1]:8080");
        assert!(head.starts_with("POST / HTTP/1.1\r\nHost: [::1]:8080\r\n"), "{head}");
        assert!(forwarded("GET http://a.b?c HTTP/1.1\r\n\r\n").1.starts_with("GET /?c "));
    }

    #[test]
    fn http_request_that_could_be_read_differently_is_refused() {
        for target in [
            "http://user@example.com/",
            "http://user:pass@example.com/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://example.com\\@other/",
            "http://exam%70le.com/",
            "http://[fe80::1%25eth0]/",
            "http://example.com:99999/",
            "http://example.com#@other/",
            "https://example.com/",
            "ftp://example.com/",
            "/path",
            "example.com:80",
            "http:///",
            "http://:80/",
        ] {
            let text = format!("GET {target} HTTP/1.1\r\n\r\n");
            assert!(parse_http(text.as_bytes()).is_err(), "{target}");
        }
        for target in ["example.com", "user@example.com:443", "http://a.b:443", "[::1%1]:443"] {
            let text = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
            assert_eq!(http(&text), Err(RequestFault::Target), "{target}");
        }
        for text in
            ["\r\nCONNECT a.b:443\r\n\r\n", "CONNECT a b:443 HTTP/1.1\r\n\r\n", "\x01\x02\r\n\r\n"]
        {
            assert_eq!(http(text), Err(RequestFault::Malformed), "{text:?}");
        }
        let long = format!("GET http://a.b/ HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(http(&long), Err(RequestFault::Malformed));
    }

    #[test]
    fn socks_request_names_host_or_address() {
        assert_eq!(parse_socks_greeting(&[5, 2, 2, 0, 9]), Some((4, true)));
        assert_eq!(parse_socks_greeting(&[5, 1, 2]), Some((3, false)));
        assert_eq!(parse_socks_greeting(&[5, 1]), None);
        let name = [&[5, 1, 0, 3, 4][..], b"A.b.", &[1, 187]].concat();
        let request = parse_socks(&name).expect("valid").expect("complete");
        assert_eq!(request.host.with_port(request.port), "a.b:443");
        assert_eq!(request.bytes, name.len());
        for length in 0..name.len() {
            assert_eq!(parse_socks(&name[..length]), Ok(None), "{length}");
        }
        let four = parse_socks(&[5, 1, 0, 1, 127, 0, 0, 1, 0, 80]).expect("valid");
        assert_eq!(four.expect("complete").host.to_string(), "127.0.0.1");
        let mapped = [&[5, 1, 0, 4][..], &[0; 10], &[255, 255, 10, 0, 0, 1, 0, 80]].concat();
        let six = parse_socks(&mapped).expect("valid").expect("complete");
        assert_eq!(six.host.to_string(), "10.0.0.1");
        assert_eq!(parse_socks(&[5, 2, 0, 1]), Err(SocksFault::Command));
        assert_eq!(parse_socks(&[5, 1, 0, 9, 0]), Err(SocksFault::AddressType));
        assert_eq!(parse_socks(&[4, 1, 0, 1]), Err(SocksFault::General));
        let bad = [&[5, 1, 0, 3, 5][..], b"a\r\nb:", &[0, 80]].concat();
        assert_eq!(parse_socks(&bad), Err(SocksFault::NotAllowed));
        let zero = [&[5, 1, 0, 3, 3][..], b"a.b", &[0, 0]].concat();
        assert_eq!(parse_socks(&zero), Err(SocksFault::NotAllowed));
    }
}
