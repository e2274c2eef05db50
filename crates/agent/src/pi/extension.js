// Parlor's tools for Pi: the house that runs Pi writes this file, tells Pi of it, and carries out every call. Where the house
// is, and whose calls these are, is in the environment of the run; without that, Pi is somebody else's and nothing is offered.
import { request } from "node:http";

export default function (pi) {
  const { PARLOR_MCP_URL: url, PARLOR_MCP_TOKEN: token } = process.env;
  if (!url || !token) return;
  for (const { name, words, input, guidelines } of tools) {
    pi.registerTool({
      name,
      label: name,
      description: words,
      promptSnippet: words,
      promptGuidelines: guidelines,
      parameters: input,
      async execute(call, values, signal) {
        const result = await ask(url, token, { name, arguments: values, _meta: { "parlor/call": call } }, signal);
        const text = result.content.map((part) => part.text).join("\n");
        // To throw is the one way to fail that every version of Pi knows.
        if (result.isError) throw new Error(text);
        return { content: [{ type: "text", text }], details: undefined };
      },
    });
  }
}

// Not `fetch`: that would go through a proxy, and give up on a call that waits long.
function ask(url, token, params, signal) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  return new Promise((resolve, reject) => {
    const call = request(url, { method: "POST", headers, signal }, (answer) => {
      let said = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece) => (said += piece));
      answer.on("error", reject);
      answer.on("end", () => {
        const { result, error } = read(said) ?? {};
        if (result) resolve(result);
        else reject(new Error(error?.message ?? `the house's answer cannot be read (status ${answer.statusCode})`));
      });
    });
    call.on("error", reject);
    call.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  });
}

// The answer is JSON, or a stream of events with it.
function read(said) {
  const lines = said.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
  for (const text of [...lines, said]) {
    try {
      return JSON.parse(text);
    } catch {}
  }
}
