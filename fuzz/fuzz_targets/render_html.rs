//! Any bytes as lines of the format they look like, as a page.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| parlor_fuzz::render_html(data));
