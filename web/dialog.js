// @ts-check
// A dialog over the page. It knows titles and closing, and nothing of what it holds.

import { make } from "./dom.js";

/**
 * Opens a dialog; it is gone from the page once it closes.
 * @param {string} title
 * @param {{class?: string, onClose?: () => void}} how
 * @param {...import("./dom.js").Child} body
 */
export function openDialog(title, how, ...body) {
  const dialog = make("dialog", { class: `dialog ${how.class ?? ""}`, "aria-label": title },
    make("header", {}, make("h2", {}, title),
      make("button", { type: "button", class: "bare", "aria-label": "Close", onclick: () => dialog.close() }, "✕")),
    ...body);
  dialog.addEventListener("close", () => {
    dialog.remove();
    how.onClose?.();
  });
  // A press on the backdrop is a press on the dialog itself, outside of everything in it.
  dialog.addEventListener("pointerdown", (event) => {
    if (event.target !== dialog) return;
    const box = dialog.getBoundingClientRect();
    const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    if (!inside) dialog.close();
  });
  // A search field would only empty itself.
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    dialog.close();
    // The focus may stay in what was closed until it is gone; the next key is for the page already.
    if (document.activeElement instanceof HTMLElement && dialog.contains(document.activeElement)) document.activeElement.blur();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** True while a dialog is open: keys are then its own. */
export function dialogIsOpen() {
  return document.querySelector("dialog[open]") !== null;
}

/** Closes what is open, because the page goes elsewhere. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}
