//! Any text as the Markdown of a reply.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::markdown(data));
