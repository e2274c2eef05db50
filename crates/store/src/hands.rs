//! The two threads that write the log. Both do the same: whoever is free writes what waits, and whoever has written something
//! that is to be durable goes on to the disk with it, while the other one writes. It must not know tables.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::disk::Disk;
use crate::queue::Queue;
use crate::writer::{Work, Writer};

/// What both threads share.
pub(crate) struct Hands {
    queue: Arc<Queue<Work>>,
    disk: Arc<Disk>,
    /// Only whoever has the turn takes it.
    writer: Mutex<Writer>,
}

/// One would make everybody wait for the disk; more than one can never wait for it.
const COUNT: usize = 2;

impl Hands {
    /// Begins to work for a queue, and ends when it is closed and empty. `held` is let go of at the very end.
    pub(crate) fn start<H: Send + Sync + 'static>(
        writer: Writer,
        queue: Arc<Queue<Work>>,
        held: H,
    ) -> std::io::Result<Vec<JoinHandle<()>>> {
        let hands = Hands { queue, disk: writer.disk(), writer: Mutex::new(writer) };
        // In this order: what is held must outlast the files.
        let shared = Arc::new((hands, held));
        let hand = |_| {
            let shared = shared.clone();
            let work = move || shared.0.work();
            std::thread::Builder::new().name("parlor-log".to_owned()).spawn(work)
        };
        let threads: std::io::Result<Vec<_>> = (0..COUNT).map(hand).collect();
        if threads.is_err() {
            // One alone would hold the files for ever.
            shared.0.queue.close();
        }
        threads
    }

    fn work(&self) {
        let mut last = None;
        while let Some(mut turn) = self.queue.take_share(last.take(), |waiting| self.share(waiting)) {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write(std::mem::take(&mut turn.items), &turn.bell);
            if writer.is_long() {
                // Who waits is answered first.
                self.disk.turn().into_iter().for_each(|turn| self.disk.settle(turn));
                writer.shorten();
            }
            drop(writer);
            match self.disk.turn() {
                Some(waiting) => {
                    drop(turn);
                    self.disk.settle(waiting);
                }
                None => last = Some(turn),
            }
        }
    }

    /// How much of what waits is written in one commit: all of it, but no more than half of all who wait for an answer while
    /// others wait for the disk. Otherwise many would wait together, then few, and while those few are at the disk there
    /// would be nothing to write.
    fn share(&self, waiting: usize) -> usize {
        match self.disk.waiting() {
            0 => waiting,
            others => (waiting + others).div_ceil(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::disk::Committed;
    use crate::log::Safety;
    use crate::ticket::{Answer, Ticket};
    use crate::writer::tests::{append, writer_with};

    /// Longer than anything here takes, so that a fault is red and not for ever.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn write(queue: &Queue<Work>, safety: Safety) -> Ticket {
        let mut given = None;
        let make = |bell: &Arc<_>| {
            let (answer, ticket) = Answer::new(bell);
            given = Some(ticket);
            Work { answer, ..append(1, safety) }
        };
        queue.push(make, 1).unwrap();
        given.unwrap()
    }

    #[test]
    fn a_slow_disk_holds_up_nobody_who_does_not_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (begun, begin) = channel();
        let (go, gone) = channel();
        let gone = Mutex::new(gone);
        let writer = writer_with(&folder, move || {
            begun.send(()).unwrap();
            gone.lock().unwrap().recv_timeout(PATIENCE).map_err(std::io::Error::other)
        });
        let queue = Arc::new(Queue::new(usize::MAX, usize::MAX));
        let threads = Hands::start(writer, queue.clone(), ()).unwrap();
        for round in 0..10 {
            let prompt = write(&queue, Safety::Durable);
            begin.recv_timeout(PATIENCE).unwrap();
            assert_eq!(write(&queue, Safety::Soon).wait().unwrap(), 4 * round + 1);
            let other = write(&queue, Safety::Durable);
            // Written, and waiting for the disk as well, once another one is.
            assert_eq!(write(&queue, Safety::Soon).wait().unwrap(), 4 * round + 3);
            go.send(()).unwrap();
            assert_eq!(prompt.wait().unwrap(), 4 * round);
            begin.recv_timeout(PATIENCE).unwrap();
            go.send(()).unwrap();
            assert_eq!(other.wait().unwrap(), 4 * round + 2);
        }
        queue.close();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn while_some_wait_for_the_disk_the_others_are_halved_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer_with(&folder, || Ok(()));
        let queue = Arc::new(Queue::new(usize::MAX, usize::MAX));
        let hands = Hands { queue, disk: writer.disk(), writer: Mutex::new(writer) };
        assert_eq!(hands.share(55), 55, "nobody waits for the disk");
        let bell = Arc::default();
        let answers = (0..9).map(|number| (Answer::new(&bell).0, number)).collect();
        hands.disk.add(Committed { answers, bell });
        assert_eq!([hands.share(55), hands.share(5), hands.share(1)], [32, 7, 5]);
        hands.disk.settle(hands.disk.turn().unwrap());
        assert_eq!(hands.share(55), 55);
    }

    #[test]
    fn what_waits_when_the_queue_is_closed_is_still_done() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer_with(&folder, || Ok(()));
        let queue = Arc::new(Queue::new(usize::MAX, 3));
        let tickets: Vec<Ticket> = (0..20).map(|_| write(&queue, Safety::Durable)).collect();
        let held = Arc::new(());
        let threads = Hands::start(writer, queue.clone(), held.clone()).unwrap();
        queue.close();
        for (expected, ticket) in (0..).zip(tickets) {
            assert_eq!(ticket.wait().unwrap(), expected);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
