//! A text's length and hash, so that nobody keeps the text to see whether it went on. It must not depend on a seed.

/// The print of a text that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    len: usize,
    hash: u64,
}

impl Default for Print {
    fn default() -> Self {
        Print { len: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Print {
    /// The print of several texts, one after the other.
    pub(crate) fn of(parts: &[&str]) -> Print {
        let mut print = Print::default();
        for part in parts {
            print.push(part);
        }
        print
    }

    /// The text grows.
    pub(crate) fn push(&mut self, text: &str) {
        self.len = self.len.saturating_add(text.len());
        // FNV-1a: it has no seed, and pushing a text in pieces is pushing it whole.
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// What `text` has beyond the text of this print, when it goes on from it.
    pub(crate) fn rest_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (head, rest) = text.split_at_checked(self.len)?;
        (Print::of(&[head]) == *self).then_some(rest)
    }
}
