#!/usr/bin/env node
// Starts the program on a Node that can run it. Written so that any Node from version 14 on can read it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { constants, homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NODE_MAJOR_MIN = 24;
const here = fileURLToPath(import.meta.url);

/** Sources in a checkout; what the build made of them in a published package. */
function mainModule() {
  const source = join(dirname(here), '../src/main.ts');
  const built = join(dirname(here), '../dist/src/main.js');
  return pathToFileURL(existsSync(source) ? source : built).href;
}

/** The Node that the lock file pins, or null where development dependencies are not installed. */
function pinnedNode() {
  try {
    const folder = dirname(createRequire(here).resolve('node/package.json'));
    const file = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(file) ? file : null;
  } catch {
    return null;
  }
}

/**
 * Runs the program in a child, passes signals on to it, and ends as it ends. The child has a session
 * of its own, or a Ctrl-C would reach it twice: from the terminal and from here.
 */
function runIn(node, args) {
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  const child = spawn(node, args, { stdio, detached: true });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGWINCH'];
  const forward = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  child.on('error', (error) => refuse(`${node} could not be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward);
    process.exitCode = code === null ? 128 + constants.signals[signal] : code;
    if (signal !== null) process.kill(process.pid, signal);
  });
}

function refuse(why) {
  process.stderr.write(`shepherd: ${why}\n`);
  process.exitCode = 2;
}

/** In a child of `runIn`: a launcher that was killed takes the program with it. */
function dieWithLauncher() {
  if (process.channel === undefined) return;
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}

/** What Node compiles is kept for the next time, where nobody else can write: most of a start is that. */
function keepCompiled() {
  const own = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE || join(own, 'shepherd', 'compiled'));
}

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) {
  keepCompiled();
  dieWithLauncher();
  await import(mainModule());
} else {
  const node = pinnedNode();
  const args = [here, ...process.argv.slice(2)];
  if (node === null) {
    refuse(`needs Node ${NODE_MAJOR_MIN} or newer, and this is ${process.versions.node}`);
  } else if (process.execve === undefined) {
    runIn(node, args);
  } else {
    process.execve(node, [node, ...args]);
  }
}
