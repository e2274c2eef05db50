// @ts-check
// The shapes that PROTOCOL.md promises. It holds types only, and no code.

/**
 * @typedef {object} Row What the list of sessions says about one session.
 * @property {string} id
 * @property {string | null} title
 * @property {string | null} agent
 * @property {string | null} [model]
 * @property {string | null} cwd
 * @property {string | null} [branch]
 * @property {string | number | null} [started]
 * @property {string | number | null} updated
 * @property {number | null} [tokens]
 * @property {number | null} [cost]
 * @property {number} [prompts]
 * @property {number} [tools]
 * @property {string} phase
 * @property {boolean | number | null} [waiting]
 * @property {string} source
 * @property {boolean} [archived]
 * @property {number} [queue]
 * @property {string | null} [parent]
 *
 * @typedef {object} Phase
 * @property {string} phase
 * @property {string} [tool]
 *
 * @typedef {object} Queued
 * @property {string} id
 * @property {string} text
 * @property {number} [files]
 * @property {string | null} [from] The agent whose message it is, where it is no person's.
 *
 * @typedef {object} Tie What a session's agent has to do with another's.
 * @property {string} session
 * @property {string} agent
 * @property {number} sent
 * @property {number} received
 * @property {number} open
 * @property {boolean} waits
 *
 * @typedef {object} Usage
 * @property {number} [input]
 * @property {number} [output]
 * @property {number} [cache_read]
 * @property {number} [cache_write]
 *
 * @typedef {object} Can
 * @property {boolean} [prompt]
 * @property {boolean} [interrupt]
 * @property {boolean} [steer]
 * @property {boolean} [adopt]
 * @property {boolean} [answer]
 *
 * @typedef {object} State What is known of a session as a whole.
 * @property {string} id
 * @property {string | null} [title]
 * @property {string | null} [agent]
 * @property {string | null} [model]
 * @property {string | null} [mode]
 * @property {string | null} [cwd]
 * @property {string | null} [branch]
 * @property {string | null} [version]
 * @property {Phase} phase
 * @property {string | null} [since]
 * @property {Usage} [usage]
 * @property {number} [context]
 * @property {number | null} [context_window]
 * @property {number | null} [cost_usd]
 * @property {Queued[]} [queue]
 * @property {boolean} [held]
 * @property {Tie[]} [ties]
 * @property {Record<string, number>} [counts]
 * @property {string} [source]
 * @property {Can} [can]
 * @property {string | null} [writer]
 * @property {{id: string, entry: string}[]} [asks]
 * @property {boolean} [archived]
 * @property {boolean} [reading] True while only the end of a large file has been read.
 *
 * @typedef {object} EntryFrame One entry, rendered by the server.
 * @property {string} id
 * @property {number} n Its place, from 0 without gaps.
 * @property {number} v Grows with every change.
 * @property {string} [day]
 * @property {number} [keep] How many UTF-16 units of the HTML we have are kept.
 * @property {string} html
 *
 * @typedef {object} EntriesFrame
 * @property {"entries"} type
 * @property {"window" | "live"} kind
 * @property {number} [ref]
 * @property {number} sub
 * @property {number} seq
 * @property {number} total
 * @property {EntryFrame[]} entries
 *
 * @typedef {object} Agent
 * @property {string} name
 * @property {string} label
 * @property {string | null} [version]
 * @property {boolean} available
 * @property {(string | {id?: string, name?: string, label?: string})[]} [models]
 * @property {string | null} [problem]
 *
 * @typedef {object} Hello
 * @property {string} server
 * @property {string} house
 * @property {string} access
 * @property {Agent[]} agents
 * @property {string} home
 *
 * @typedef {{type: string, ref?: number, sub?: number, seq?: number} & Record<string, any>} Frame
 *
 * @typedef {object} PromptFile
 * @property {string} name
 * @property {string} media_type
 * @property {string} data
 *
 * @typedef {object} Hit What a search found.
 * @property {string} session
 * @property {string | null} [title]
 * @property {string | null} [entry]
 * @property {string | number | null} [at]
 * @property {string} snippet
 * @property {[number, number][]} [marks]
 */

export {};
