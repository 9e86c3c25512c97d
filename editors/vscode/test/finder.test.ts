import assert from "node:assert/strict";
import { test } from "node:test";

import { Environment, findServer } from "../src/finder";

const EMPTY: Environment = { configured: "", interpreters: [], searchPath: [], isWindows: false };

function find(environment: Partial<Environment>, ...files: string[]): string | undefined {
  const found = findServer({ ...EMPTY, ...environment }, (file) => files.includes(file));
  return found && [found.program, ...found.args].join(" ");
}

test("the selected environment comes before the PATH", () => {
  const environment = { interpreters: ["/e/bin/python"], searchPath: ["/usr/bin"] };
  const files = ["/e/bin/shapecheck", "/usr/bin/shapecheck"];
  assert.equal(find(environment, ...files), "/e/bin/shapecheck lsp");
  assert.equal(find(environment, files[1]), "/usr/bin/shapecheck lsp");
  assert.equal(find(environment), undefined);
});

test("the first environment that has it is taken", () => {
  const interpreters = ["python", "/a/bin/python", "/b/bin/python3.11"];
  assert.equal(find({ interpreters }, "/b/bin/shapecheck"), "/b/bin/shapecheck lsp");
});

test("what is configured is taken, be it a program or a Python", () => {
  assert.equal(find({ configured: "/x/shapecheck" }), "/x/shapecheck lsp");
  assert.equal(find({ configured: "/x/bin/python3.12" }), "/x/bin/python3.12 -m shapecheck lsp");
});

test("on Windows programs lie in Scripts", () => {
  const environment = { interpreters: ["C:\\env\\python.exe"], isWindows: true };
  const file = "C:\\env\\Scripts\\shapecheck.exe";
  assert.equal(find(environment, file), `${file} lsp`);
  const inside = { interpreters: ["C:\\env\\Scripts\\python.exe"], isWindows: true };
  assert.equal(find(inside, file), `${file} lsp`);
  const python = { configured: "C:\\env\\Python.exe", isWindows: true };
  assert.equal(find(python), "C:\\env\\Python.exe -m shapecheck lsp");
});

test("an empty folder of the PATH is left out", () => {
  assert.equal(find({ searchPath: ["", "/usr/bin"] }, "shapecheck"), undefined);
});
