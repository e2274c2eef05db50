//! Any bytes as lines of the format they look like, for terminals and files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::terminal(data));
