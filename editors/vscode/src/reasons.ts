/** Why a server has ended: what it says of that when it is run without an editor. */

import { execFile } from "node:child_process";

import { Command } from "./finder";

const MILLISECONDS = 20_000;

/** Run a server that is told nothing, and return the last line that it writes beside the protocol. */
export function lastLine(command: Command): Promise<string> {
  return new Promise((done) => {
    const options = { timeout: MILLISECONDS };
    const made = execFile(command.program, command.args, options, (error, _out, said) => {
      const isSilent = !error || said.trim() === "";
      done(isSilent ? (error?.message ?? "") : (said.trimEnd().split(/\r?\n/).pop() ?? "").trim());
    });
    made.stdin?.on("error", () => undefined);
    made.stdin?.end();
  });
}
