// @ts-check
// Search over everything that was ever said. It asks the house and shows hits; opening one is left to others.

import { askJson } from "./api.js";
import { openDialog } from "./dialog.js";
import { fill, make } from "./dom.js";
import { age } from "./format.js";
import { recall, remember } from "./preferences.js";

/** @typedef {import("./types.js").Hit} Hit */

const PAUSE_MS = 160;
const MOST_HITS = 60;

/**
 * A text in pieces, each marked or not. Marks that make no sense are left out.
 * @param {string} text
 * @param {[number, number][]} [marks] UTF-16 units, from and to.
 * @returns {{text: string, marked: boolean}[]}
 */
export function pieces(text, marks = []) {
  const result = [];
  let at = 0;
  for (const [from, to] of [...marks].sort((one, other) => one[0] - other[0])) {
    if (!(from >= at && to > from && to <= text.length)) continue;
    if (from > at) result.push({ text: text.slice(at, from), marked: false });
    result.push({ text: text.slice(from, to), marked: true });
    at = to;
  }
  if (at < text.length) result.push({ text: text.slice(at), marked: false });
  return result;
}

/**
 * @param {object} wiring
 * @param {(session: string, entry?: string | null) => void} wiring.open
 */
export function createSearch({ open: openHit }) {
  let last = "";

  function open() {
    const field = make("input", { type: "search", placeholder: "Search what was said in every session", "aria-label": "Search every session", "aria-controls": "hits", autocomplete: "off", spellcheck: "false" });
    const kind = make("select", { "aria-label": "How to search" }, ...[["words", "Words"], ["substring", "Exact text"], ["regex", "Regex"]].map(([value, words]) => make("option", { value }, words)));
    const say = make("p", { class: "soft", role: "status" });
    const list = make("ul", { id: "hits", class: "hits" });
    kind.value = recall("search-kind", "words");
    field.value = last;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let asked = 0;

    async function run() {
      const query = field.value.trim();
      last = field.value;
      const mine = ++asked;
      if (query.length < 2 && kind.value !== "regex") {
        fill(list);
        say.textContent = query ? "Type a little more." : "";
        return;
      }
      try {
        const answer = await askJson(`/api/search?q=${encodeURIComponent(query)}&kind=${kind.value}&limit=${MOST_HITS}`);
        if (mine !== asked) return;
        /** @type {Hit[]} */
        const hits = Array.isArray(answer) ? answer : answer.hits ?? [];
        fill(list, ...hits.map((one, index) => hit(one, hits[index - 1])));
        say.textContent = hits.length === 0 ? "Nothing was found." : hits.length >= MOST_HITS ? `The first ${MOST_HITS} hits` : `${hits.length} found`;
      } catch (error) {
        if (mine === asked) say.textContent = /** @type {Error} */ (error).message;
      }
    }

    /**
     * @param {Hit} one
     * @param {Hit} [before] Of the same session, it has said the title already.
     */
    function hit(one, before) {
      const go = () => { dialog.close(); openHit(one.session, one.entry); };
      const isFirst = before?.session !== one.session;
      return make("li", { class: isFirst && "first" }, make("button", { type: "button", onclick: go },
        isFirst && make("b", {}, one.title || "Untitled"), isFirst && make("time", {}, age(one.at, new Date())),
        make("span", {}, ...pieces(one.snippet ?? "", one.marks).map((piece) => piece.marked ? make("mark", {}, piece.text) : piece.text))));
    }

    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, PAUSE_MS); });
    kind.addEventListener("change", () => { remember("search-kind", kind.value); run(); });
    const dialog = openDialog("Search", { class: "search" }, make("div", { class: "row" }, field, kind), say, list);
    dialog.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      const hits = [...list.querySelectorAll("button")];
      const at = hits.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
      if (step) {
        (hits[at + step] ?? (step < 0 ? field : hits[0]))?.focus();
        event.preventDefault();
      } else if (event.key === "Enter" && document.activeElement === field && !event.isComposing) {
        hits[0]?.click();
      }
    });
    field.focus();
    field.select();
    run();
  }

  return { open };
}
