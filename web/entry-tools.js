// @ts-check
// What a reader can do with an entry: copy it, link to it, see it raw or in full. It must not change what entries say.

import { ask, askJson, entryPath, sessionPath } from "./api.js";
import { copy } from "./clipboard.js";
import { openDialog } from "./dialog.js";
import { make } from "./dom.js";
import { toast } from "./notices.js";
import { createReach } from "./reach.js";
import { href } from "./route.js";

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {HTMLElement} wiring.talk
 */
export function createEntryTools({ conversation, talk }) {
  // One bar and one button for all entries: they move to where the pointer or the focus is.
  const bar = make("div", { class: "entry-tools", "data-my-own": true, role: "group", "aria-label": "Entry" },
    button("Copy", "c", copyEntry), button("Link", "l", link), button("Raw", "", raw));
  const measureLater = createReach();
  const copyCode = make("button", { type: "button", class: "copy-code plain", "data-my-own": true }, "Copy");

  /**
   * @param {string} words
   * @param {string} key
   * @param {(entry: HTMLElement) => void} act
   */
  function button(words, key, act) {
    return make("button", { type: "button", title: key ? `${words} (${key})` : words, onclick: () => {
      const entry = conversation.entries.of(bar);
      if (entry) act(entry);
    } }, words);
  }

  /** @param {Node | null} node */
  function follow(node) {
    const entry = conversation.entries.of(node);
    if (entry && bar.parentElement !== entry) entry.append(bar);
    const code = node instanceof Element ? node.closest(".code, .result") : null;
    if (code && copyCode.parentElement !== code) code.append(copyCode);
  }

  talk.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") follow(/** @type {Node} */ (event.target));
  });
  talk.addEventListener("focusin", (event) => follow(/** @type {Node} */ (event.target)));
  copyCode.addEventListener("click", () => {
    const block = copyCode.parentElement;
    const texts = [...block?.querySelectorAll("pre, .prose") ?? []].map((part) => part.textContent ?? "");
    copy(texts.join("\n"), "Copied");
  });
  // A finger has no hover: the entry it touches gets the tools, unless it presses something.
  talk.addEventListener("click", (event) => {
    if (event.target instanceof Element && !event.target.closest("button, a, label, input, textarea")) follow(event.target);
  });
  // A card that the reader opened or closed stays so, whatever the server says later.
  talk.addEventListener("click", (event) => {
    const summary = event.target instanceof Element ? event.target.closest("summary") : null;
    summary?.parentElement?.setAttribute("data-my-touched", "");
  });

  /** @param {HTMLElement} entry */
  const idOf = (entry) => entry.dataset.myId ?? "";
  const session = () => conversation.id() ?? "";

  /** @param {HTMLElement} entry */
  async function copyEntry(entry) {
    try {
      const value = await askJson(entryPath(session(), idOf(entry)));
      const text = (value?.entry ?? value)?.text;
      copy(typeof text === "string" && text ? text : words(entry), "Copied");
    } catch {
      copy(words(entry), "Copied");
    }
  }

  /** @param {HTMLElement} entry */
  function words(entry) {
    const whole = /** @type {HTMLElement} */ (entry.cloneNode(true));
    whole.querySelectorAll("[data-my-own], .role").forEach((part) => part.remove());
    return (whole.textContent ?? "").trim();
  }

  /** @param {HTMLElement} entry */
  function link(entry) {
    copy(location.origin + location.pathname + href(session(), idOf(entry)), "Link copied");
  }

  /** @param {HTMLElement} entry */
  async function raw(entry) {
    try {
      const value = await askJson(entryPath(session(), idOf(entry)));
      const one = value?.entry ?? value;
      const records = typeof one?.seq === "number" ? await askJson(sessionPath(session(), `/records?from=${one.seq}&count=1`)).catch(() => null) : null;
      const list = Array.isArray(records) ? records : records?.records ?? [];
      openDialog("Raw entry", { class: "wide" },
        make("h3", {}, "Entry"), make("pre", { tabindex: "0" }, JSON.stringify(one, null, 2)),
        list.length > 0 && make("h3", {}, "The record that opened it"), list.length > 0 && make("pre", { tabindex: "0" }, JSON.stringify(list[0], null, 2)));
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
    }
  }

  /** @param {HTMLElement} entry */
  async function full(entry) {
    try {
      const html = await (await ask(entryPath(session(), idOf(entry), "/full"))).text();
      conversation.entries.showFull(idOf(entry), html);
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
    }
  }

  /** @param {HTMLElement} entry */
  function decorate(entry) {
    measureLater(entry);
    // The time that ran in the title of a call gives way to the time it took.
    entry.querySelectorAll(".card:not([data-since]) > .head > .facts > [data-my-own]").forEach((time) => time.remove());
    for (const cut of entry.querySelectorAll(".cut")) {
      if (cut.querySelector(":scope > [data-my-own]")) continue;
      const text = entryPath(session(), idOf(entry), "/full?format=text");
      cut.append(make("span", { "data-my-own": true, class: "cut-tools" },
        make("button", { type: "button", onclick: () => full(entry) }, "Show all"),
        make("a", { href: text, target: "_blank", rel: "noopener" }, "Open as text")));
    }
  }

  talk.addEventListener("toggle", (event) => measureLater(event.target), { capture: true });

  return { decorate, copyEntry, link, raw };
}
