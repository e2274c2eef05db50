//! How often something may happen: so many at once, and so many a second after that.

use tokio::time::Instant;

/// A bucket that fills again with time.
#[derive(Debug)]
pub(crate) struct Bucket {
    size: f64,
    per_second: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(crate) fn new(size: u32, per_second: u32) -> Bucket {
        let size = f64::from(size);
        Bucket { size, per_second: f64::from(per_second), left: size, at: Instant::now() }
    }

    /// Takes one out. False when there is none.
    pub(crate) fn take(&mut self) -> bool {
        self.fill();
        let some = self.left >= 1.0;
        if some {
            self.left -= 1.0;
        }
        some
    }

    /// True when there is none.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.fill();
        self.left < 1.0
    }

    fn fill(&mut self) {
        let now = Instant::now();
        let seconds = now.duration_since(self.at).as_secs_f64();
        self.left = (self.left + seconds * self.per_second).min(self.size);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_and_fills() {
        let mut bucket = Bucket::new(3, 2);
        assert_eq!([bucket.take(), bucket.take(), bucket.take(), bucket.take()], [true, true, true, false]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!([bucket.take(), bucket.take(), bucket.take()], [true, true, false]);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(!bucket.is_empty());
        assert_eq!((0..9).filter(|_| bucket.take()).count(), 3, "it holds no more than its size");
    }
}
