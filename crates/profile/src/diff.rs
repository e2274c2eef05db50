//! The lines that differ between two texts. It must not know where the texts come from.

use parlor_model::tool::Hunk;

/// The largest table of line pairs that is worth filling; beyond it all lines count as changed.
const PAIRS: usize = 1 << 20;

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffLine {
    /// The line's number: in the old text for removed lines, else in the new one.
    pub(crate) number: u64,
    /// `-`, `+` or a space.
    pub(crate) sign: char,
    /// The line.
    pub(crate) text: String,
}

/// The lines of `old` and `new`, removed ones before added ones, numbered from `start`.
pub(crate) fn lines(old: &str, new: &str, start: u64) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail =
        old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let mut writer = Writer { old: start, new: start, lines: Vec::new() };
    writer.kept(&old[..head]);
    changed(&old[head..old.len() - tail], &new[head..new.len() - tail], &mut writer);
    writer.kept(&old[old.len() - tail..]);
    writer.lines
}

/// The lines of a hunk that a tool reported, with its own numbers.
pub(crate) fn hunk_lines(hunk: &Hunk) -> Vec<DiffLine> {
    let mut writer = Writer { old: hunk.old_start.max(1), new: hunk.new_start.max(1), lines: Vec::new() };
    for line in &hunk.lines {
        let line = line.as_str();
        let mut letters = line.chars();
        match letters.next() {
            Some('-') => writer.removed(&[letters.as_str()]),
            Some('+') => writer.added(&[letters.as_str()]),
            Some(' ') => writer.kept(&[letters.as_str()]),
            // Remarks such as the missing last line end are no lines.
            Some(_) | None => {}
        }
    }
    writer.lines
}

/// Writes the part between the common head and tail by the longest common subsequence.
fn changed(old: &[&str], new: &[&str], writer: &mut Writer) {
    if old.is_empty() || new.is_empty() || old.len().saturating_mul(new.len()) > PAIRS {
        writer.removed(old);
        writer.added(new);
        return;
    }
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (removed, added) = (i, j);
        while i < old.len() || j < new.len() {
            if i < old.len() && j < new.len() && old[i] == new[j] {
                break;
            }
            let skips_old =
                j == new.len() || common[(i + 1).min(old.len()) * width + j] >= common[i * width + j + 1];
            if i < old.len() && skips_old { i += 1 } else { j += 1 }
        }
        writer.removed(&old[removed..i]);
        writer.added(&new[added..j]);
        if i < old.len() && j < new.len() {
            writer.kept(&old[i..=i]);
            i += 1;
            j += 1;
        }
    }
}

struct Writer {
    old: u64,
    new: u64,
    lines: Vec<DiffLine>,
}

impl Writer {
    fn kept(&mut self, lines: &[&str]) {
        for line in lines {
            self.lines.push(DiffLine { number: self.new, sign: ' ', text: (*line).to_owned() });
            self.old = self.old.saturating_add(1);
            self.new = self.new.saturating_add(1);
        }
    }

    fn removed(&mut self, lines: &[&str]) {
        for line in lines {
            self.lines.push(DiffLine { number: self.old, sign: '-', text: (*line).to_owned() });
            self.old = self.old.saturating_add(1);
        }
    }

    fn added(&mut self, lines: &[&str]) {
        for line in lines {
            self.lines.push(DiffLine { number: self.new, sign: '+', text: (*line).to_owned() });
            self.new = self.new.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[DiffLine]) -> Vec<String> {
        lines.iter().map(|line| format!("{} {}{}", line.number, line.sign, line.text)).collect()
    }

    #[test]
    fn removed_lines_come_before_the_added_ones_that_replace_them() {
        assert_eq!(shown(&lines("a\nb\nc", "a\nB\nB2\nc", 1)), ["1  a", "2 -b", "2 +B", "3 +B2", "4  c"]);
        assert_eq!(shown(&lines("x\ny\nz", "y\nw", 10)), ["10 -x", "10  y", "12 -z", "11 +w"]);
    }

    #[test]
    fn texts_of_any_shape_give_a_diff_that_rebuilds_both() {
        for (old, new) in [
            ("", ""),
            ("", "a"),
            ("a", ""),
            ("a\nb\na\nb", "b\na\nb\na"),
            ("same\nsame\nsame", "same\nsame"),
            ("é\n\n\nü", "\nü\né"),
        ] {
            let diff = lines(old, new, 1);
            let side = |drop: char| -> Vec<&str> {
                diff.iter().filter(|line| line.sign != drop).map(|line| line.text.as_str()).collect()
            };
            assert_eq!(side('+'), old.lines().collect::<Vec<_>>(), "{old:?} {new:?}");
            assert_eq!(side('-'), new.lines().collect::<Vec<_>>(), "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_diff_too_large_to_align_still_shows_every_line() {
        let (old, new) = ("o\n".repeat(2000), "n\n".repeat(2000));
        let diff = lines(&old, &new, 1);
        assert_eq!(diff.len(), 4000);
        assert!(diff[..2000].iter().all(|line| line.sign == '-'));
    }
}
