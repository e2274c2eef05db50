// @ts-check
// Answers to what a tool call waits on. It adds buttons to asks that the server drew; it must not draw asks itself.

import { fill, isTyping, make } from "./dom.js";
import { toast } from "./notices.js";
import { questionForm } from "./questions.js";

/** @typedef {import("./types.js").State} State */

/** @type {[string, string, string][]} */
const CHOICES = [
  ["allow", "Allow once", "y"],
  ["allow_session", "Allow for this session", "a"],
  ["allow_always", "Always allow", ""],
];

/**
 * @param {object} wiring
 * @param {import("./conversation.js").Conversation} wiring.conversation
 * @param {import("./orders.js").Order} wiring.order
 * @param {() => boolean} wiring.mayWrite
 */
export function createAsks({ conversation, order, mayWrite }) {
  /** @type {State | null} */
  let state = null;
  const talk = /** @type {HTMLElement} */ (document.getElementById("talk"));

  /** @param {HTMLElement} element */
  function decorate(element) {
    for (const ask of element.querySelectorAll(".ask[data-ask]")) {
      if (!(ask instanceof HTMLElement)) continue;
      const id = ask.dataset.ask ?? "";
      const open = mayAnswer(id);
      const own = ask.querySelector(":scope > [data-my-own]");
      if (!open) own?.remove();
      else if (own?.getAttribute("data-my-own") !== id) {
        own?.remove();
        ask.append(isQuestion(ask) ? question(ask, id) : approval(ask, id));
        unfold(ask);
      }
    }
  }

  /**
   * What waits for an answer is not left in a closed card, such as a subagent's.
   * @param {HTMLElement} ask
   */
  function unfold(ask) {
    for (let up = ask.parentElement; up && up !== talk; up = up.parentElement) {
      if (up instanceof HTMLDetailsElement && !up.open) {
        up.open = true;
        up.setAttribute("data-my-touched", "");
      }
    }
  }

  /** @param {string} id */
  function mayAnswer(id) {
    if (!mayWrite() || !state || state.can?.answer === false) return false;
    return !state.asks || state.asks.some((ask) => ask.id === id);
  }

  /** @param {HTMLElement} ask */
  const isQuestion = (ask) => ask.parentElement?.querySelector(":scope > .card .questions") !== null;

  /**
   * @param {HTMLElement} ask
   * @param {string} id
   */
  function approval(ask, id) {
    const reason = make("input", { type: "text", "aria-label": "Why not, or what to do instead", placeholder: "Why not, or what to do instead (optional)" });
    const why = make("div", { class: "why", hidden: true }, reason,
      make("button", { type: "button", class: "plain", onclick: () => deny() }, "Deny"));
    const deny = () => answer(row, id, { choice: "deny", ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) });
    const reveal = () => { why.hidden = false; reason.focus(); };
    const row = make("div", { class: "answers", "data-my-own": id, role: "group", "aria-label": "Answer" },
      make("div", { class: "row" },
        ...CHOICES.map(([choice, words, key], index) => make("button", { type: "button", class: `plain${index === 0 ? " strong" : ""}`, "aria-keyshortcuts": key || null, onclick: () => answer(row, id, { choice }) }, words, key && make("kbd", {}, key))),
        make("button", { type: "button", class: "plain", "aria-keyshortcuts": "n", onclick: reveal }, "Deny…", make("kbd", {}, "n"))),
      why);
    reason.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) deny();
      if (event.key === "Escape") { why.hidden = true; row.querySelector("button")?.focus(); }
      if (event.key === "Enter" || event.key === "Escape") event.stopPropagation();
    });
    // Keys count only where the focus is: nobody allows something by typing elsewhere.
    row.addEventListener("keydown", (event) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const choice = CHOICES.find(([, , key]) => key && key === event.key)?.[0];
      if (choice) answer(row, id, { choice });
      else if (event.key === "n") reveal();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    ask.setAttribute("data-my-asked", "");
    return row;
  }

  /**
   * @param {HTMLElement} ask
   * @param {string} id
   */
  function question(ask, id) {
    const box = make("div", { class: "answers", "data-my-own": id }, make("p", { class: "soft" }, "Loading the questions…"));
    const session = conversation.id() ?? "";
    const entry = state?.asks?.find((one) => one.id === id)?.entry ?? ask.closest("[id^='e-']")?.id.slice(2) ?? "";
    questionForm(session, entry, (given) => answer(box, id, given)).then((form) => fill(box, form));
    ask.setAttribute("data-my-asked", "question");
    return box;
  }

  /**
   * @param {HTMLElement} box
   * @param {string} id
   * @param {Record<string, unknown>} given
   */
  async function answer(box, id, given) {
    if (box.inert) return;
    box.inert = true;
    box.classList.add("given");
    try {
      await order({ order: "answer", ask: id, ...given });
    } catch (error) {
      toast(/** @type {Error} */ (error).message);
      box.inert = false;
      box.classList.remove("given");
    }
  }

  return {
    decorate,
    /** @param {State} next */
    show(next) {
      state = next;
      decorate(talk);
    },
    clear() {
      state = null;
    },
    /** Brings the first open ask into view, with the focus on its first answer. False when there is none. */
    async focus() {
      const first = state?.asks?.[0];
      if (!first) return false;
      await conversation.jump(first.entry);
      /** @type {HTMLElement | null} */ (talk.querySelector(".ask .answers button, .ask .answers input"))?.focus();
      return true;
    },
  };
}
