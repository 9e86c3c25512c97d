import assert from "node:assert/strict";
import { test } from "node:test";

import { lastLine } from "../src/reasons";

function said(script: string): Promise<string> {
  return lastLine({ program: process.execPath, args: ["-e", script] });
}

test("what a server says last is why it has ended", async () => {
  const script = 'console.error("Traceback\\nshapecheck lsp: error: it needs pygls\\n"); process.exit(2)';
  assert.equal(await said(script), "shapecheck lsp: error: it needs pygls");
});

test("a server that ends without an error gives no reason", async () => {
  assert.equal(await said('console.error("warning")'), "");
});

test("a program that isn't there is the reason", async () => {
  assert.match(await lastLine({ program: "/nowhere/shapecheck", args: ["lsp"] }), /ENOENT/);
});
