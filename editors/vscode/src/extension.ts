/** Starts the language server, and shows in the status bar what is on. */

import * as fs from "node:fs";
import * as path from "node:path";

import * as vscode from "vscode";
import { LanguageClient, State } from "vscode-languageclient/node";

import { Command, findServer } from "./finder";

const SECTION = "shapecheck";
const INSTALL = 'pip install "torch-shapecheck[lsp]"';

let client: LanguageClient | undefined;
let status: vscode.StatusBarItem;
let log: vscode.LogOutputChannel;

/** Called when the first Python file is opened. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel("shapecheck", { log: true });
  status = vscode.window.createStatusBarItem("shapecheck", vscode.StatusBarAlignment.Right, 50);
  status.name = "shapecheck";
  status.command = "shapecheck.showMenu";
  status.show();
  context.subscriptions.push(
    log,
    status,
    vscode.commands.registerCommand("shapecheck.restartServer", restart),
    vscode.commands.registerCommand("shapecheck.showLog", () => log.show()),
    vscode.commands.registerCommand("shapecheck.showMenu", showMenu),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      const again = ["enable", "path"].some((name) =>
        event.affectsConfiguration(`${SECTION}.${name}`),
      );
      if (again || event.affectsConfiguration("python.defaultInterpreterPath")) {
        await restart();
      } else if (event.affectsConfiguration(SECTION)) {
        show();
      }
    }),
  );
  const python = await pythonExtension();
  python?.environments?.onDidChangeActiveEnvironmentPath?.(restart, undefined, context.subscriptions);
  await start();
}

/** Called when the editor goes. */
export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(): Promise<void> {
  if (!settings().get<boolean>("enable", true)) {
    show();
    return;
  }
  const command = await found();
  if (command === undefined) {
    show("not installed");
    const choice = await vscode.window.showInformationMessage(
      `shapecheck isn't in the selected Python environment: ${INSTALL}`,
      "Copy the command",
    );
    if (choice) {
      await vscode.env.clipboard.writeText(INSTALL);
    }
    return;
  }
  log.info(`starting ${command.program} ${command.args.join(" ")}`);
  const made = new LanguageClient(
    SECTION,
    "shapecheck",
    { command: command.program, args: command.args },
    {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
      ],
      outputChannel: log,
      initializationOptions: settings(),
      synchronize: { configurationSection: SECTION },
    },
  );
  made.onDidChangeState((event) => show(event.newState === State.Running ? undefined : "stopped"));
  client = made;
  show("starting");
  try {
    await made.start();
    show();
  } catch (error) {
    log.error(String(error));
    show("can't be started");
  }
}

async function restart(): Promise<void> {
  const before = client;
  client = undefined;
  await before?.dispose();
  await start();
}

async function found(): Promise<Command | undefined> {
  const configured = settings().get<string>("path", "");
  return findServer(
    {
      configured,
      interpreters: await interpreters(),
      searchPath: (process.env.PATH ?? "").split(path.delimiter),
      isWindows: process.platform === "win32",
    },
    (file) => fs.existsSync(file),
  );
}

/** What of the API of the Python extension is used. */
interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(one: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonExtension(): Promise<PythonApi | undefined> {
  try {
    return await vscode.extensions.getExtension<PythonApi>("ms-python.python")?.activate();
  } catch {
    return undefined;
  }
}

/** Return the Pythons that may have the server, the one that is selected first. */
async function interpreters(): Promise<string[]> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const names: (string | undefined)[] = [];
  const environments = (await pythonExtension())?.environments;
  if (environments) {
    const active = environments.getActiveEnvironmentPath(folder);
    names.push((await environments.resolveEnvironment(active))?.executable.uri?.fsPath, active.path);
  }
  const root = folder?.fsPath ?? "";
  const python = vscode.workspace.getConfiguration("python", folder);
  const byDefault = python.get<string>("defaultInterpreterPath", "");
  names.push(byDefault.replace("${workspaceFolder}", root));
  for (const name of [".venv", "venv"]) {
    const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
    names.push(root && path.join(root, name, ...inside));
  }
  return names.filter((one): one is string => Boolean(one));
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

/** Show in the status bar what is on, or what is wrong. */
function show(problem?: string): void {
  const isOn = settings().get<boolean>("enable", true);
  const icon = !isOn ? "circle-slash" : problem === "starting" ? "sync~spin" : problem ? "warning" : "check";
  status.text = `$(${icon}) shapes`;
  status.tooltip = !isOn ? "shapecheck is off" : problem ? `shapecheck: ${problem}` : whatIsOn();
}

function whatIsOn(): string {
  const told = settings();
  const files = told.get<string>("diagnostics") === "workspace" ? "all files" : "open files";
  const on = (name: string) => (told.get<boolean>(name, true) ? "on" : "off");
  return [
    `shapecheck: errors of ${files}`,
    `suspicions ${on("suspicions")}, hover ${on("hover")}, hints ${on("inlayHints.enabled")}`,
  ].join("\n");
}

async function showMenu(): Promise<void> {
  const hints = settings().get<boolean>("inlayHints.enabled", true);
  const whole = settings().get<string>("diagnostics") === "workspace";
  const chosen = await vscode.window.showQuickPick(
    [
      { label: hints ? "Hide shapes behind names" : "Show shapes behind names", id: "hints" },
      { label: whole ? "Check open files only" : "Check the whole workspace", id: "files" },
      { label: "Restart", id: "restart" },
      { label: "Show the log", id: "log" },
    ],
    { placeHolder: "shapecheck" },
  );
  switch (chosen?.id) {
    case "hints":
      return void (await settings().update("inlayHints.enabled", !hints));
    case "files":
      return void (await settings().update("diagnostics", whole ? "open" : "workspace"));
    case "restart":
      return restart();
    case "log":
      return log.show();
    default:
      return undefined;
  }
}
