/** Starts the language server, and shows in the status bar what is on. */

import * as fs from "node:fs";
import * as path from "node:path";

import * as vscode from "vscode";
import { CloseAction, LanguageClient, State } from "vscode-languageclient/node";

import { Command, findServer } from "./finder";
import { lastLine } from "./reasons";
import { inTurns } from "./turns";

const SECTION = "shapecheck";
const INSTALL = 'pip install "torch-shapecheck[lsp]"';

/** What the status bar says of a client in each of its states. */
const PROBLEMS: Record<State, string | undefined> = {
  [State.Starting]: "starting",
  [State.Running]: undefined,
  [State.Stopped]: "stopped",
};

/** What is done when a server ends that has never answered: it would end so again. */
const GIVE_UP = { action: CloseAction.DoNotRestart, handled: true };

/** A client that shows no message of its own before the server has answered. */
class Client extends LanguageClient {
  hasAnswered = false;

  override error(message: string, data?: unknown, show?: boolean | "force"): void {
    super.error(message, data, this.hasAnswered ? show : false);
  }
}

let client: Client | undefined;
let status: vscode.StatusBarItem;
let log: vscode.LogOutputChannel;
let problem: string | undefined;

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
  await restart();
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
  if (command && path.isAbsolute(command.program) && !fs.existsSync(command.program)) {
    complain(`there is no ${command.program}, which the setting ${SECTION}.path names`);
    return;
  }
  if (command === undefined) {
    tell("not installed");
    void offerInstallation();
    return;
  }
  log.info(`starting ${command.program} ${command.args.join(" ")}`);
  const made: Client = new Client(
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
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (...told) => usual.error(...told),
        closed: () => (made.hasAnswered ? usual.closed() : GIVE_UP),
      },
      synchronize: { configurationSection: SECTION },
    },
  );
  const usual = made.createDefaultErrorHandler();
  made.onDidChangeState((event) => {
    made.hasAnswered ||= event.newState === State.Running;
    if (client === made) {
      tell(PROBLEMS[event.newState]);
    }
  });
  client = made;
  try {
    await made.start();
  } catch (error) {
    log.error(String(error));
  }
  // A server that ends at once leaves a start that doesn't fail.
  if (!made.hasAnswered) {
    complain((await lastLine(command)) || "shapecheck can't be started");
  }
}

/** Say why there is no server. */
function complain(reason: string): void {
  tell(reason);
  log.error(reason);
  void offerLog(reason);
}

async function offerLog(reason: string): Promise<void> {
  const choice = await vscode.window.showErrorMessage(reason, "Show the log");
  if (choice) {
    log.show();
  }
}

async function offerInstallation(): Promise<void> {
  const choice = await vscode.window.showInformationMessage(
    `shapecheck isn't in the selected Python environment: ${INSTALL}`,
    "Copy the command",
  );
  if (choice) {
    await vscode.env.clipboard.writeText(INSTALL);
  }
}

const restart = inTurns(async () => {
  const before = client;
  client = undefined;
  await before?.dispose();
  await start();
});

async function found(): Promise<Command | undefined> {
  const configured = inFolder(settings().get<string>("path", ""));
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
  names.push(inFolder(python.get<string>("defaultInterpreterPath", "")));
  for (const name of [".venv", "venv"]) {
    const inside = process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
    names.push(root && path.join(root, name, ...inside));
  }
  return names.filter((one): one is string => Boolean(one));
}

/** Return a path of the settings with the folder that is open in it. */
function inFolder(setting: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return setting.replace("${workspaceFolder}", folder);
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION);
}

function tell(wrong: string | undefined): void {
  problem = wrong;
  show();
}

/** Show in the status bar what is on, or what is wrong. */
function show(): void {
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
