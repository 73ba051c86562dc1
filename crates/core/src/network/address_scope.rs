//! Whether an address is one of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is public: it leads neither to this machine nor to its own networks,
/// in whatever form it is written.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        // This network, private networks, loopback; multicast and reserved.
        (0 | 10 | 127 | 224.., _, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            // Shared between providers and their customers; link-local.
            | (100, 64..=127, _)
            | (169, 254, _)
            // Protocol assignments, documentation, 6to4 relays and benchmarks.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64 and 6to4: the gateway connects to the IPv4 address at the end or in the prefix.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        }
        // Teredo and other protocol assignments, and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Everything else that is routed on the internet.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_told_from_all_others() {
        let is = |text: &str| is_public(text.parse().expect("an address"));
        for public in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.1.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "64:ff9b::101:101",
            "::ffff:1.1.1.1",
            "2002:101:101::1",
        ] {
            assert!(is(public), "{public}");
        }
        for other in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::101:101",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
