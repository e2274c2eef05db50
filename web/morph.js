// @ts-check
// Changes an element into another with as little as possible, so that open cards, focus, selection and scroll stay. It
// knows nodes, and nothing of what they show.
//
// What the page itself adds to an entry survives: attributes `data-my-…` and `tabindex`, and children with
// `data-my-own`, which stand last in their parent.

/**
 * @param {Element} from Stays in the page.
 * @param {Element} to Is taken apart.
 */
export function morph(from, to) {
  if (from.isEqualNode(to)) return;
  attributes(from, to);
  children(from, to);
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function attributes(from, to) {
  for (const { name, value } of [...to.attributes]) {
    if (name === "open" && from.hasAttribute("data-my-touched")) continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (to.hasAttribute(name) || name === "tabindex" || name.startsWith("data-my-")) continue;
    // A card that the reader opened stays open.
    if (name === "open" && from.hasAttribute("data-my-touched")) continue;
    from.removeAttribute(name);
  }
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function children(from, to) {
  let old = [...from.childNodes].filter((node) => !isOwn(node));
  let next = [...to.childNodes];
  let start = 0;
  while (start < old.length && start < next.length && settle(old[start], next[start], false)) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start &&
    settle(old[old.length - 1 - end], next[next.length - 1 - end], false)) end++;
  const after = old[old.length - end] ?? [...from.childNodes].find(isOwn) ?? null;
  old = old.slice(start, old.length - end);
  next = next.slice(start, next.length - end);
  for (const node of next) {
    const match = old.find((candidate) => alike(candidate, node));
    if (!match) {
      from.insertBefore(node, old[0] ?? after);
      continue;
    }
    // What stands before the match has no counterpart any more: its place never changes, so it is gone.
    while (old[0] !== match) remove(old);
    settle(match, node, true);
    old.shift();
  }
  while (old.length > 0) remove(old);
}

/** @param {ChildNode[]} nodes */
function remove(nodes) {
  nodes.shift()?.remove();
}

/**
 * Makes one node like another. Returns false when they are not equal and `force` is not set.
 * @param {ChildNode} from
 * @param {ChildNode} to
 * @param {boolean} force
 */
function settle(from, to, force) {
  if (from.isEqualNode(to)) return true;
  if (!force) return false;
  if (from instanceof Element && to instanceof Element) morph(from, to);
  else if (from instanceof CharacterData && to instanceof CharacterData) retext(from, to.data);
  return true;
}

/**
 * Text that only grew is added to: a selection in it stays.
 * @param {CharacterData} node
 * @param {string} text
 */
function retext(node, text) {
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

/**
 * @param {ChildNode} one
 * @param {ChildNode} other
 */
function alike(one, other) {
  if (one.nodeName !== other.nodeName) return false;
  return !(one instanceof Element && other instanceof Element) || one.id === other.id;
}

/** @param {ChildNode} node */
function isOwn(node) {
  return node instanceof Element && node.hasAttribute("data-my-own");
}
