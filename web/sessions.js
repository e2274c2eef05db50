// @ts-check
// The list of sessions by folder. It shows rows and says which one was chosen; it must not open any.

import { fill, make, setText } from "./dom.js";
import { age, millis, money, oneLine, plural, shortPath, tilde, tokens } from "./format.js";
import { PHASE_WORDS, isBusy, isWaiting } from "./looks.js";
import { createUnread } from "./unread.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {{cwd: string, rows: Row[]}} Folder */

/** How many sessions of a folder, and folders, are listed before someone asks for more. */
const FEW_ROWS = 8;
const FEW_FOLDERS = 40;
/** As many letters of a folder's name as stand in a line. */
const MOST_LETTERS = 34;

/**
 * Rows by folder: newest folders first, and the newest sessions first in each. Archived ones only when asked for.
 * @param {Iterable<Row>} rows
 * @param {{words: string, archived: boolean}} filter
 * @returns {Folder[]}
 */
export function folders(rows, { words, archived }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  /** @type {Map<string, Row[]>} */
  const byFolder = new Map();
  for (const row of rows) {
    if (Boolean(row.archived) !== archived) continue;
    const text = [row.title, row.cwd, row.agent, row.model, row.branch, row.id].join("\n").toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    const folder = row.cwd ?? "";
    const list = byFolder.get(folder);
    if (list) list.push(row);
    else byFolder.set(folder, [row]);
  }
  const newest = (/** @type {Row} */ row) => millis(row.updated) || 0;
  const all = [...byFolder].map(([cwd, list]) => ({ cwd, rows: list.sort((one, other) => newest(other) - newest(one) || (one.id < other.id ? -1 : 1)) }));
  return all.sort((one, other) => newest(other.rows[0]) - newest(one.rows[0]) || (one.cwd < other.cwd ? -1 : 1));
}

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.list
 * @param {HTMLInputElement} wiring.filter
 * @param {(id: string) => string} wiring.label The agent's label for its name.
 * @param {() => string} wiring.home
 * @param {(rows: Row[]) => void} wiring.onChange
 */
export function createSessions({ list, filter, label, home, onChange }) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  /** @type {Map<string, HTMLElement>} */
  const items = new Map();
  /** @type {Set<string>} */
  const unfolded = new Set();
  let complete = false;
  let moreFolders = false;
  let showArchived = false;
  /** @type {string | null} */
  let current = null;
  let drawing = 0;
  const unread = createUnread();
  let isUnread = unread.asker();
  /** What the list consists of: while it stays the same, only words change. */
  let drawn = "";

  function drawSoon() {
    if (drawing) return;
    drawing = window.setTimeout(() => {
      drawing = 0;
      draw();
    }, 80);
  }

  function draw() {
    isUnread = unread.asker();
    const filtered = filter.value.trim() !== "";
    const all = folders(rows.values(), { words: filter.value, archived: showArchived });
    const waiting = filtered || showArchived ? [] : all.flatMap((folder) => folder.rows.filter(isWaiting));
    const shown = moreFolders || filtered ? all.slice(0, 500) : all.slice(0, FEW_FOLDERS);
    const rest = all.length - shown.length;
    const listed = shown.map((folder) => visible(folder, filtered).filter((row) => !waiting.includes(row)));
    const key = JSON.stringify([waiting.map((row) => row.id), shown.map((folder, index) => [folder.cwd, folder.rows.length, listed[index].map((row) => row.id)]), rest, complete, showArchived, filtered, [...rows.values()].some((row) => row.archived)]);
    [...waiting, ...listed.flat()].forEach(item);
    if (key === drawn) return;
    drawn = key;
    // Elements that move lose the focus: it is given back.
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    const parts = shown.map((folder, index) => listed[index].length > 0 && section(folder, listed[index], waiting));
    fill(list,
      waiting.length > 0 && make("section", { class: "folder waits", "aria-label": "Waits for you" },
        make("h2", {}, "Waits for you"), make("ul", {}, ...waiting.map((row) => items.get(row.id)))),
      ...parts,
      rest > 0 && make("button", { class: "more", type: "button", onclick: () => { moreFolders = true; draw(); } }, `${plural(rest, "more folder")}`),
      all.length === 0 && make("p", { class: "none" }, emptyWords(filtered)),
      archiveToggle(),
      !complete && make("p", { class: "none" }, "Looking for sessions on this machine…"));
    if (focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
  }

  /**
   * The sessions of a folder that are listed.
   * @param {Folder} folder
   * @param {boolean} filtered
   */
  function visible(folder, filtered) {
    const all = filtered || unfolded.has(folder.cwd);
    return folder.rows.filter((row, index) => all || index < FEW_ROWS || row.id === current || isBusy(row.phase) || isWaiting(row)).slice(0, 2000);
  }

  /** @param {boolean} filtered */
  function emptyWords(filtered) {
    if (filtered) return "No session has these words in its title or folder. Press / to search what was said.";
    return showArchived ? "Nothing is archived." : "No sessions yet.";
  }

  function archiveToggle() {
    const some = [...rows.values()].some((row) => row.archived);
    if (!some && !showArchived) return null;
    const turn = () => { showArchived = !showArchived; draw(); };
    return make("button", { class: "more", type: "button", onclick: turn }, showArchived ? "Back to the list" : "Archived sessions");
  }

  /**
   * @param {Folder} folder
   * @param {Row[]} shown
   * @param {Row[]} elsewhere Rows that are listed already.
   */
  function section(folder, shown, elsewhere) {
    const rest = folder.rows.length - shown.length - folder.rows.filter((row) => elsewhere.includes(row)).length;
    const unfold = () => { unfolded.add(folder.cwd); draw(); };
    const name = tilde(folder.cwd, home()) || "no folder";
    return make("section", { class: "folder", "aria-label": name },
      make("h2", { title: folder.cwd }, shortPath(name, MOST_LETTERS)),
      make("ul", {}, ...shown.map((row) => items.get(row.id))),
      rest > 0 && make("button", { class: "more", type: "button", onclick: unfold }, `${rest} more`));
  }

  /** @param {Row} row */
  function item(row) {
    let element = items.get(row.id);
    if (!element) {
      element = make("li", {}, make("a", { class: "session", href: `#/s/${encodeURIComponent(row.id)}`, "data-id": row.id },
        make("i", { class: "dot", "aria-hidden": "true" }), make("b"), make("time"), make("small")));
      items.set(row.id, element);
    }
    const [link] = element.children;
    const [dot, title, time, small] = link.children;
    const waiting = isWaiting(row);
    const isNew = row.id !== current && isUnread(row);
    dot.className = `dot${waiting ? " waiting" : isBusy(row.phase) ? " running" : ""}`;
    element.classList.toggle("unread", isNew);
    setText(title, oneLine(row.title || "New session", 120));
    setText(time, age(row.updated, new Date()));
    setText(small, (isNew ? "New · " : "") + describe(row, waiting));
    if (row.id === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }

  /**
   * @param {Row} row
   * @param {boolean} waiting
   */
  function describe(row, waiting) {
    const words = [label(row.agent ?? "")];
    const used = money(row.cost) || (row.tokens ? `${tokens(row.tokens)} tokens` : "");
    if (waiting) words.push("waits for you");
    else if (isBusy(row.phase)) words.push(PHASE_WORDS[row.phase] ?? row.phase);
    else if (row.tools) words.push(plural(row.tools, "tool call"));
    else if (row.source === "found" && !used) words.push("found on disk");
    if (row.queue) words.push(`${row.queue} queued`);
    if (!isBusy(row.phase)) words.push(used);
    return words.filter(Boolean).join(" · ");
  }

  filter.addEventListener("input", draw);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && filter.value) {
      filter.value = "";
      draw();
      event.stopPropagation();
    } else if (event.key === "ArrowDown") {
      list.querySelector("a")?.focus();
      event.preventDefault();
    } else if (event.key === "Enter" && !event.isComposing) {
      // The first of what is left is what was meant; where nothing is left, the list says so.
      const first = list.querySelector("a");
      if (first) {
        first.click();
        filter.value = "";
        filter.blur();
        draw();
      }
      event.preventDefault();
    }
  });
  list.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
    (links[at + step] ?? filter).focus();
    event.preventDefault();
  });
  setInterval(() => { if (!document.hidden) draw(); }, 30_000);
  document.addEventListener("visibilitychange", () => {
    if (current) seen(current);
    draw();
  });

  function changed() {
    drawSoon();
    onChange([...rows.values()]);
  }

  return {
    /** @param {Row[]} all
     * @param {boolean} whole */
    replace(all, whole) {
      const ids = new Set(all.map((row) => row.id));
      if (whole) for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
      all.forEach((row) => rows.set(row.id, row));
      complete = whole;
      if (whole) unread.begin(all);
      if (current) seen(current);
      changed();
    },
    /** @param {Row[]} news
     * @param {string[]} gone
     * @param {boolean} whole */
    update(news, gone, whole) {
      complete = whole;
      news.forEach((row) => rows.set(row.id, row));
      gone.forEach((id) => { rows.delete(id); items.delete(id); });
      if (whole) unread.begin(rows.values());
      if (current && news.some((row) => row.id === current)) seen(current);
      changed();
    },
    /** @param {string | null} id */
    select(id) {
      if (current) seen(current);
      current = id;
      if (id) seen(id);
      draw();
      list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    },
    /** The session above or below the open one.
     * @param {number} step */
    neighbour(step) {
      const links = [...list.querySelectorAll("a")];
      const at = links.findIndex((link) => link.dataset.id === current);
      return links[at < 0 ? 0 : at + step]?.dataset.id ?? null;
    },
    /** The next session after the open one, in the order of the list, of which something holds.
     * @param {"waiting" | "unread"} what */
    next(what) {
      const links = [...list.querySelectorAll("a")];
      const at = links.findIndex((link) => link.dataset.id === current);
      const fits = (/** @type {Row | undefined} */ row) => row && row.id !== current && (what === "waiting" ? isWaiting(row) : isUnread(row));
      return [...links.slice(at + 1), ...links.slice(0, at + 1)].find((link) => fits(rows.get(link.dataset.id ?? "")))?.dataset.id ?? null;
    },
    get: (/** @type {string} */ id) => rows.get(id),
    rows: () => [...rows.values()],
    isEmpty: () => rows.size === 0,
    isComplete: () => complete,
    draw,
  };

  /** @param {string} id */
  function seen(id) {
    const row = rows.get(id);
    if (row && !document.hidden) unread.seen(row);
  }
}

/** @typedef {ReturnType<typeof createSessions>} Sessions */
