// @ts-check
// The line above the conversation: what session this is, and what it has used. It only shows.

import { byId, fill, make, setText } from "./dom.js";
import { money, oneLine, plural, tilde, tokens } from "./format.js";

/** @typedef {import("./types.js").State} State */

/**
 * What a session has used, in lines, for the tooltip of the meter.
 * @param {State} state
 * @returns {string[]}
 */
export function usageLines(state) {
  const used = state.usage ?? {};
  const counts = state.counts ?? {};
  const lines = [];
  if (state.context && state.context_window) {
    lines.push(`Context: ${tokens(state.context)} of ${tokens(state.context_window)} tokens (${Math.round((100 * state.context) / state.context_window)} %)`);
  } else if (state.context) {
    lines.push(`Context: ${tokens(state.context)} tokens`);
  }
  const read = (used.input ?? 0) + (used.cache_read ?? 0) + (used.cache_write ?? 0);
  if (read || used.output) lines.push(`In: ${tokens(read)} tokens, ${tokens(used.cache_read ?? 0)} of them cached`, `Out: ${tokens(used.output ?? 0)} tokens`);
  lines.push([plural(counts.prompts ?? 0, "prompt"), plural(counts.tools ?? 0, "tool call"), counts.failed ? `${counts.failed} failed` : ""].filter(Boolean).join(", "));
  if (state.cost_usd) lines.push(`Cost by the agent's own account: ${money(state.cost_usd)}`);
  return lines;
}

/**
 * @param {object} wiring
 * @param {(agent: string) => string} wiring.label
 * @param {() => string} wiring.home
 */
export function createHeader({ label, home }) {
  const title = byId("title", HTMLElement);
  const meta = byId("meta", HTMLElement);
  const usage = byId("usage", HTMLElement);
  const context = byId("context", HTMLElement);
  const cost = byId("cost", HTMLElement);
  const more = byId("usage-more", HTMLElement);
  more.addEventListener("beforetoggle", () => {
    const box = usage.getBoundingClientRect();
    more.style.top = `${box.bottom + 4}px`;
    more.style.right = `${Math.max(8, innerWidth - box.right)}px`;
  });

  return {
    /** @param {State} state */
    show(state) {
      setText(title, oneLine(state.title || "New session", 200));
      title.title = state.title ?? "";
      setText(meta, [label(state.agent ?? ""), state.model, tilde(state.cwd, home()), state.branch].filter(Boolean).join(" · "));
      const share = state.context && state.context_window ? Math.min(1, state.context / state.context_window) : null;
      context.hidden = share === null;
      const percent = Math.round(100 * (share ?? 0));
      context.setAttribute("aria-valuenow", String(percent));
      context.dataset.level = percent >= 90 ? "high" : percent >= 70 ? "some" : "low";
      /** @type {HTMLElement} */ (context.firstElementChild).style.width = `${percent}%`;
      setText(cost, money(state.cost_usd) || (share === null && state.context ? `${tokens(state.context)} in context` : ""));
      const lines = usageLines(state);
      usage.title = lines.join("\n");
      usage.setAttribute("aria-label", `${cost.textContent} ${lines[0]}`.trim());
      fill(more, ...lines.map((line) => make("p", {}, line)));
      usage.hidden = share === null && cost.textContent === "";
    },
    /** @param {string} words */
    plain(words) {
      setText(title, words);
      setText(meta, "");
      usage.hidden = true;
    },
  };
}
