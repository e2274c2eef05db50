// @ts-check
// What is said to people who do not look: a screen reader, a notification, the title of the tab. Only news is said,
// never history.

import { byId } from "./dom.js";
import { oneLine, plural } from "./format.js";
import { isBusy, isWaiting } from "./looks.js";
import { recall, remember } from "./preferences.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Row} Row */

const MOST_WORDS = 600;

/**
 * @param {object} wiring
 * @param {(session: string) => void} wiring.open
 * @param {(agent: string) => string} wiring.label
 */
export function createAnnouncer({ open, label }) {
  const polite = byId("polite", HTMLElement);
  const urgent = byId("urgent", HTMLElement);
  const icon = byId("icon", HTMLLinkElement);
  icon.dataset.plain = icon.href;
  /** @type {State | null} */
  let last = null;
  /** @type {Set<string> | null} */
  let waiting = null;
  let name = "";

  /**
   * @param {HTMLElement} region
   * @param {string} words
   */
  function say(region, words) {
    // The same words twice in a row are news twice.
    region.textContent = region.textContent === words ? `${words}\u00a0` : words;
  }

  /** @param {State} state */
  function retitle(state) {
    name = oneLine(state.title || "New session", 80);
    showTitle();
  }

  function showTitle() {
    const count = waiting?.size ?? 0;
    document.title = `${count > 0 ? `(${count}) ` : ""}${name ? `${name} · ` : ""}Parlor`;
    document.body.classList.toggle("someone-waits", [...waiting ?? []].some((id) => id !== last?.id));
    const sign = count > 0 ? icon.dataset.waiting : icon.dataset.plain;
    if (sign && icon.getAttribute("href") !== sign) icon.href = sign;
  }

  /**
   * @param {string} words
   * @param {string} body
   * @param {string} session
   */
  function notify(words, body, session) {
    if (!document.hidden || !wantsNotifications()) return;
    const notification = new Notification(words, { body: oneLine(body, 160), tag: `parlor-${session}` });
    notification.addEventListener("click", () => {
      window.focus();
      open(session);
      notification.close();
    });
  }

  const wantsNotifications = () => recall("notify", false) && "Notification" in window && Notification.permission === "granted";

  return {
    wantsNotifications,
    /** Asks the browser, because a person asked for it. Returns whether notifications are on. */
    async toggleNotifications() {
      if (wantsNotifications()) {
        remember("notify", false);
        return false;
      }
      if (!("Notification" in window)) return false;
      const allowed = await Notification.requestPermission() === "granted";
      remember("notify", allowed);
      return allowed;
    },
    opened() {
      last = null;
      name = "";
      showTitle();
    },
    /**
     * @param {State} state
     * @param {boolean} live
     */
    state(state, live) {
      const before = last;
      last = state;
      retitle(state);
      if (!live || !before) return;
      const asked = (state.asks ?? []).filter((ask) => !before.asks?.some((one) => one.id === ask.id));
      if (asked.length > 0) {
        say(urgent, `${label(state.agent ?? "") || "The agent"} waits for your answer.`);
        notify("Waits for your answer", state.title ?? "", state.id);
      }
      if (isBusy(before.phase?.phase) && !isBusy(state.phase?.phase)) {
        say(polite, `${label(state.agent ?? "") || "The agent"} is done.`);
        notify(`${label(state.agent ?? "") || "The agent"} is done`, state.title ?? "", state.id);
      }
      if (state.held && !before.held) say(polite, "Stopped. The queued messages are held back.");
    },
    /**
     * @param {HTMLElement[]} elements
     * @param {boolean} added
     */
    entries(elements, added) {
      for (const element of elements) {
        if (element.matches(".notice") && added) say(polite, oneLine(element.textContent ?? "", MOST_WORDS));
        const prose = element.matches(".assistant") ? element.querySelector(":scope > .prose") : null;
        if (!prose || element.querySelector(":scope > .caret") || element.hasAttribute("data-my-said")) continue;
        element.setAttribute("data-my-said", "");
        say(polite, oneLine(prose.textContent ?? "", MOST_WORDS));
      }
    },
    /** @param {Row[]} rows */
    rows(rows) {
      const now = new Set(rows.filter((row) => isWaiting(row) && !row.archived).map((row) => row.id));
      for (const row of rows) {
        if (!waiting || waiting.has(row.id) || !now.has(row.id) || row.id === last?.id) continue;
        say(polite, `${oneLine(row.title || "A session", 80)} waits for you.`);
        notify("Waits for your answer", row.title ?? "", row.id);
      }
      waiting = now;
      showTitle();
    },
    /** @param {number} count */
    found(count) {
      say(polite, `${plural(count, "hit")}.`);
    },
    /** @param {string} words */
    say: (words) => say(polite, words),
  };
}

/** @typedef {ReturnType<typeof createAnnouncer>} Announcer */
