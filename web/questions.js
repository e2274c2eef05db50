// @ts-check
// A form for the questions of a tool call: options, several of them where that is allowed, and words of one's own. It
// must not send the answer.

import { askJson, entryPath } from "./api.js";
import { make } from "./dom.js";

/** @typedef {{question: string, header?: string, multiSelect?: boolean, options?: {label: string, description?: string}[]}} Question */

const MOST_QUESTIONS = 20;
const MOST_OPTIONS = 50;

/**
 * The questions in a tool call's input, whatever is wrong with the rest of it.
 * @param {any} entry
 * @returns {Question[]}
 */
export function questionsOf(entry) {
  const input = (entry?.entry ?? entry)?.input;
  const list = Array.isArray(input?.questions) ? input.questions : input?.question ? [input] : [];
  return list.filter((/** @type {any} */ one) => typeof one?.question === "string").slice(0, MOST_QUESTIONS)
    .map((/** @type {any} */ one) => ({
      question: one.question,
      header: typeof one.header === "string" ? one.header : undefined,
      multiSelect: Boolean(one.multiSelect ?? one.multi_select ?? one.multiple),
      options: (Array.isArray(one.options) ? one.options : []).slice(0, MOST_OPTIONS)
        .map((/** @type {any} */ option) => typeof option === "string" ? { label: option } : { label: String(option?.label ?? option?.name ?? ""), description: option?.description })
        .filter((/** @type {{label: string}} */ option) => option.label),
    }));
}

/**
 * What was answered to each question, in the form of the order.
 * @param {Question[]} questions
 * @param {{picked: string[], words: string}[]} given
 * @returns {Record<string, unknown>}
 */
export function replyOf(questions, given) {
  const answers = questions.map((one, index) => {
    const { picked, words } = given[index];
    return [one.question, [...picked, words.trim()].filter(Boolean).join(", ")];
  });
  if (questions.length === 0) return { choice: "reply", reason: given[0]?.words.trim() ?? "" };
  return { choice: "reply", answers };
}

/**
 * @param {string} session
 * @param {string} entry
 * @param {(given: Record<string, unknown>) => void} answer
 */
export async function questionForm(session, entry, answer) {
  /** @type {Question[]} */
  let questions = [];
  try {
    questions = questionsOf(await askJson(entryPath(session, entry)));
  } catch {
    // Without its options a question can still be answered in words.
  }
  const groups = questions.length > 0 ? questions.map((one, index) => group(one, `${entry}-${index}`)) : [group({ question: "Answer" }, entry)];
  const form = make("form", { class: "questions-form" }, ...groups,
    make("div", { class: "row" },
      make("button", { type: "submit", class: "plain strong" }, "Answer"),
      make("button", { type: "button", class: "plain", onclick: () => answer({ choice: "deny" }) }, "Skip")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = groups.map(read);
    const open = given.findIndex(({ picked, words }) => picked.length === 0 && !words.trim());
    if (open < 0) answer(replyOf(questions, given));
    else groups[open].querySelector("input")?.focus();
  });
  return form;
}

/**
 * @param {Question} question
 * @param {string} name
 */
function group(question, name) {
  const type = question.multiSelect ? "checkbox" : "radio";
  const words = make("input", { type: "text", class: "own-words", "aria-label": `Your own words: ${question.question}`, placeholder: question.options?.length ? "Or in your own words" : "Your answer" });
  const set = make("fieldset", {},
    make("legend", {}, question.header && make("span", { class: "tag" }, question.header), " ", question.question),
    ...(question.options ?? []).map((option) => make("label", { class: "option" },
      make("input", { type, name, value: option.label }), make("span", {}, make("b", {}, option.label), option.description && make("small", {}, option.description)))),
    words);
  // Words of one's own replace the one option that was picked.
  words.addEventListener("input", () => {
    if (type === "radio" && words.value) for (const input of set.querySelectorAll("input")) input.checked = false;
  });
  set.addEventListener("change", (event) => {
    if (type === "radio" && event.target !== words) words.value = "";
  });
  return set;
}

/** @param {HTMLFieldSetElement} set */
function read(set) {
  const inputs = [...set.querySelectorAll("input")];
  return {
    picked: inputs.filter((input) => input.checked).map((input) => input.value),
    words: inputs.find((input) => input.type === "text")?.value ?? "",
  };
}
