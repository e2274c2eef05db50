// @ts-check
// Lets the keyboard into what scrolls by itself. It measures when there is nothing better to do: to measure what is off
// the screen lays it out, and a page that does so while someone scrolls stumbles.

/** Text with no longer line and no more lines than this scrolls nowhere. */
const SHORT_LINE = 38;
const FEW_LINES = 20;

/**
 * True when a text is long or wide enough to scroll, perhaps.
 * @param {string} text
 */
export function mayScroll(text) {
  const lines = text.split("\n");
  return lines.length > FEW_LINES || lines.some((line) => line.length > SHORT_LINE);
}

/** @returns {(element: EventTarget | null) => void} */
export function createReach() {
  /** @type {Set<HTMLElement>} */
  const waiting = new Set();
  let asked = false;
  const whenIdle = window.requestIdleCallback?.bind(window) ??
    ((/** @type {(deadline: {timeRemaining: () => number}) => void} */ work) => setTimeout(() => work({ timeRemaining: () => 8 }), 200));

  /** @param {{timeRemaining: () => number}} deadline */
  function work(deadline) {
    asked = false;
    for (const element of waiting) {
      if (deadline.timeRemaining() < 4) break;
      waiting.delete(element);
      if (element.isConnected) reach(element);
    }
    ask();
  }

  function ask() {
    if (asked || waiting.size === 0) return;
    asked = true;
    whenIdle(work);
  }

  return (element) => {
    if (!(element instanceof HTMLElement)) return;
    waiting.add(element);
    ask();
  };
}

/** @param {HTMLElement} element */
function reach(element) {
  for (const part of element.querySelectorAll("pre, .diff, .table, .input, .whole")) {
    if (!(part instanceof HTMLElement) || part.tabIndex === 0 || !part.checkVisibility()) continue;
    if (!part.matches(".diff") && !mayScroll(part.textContent ?? "")) continue;
    if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight + 1) part.tabIndex = 0;
  }
}
