// @ts-check
// Finding in the open session, and jumping to the next prompt, error or change. It marks hits with highlights, which
// change no element.

import { askJson } from "./api.js";
import { byId, fill, make } from "./dom.js";
import { toast } from "./notices.js";

/** What can be jumped to, by what it looks like. @type {Record<string, {selector: string, words: string}>} */
export const JUMPS = {
  prompt: { selector: ".entry.user", words: "prompt" },
  error: { selector: ".entry:has(> .card.error), .entry:has(> .remark.bad)", words: "error" },
  edit: { selector: ".entry:has(> .card .diff), .entry:has(> .card > .preview)", words: "change" },
};

const MOST_WINDOWS = 25;
const MOST_RANGES = 500;

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {import("./scroll.js").Scroll} wiring.scroll
 */
export function createFind({ conversation, scroll }) {
  const bar = byId("find", HTMLElement);
  const talk = byId("talk", HTMLElement);
  const field = make("input", { type: "search", placeholder: "Find in this session", "aria-label": "Find in this session", autocomplete: "off", spellcheck: "false" });
  const count = make("span", { class: "soft", role: "status" });
  /** @type {string[]} */
  let hits = [];
  let at = -1;
  let asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  fill(bar, field, count,
    button("↑", "Previous hit", () => step(-1)), button("↓", "Next hit", () => step(1)),
    make("span", { class: "space" }),
    ...Object.entries(JUMPS).map(([kind, { words }]) => make("span", { class: "pair" },
      button("↑", `Previous ${words}`, () => { jump(kind, -1); }), words, button("↓", `Next ${words}`, () => { jump(kind, 1); }))),
    button("✕", "Close", close));

  /**
   * @param {string} words
   * @param {string} title
   * @param {() => void} act
   */
  function button(words, title, act) {
    return make("button", { type: "button", class: "bare", "aria-label": title, title, onclick: act }, words);
  }

  async function search() {
    const query = field.value.trim();
    const mine = ++asked;
    if (query === "") {
      hits = [];
      at = -1;
      count.textContent = "";
      mark("");
      return;
    }
    const near = shownHits(query);
    let all = near;
    try {
      const answer = await askJson(`/api/search?q=${encodeURIComponent(query)}&kind=substring&session=${encodeURIComponent(conversation.id() ?? "")}&limit=500`);
      const list = Array.isArray(answer) ? answer : answer.hits ?? [];
      const far = list.map((/** @type {{entry?: string}} */ hit) => hit.entry).filter(Boolean);
      all = [...far.filter((/** @type {string} */ id) => !near.includes(id)), ...near];
    } catch {
      // What is in the page can be found without the house.
    }
    if (mine !== asked) return;
    hits = all;
    at = -1;
    count.textContent = hits.length === 0 ? "nothing" : `${hits.length} found`;
    mark(query);
  }

  /**
   * The entries in the page that hold these words.
   * @param {string} query
   */
  function shownHits(query) {
    const words = query.toLowerCase();
    return [...talk.children].filter((child) => child instanceof HTMLElement && child.dataset.myId && child.textContent?.toLowerCase().includes(words))
      .map((child) => /** @type {HTMLElement} */ (child).dataset.myId ?? "");
  }

  /** @param {number} by */
  async function step(by) {
    if (hits.length === 0) return;
    at = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    count.textContent = `${at + 1} of ${hits.length}`;
    if (!(await conversation.jump(hits[at]))) count.textContent += ", not shown";
    mark(field.value.trim());
    field.focus({ preventScroll: true });
  }

  /** @param {string} query */
  function mark(query) {
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("found");
    if (!query) return;
    const words = query.toLowerCase();
    const highlight = new Highlight();
    const walker = document.createTreeWalker(talk, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && highlight.size < MOST_RANGES; node = walker.nextNode()) {
      const text = node.nodeValue?.toLowerCase() ?? "";
      for (let from = text.indexOf(words); from >= 0; from = text.indexOf(words, from + words.length)) {
        if (from + words.length > (node.nodeValue?.length ?? 0)) break;
        const range = new Range();
        range.setStart(node, from);
        range.setEnd(node, from + words.length);
        highlight.add(range);
      }
    }
    CSS.highlights.set("found", highlight);
  }

  /**
   * To the next or previous entry of a kind, wherever it is.
   * @param {string} kind
   * @param {number} by
   */
  async function jump(kind, by) {
    const { selector, words } = JUMPS[kind];
    const from = document.activeElement instanceof HTMLElement && talk.contains(document.activeElement)
      ? conversation.entries.of(document.activeElement) : scroll.firstVisible();
    const place = Number(from?.getAttribute("data-my-n") ?? (by > 0 ? -1 : Infinity));
    for (let windows = 0; windows < MOST_WINDOWS; windows++) {
      const all = [...talk.querySelectorAll(`:scope > :is(${selector})`)].map((element) => /** @type {HTMLElement} */ (element));
      const later = all.filter((element) => by > 0 ? Number(element.dataset.myN) > place : Number(element.dataset.myN) < place);
      const next = by > 0 ? later[0] : later.at(-1);
      if (next) return conversation.jump(next.dataset.myId ?? "");
      if (!(await (by > 0 ? conversation.newer() : conversation.older()))) break;
    }
    toast(`no ${words} ${by > 0 ? "below" : "above"}`);
    return false;
  }

  function open() {
    if (!conversation.id()) return;
    bar.hidden = false;
    field.focus();
    field.select();
  }

  function close() {
    if (bar.hidden) return;
    bar.hidden = true;
    asked++;
    hits = [];
    field.value = "";
    count.textContent = "";
    mark("");
    byId("scroll", HTMLElement).focus({ preventScroll: true });
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 180); });
  field.addEventListener("keydown", async (event) => {
    if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      clearTimeout(timer);
      if (hits.length === 0) await search();
      step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  });
  byId("find-open", HTMLButtonElement).addEventListener("click", () => bar.hidden ? open() : close());

  return { open, close, jump, isOpen: () => !bar.hidden };
}
