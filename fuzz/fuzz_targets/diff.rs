//! Any two texts as an edit, and any text as a patch.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::diff(data));
