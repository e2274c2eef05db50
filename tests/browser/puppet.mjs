#!/usr/bin/env node
// An agent for tests: it speaks Claude's stream and does what the prompt says.
//
//   say X        answers X
//   stream X     answers X, word by word
//   drip X       the same; before each line of X it waits for a file `go`
//   work         works until it is stopped, or until there is a file `go` in its folder
//   ask X        wants to run the command X, and says what it heard
//   question     asks which colour
//   phases       thinks, runs a command and replies; before each step it waits for a file `go`
//   fail X       fails with X
//   die          ends in the middle of its turn
//
// What it was told in answer to an ask is written to `heard.jsonl` in its folder.

import { appendFileSync, existsSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";

if (process.argv[2] === "--version") {
  console.log("9.9.9 (Claude Code)");
  process.exit(0);
}

const SESSION = "puppet";
/** Ids hold the process's own, so that they stay unique over restarts. */
let number = 0;
const newId = (kind) => `${kind}-${process.pid}-${++number}`;
const tell = (record) => process.stdout.write(`${JSON.stringify({ ...record, session_id: SESSION })}\n`);
const assistant = (content, id = newId("m")) => tell({ type: "assistant", message: { id, role: "assistant", model: "puppet-1", content: [content] }, parent_tool_use_id: null });
const say = (text) => assistant({ type: "text", text });
const user = (content) => tell({ type: "user", message: { role: "user", content }, parent_tool_use_id: null });
const done = () => tell({ type: "result", subtype: "success", is_error: false, result: "", terminal_reason: "completed" });

/** Who waits for the next interrupt, and for answers by request. */
let interrupted = null;
const asked = new Map();

async function stream(text, pieces, wait) {
  const id = newId("m");
  const event = (body) => tell({ type: "stream_event", event: body, parent_tool_use_id: null });
  event({ type: "message_start", message: { id, role: "assistant", model: "puppet-1", content: [] } });
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  for (const piece of pieces) if (await wait()) event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } });
  assistant({ type: "text", text }, id);
  event({ type: "content_block_stop", index: 0 });
  event({ type: "message_stop" });
}

/** Waits for a file `go`, which is then gone. False when it was stopped instead, which is told. */
async function signal() {
  const how = await new Promise((end) => {
    interrupted = () => end("interrupted");
    const look = setInterval(() => { if (existsSync("go")) end("gone"); }, 20);
    const over = end;
    end = (value) => { clearInterval(look); over(value); };
  });
  interrupted = null;
  rmSync("go", { force: true });
  if (how === "gone") return true;
  user([{ type: "text", text: "[Request interrupted by user]" }]);
  tell({ type: "result", subtype: "error_during_execution", is_error: true, result: "", terminal_reason: "aborted_streaming" });
  return false;
}

async function work() {
  say("working");
  if (!(await signal())) return;
  say("gone");
  done();
}

async function phases() {
  if (!(await signal())) return;
  assistant({ type: "thinking", thinking: "A command would tell.", signature: "s" });
  if (!(await signal())) return;
  const id = newId("toolu");
  assistant({ type: "tool_use", id, name: "Bash", input: { command: "date" } });
  if (!(await signal())) return;
  user([{ type: "tool_result", tool_use_id: id, is_error: false, content: "today" }]);
  if (!(await signal())) return;
  say("It is today.");
  if (await signal()) done();
}

async function ask(name, input, result) {
  const id = newId("toolu");
  const request = newId("ask");
  assistant({ type: "tool_use", id, name, input });
  const answer = await new Promise((hear) => {
    asked.set(request, hear);
    tell({ type: "control_request", request_id: request, request: { subtype: "can_use_tool", tool_name: name, input, tool_use_id: id, permission_suggestions: [] } });
  });
  appendFileSync("heard.jsonl", `${JSON.stringify(answer)}\n`);
  const allowed = answer.behavior === "allow";
  user([{ type: "tool_result", tool_use_id: id, is_error: !allowed, content: allowed ? result(answer) : answer.message ?? "denied" }]);
  say(allowed ? "I was allowed to." : "I was not allowed to.");
  done();
}

async function turn(text) {
  tell({ type: "system", subtype: "init", model: "puppet-1", cwd: process.cwd() });
  const [word] = text.split(" ");
  const rest = text.slice(word.length + 1);
  if (word === "work") await work();
  else if (word === "phases") await phases();
  else if (word === "fail") tell({ type: "result", subtype: "error_during_execution", is_error: true, result: rest, terminal_reason: "error" });
  else if (word === "die") process.exit(3);
  else if (word === "ask") await ask("Bash", { command: rest }, () => `ran ${rest}`);
  else if (word === "question") {
    const questions = [{ question: "Which colour?", header: "Colour", multiSelect: false, options: [{ label: "Red", description: "like a rose" }, { label: "Blue", description: "like the sea" }] }];
    await ask("AskUserQuestion", { questions }, (answer) => `User has answered your questions: ${JSON.stringify(answer.updatedInput?.answers)}`);
  } else {
    if (word === "stream") await stream(rest, rest.split(/(?<= )/), async () => true);
    else if (word === "drip") await stream(rest, rest.split(/(?<=\n)/), signal);
    else say(word === "say" ? rest : "what");
    done();
  }
}

let turns = Promise.resolve();
for await (const line of createInterface({ input: process.stdin })) {
  const heard = JSON.parse(line);
  if (heard.type === "user") {
    const text = heard.message.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
    turns = turns.then(() => turn(text));
  } else if (heard.type === "control_request") {
    tell({ type: "control_response", response: { subtype: "success", request_id: heard.request_id } });
    if (heard.request.subtype === "interrupt") interrupted?.();
    if (heard.request.subtype === "end_session") process.exit(0);
  } else if (heard.type === "control_response") {
    asked.get(heard.response.request_id)?.(heard.response.response);
  }
}
process.exit(0);
