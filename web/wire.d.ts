// The types on the wire. Made from the server's own types by `UPDATE=1 cargo test -p parlor-server --test wire`;
// do not edit.

/** What somebody may do. */
export type Access = "full" | "read";

/** A one-time code. */
export type Admission = {
  /** The code of the link, after `#code=`. */
  code: string;
};

/** What a client may do. */
export type Admitted = {
  /** What it may do. */
  access: Access;
};

/** An agent that may or may not be there. */
export type Agent = {
  /** Its name in orders. */
  name: string;
  /** Its name as people read it. */
  label: string;
  /** What it says its version is. */
  version: string | null;
  /** True when it can be used. */
  available: boolean;
  /** Models it is known to take; any other may be named too. */
  models: string[];
  /** Why it cannot be used, and what to do. */
  problem: string | null;
};

/** Which agents there are. */
export type Agents = {
  /** All of them. */
  agents: Agent[];
};

/** A frame from a client. `ref` is its own number for a request, and comes back in the answer. */
export type Ask =
  | {
      type: "list";
      /** The client's number for this request. */
      ref?: number | null;
    }
  | {
      type: "subscribe";
      /** The client's number for this request. */
      ref?: number | null;
      /** The session. */
      session: string;
      /** `html`, `events`, `elements`, `bridge`, `legion` or `raw`. */
      profile?: string;
      /** How many of the last entries are wanted at first; for `html`. */
      window?: number | null;
      /** What the client has: the epoch it was told. */
      epoch?: string | null;
      /** What the client has: the last `seq` it was told. */
      after?: number | null;
      /** What the client has: the lowest `n`; for `html`. */
      first?: number | null;
      /** Seconds to add to UTC for the clocks in the HTML. */
      offset_s?: number;
      /** Which messages are wanted; for the other profiles. */
      mask?: MaskShape;
    }
  | {
      type: "unsubscribe";
      /** The subscription. */
      sub: number;
    }
  | {
      type: "window";
      /** The client's number for this request. */
      ref?: number | null;
      /** The subscription. */
      sub: number;
      /** Those before this place. */
      before?: number | null;
      /** Those from this place on. */
      from?: number | null;
      /** Those around the entry of this id. */
      around?: string | null;
      /** How many. */
      count?: number | null;
    }
  | {
      type: "order";
      /** The client's number for this request. */
      ref?: number | null;
      /** The session. */
      session: string;
      /** What is wanted. */
      order: Ordered;
    }
  | {
      type: "create";
      /** The client's number for this request. */
      ref?: number | null;
      /** The agent's name. */
      agent: string;
      /** Where it works. */
      cwd: string;
      /** The model, as the agent names it. */
      model?: string | null;
      /** What it may do without asking. */
      mode?: Mode;
    }
  | {
      type: "stop_all";
      /** The client's number for this request. */
      ref?: number | null;
    }
  | {
      type: "ping";
    };

/** What can be done with a session now. */
export type Can = {
  /** It takes prompts. */
  prompt: boolean;
  /** There is something to stop. */
  interrupt: boolean;
  /** A prompt can be put into the turn that runs. */
  steer: boolean;
  /** A prompt makes it the house's own. */
  adopt: boolean;
  /** Its asks can be answered here. */
  answer: boolean;
};

/** What was decided. */
export type Choice =
  | "allow"
  | "allow_session"
  | "allow_always"
  | "deny"
  | "reply";

/** What went wrong, in one word that programs can tell apart. */
export type Code =
  | "bad_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "too_many"
  | "unavailable"
  | "internal";

/** How many of what a session holds. */
export type Counts = {
  /** Prompts by people. */
  prompts: number;
  /** Replies. */
  replies: number;
  /** Tool calls. */
  tools: number;
  /** Tool calls that failed. */
  failed: number;
  /** Records nobody understands. */
  unknown: number;
};

/** A session that was made. */
export type CreatedSession = {
  /** Its id. */
  session: string;
};

/** A new session. */
export type Creation = {
  /** The agent's name. */
  agent: string;
  /** Where it works. */
  cwd: string;
  /** The model, as the agent names it. */
  model?: string | null;
  /** What it may do without asking. */
  mode?: Mode;
  /** What is said to it at once. */
  prompt?: string | null;
};

/** One rendered entry. */
export type EntryFrame = {
  /** Its id. */
  id: string;
  /** Its place among those that stand by themselves, from 0 without gaps. */
  n: number;
  /** Grows with every change. */
  v: number;
  /** On the first entry of a day: which day. */
  day?: string | null;
  /** How many UTF-16 units of the HTML that the client has stay. */
  keep?: number | null;
  /** The HTML, or what comes after the units that stay. */
  html: string;
};

/** Entries of a session. */
export type EntryPage = {
  /** Changes when the records before are not those that are here now. */
  epoch: string;
  /** How many entries there are. */
  total: number;
  /** The place of the first one here. */
  from: number;
  /** The entries: `id`, `seq`, `at`, `rev`, `opens` and the fields of their block. */
  entries: unknown[];
};

/** A picture or document that goes with a prompt. */
export type File = {
  /** What it is called. */
  name?: string;
  /** `image/png`, `text/plain`, … */
  media_type: string;
  /** Its bytes in base64. */
  data: string;
};

/** Folders to work in. */
export type Folders = {
  /** Their paths, that of the newest session first. */
  folders: string[];
};

/** One place where it was found. */
export type HitShape = {
  /** The session. */
  session: string;
  /** The session's title. */
  title: string | null;
  /** The entry. */
  entry: string;
  /** When it was said, in ISO 8601. */
  at: string | null;
  /** Some text around it. */
  snippet: string;
  /** Where the matches are in the snippet: start and end in UTF-16 units. */
  marks: [number, number][];
};

/** What a search found. */
export type Hits = {
  /** The hits, the best or newest first. */
  hits: HitShape[];
};

/** History or news. */
export type Kind = "window" | "live";

/** A one-time link. */
export type Link = {
  /** The link, good once and for five minutes. */
  url: string;
};

/** What a link is for. */
export type LinkFor = {
  /** What whoever opens it may do. */
  access?: Access;
};

/** Which messages of a profile are wanted. An empty set lets all through. */
export type MaskShape = {
  /** The types wanted. */
  types?: string[];
  /** The tools wanted; messages that are about no tool pass. */
  tools?: string[];
};

/** Messages of a profile. */
export type MessagePage = {
  /** Changes when the records before are not those that are here now. */
  epoch: string;
  /** The last record; null when there is none. */
  seq: number | null;
  /** The messages, in order, each of the profile's own shape. */
  messages: unknown[];
};

/** What an agent may do without asking. */
export type Mode =
  | "ask"
  | "accept_edits"
  | "allow_all";

/** A question that a tool call waits on. */
export type OpenAsk = {
  /** The ask's id, for the answer. */
  id: string;
  /** The tool call's entry. */
  entry: string;
};

/** An order with the name that its sender gave it: sent twice, it is carried out once. */
export type Ordered = {
  /** The sender's own name for it, such as a UUID. */
  id: string;
  /** Who or what device sent it. */
  by?: string | null;
} & (
  | {
      order: "prompt";
      /** The words. */
      text: string;
      /** Pictures and documents. */
      files?: File[];
      /** Put it into the turn that runs, where the agent can take it. */
      steer?: boolean;
    }
  | {
      order: "interrupt";
    }
  | {
      order: "answer";
      /** The ask's id. */
      ask: string;
      /** What was decided. */
      choice: Choice;
      /** Why not, or the answer in words. */
      reason?: string | null;
      /** The answers to several questions, by the question. */
      answers?: [string, string][];
    }
  | {
      order: "rename";
      /** The title; empty gives it back to the agent. */
      title: string;
    }
  | {
      order: "edit";
      /** The id of its order. */
      prompt: string;
      /** The new words. */
      text: string;
    }
  | {
      order: "cancel";
      /** The id of its order. */
      prompt: string;
    }
  | {
      order: "move";
      /** The id of its order. */
      prompt: string;
      /** The prompt that then comes after it; none for the end. */
      before?: string | null;
    }
  | {
      order: "release";
    }
  | {
      order: "set";
      /** The model, as the agent names it. */
      model?: string | null;
      /** What the agent may do without asking. */
      mode?: Mode | null;
    }
  | {
      order: "permit";
      /** What, as it is shown in an ask: `Bash(cargo test *)`. */
      permit: string;
      /** Whether it is allowed. */
      allowed: boolean;
    }
  | {
      order: "archive";
      /** Whether it is put away. */
      archived: boolean;
    }
);

/** An order that is safely on disk. */
export type OrderedAt = {
  /** The order's id. */
  id: string;
  /** Its record. */
  seq: number;
};

/** What the agent is doing. */
export type Phase = {
  /** `idle`, `preparing`, `thinking`, `replying`, `executing`, `waiting`, or `unknown` for a file whose writer nobody sees. */
  phase: string;
  /** The tool that runs or waits. */
  tool?: string | null;
};

/** A problem, as every answer and every frame tells it. */
export type Problem = {
  /** What went wrong. */
  code: Code;
  /** The same in words, with what to do. */
  message: string;
};

/** A prompt that waits for the agent to be free. */
export type Queued = {
  /** The name of its order; empty where only the agent knows the queue. */
  id: string;
  /** The words. */
  text: string;
  /** How many pictures and documents go with it. */
  files: number;
  /** The agent that sent it, where it is not a person's. */
  from?: string | null;
};

/** Records of a session. */
export type RecordPage = {
  /** Changes when the records before are not those that are here now. */
  epoch: string;
  /** How many records there are. */
  total: number;
  /** The seq of the first one here. */
  from: number;
  /** The records. There may be fewer than were asked for: go on after the last. */
  records: RecordShape[];
};

/** One record, untouched. */
export type RecordShape = {
  /** Its place in the session. */
  seq: number;
  /** When it arrived, where someone saw it arrive. */
  at: string | null;
  /** `agent`, `stderr`, `user` or `host`. */
  origin: string;
  /** Its bytes as text. */
  body: string;
  /** True when the bytes were no UTF-8, and what was not is replaced. */
  lossy?: boolean;
};

/** A session in the list. */
export type Row = {
  /** Its id. */
  id: string;
  /** The best title. */
  title: string | null;
  /** The agent's name. */
  agent: string;
  /** The model that answered last. */
  model: string | null;
  /** Where the agent works. */
  cwd: string | null;
  /** The git branch. */
  branch: string | null;
  /** When it began, in ISO 8601. */
  started: string | null;
  /** When it changed last, in ISO 8601. */
  updated: string;
  /** Bytes. */
  size: number;
  /** All tokens. */
  tokens: number;
  /** Money spent, in US dollars, by the agent's own account. */
  cost: number | null;
  /** How often a person spoke. */
  prompts: number;
  /** Tool calls. */
  tools: number;
  /** `idle`, `preparing`, `thinking`, `replying`, `executing`, `waiting` or `unknown`. */
  phase: string;
  /** True when it waits for a person. */
  waiting: boolean;
  /** Where it is kept. */
  source: Source;
  /** True when a person put it away. */
  archived: boolean;
  /** How many prompts wait. */
  queue: number;
  /** How many of its messages to other agents have no reply yet. */
  exchanges?: number;
  /** What was allowed in it for good, for its folder. */
  permits?: string[];
  /** The session it was forked or spawned from. */
  parent: string | null;
  /** The agent's own id of it. */
  own?: string | null;
  /** The run that has not ended. */
  run?: string | null;
};

/** The list of sessions. */
export type Sessions = {
  /** False while the first look over the disk still goes on. */
  complete: boolean;
  /** The sessions, the one that changed last first. */
  sessions: Row[];
};

/** Where a session is kept. */
export type Source =
  | "live"
  | "found"
  | "archived";

/** What is known of a session as a whole. */
export type State = {
  /** Its id. */
  id: string;
  /** The best title. */
  title: string | null;
  /** The agent's name. */
  agent: string | null;
  /** The model that answered last. */
  model: string | null;
  /** What the agent may do without asking, where Parlor runs it. */
  mode: Mode | null;
  /** Where the agent works. */
  cwd: string | null;
  /** The git branch. */
  branch: string | null;
  /** The agent program's version. */
  version: string | null;
  /** What the agent is doing. */
  phase: Phase;
  /** When that began, in ISO 8601. */
  since: string | null;
  /** All tokens. */
  usage: Usage;
  /** Tokens in the model's context after the last message. */
  context: number;
  /** The size of the model's context window. */
  context_window: number | null;
  /** Money spent, by the agent's own account. */
  cost_usd: number | null;
  /** Prompts that wait. */
  queue: Queued[];
  /** True when the queue waits for a person to let it go on. */
  held: boolean;
  /** The sessions whose agents this one's has talked to, the last first; at most 50. */
  ties?: Tie[];
  /** How many of what. */
  counts: Counts;
  /** Where it is kept. */
  source: Source;
  /** What can be done with it now. */
  can: Can;
  /** Another process that writes its file. */
  writer: string | null;
  /** What waits for a person. */
  asks: OpenAsk[];
  /** True when a person put it away. */
  archived: boolean;
  /** True while only the end of a large file has been read: what follows the rest replaces all of this. */
  reading?: boolean;
  /** Why its log cannot be written at the moment; what the agent says waits until it can. */
  trouble?: string | null;
};

/** Everything was stopped. */
export type StoppedAll = {
  /** How many sessions that were. */
  sessions: number;
};

/** A frame from the house. Everything in it is state: a value that replaces the one the client had. */
export type Tell =
  | {
      type: "hello";
      /** The protocol's version. */
      version: number;
      /** Parlor's version. */
      server: string;
      /** The id of the data folder. */
      house: string;
      /** What this client may do. */
      access: Access;
      /** Which agents there are. */
      agents: Agent[];
      /** The user's home folder. */
      home: string;
    }
  | {
      type: "agents";
      /** All of them. */
      agents: Agent[];
    }
  | {
      type: "list";
      /** The client's number for its request; absent when the list replaces an older one by itself. */
      ref?: number | null;
      /** False while the first look over the disk still goes on. */
      complete: boolean;
      /** The sessions, the one that changed last first. */
      sessions: Row[];
    }
  | {
      type: "rows";
      /** False while the first look over the disk still goes on. */
      complete: boolean;
      /** Rows that are new or different. */
      rows: Row[];
      /** The ids that are no longer there. */
      gone: string[];
    }
  | {
      type: "subscribed";
      /** The client's number for its request. */
      ref?: number | null;
      /** The session. */
      session: string;
      /** The subscription. */
      sub: number;
      /** Changes when the records before are not those that are here now. */
      epoch: string;
      /** Whether the client has missed anything. */
      verdict: Verdict;
      /** Why there is a gap. */
      why: Why | null;
      /** What the client has; null when it has nothing, or must forget it. */
      seq: number | null;
    }
  | {
      type: "state";
      /** The subscription. */
      sub: number;
      /** The state. */
      session: State;
    }
  | {
      type: "entries";
      /** The client's number for its request. */
      ref?: number | null;
      /** The subscription. */
      sub: number;
      /** The client has everything up to here. */
      seq: number;
      /** History or news. */
      kind: Kind;
      /** How many entries stand by themselves. */
      total: number;
      /** The lowest place of which this subscription tells changes. */
      first: number;
      /** The entries, by place. */
      entries: EntryFrame[];
    }
  | {
      type: "messages";
      /** The subscription. */
      sub: number;
      /** The record that the last message came from. */
      seq: number;
      /** History or news. */
      kind: Kind;
      /** The messages, in order, each of the profile's own shape. */
      messages: unknown[];
    }
  | {
      type: "ordered";
      /** The client's number for its request. */
      ref?: number | null;
      /** The order's id. */
      id: string;
      /** Its record. */
      seq: number;
    }
  | {
      type: "created";
      /** The client's number for its request. */
      ref?: number | null;
      /** Its id. */
      session: string;
    }
  | {
      type: "stopped_all";
      /** The client's number for its request. */
      ref?: number | null;
      /** How many sessions that were. */
      sessions: number;
    }
  | {
      type: "error";
      /** The client's number for its request. */
      ref?: number | null;
      /** What went wrong. */
      error: Problem;
    }
  | {
      type: "pong";
    };

/** What a session's agent has to do with another's. */
export type Tie = {
  /** The other session. */
  session: string;
  /** Its agent's name. */
  agent: string;
  /** Messages to it. */
  sent: number;
  /** Messages from it. */
  received: number;
  /** Messages of either that have no reply yet. */
  open: number;
  /** True while this session's agent waits for its reply. */
  waits: boolean;
};

/** Tokens. */
export type Usage = {
  /** Input that was not cached. */
  input: number;
  /** Output, thinking included. */
  output: number;
  /** Input read from the cache. */
  cache_read: number;
  /** Input written to the cache. */
  cache_write: number;
  /** Thinking, where it is told apart; part of `output`. */
  reasoning: number;
};

/** Whether a client has missed anything. */
export type Verdict =
  | "fresh"
  | "resumed"
  | "gap";

/** Why a client must forget what it has. */
export type Why =
  | "replaced"
  | "unknown_epoch"
  | "ahead"
  | "behind"
  | "whole";
