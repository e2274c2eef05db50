// @ts-check
// The bubble at the end of the conversation that says what the agent is doing: the only place of the page that does. It
// must not decide when to speak: the bubble is not read out, because its words rotate.

import { fill, icon, make, setText } from "./dom.js";
import { elapsed, millis } from "./format.js";
import { isBusy, lookOf, phaseShown } from "./looks.js";
import { recall } from "./preferences.js";
import { messageAt } from "./status-messages.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./looks.js").Look} Look */

const ROTATE_MS = 7000;

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.element
 * @param {HTMLElement} wiring.talk
 */
export function createStatus({ element, talk }) {
  const words = make("span", { class: "words shimmer", "aria-hidden": "true" });
  const label = make("span", { class: "label-words" });
  const time = make("span", { class: "time" });
  /** @type {Look | null} */
  let look = null;
  /** The phase that is shown, told apart from every other. */
  let shown = "";
  let since = 0;

  /**
   * @param {State | null} state
   * @param {boolean} sending Whether a prompt is on its way to the house.
   */
  function show(state, sending) {
    const phase = phaseShown(state, sending);
    look = lookOf(phase);
    element.hidden = !look;
    if (!look || !phase) {
      shown = "";
      return;
    }
    // The state says when its phase began; of a start that is only expected, nobody knows.
    const began = isBusy(state?.phase?.phase) ? state?.since ?? "" : "";
    const key = `${state?.id} ${phase.phase} ${phase.tool ?? ""} ${began}`;
    if (shown !== key) {
      shown = key;
      since = millis(began) || Date.now();
      const sign = icon(look.icon);
      sign.classList.add(`motion-${look.motion}`);
      fill(element, sign, words, label, time);
      element.dataset.phase = phase.phase;
      setText(label, look.label);
    }
    tick();
  }

  function tick() {
    if (!look || document.hidden) return;
    const now = Date.now();
    const turn = Math.max(0, Math.floor((now - since) / ROTATE_MS));
    const message = recall("playful", true) ? messageAt(look.kind, { phase: shown, turn, now: new Date(now) }) : null;
    words.hidden = !message;
    setText(words, message?.text ?? "");
    element.dataset.tier = message?.tier ?? "";
    setText(time, elapsed(now - since));
    for (const card of talk.querySelectorAll(".card[data-since]")) tickCard(card, now);
  }

  /**
   * @param {Element} card
   * @param {number} now
   */
  function tickCard(card, now) {
    const facts = card.querySelector(":scope > .head > .facts");
    const began = millis(card.getAttribute("data-since"));
    if (!facts || Number.isNaN(began)) return;
    let own = facts.querySelector(":scope > [data-my-own]");
    if (!own) {
      own = make("span", { "data-my-own": true });
      facts.append(own);
    }
    setText(own, elapsed(now - began));
  }

  setInterval(tick, 1000);
  return { show };
}
