//! Where an entry stands: whose bubble it is in, and which run of reads it belongs to. It never looks at texts.

use parlor_model::Key;
use parlor_model::action::explores;
use parlor_model::block::{Author, Block};
use parlor_model::entry::Entry;

/// Whose bubble an entry is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Person,
    Agent,
    Other,
}

/// True when `block` opens a new bubble after `before`. Each prompt has a bubble of its own.
pub(crate) fn opens(before: Option<&Entry>, block: &Block) -> bool {
    let owner = owner(block);
    owner == Owner::Person || before.is_none_or(|before| self::owner(&before.block) != owner)
}

/// The run of reads and searches that `block` goes on with or begins, named by its first entry: an entry's place never
/// changes, so that the first must know its run before there is a second.
pub(crate) fn group(before: Option<&Entry>, key: &Key, block: &Block) -> Option<Key> {
    let run = || before.filter(|before| is_look(&before.block)).and_then(|before| before.group.clone());
    is_look(block).then(|| run().unwrap_or_else(|| key.clone()))
}

fn is_look(block: &Block) -> bool {
    matches!(block, Block::Tool(tool) if explores(&tool.name))
}

fn owner(block: &Block) -> Owner {
    match block {
        Block::Prompt(prompt) => match prompt.author {
            Author::Person | Author::Peer { .. } | Author::Caller => Owner::Person,
            Author::Machine => Owner::Other,
        },
        Block::Reply(_) | Block::Thought(_) | Block::Tool(_) => Owner::Agent,
        Block::Notice(_) | Block::Unknown(_) => Owner::Other,
    }
}
