//! Which addresses are the open internet's. Everything else is refused to what the model wants to fetch: this machine, its
//! networks, and the clouds' own services.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for an address that anybody in the world can reach.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || address.is_documentation();
    // "This" network, carriers' own, protocol assignments, benchmarks, and what is reserved.
    let is_reserved = a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    !is_special && !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let inner = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // An IPv4 address in other clothes: mapped, compatible, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => is_public_v4(inner(high, low)),
        // A tunnel, and what is only for documentation.
        [0x2001, 0 | 0xdb8, ..] | [0x64, 0xff9b, 1, ..] => false,
        // Only this part of the space is in use.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_open_internet_is_public() {
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
