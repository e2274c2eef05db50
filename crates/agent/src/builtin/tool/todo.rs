//! The list of steps. It is kept in the conversation itself: the call is what the person sees.

use serde::Deserialize;

use super::Outcome;

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct TodoWrite {
    todos: Vec<Todo>,
}

#[derive(Debug, Deserialize)]
struct Todo {
    #[serde(rename = "content")]
    _content: String,
    status: Status,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl TodoWrite {
    pub(crate) fn run(&self) -> Outcome {
        let count = |status: Status| self.todos.iter().filter(|todo| todo.status == status).count();
        let (active, pending, done) =
            (count(Status::InProgress), count(Status::Pending), count(Status::Completed));
        Outcome::done(format!("The list is noted: {done} done, {active} in progress, {pending} to do."))
    }
}
