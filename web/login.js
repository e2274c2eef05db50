// @ts-check
// Coming in: a one-time code becomes a cookie. It never sees a token.

import { ask } from "./api.js";
import { byId, fill, make } from "./dom.js";

/**
 * Lets the reader in. Returns false, and says what to do, when the house does not know this browser.
 * @returns {Promise<boolean>}
 */
export async function enter() {
  const code = new URLSearchParams(location.hash.replace(/^#\/?/, "")).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    try {
      await ask("/api/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ code }) });
      return true;
    } catch {
      // A link that was opened twice is no harm where the cookie is already there.
      if (await isKnown()) return true;
      refuse("This link was already used, or it is too old.");
      return false;
    }
  }
  if (await isKnown()) return true;
  refuse("This browser has no access to this house yet.");
  return false;
}

/** False only when the house says so: a house that does not answer may be back soon. */
export async function isKnown() {
  try {
    await ask("/api/session");
    return true;
  } catch (error) {
    return /** @type {{code?: string}} */ (error).code !== "unauthorized";
  }
}

/** @param {string} why */
export function refuse(why) {
  document.title = "Parlor";
  document.body.className = "outside";
  const copy = make("button", { type: "button", class: "plain", onclick: () => navigator.clipboard?.writeText("parlor link") }, "Copy");
  fill(byId("main", HTMLElement), make("div", { class: "door" },
    make("h1", {}, "Parlor"),
    make("p", {}, why),
    make("p", {}, "On the machine where Parlor runs, type"),
    make("p", { class: "command-line" }, make("code", {}, "parlor link"), copy),
    make("p", {}, "and open the link that it prints in this browser. It works once; the browser is remembered from then on."),
    make("button", { type: "button", class: "plain strong", onclick: () => location.reload() }, "Try again")));
  byId("sessions", HTMLElement).hidden = true;
}
