//! Prompts that wait, in the order in which they will be handed over. The reader of a log and the actor that hands them
//! over keep the same queue by the same rules; what a place in it holds is theirs.

use crate::Key;

/// What waits, each by the name of its order.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    places: Vec<(Key, T)>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { places: Vec::new() }
    }
}

impl<T> Queue<T> {
    /// Puts something at the end.
    pub fn push(&mut self, id: Key, waiting: T) {
        self.places.push((id, waiting));
    }

    /// Takes something out.
    pub fn remove(&mut self, id: &str) -> Option<T> {
        self.position(id).map(|place| self.places.remove(place).1)
    }

    /// Puts something before another, or at the end.
    pub fn shift(&mut self, id: &str, before: Option<&str>) {
        if let Some(from) = self.position(id) {
            let moved = self.places.remove(from);
            let place = before.and_then(|before| self.position(before));
            self.places.insert(place.unwrap_or(self.places.len()), moved);
        }
    }

    /// What waits under this name, to be changed.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.position(id).map(|place| &mut self.places[place].1)
    }

    /// What comes next.
    pub fn first(&self) -> Option<&(Key, T)> {
        self.places.first()
    }

    /// All that waits, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Key, T)> {
        self.places.iter()
    }

    /// Whether something waits under this name.
    pub fn contains(&self, id: &str) -> bool {
        self.position(id).is_some()
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.places.iter().position(|(known, _)| known == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(queue: &Queue<u8>) -> String {
        queue.iter().map(|(id, _)| id.as_str()).collect()
    }

    #[test]
    fn a_queue_keeps_its_order_through_every_change() {
        let mut queue = Queue::default();
        for (number, id) in ["a", "b", "c"].into_iter().enumerate() {
            queue.push(id.into(), number as u8);
        }
        queue.shift("c", Some("a"));
        assert_eq!(order(&queue), "cab");
        queue.shift("c", None);
        assert_eq!(order(&queue), "abc");
        queue.shift("a", Some("nobody"));
        assert_eq!(order(&queue), "bca", "before nobody is the end");
        queue.shift("nobody", Some("a"));
        assert_eq!((queue.remove("c"), queue.remove("c")), (Some(2), None));
        assert_eq!((order(&queue).as_str(), queue.contains("b"), queue.is_empty()), ("ba", true, false));
    }
}
