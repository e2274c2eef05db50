//! The words for kinds of notices, the same in every profile.

use parlor_model::block::NoticeKind;

/// The word for a kind of notice.
pub(crate) fn word(kind: &NoticeKind) -> &str {
    match kind {
        NoticeKind::Info => "info",
        NoticeKind::Warning => "warning",
        NoticeKind::Error => "error",
        NoticeKind::Retry => "retry",
        NoticeKind::Interrupted => "interrupted",
        NoticeKind::Compaction { .. } => "compaction",
        NoticeKind::Command { .. } => "command",
        NoticeKind::Hook { .. } => "hook",
        NoticeKind::Task => "task",
        NoticeKind::Diff => "diff",
        NoticeKind::Result => "result",
        NoticeKind::Status { name } => name,
    }
}
