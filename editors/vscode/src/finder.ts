/** Where the server is: in the environment that the editor has selected, or on the PATH. */

import * as path from "node:path";

/** A program and its arguments. */
export interface Command {
  program: string;
  args: string[];
}

/** What is known of the environment: each is empty where it isn't set. */
export interface Environment {
  /** The setting `shapecheck.path`: the program, or a Python. */
  configured: string;
  /** The Python that is selected, and those that settings name, the likeliest first. */
  interpreters: string[];
  /** The folders of the PATH. */
  searchPath: string[];
  isWindows: boolean;
}

/** Whether a file is there that can be run. */
export type Exists = (file: string) => boolean;

const PYTHON = /^(python|pypy)[\d.]*(\.exe)?$/i;

/** Return how the server is started, or undefined where it isn't found. */
export function findServer(environment: Environment, exists: Exists): Command | undefined {
  const { configured, interpreters, searchPath, isWindows } = environment;
  const paths = isWindows ? path.win32 : path.posix;
  if (configured) {
    return PYTHON.test(paths.basename(configured)) ? inPython(configured) : program(configured);
  }
  const name = isWindows ? "shapecheck.exe" : "shapecheck";
  // Beside the interpreter, as pip installs it; on Windows in a folder of its own there.
  for (const interpreter of interpreters.filter((one) => paths.isAbsolute(one))) {
    const folder = paths.dirname(interpreter);
    for (const beside of [paths.join(folder, name), paths.join(folder, "Scripts", name)]) {
      if (exists(beside)) {
        return program(beside);
      }
    }
  }
  for (const folder of searchPath) {
    const found = paths.join(folder, name);
    if (folder && exists(found)) {
      return program(found);
    }
  }
  return undefined;
}

function program(file: string): Command {
  return { program: file, args: ["lsp"] };
}

function inPython(file: string): Command {
  return { program: file, args: ["-m", "shapecheck", "lsp"] };
}
