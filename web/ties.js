// @ts-check
// With whom this session's agent talks: a chip above the conversation, and all of them in a dialog. It only shows.

import { openDialog } from "./dialog.js";
import { byId, fill, make, setText } from "./dom.js";
import { oneLine, plural } from "./format.js";
import { href } from "./route.js";

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Tie} Tie */

/** The house tells no more than this. */
const MOST = 50;

/**
 * What there is between the two, in words.
 * @param {Tie} tie
 */
export function tieWords(tie) {
  const sent = tie.sent > 0 && `${plural(tie.sent, "message")} to it`;
  const received = tie.received > 0 && `${plural(tie.received, "message")} from it`;
  return [sent, received].filter(Boolean).join(", ");
}

/**
 * What has no reply yet; empty when nothing is open.
 * @param {Tie} tie
 */
export function openWords(tie) {
  if (tie.waits) return "waits for its reply";
  return tie.open > 0 ? `${tie.open} without reply` : "";
}

/**
 * @param {object} wiring
 * @param {(agent: string) => string} wiring.label
 * @param {(session: string) => {title?: string | null} | undefined} wiring.row What the list says of a session.
 */
export function createTies({ label, row }) {
  const chip = byId("ties", HTMLButtonElement);
  const names = byId("ties-names", HTMLElement);
  const list = make("ul", { class: "hits" });
  const more = make("p", { class: "soft" }, `Only the last ${MOST} are listed.`);
  /** @type {Tie[]} */
  let ties = [];

  /** @param {Tie} tie */
  function item(tie) {
    const open = openWords(tie);
    return make("li", {}, make("a", { href: href(tie.session) },
      make("b", {}, oneLine(row(tie.session)?.title || "A session that is not in the list", 120)),
      open && make("em", {}, open),
      make("span", {}, `${label(tie.agent)} · ${tieWords(tie)}`)));
  }

  function draw() {
    chip.hidden = ties.length === 0;
    const open = ties.filter((tie) => tie.open > 0).length;
    chip.classList.toggle("open", open > 0);
    setText(names, ties.length > 0 ? label(ties[0].agent) + (ties.length > 1 ? ` +${ties.length - 1}` : "") : "");
    const words = `Talks with ${plural(ties.length, "other session")}${open > 0 ? `, ${open} with a message without reply` : ""}`;
    chip.title = words;
    chip.setAttribute("aria-label", words);
    fill(list, ...ties.map(item));
    more.hidden = ties.length < MOST;
  }

  chip.addEventListener("click", () => {
    // Titles come with the list, which may be newer than the state.
    draw();
    openDialog("Talks with", {}, list, more);
  });

  return {
    /** @param {State | null} state */
    show(state) {
      ties = state?.ties ?? [];
      draw();
    },
  };
}
