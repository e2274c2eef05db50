//! Any text as what a program wrote.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::ansi(data));
