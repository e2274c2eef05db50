// @ts-check
// How a phase looks: its icon, its motion, its words, and the kind of message that suits it. The same table as the
// house's own, for this page. Pure.

/** @typedef {import("./types.js").Phase} Phase */
/** @typedef {import("./types.js").State} State */
/** @typedef {{icon: string, motion: "pulse" | "bounce" | "sweep", label: string, kind: string}} Look */

/** @type {[string[], Look][]} */
const TOOLS = [
  [["bash", "powershell", "shell", "exec_command", "commandexecution", "local_shell"], { icon: "run", motion: "sweep", label: "Running a command", kind: "run" }],
  [["read", "read_file", "view"], { icon: "read", motion: "pulse", label: "Reading", kind: "read" }],
  [["write", "write_file", "create"], { icon: "pencil", motion: "bounce", label: "Writing a file", kind: "write" }],
  [["edit", "multiedit", "apply_patch", "filechange", "str_replace"], { icon: "edit", motion: "bounce", label: "Editing", kind: "edit" }],
  [["grep"], { icon: "search", motion: "pulse", label: "Searching", kind: "search" }],
  [["glob", "find", "ls"], { icon: "folder-search", motion: "pulse", label: "Looking for files", kind: "glob" }],
  [["task", "agent", "spawn_agent", "collabagenttoolcall", "dispatch_agent"], { icon: "people", motion: "sweep", label: "A subagent works", kind: "delegate" }],
  [["webfetch", "websearch", "web_search", "fetch"], { icon: "web", motion: "sweep", label: "On the web", kind: "web" }],
  [["todowrite", "update_plan", "taskcreate", "taskupdate"], { icon: "todo", motion: "bounce", label: "Planning", kind: "plan" }],
];

/**
 * How a phase looks; `null` when there is nothing to show.
 * @param {Phase | null | undefined} phase
 * @returns {Look | null}
 */
export function lookOf(phase) {
  switch (phase?.phase) {
    case "preparing": return { icon: "hourglass", motion: "sweep", label: "Starting", kind: "preparing" };
    case "thinking": return { icon: "brain", motion: "pulse", label: "Thinking", kind: "thinking" };
    case "replying": return { icon: "brain", motion: "pulse", label: "Replying", kind: "replying" };
    case "waiting": return { icon: "hand", motion: "pulse", label: "Waits for you", kind: "waiting" };
    case "executing": return lookOfTool(phase.tool ?? "");
    default: return null;
  }
}

/**
 * @param {string} tool
 * @returns {Look}
 */
function lookOfTool(tool) {
  if (!tool) return { icon: "hourglass", motion: "sweep", label: "Working", kind: "other" };
  const name = tool.toLowerCase();
  const row = TOOLS.find(([names]) => names.includes(name));
  if (row) return row[1];
  if (name.startsWith("mcp__")) return { icon: "mcp", motion: "sweep", label: `Using ${tool.split("__").slice(1).join(" · ")}`, kind: "mcp" };
  return { icon: "gear", motion: "sweep", label: `Using ${tool}`, kind: "other" };
}

/**
 * True while the agent of a session is being started for the first prompt of its queue.
 * @param {State | null} state
 */
export function isStarting(state) {
  return state?.phase?.phase === "idle" && !state.held && (state.queue ?? []).length > 0;
}

/**
 * The phase that people see. It follows the session, so that a reload shows the same; only a prompt that is on its way to
 * the house is ahead of it.
 * @param {State | null} state
 * @param {boolean} sending
 * @returns {Phase | null}
 */
export function phaseShown(state, sending) {
  if (isBusy(state?.phase?.phase)) return state?.phase ?? null;
  return sending || isStarting(state) ? { phase: "preparing" } : null;
}

/**
 * True while a turn runs.
 * @param {string | undefined} phase
 */
export function isBusy(phase) {
  return phase !== undefined && phase !== "idle" && phase !== "unknown";
}

/**
 * True for a session whose agent waits for a person.
 * @param {import("./types.js").Row} row
 */
export function isWaiting(row) {
  return Boolean(row.waiting) || row.phase === "waiting";
}

/** The words for a phase in the list of sessions. @type {Record<string, string>} */
export const PHASE_WORDS = {
  preparing: "starting",
  thinking: "thinking",
  replying: "replying",
  executing: "using a tool",
  waiting: "waits for you",
};

/** What an agent may do by itself, in words. @type {[string, string, string][]} */
export const MODES = [
  ["ask", "Ask first", "Looks around; asks before anything else"],
  ["accept_edits", "Accept edits", "Changes files in its folder without asking"],
  ["allow_all", "Allow all", "Does everything without asking"],
];
