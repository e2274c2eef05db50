// @ts-check
// Files that go with a prompt: pasted, dropped or chosen. It reads them, and must not send them.

import { fill, icon, make } from "./dom.js";
import { size } from "./format.js";

/** @typedef {import("./types.js").PromptFile} PromptFile */

/** All files of a message must fit into one frame of the socket, in base64. */
const MOST_BYTES = 5_500_000;
const MOST_FILES = 10;

/**
 * @param {object} wiring
 * @param {HTMLElement} wiring.shelf Where chosen files are shown.
 * @param {(message: string) => void} wiring.complain
 */
export function createFiles({ shelf, complain }) {
  /** @type {{file: PromptFile, bytes: number}[]} */
  let chosen = [];

  /** @param {Iterable<File>} files */
  async function add(files) {
    for (const file of files) {
      if (chosen.length >= MOST_FILES) return complain(`at most ${MOST_FILES} files go with one message`);
      const sum = chosen.reduce((bytes, one) => bytes + one.bytes, 0);
      if (sum + file.size > MOST_BYTES) {
        complain(`${file.name || "the file"} is too large: at most ${size(MOST_BYTES)} go with one message; put it in the folder and name it instead`);
        continue;
      }
      const data = await base64(file);
      chosen.push({ file: { name: file.name, media_type: file.type || "text/plain", data }, bytes: file.size });
    }
    draw();
  }

  function draw() {
    fill(shelf, ...chosen.map((one, index) => make("li", {}, icon("file"), one.file.name || one.file.media_type,
      make("small", {}, size(one.bytes)),
      make("button", { type: "button", "aria-label": `Remove ${one.file.name || "file"}`, onclick: () => { chosen.splice(index, 1); draw(); } }, "✕"))));
    shelf.hidden = chosen.length === 0;
  }

  return {
    add,
    /** The files, which are then gone from the shelf. */
    take() {
      const files = chosen.map((one) => one.file);
      chosen = [];
      draw();
      return files;
    },
    count: () => chosen.length,
  };
}

/** @param {File} file */
function base64(file) {
  return new Promise((/** @type {(data: string) => void} */ resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,/, "")));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}
