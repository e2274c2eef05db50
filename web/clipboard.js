// @ts-check
// Putting text on the clipboard, also where browsers want a page that came over TLS.

import { make } from "./dom.js";
import { toast } from "./notices.js";

/**
 * @param {string} text
 * @param {string} said What is said when it worked.
 */
export async function copy(text, said) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyByField(text);
    toast(said);
  } catch {
    toast("the browser did not let the page copy");
  }
}

/** @param {string} text */
function copyByField(text) {
  const field = make("textarea", { class: "unseen", "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) throw new Error("copy was refused");
}
