//! What becomes of a tool call: its input, a person's decision, its result.

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::action::delegates;
use parlor_model::block::Block;
use parlor_model::event::{Ask, Decision};
use parlor_model::json::Json;
use parlor_model::tool::{Output, Tool, ToolState};

use super::Transcript;

impl Transcript {
    /// Collects streamed input; the entry shows it each time it has grown by an eighth, so that the cost of copying
    /// stays in proportion to the input.
    pub(super) fn grow_input(&mut self, index: usize, more: &str) {
        let (input, shown) = self.inputs.entry(index).or_default();
        input.push_str(more);
        if input.len() - *shown > *shown / 8 {
            self.show_input(index);
        }
    }

    pub(super) fn show_input(&mut self, index: usize) {
        if let Some((input, shown)) = self.inputs.get_mut(&index)
            && let Block::Tool(tool) = &mut self.entries[index].block
        {
            *shown = input.len();
            tool.input = Json::new(Bytes::copy_from_slice(input.as_bytes()));
        }
    }

    /// The one path by which a tool call gets its result.
    pub(super) fn result(&mut self, key: &Key, name: Option<Key>, state: ToolState, mut output: Box<Output>) {
        let known = self.index.get(key).copied();
        let index = match known.filter(|index| matches!(self.entries[*index].block, Block::Tool(_))) {
            Some(index) => index,
            None => {
                let orphan = Tool { name: name.unwrap_or_default(), orphan: true, ..Tool::default() };
                let key = if known.is_some() { format!("{key}/result").into() } else { key.clone() };
                self.find_or_open(&key, || Block::Tool(Box::new(orphan)))
            }
        };
        self.show_input(index);
        let entry = &mut self.entries[index];
        entry.ended = self.at;
        if let Block::Tool(tool) = &mut entry.block {
            if let Some(streamed) = tool.output.take().filter(|_| output.parts.is_empty()) {
                output.parts = streamed.parts;
            }
            // A call that a stop cut off stays cut off when its error comes in late.
            let cut = tool.state == ToolState::Interrupted && state == ToolState::Failed;
            if state == ToolState::Failed && !cut && tool.state != ToolState::Failed {
                self.session.counts.failed += 1;
            }
            tool.state = if cut { ToolState::Interrupted } else { state };
            tool.ask = None;
            tool.output = Some(output);
        }
        self.total(index);
        self.open.remove(&index);
        self.open_under.remove(&index);
        self.phase.returned(index, &mut self.session.phase);
        self.touched.push(index);
    }

    /// What a subagent has done: as the result of its call says, and where that says nothing, as many calls as there are under
    /// it. The two come in any order: a result may be there long before the work is.
    pub(super) fn total(&mut self, index: usize) {
        let Block::Tool(tool) = &mut self.entries[index].block else { return };
        let counted = self.calls_under.get(&index).copied();
        if counted.is_none() && tool.subagent.is_none() && !delegates(&tool.name) {
            return;
        }
        let told = tool.output.as_ref().and_then(|output| output.totals.clone());
        let Some(mut totals) =
            told.or_else(|| tool.subagent.take()).or_else(|| counted.map(|_| Box::default()))
        else {
            return;
        };
        let said = tool.output.as_ref().and_then(|output| output.totals.as_ref()?.tools);
        totals.tools = said.or(counted).or(totals.tools);
        tool.subagent = Some(totals);
    }

    pub(super) fn ask(&mut self, key: Key, ask: Option<Ask>) {
        let Some(index) = self.index.get(&key).copied() else {
            match ask {
                Some(ask) => self.asks.insert(key, ask),
                None => self.asks.remove(&key),
            };
            return;
        };
        let Block::Tool(tool) = &mut self.entries[index].block else { return };
        if tool.state.is_final() {
            return;
        }
        tool.state = if ask.is_some() { ToolState::Waiting } else { ToolState::Running };
        tool.ask = ask.map(Box::new);
        self.touched.push(index);
        self.moved(index);
    }

    /// A decision stays with its call; what it waited on is settled by it.
    pub(super) fn decide(&mut self, key: &Key, decision: Decision) {
        let Some(index) = self.index.get(key).copied() else { return };
        let Block::Tool(tool) = &mut self.entries[index].block else { return };
        tool.decision = Some(Box::new(decision));
        self.touched.push(index);
        if tool.ask.is_some() {
            self.ask(key.clone(), None);
        }
    }
}
