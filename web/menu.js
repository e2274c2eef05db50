// @ts-check
// The menu of the open session and of the page's looks. It must not know how anything it offers is done.

import { askJson, sessionPath } from "./api.js";
import { openDialog } from "./dialog.js";
import { byId, fill, make } from "./dom.js";
import { toast } from "./notices.js";
import { applyLooks, recall, remember } from "./preferences.js";

const RECORDS = 50;

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {import("./orders.js").Order} wiring.order
 * @param {() => boolean} wiring.mayWrite
 * @param {import("./announce.js").Announcer} wiring.announcer
 * @param {() => Promise<import("./types.js").Frame>} wiring.stopAll
 * @param {() => void} wiring.help
 */
export function createMenu({ conversation, order, mayWrite, announcer, stopAll, help }) {
  const button = byId("menu-open", HTMLButtonElement);
  const menu = make("div", { class: "menu", role: "menu", "aria-label": "More", popover: "auto", id: "menu" });
  byId("bar", HTMLElement).append(menu);

  /**
   * @param {string} words
   * @param {() => unknown} act
   * @param {boolean | null} [checked]
   */
  function item(words, act, checked = null) {
    return make("button", { type: "button", role: checked === null ? "menuitem" : "menuitemcheckbox", "aria-checked": checked === null ? null : String(checked), tabindex: "-1", onclick: () => { menu.hidePopover(); act(); } }, words);
  }

  /** @param {string} format */
  function download(format) {
    const path = sessionPath(conversation.id() ?? "", `/export?format=${format}`);
    return make("a", { role: "menuitem", tabindex: "-1", href: path, download: "", onclick: () => menu.hidePopover() }, `Export as ${format === "html" ? "HTML" : format === "json" ? "JSON" : format === "text" ? "text" : "Markdown"}`);
  }

  function draw() {
    const state = conversation.state();
    const theme = recall("theme", "auto");
    const choose = (/** @type {string} */ name, /** @type {string} */ value) => () => { remember(name, value); applyLooks(); };
    const thoughts = recall("thoughts", "show");
    const playful = recall("playful", true);
    fill(menu,
      ...(conversation.id() ? [
        ...(mayWrite() && state ? [item("Rename…", rename), item(state.archived ? "Take out of the archive" : "Archive", () => send({ order: "archive", archived: !state.archived })), rule()] : []),
        download("html"), download("markdown"), download("text"), download("json"), item("Raw records", () => raw(0)), rule(),
      ] : []),
      item("Thoughts", choose("thoughts", thoughts === "show" ? "hide" : "show"), thoughts === "show"),
      item("Playful status", () => remember("playful", !playful), playful),
      ...["auto", "light", "dark"].map((value) => item(value === "auto" ? "Theme of the system" : `${value[0].toUpperCase()}${value.slice(1)} theme`, choose("theme", value), theme === value)),
      item("Notifications", notifications, announcer.wantsNotifications()), rule(),
      ...(mayWrite() ? [item("Stop every agent", stop)] : []),
      item("Keys…", help));
  }

  const rule = () => make("hr");

  /** @param {Record<string, unknown>} what */
  const send = (what) => order(what).catch((error) => toast(error.message));

  async function notifications() {
    const on = await announcer.toggleNotifications();
    toast(on ? "You will be told when an agent waits or is done while this page is hidden" : "Notifications are off");
  }

  async function stop() {
    try {
      const { sessions } = await stopAll();
      toast(`stopped ${sessions} ${sessions === 1 ? "session" : "sessions"}`);
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
    }
  }

  function rename() {
    const field = make("input", { name: "title", "aria-label": "Title", placeholder: "Empty gives the title back to the agent" });
    field.value = conversation.state()?.title ?? "";
    const form = make("form", { class: "start" }, field, make("footer", {}, make("button", { type: "submit", class: "plain strong" }, "Rename")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send({ order: "rename", title: field.value.trim() });
      dialog.close();
    });
    const dialog = openDialog("Rename", {}, form);
    field.select();
  }

  /** @param {number} from */
  async function raw(from) {
    const session = conversation.id() ?? "";
    const list = make("ol", { class: "records", start: from });
    const more = make("button", { type: "button", class: "plain", onclick: () => load() }, "More");
    let at = from;
    async function load() {
      try {
        const answer = await askJson(sessionPath(session, `/records?from=${at}&count=${RECORDS}`));
        /** @type {any[]} */
        const records = Array.isArray(answer) ? answer : answer.records ?? [];
        list.append(...records.map((record) => make("li", { value: record?.seq ?? null }, make("pre", { tabindex: "0" }, JSON.stringify(record, null, 2)))));
        at = records.length > 0 ? Number(records.at(-1)?.seq ?? at + records.length - 1) + 1 : at;
        more.hidden = records.length < RECORDS;
      } catch (error) {
        toast(/** @type {Error} */ (error).message);
      }
    }
    openDialog("Raw records", { class: "wide" }, list, more);
    await load();
  }

  function open() {
    if (menu.matches(":popover-open")) return menu.hidePopover();
    draw();
    menu.showPopover();
    const box = button.getBoundingClientRect();
    menu.style.top = `${box.bottom + 4}px`;
    menu.style.right = `${Math.max(8, innerWidth - box.right)}px`;
    /** @type {HTMLElement | null} */ (menu.querySelector("[role^=menuitem]"))?.focus();
  }

  menu.addEventListener("keydown", (event) => {
    const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("[role^=menuitem]")]);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (next === undefined) return;
    items[(next + items.length) % items.length].focus();
    event.preventDefault();
  });
  menu.addEventListener("toggle", (event) => button.setAttribute("aria-expanded", String(/** @type {ToggleEvent} */ (event).newState === "open")));
  button.addEventListener("click", open);

  return { open };
}
