//! Any bytes as the log of a session: agents' lines, stderr, orders and what Parlor saw.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::house(data));
