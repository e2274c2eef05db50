//! Any bytes as lines of `bridge`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use parlor_dialect::Format;

fuzz_target!(|data: &[u8]| parlor_fuzz::dialect(Format::Bridge, data));
