//! Where the house listens, and for whom. It opens nothing.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Where the house listens.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address; loopback unless `allow_remote` is set.
    pub bind: IpAddr,
    /// The port; 0 for any.
    pub port: u16,
    /// True when the user said that other machines may connect.
    pub allow_remote: bool,
    /// Further names by which browsers may call this machine, such as that of a proxy in front of it.
    pub hosts: Vec<String>,
    /// The user's home folder, which clients offer as a place to work.
    pub home: PathBuf,
}

/// The usual port: `PARL` on a telephone's keys.
pub const PORT: u16 = 7275;

impl Default for Config {
    fn default() -> Self {
        Config {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PORT,
            allow_remote: false,
            hosts: Vec::new(),
            home: std::env::home_dir().unwrap_or_default(),
        }
    }
}
