// @ts-check
// Keys. Each does what a button does; none works while someone types or a dialog is open.

import { dialogIsOpen, openDialog } from "./dialog.js";
import { byId, isTyping, make } from "./dom.js";
import { toast } from "./notices.js";

/** @type {[string, [string, string][]][]} */
const HELP = [
  ["Sessions", [
    ["/", "Search every session"],
    ["n", "New session"],
    ["s", "Choose one by its title"],
    ["Ctrl+K", "The same, also while you write"],
    ["J K", "Next and previous session"],
    ["w", "To what waits for you"],
    ["u", "To the next one with news"],
    ["m", "More: export, rename, theme"],
    ["?", "These keys"],
  ]],
  ["Writing", [
    ["i", "Write a message"],
    ["↑ ↓", "What you said before, in an empty field"],
    ["Enter", "Send or queue"],
    ["Shift+Enter", "New line"],
    ["Ctrl+Enter", "Send into the running turn"],
    ["Esc", "Stop the agent"],
  ]],
  ["In the conversation", [
    ["j k", "Next and previous entry"],
    ["g G", "Start and end"],
    ["[ ]", "Previous and next prompt"],
    ["e E", "Next and previous error"],
    ["d D", "Next and previous change"],
    ["f", "Find"],
    ["o", "Open or close a card"],
    ["c l", "Copy the entry, or a link to it"],
  ]],
  ["With the focus on a question", [
    ["y", "Allow once"],
    ["a", "Allow for this session"],
    ["n", "Deny"],
  ]],
];

export function showHelp() {
  const row = (/** @type {[string, string]} */ [keys, words]) => [make("dt", {}, ...keys.split(" ").map((key) => make("kbd", {}, key))), make("dd", {}, words)];
  openDialog("Keys", { class: "help" }, make("div", { class: "columns" }, ...HELP.map(([title, rows]) =>
    make("section", {}, make("h3", {}, title), make("dl", { class: "keys" }, ...rows.flatMap(row))))));
}

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {import("./scroll.js").Scroll} wiring.scroll
 * @param {{focus: () => void, interrupt: () => boolean}} wiring.composer
 * @param {import("./sessions.js").Sessions} wiring.sessions
 * @param {{open: () => void}} wiring.search
 * @param {{open: () => void, close: () => void, isOpen: () => boolean, jump: (kind: string, by: number) => unknown}} wiring.find
 * @param {{open: () => void}} wiring.menu
 * @param {{open: () => void}} wiring.start
 * @param {{open: () => void, close: () => void, isOpen: () => boolean}} wiring.drawer
 * @param {{copyEntry: (entry: HTMLElement) => void, link: (entry: HTMLElement) => void}} wiring.tools
 * @param {{focus: () => Promise<boolean>}} wiring.asks
 * @param {() => boolean} wiring.mayWrite
 * @param {(session: string | null) => void} wiring.open
 */
export function createKeys({ conversation, scroll, composer, sessions, search, find, menu, start, drawer, tools, asks, mayWrite, open }) {
  const talk = byId("talk", HTMLElement);
  const entryHere = () => conversation.entries.of(document.activeElement);

  /** @param {number} by */
  async function step(by) {
    const list = /** @type {HTMLElement[]} */ ([...talk.children].filter((child) => child.matches("[data-my-id]:not([hidden])") && /** @type {HTMLElement} */ (child).offsetParent !== null));
    const here = entryHere() ?? scroll.firstVisible();
    const at = here ? list.indexOf(/** @type {HTMLElement} */ (here)) : -1;
    const next = list[entryHere() ? at + by : Math.max(0, at)];
    if (next) conversation.jump(next.dataset.myId ?? "");
    else if (by > 0) conversation.toEnd();
    else await conversation.older();
  }

  async function toStart() {
    await conversation.toStart();
  }

  function toggleCard() {
    const card = entryHere()?.querySelector("details");
    if (!card) return;
    card.open = !card.open;
    card.setAttribute("data-my-touched", "");
  }

  /** @param {number} by */
  function session(by) {
    const id = sessions.neighbour(by);
    if (id) open(id);
  }

  /**
   * @param {"waiting" | "unread"} what
   * @param {string} otherwise
   */
  function visit(what, otherwise) {
    const id = sessions.next(what);
    if (id) open(id);
    else toast(otherwise);
  }

  function choose() {
    drawer.open();
    byId("filter", HTMLInputElement).focus();
    byId("filter", HTMLInputElement).select();
  }

  /** @type {Record<string, () => unknown>} */
  const does = {
    "/": search.open,
    "?": showHelp,
    n: () => mayWrite() && start.open(),
    f: find.open,
    j: () => step(1),
    k: () => step(-1),
    g: toStart,
    G: conversation.toEnd,
    "[": () => find.jump("prompt", -1),
    "]": () => find.jump("prompt", 1),
    e: () => find.jump("error", 1),
    E: () => find.jump("error", -1),
    d: () => find.jump("edit", 1),
    D: () => find.jump("edit", -1),
    o: toggleCard,
    c: () => { const entry = entryHere(); if (entry) tools.copyEntry(entry); },
    l: () => { const entry = entryHere(); if (entry) tools.link(entry); },
    w: async () => { if (!(await asks.focus())) visit("waiting", "nothing waits for you"); },
    u: () => visit("unread", "there is no other news"),
    J: () => session(1),
    K: () => session(-1),
    s: choose,
    i: composer.focus,
    m: menu.open,
  };

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || dialogIsOpen() || document.querySelector(":popover-open")) return;
    if (event.key === "Escape") {
      if (drawer.isOpen()) drawer.close();
      else if (find.isOpen()) find.close();
      else if (!composer.interrupt() && isTyping(event.target)) /** @type {HTMLElement} */ (event.target).blur();
      return;
    }
    if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      choose();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const act = does[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  byId("search-open", HTMLButtonElement).addEventListener("click", search.open);
}
