// @ts-check
// Entries by id and place. The only file in which HTML is a string: the server's, which is safe by construction, and
// nobody else's. It must not know sockets or scrolling.

import { make } from "./dom.js";
import { morph } from "./morph.js";

/** @typedef {import("./types.js").EntryFrame} EntryFrame */
/** @typedef {{id: string, n: number, v: number, html: string, element: HTMLElement}} Held */
/** @typedef {{added: HTMLElement[], changed: HTMLElement[], skipped: number}} Applied */

/**
 * The HTML after a change: what is kept of the HTML there was, then what is new. `null` when there is nothing to keep.
 * @param {string | undefined} before
 * @param {Pick<EntryFrame, "keep" | "html">} change
 * @returns {string | null}
 */
export function patched(before, { keep, html }) {
  if (keep == null) return html;
  return before === undefined || before.length < keep ? null : before.slice(0, keep) + html;
}

/**
 * The order in which entries are taken in: from what is shown outward, so that there is never a gap.
 * @template {{n: number}} T
 * @param {T[]} entries
 * @param {number} first
 */
export function outward(entries, first) {
  const sorted = [...entries].sort((one, other) => one.n - other.n);
  return [...sorted.filter((entry) => entry.n >= first), ...sorted.filter((entry) => entry.n < first).reverse()];
}

/** @param {HTMLElement} container */
export function createEntries(container) {
  /** @type {Map<string, Held>} */
  const held = new Map();
  /** The places that are shown: one stretch without gaps. */
  const range = { first: 0, end: 0 };

  /**
   * Takes in entries. What would leave a gap is skipped, and can be asked for when it is wanted.
   * @param {EntryFrame[]} entries
   * @returns {Applied}
   */
  function apply(entries) {
    /** @type {Applied} */
    const applied = { added: [], changed: [], skipped: 0 };
    for (const entry of outward(entries, held.size === 0 ? 0 : range.first)) {
      const known = held.get(entry.id);
      const html = patched(known?.html, entry);
      if (html === null || (!known && !fits(entry.n))) applied.skipped++;
      else if (known) change(known, entry, html, applied);
      else add(entry, html, applied);
    }
    return applied;
  }

  /** @param {number} n */
  function fits(n) {
    return held.size === 0 || (n >= range.first - 1 && n <= range.end);
  }

  /**
   * @param {Held} known
   * @param {EntryFrame} entry
   * @param {string} html
   * @param {Applied} applied
   */
  function change(known, entry, html, applied) {
    if (entry.v < known.v) return;
    known.v = entry.v;
    if (html === known.html) return;
    known.html = html;
    morph(known.element, parse(html));
    applied.changed.push(known.element);
  }

  /**
   * @param {EntryFrame} entry
   * @param {string} html
   * @param {Applied} applied
   */
  function add(entry, html, applied) {
    const element = parse(html);
    element.dataset.myId = entry.id;
    element.dataset.myN = String(entry.n);
    const after = following(entry.n);
    if (entry.day) container.insertBefore(make("div", { class: "date", "data-my-n": entry.n }, entry.day), after);
    container.insertBefore(element, after);
    range.first = held.size === 0 ? entry.n : Math.min(range.first, entry.n);
    range.end = held.size === 0 ? entry.n + 1 : Math.max(range.end, entry.n + 1);
    held.set(entry.id, { id: entry.id, n: entry.n, v: entry.v, html, element });
    applied.added.push(element);
  }

  /**
   * The first child that comes after place `n`.
   * @param {number} n
   */
  function following(n) {
    if (held.size > 0 && n < range.first) return container.firstElementChild;
    let before = container.lastElementChild;
    while (before instanceof HTMLElement && Number(before.dataset.myN) > n) before = before.previousElementSibling;
    return before ? before.nextElementSibling : container.firstElementChild;
  }

  /**
   * Lets go of entries at one end; the server has them.
   * @param {(n: number) => boolean} gone
   */
  function drop(gone) {
    for (const [id, one] of held) if (gone(one.n)) held.delete(id);
    for (const child of [...container.children]) {
      if (child instanceof HTMLElement && gone(Number(child.dataset.myN))) child.remove();
    }
    const places = [...held.values()].map((one) => one.n);
    range.first = places.length ? Math.min(...places) : 0;
    range.end = places.length ? Math.max(...places) + 1 : 0;
  }

  /**
   * Gives the entries of a session of which only the end was known their places in the whole, of which these are the
   * newest. False when they do not fit together.
   * @param {EntryFrame[]} entries
   */
  function move(entries) {
    const steps = entries.flatMap(({ id, n }) => { const known = held.get(id); return known ? [n - known.n] : []; });
    const by = steps[0];
    if (by === undefined || steps.some((step) => step !== by)) return false;
    for (const one of held.values()) one.n += by;
    for (const child of container.children) {
      if (child instanceof HTMLElement) child.dataset.myN = String(Number(child.dataset.myN) + by);
    }
    const there = new Set(entries.map(({ n }) => n));
    drop((n) => !there.has(n));
    return true;
  }

  return {
    apply,
    drop,
    move,
    range,
    clear() {
      held.clear();
      container.replaceChildren();
      range.first = range.end = 0;
    },
    /** @param {string} id */
    get: (id) => held.get(id)?.element,
    /** The entry of the conversation itself in which an element lies.
     * @param {Node | null} node */
    of(node) {
      let element = node instanceof Element ? node : node?.parentElement ?? null;
      while (element && element.parentElement !== container) element = element.parentElement;
      return element instanceof HTMLElement && element.dataset.myId !== undefined ? element : null;
    },
    /** Shows an entry's HTML without limits, until it changes.
     * @param {string} id
     * @param {string} html */
    showFull(id, html) {
      const one = held.get(id);
      if (one) morph(one.element, parse(html));
    },
  };
}

/** @typedef {ReturnType<typeof createEntries>} Entries */

/**
 * The element of the server's HTML. An entry that has nothing to show keeps its place.
 * @param {string} html
 * @returns {HTMLElement}
 */
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const element = template.content.firstElementChild;
  return element instanceof HTMLElement ? element : make("article", { class: "entry", hidden: true });
}
