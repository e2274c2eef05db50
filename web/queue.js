// @ts-check
// The prompts that wait, as chips that can be edited, taken back and moved. It says what is wanted; the orders are sent
// by others.

import { fill, make } from "./dom.js";
import { oneLine, plural } from "./format.js";

/** @typedef {import("./types.js").Queued} Queued */

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.list
 * @param {(order: Record<string, unknown>) => void} wiring.order
 */
export function createQueue({ list, order }) {
  /** @type {Queued[]} */
  let prompts = [];
  let held = false;
  let may = false;
  /** @type {string | null} */
  let editing = null;

  function draw() {
    // A field that someone types in stays as it is.
    if (editing && prompts.some((prompt) => prompt.id === editing)) return;
    editing = null;
    list.hidden = prompts.length === 0;
    fill(list, ...prompts.map(chip), held && prompts.length > 0 && release());
  }

  function release() {
    return make("li", { class: "held" },
      make("span", {}, `${plural(prompts.length, "message")} held back after a stop.`),
      may && make("button", { type: "button", class: "plain strong", onclick: () => order({ order: "release" }) }, "Send now"));
  }

  /**
   * @param {Queued} prompt
   * @param {number} index
   */
  function chip(prompt, index) {
    const able = may && prompt.id !== "";
    const words = oneLine(prompt.text, 90) || plural(prompt.files ?? 0, "file");
    const item = make("li", { class: "chip", draggable: able ? "true" : null, "data-id": prompt.id },
      make("button", { type: "button", class: "words", disabled: !able, title: "Edit", onclick: () => edit(item, prompt) },
        make("span", { class: "tag" }, held ? "held:" : "queued:"), " ", words),
      able && index > 0 && make("button", { type: "button", "aria-label": `Move earlier: ${words}`, onclick: () => move(prompt.id, prompts[index - 1].id) }, "↑"),
      able && make("button", { type: "button", "aria-label": `Take back: ${words}`, onclick: () => order({ order: "cancel", prompt: prompt.id }) }, "✕"));
    if (able) draggable(item, prompt.id);
    return item;
  }

  /**
   * @param {HTMLElement} item
   * @param {Queued} prompt
   */
  function edit(item, prompt) {
    editing = prompt.id;
    const field = make("textarea", { rows: "2", "aria-label": "Edit the queued message" });
    field.value = prompt.text;
    const done = (/** @type {boolean} */ keep) => {
      if (editing !== prompt.id) return;
      editing = null;
      const text = field.value.trim();
      if (keep && text && text !== prompt.text) {
        order({ order: "edit", prompt: prompt.id, text });
        prompt.text = text;
      }
      draw();
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        done(true);
      } else if (event.key === "Escape") {
        event.stopPropagation();
        done(false);
      }
    });
    field.addEventListener("blur", () => done(true));
    fill(item, field);
    item.draggable = false;
    field.focus();
  }

  /**
   * @param {string} prompt
   * @param {string | undefined} before
   */
  function move(prompt, before) {
    if (prompt === before) return;
    order(before === undefined ? { order: "move", prompt } : { order: "move", prompt, before });
  }

  /**
   * @param {HTMLElement} item
   * @param {string} id
   */
  function draggable(item, id) {
    item.addEventListener("dragstart", (event) => event.dataTransfer?.setData("text/x-parlor-queued", id));
    item.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("text/x-parlor-queued")) event.preventDefault();
    });
    item.addEventListener("drop", (event) => {
      const moved = event.dataTransfer?.getData("text/x-parlor-queued");
      if (!moved) return;
      event.preventDefault();
      event.stopPropagation();
      const from = prompts.findIndex((prompt) => prompt.id === moved);
      const to = prompts.findIndex((prompt) => prompt.id === id);
      move(moved, from < to ? prompts[to + 1]?.id : id);
    });
  }

  return {
    /**
     * @param {Queued[]} queue
     * @param {boolean} isHeld
     * @param {boolean} mayOrder
     */
    show(queue, isHeld, mayOrder) {
      prompts = queue.slice(0, 100);
      held = isHeld;
      may = mayOrder;
      draw();
    },
    /** A prompt that was sent and is not told about yet. @param {Queued} prompt */
    expect(prompt) {
      if (!prompts.some((one) => one.id === prompt.id)) prompts = [...prompts, prompt];
      draw();
    },
  };
}
