// @ts-check
// Making and finding elements. It must not parse HTML: text goes in as text.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes and children. Names that start with `on` take listeners; `true` sets an empty attribute;
 * `null`, `undefined` and `false` set none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, ...children);
  return element;
}

/**
 * Replaces what an element holds.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child))));
}

/**
 * The element of the page with this id.
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * An icon: a mask from the style sheet, so that it takes the colour of the text.
 * @param {string} name
 */
export function icon(name) {
  return make("i", { class: `icon i-${name}`, "aria-hidden": "true" });
}

/**
 * A sentence of the house with its literals, which stand in backticks, as code.
 * @param {string} text
 * @returns {Child[]}
 */
export function withCode(text) {
  return text.split(/`([^`]+)`/).map((part, index) => index % 2 === 1 ? make("code", {}, part) : part);
}

/**
 * Sets text only where it changed: a screen reader and a selection are left alone.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * True when keys belong to what has the focus.
 * @param {EventTarget | null} target
 */
export function isTyping(target) {
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
      (target instanceof HTMLInputElement && !/^(checkbox|radio|button|submit)$/.test(target.type)));
}

/** True when the reader asked for less motion. */
export function lessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
