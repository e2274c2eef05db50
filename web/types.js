// @ts-check
// The names under which the page knows the shapes of the wire. The shapes themselves are the server's own (`wire.d.ts`, made
// by the server's tests), so that the page cannot mean something else by them. It holds types only, and no code.

/**
 * @typedef {import("./wire.js").Tell} Tell
 * @typedef {import("./wire.js").Row} Row
 * @typedef {import("./wire.js").Phase} Phase
 * @typedef {import("./wire.js").Queued} Queued
 * @typedef {import("./wire.js").Tie} Tie
 * @typedef {import("./wire.js").State} State
 * @typedef {import("./wire.js").EntryFrame} EntryFrame
 * @typedef {import("./wire.js").Agent} Agent
 * @typedef {import("./wire.js").File} PromptFile
 * @typedef {import("./wire.js").HitShape} Hit
 * @typedef {import("./wire.js").Folders} Folders
 * @typedef {Extract<Tell, {type: "entries"}>} EntriesFrame
 * @typedef {Extract<Tell, {type: "hello"}>} Hello
 *
 * A frame of which only its envelope is known yet.
 * @typedef {{type: string, ref?: number, sub?: number, seq?: number} & Record<string, any>} Frame
 */

export {};
