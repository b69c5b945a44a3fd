// Starts `gradlint server` and lets VS Code's own client speak with it.

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { commandOf, settingsOf } from "./command";

const NAME = "gradlint";
let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("gradlint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("gradlint.command")) {
        await restart();
      } else if (event.affectsConfiguration(NAME)) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: { gradlint: settings() } });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function restart(): Promise<void> {
  await client?.stop();
  client = undefined;
  await start();
}

async function start(): Promise<void> {
  const { command, args } = commandOf({
    configured: vscode.workspace.getConfiguration(NAME).get<string[]>("command") ?? [],
    interpreter: await interpreter(),
    platform: process.platform,
    exists: existsSync,
  });
  const server: ServerOptions = { command, args: [...args] };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "python" }],
    initializationOptions: settings(),
  };
  client = new LanguageClient(NAME, NAME, server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const install = "pip install 'gradcheck-tool[server]'";
    void vscode.window.showErrorMessage(`gradlint: ${command} cannot be started (${install}): ${String(error)}`);
  }
}

function settings(): object {
  const configuration = vscode.workspace.getConfiguration(NAME);
  return settingsOf((key) => configuration.get(key));
}

/** The interpreter that the Python extension has selected, if there is that extension. */
async function interpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) {
    return undefined;
  }
  try {
    const api = extension.isActive ? extension.exports : await extension.activate();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const environment = api?.environments?.getActiveEnvironmentPath?.(folder);
    return typeof environment?.path === "string" ? environment.path : undefined;
  } catch {
    return undefined;
  }
}
