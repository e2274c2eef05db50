//! How a turn begins and ends: what is still open then is complete, cut off, or interrupted.

use std::collections::BTreeSet;

use parlor_model::block::{Block, Notice, NoticeKind};
use parlor_model::event::Turn;
use parlor_model::session::Phase;
use parlor_model::text::Text;
use parlor_model::tool::ToolState;

use super::Transcript;

impl Transcript {
    pub(super) fn turn(&mut self, turn: Turn) {
        match turn {
            Turn::Start => {
                if self.session.phase == Phase::Idle {
                    self.session.phase = Phase::Preparing;
                }
            }
            Turn::Done => self.settle(false),
            Turn::Failed { error } => {
                self.settle(false);
                // An agent may call the turn failed that a person has stopped.
                let told = |error: &Text| error.is_blank() || self.just_said(error) || self.just_stopped();
                if let Some(error) = error.filter(|error| !told(error)) {
                    self.notice("failed", NoticeKind::Error, error);
                }
            }
            Turn::Interrupted { .. } => {
                self.settle(true);
                // One stop is told by several records: the order, the agent's marker, the final result.
                if !self.just_stopped() {
                    self.notice("interrupted", NoticeKind::Interrupted, "Interrupted".into());
                }
            }
        }
    }

    /// Ends what is still open: text is complete or cut off, and a call without a result was interrupted.
    fn settle(&mut self, interrupted: bool) {
        let mut open = std::mem::take(&mut self.open);
        if interrupted {
            open.append(&mut self.open_under);
        }
        self.close(open, interrupted);
        self.phase.settle(&mut self.session.phase);
    }

    pub(super) fn close(&mut self, open: BTreeSet<usize>, interrupted: bool) {
        for index in open {
            self.show_input(index);
            let at = self.at;
            let entry = &mut self.entries[index];
            match &mut entry.block {
                Block::Reply(reply) if reply.streaming => {
                    reply.streaming = false;
                    reply.interrupted |= interrupted;
                }
                Block::Thought(thought) if thought.streaming => {
                    thought.streaming = false;
                    thought.interrupted |= interrupted;
                }
                Block::Tool(tool) if !tool.state.is_final() => {
                    tool.state = ToolState::Interrupted;
                    tool.ask = None;
                    entry.ended = at;
                }
                _ => continue,
            }
            self.phase.returned(index, &mut self.session.phase);
            self.touched.push(index);
        }
    }

    /// True when a stop is the last thing that happened.
    fn just_stopped(&self) -> bool {
        let last = self.last.map(|index| &self.entries[index].block);
        matches!(last, Some(Block::Notice(Notice { kind: NoticeKind::Interrupted, .. })))
    }

    /// True when the main conversation's last reply says just this.
    fn just_said(&self, text: &Text) -> bool {
        match self.last.map(|index| &self.entries[index].block) {
            Some(Block::Reply(reply)) => reply.text == *text,
            Some(Block::Notice(notice)) => notice.text == *text,
            _ => false,
        }
    }
}
