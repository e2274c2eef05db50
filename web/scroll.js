// @ts-check
// Where the reader is. It follows the end, waits while someone reads above it, or holds one entry in its place. It must
// not know what entries say.

/** @typedef {"follow" | "paused" | "pinned"} Hold */
/** @typedef {"reader-at-end" | "reader-away" | "jump" | "to-end"} Move */

/** Closer to the end than this is at the end. */
const NEAR_PX = 48;
/** What is jumped to stands this far below the top: the tools of an entry stand above it. */
const ABOVE_PX = 30;
/** Older or newer entries are asked for before the reader reaches the edge. */
const AHEAD_PX = 900;
/** A scroll this soon after a touch of wheel, finger or key is the reader's. */
const HAND_MS = 400;

/**
 * What a move makes of where the reader is: scrolling to the end follows, away from it pauses, and a jump pins until
 * the reader scrolls.
 * @param {Hold} hold
 * @param {Move} move
 * @returns {Hold}
 */
export function nextHold(hold, move) {
  switch (move) {
    case "to-end": return "follow";
    case "jump": return "pinned";
    case "reader-at-end": return "follow";
    case "reader-away": return "paused";
    default: return hold;
  }
}

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.scroller
 * @param {HTMLElement} wiring.content What grows in it.
 * @param {HTMLButtonElement} wiring.pill
 * @param {() => boolean} wiring.atNewest Whether the last entry there is, is shown.
 * @param {() => void} wiring.onTop The reader nears the top.
 * @param {() => void} wiring.onBottom The reader nears the bottom.
 * @param {() => void} wiring.onPill
 */
export function createScroll({ scroller, content, pill, atNewest, onTop, onBottom, onPill }) {
  /** @type {Hold} */
  let hold = "follow";
  let news = 0;
  /** The position we scrolled to ourselves: that is no move of the reader's. */
  let own = -1;
  /** @type {{element: Element, top: number} | null} */
  let pin = null;

  /** When the reader last did something that scrolls. */
  let readerAt = -Infinity;

  /** A pinned entry moves when what lies above it is laid out: only a hand unpins it. A swing that goes on counts as the hand. */
  function byReader() {
    if (performance.now() - readerAt > HAND_MS) return false;
    readerAt = performance.now();
    return true;
  }

  const fromEnd = () => scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;

  /** @param {number} top */
  function scrollTo(top) {
    scroller.scrollTop = top;
    own = scroller.scrollTop;
  }

  /** @param {Move} move */
  function go(move) {
    hold = nextHold(hold, move);
    if (hold !== "pinned") pin = null;
    if (hold === "follow") news = 0;
    showPill();
  }

  function showPill() {
    const away = hold !== "follow" && (news > 0 || !atNewest() || fromEnd() > scroller.clientHeight);
    pill.hidden = !away;
    pill.textContent = news > 0 ? `${news} new below ↓` : "To the end ↓";
    scroller.dataset.hold = hold;
  }

  /** Puts things back in their place after the content changed. */
  function keep() {
    if (hold === "follow") {
      if (!selecting()) scrollTo(scroller.scrollHeight);
    } else if (hold === "pinned" && pin?.element.isConnected) {
      const moved = pin.element.getBoundingClientRect().top - scroller.getBoundingClientRect().top - pin.top;
      if (Math.abs(moved) >= 1) scrollTo(scroller.scrollTop + moved);
    }
  }

  function selecting() {
    const selection = document.getSelection();
    return Boolean(selection && !selection.isCollapsed && content.contains(selection.anchorNode));
  }

  /**
   * Runs a change and leaves what the reader looks at where it was.
   * @param {() => void} change
   */
  function steady(change) {
    if (hold === "follow") {
      change();
      keep();
      return;
    }
    const anchor = pin?.element.isConnected ? pin.element : firstVisible();
    const before = anchor?.getBoundingClientRect().top ?? 0;
    change();
    if (anchor?.isConnected) {
      const moved = anchor.getBoundingClientRect().top - before;
      if (Math.abs(moved) >= 1) scrollTo(scroller.scrollTop + moved);
    }
    showPill();
  }

  function firstVisible() {
    const edge = scroller.getBoundingClientRect().top;
    for (const child of content.querySelectorAll(".talk > .entry")) {
      if (child.getBoundingClientRect().bottom > edge + 1) return child;
    }
    return null;
  }

  /** Asks for more where an edge is near. */
  function look() {
    if (scroller.scrollTop < AHEAD_PX) onTop();
    if (fromEnd() < AHEAD_PX) onBottom();
  }

  scroller.addEventListener("scroll", () => {
    const moved = Math.abs(scroller.scrollTop - own) > 1;
    own = -1;
    if (moved && (hold !== "pinned" || byReader())) {
      go(fromEnd() <= NEAR_PX && atNewest() ? "reader-at-end" : "reader-away");
    }
    look();
  }, { passive: true });
  for (const input of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    scroller.addEventListener(input, () => { readerAt = performance.now(); }, { passive: true });
  }
  // A finger or a wheel going up is meant, however little it moved before the next word came.
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollTop > 0 && hold === "follow" && fromEnd() > 0) go("reader-away");
  }, { passive: true });
  new ResizeObserver(keep).observe(content);
  new ResizeObserver(keep).observe(scroller);
  pill.addEventListener("click", onPill);

  return {
    steady,
    look,
    /** @param {number} count */
    tell(count) {
      if (hold !== "follow") news += count;
      showPill();
    },
    toEnd() {
      go("to-end");
      keep();
    },
    /** @param {Element} element */
    toEntry(element) {
      go("jump");
      element.scrollIntoView({ block: "start" });
      scrollTo(Math.max(0, scroller.scrollTop - ABOVE_PX));
      pin = { element, top: element.getBoundingClientRect().top - scroller.getBoundingClientRect().top };
      showPill();
    },
    isFollowing: () => hold === "follow",
    firstVisible,
    showPill,
  };
}

/** @typedef {ReturnType<typeof createScroll>} Scroll */
