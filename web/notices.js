// @ts-check
// Remarks by the page itself: toasts and the banner about the connection. It must not decide what is worth a remark.

import { byId, fill, make } from "./dom.js";

const TOAST_MS = 7000;
const MOST_TOASTS = 4;

/**
 * A remark that goes away by itself.
 * @param {string} message
 * @param {{words: string, act: () => void}} [action]
 */
export function toast(message, action) {
  const list = byId("toasts", HTMLElement);
  const item = make("div", { class: "toast", role: "status" }, make("span", {}, message[0].toUpperCase() + message.slice(1)),
    action && make("button", { type: "button", class: "plain", onclick: () => { item.remove(); action.act(); } }, action.words),
    make("button", { type: "button", class: "bare", "aria-label": "Dismiss", onclick: () => item.remove() }, "✕"));
  list.append(item);
  while (list.children.length > MOST_TOASTS) list.firstElementChild?.remove();
  setTimeout(() => { if (!item.matches(":hover, :focus-within")) item.remove(); }, TOAST_MS);
}

/**
 * What is wrong with the connection; an empty message hides it.
 * @param {string} message
 * @param {{words: string, act: () => void}} [action]
 */
export function banner(message, action) {
  const element = byId("banner", HTMLElement);
  element.hidden = message === "";
  fill(element, message, action && make("button", { type: "button", class: "plain", onclick: action.act }, action.words));
}
