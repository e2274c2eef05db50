// @ts-check
// What was said before comes back into the field with the arrow keys, as in a shell. It must not send anything.

/**
 * @param {object} wiring
 * @param {HTMLTextAreaElement} wiring.field
 * @param {() => string[]} wiring.said What was said in this session, oldest first.
 * @param {(text: string) => void} wiring.write
 */
export function createHistory({ field, said, write }) {
  /** The place in what was said, counted from the end; 0 is the empty field. */
  let at = 0;
  let shown = "";

  field.addEventListener("keydown", (event) => {
    if ((event.key !== "ArrowUp" && event.key !== "ArrowDown") || event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    // Words that someone is writing are never replaced; the arrows move in them.
    if (field.value !== shown) at = 0;
    if (at === 0 && field.value !== "") return;
    const all = said();
    const next = event.key === "ArrowUp" ? Math.min(at + 1, all.length) : Math.max(at - 1, 0);
    if (next === at) return;
    event.preventDefault();
    at = next;
    shown = at === 0 ? "" : all[all.length - at];
    write(shown);
  });
}
