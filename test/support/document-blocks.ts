import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text as textFrom } from 'node:stream/consumers';
import { expect } from 'vitest';

export const ROOT = join(import.meta.dirname, '../..');

/** A fenced block of a document, and its first line number. */
export interface FencedBlock {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

/** The fenced blocks of a document, in order. */
export function blocksOf(path: string): FencedBlock[] {
  const document = readFileSync(join(ROOT, path), 'utf8');
  return [...document.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(
    ({ 1: language, 2: text, index }) => ({
      language: language!,
      text: text!,
      line: document.slice(0, index).split('\n').length,
    }),
  );
}

/** Puts a `shepherd` into the directory, as if it were installed. @returns a PATH that finds it. */
export function installShepherd(directory: string): string {
  const launcher = join(directory, 'shepherd');
  const start = `exec '${process.execPath}' '${join(ROOT, 'bin/shepherd.mjs')}' "$@"`;
  writeFileSync(launcher, `#!/bin/sh\n${start}\n`);
  chmodSync(launcher, 0o755);
  return [directory, process.env['PATH']].join(delimiter);
}

const BOUNDARY = '--- end of a block of a document';
const SHELL_LIMIT_MS = 900_000;

/**
 * Runs all blocks in one shell, as a reader would, with `shepherd` on the PATH. Returns the output
 * of each.
 * @param around lines before and after all blocks. Nothing may fail or write to standard error.
 */
export async function runBlocks<Shown extends FencedBlock>(
  blocks: readonly Shown[],
  directory: string,
  around: { first?: string[]; last?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<ReadonlyMap<Shown, string>> {
  const { first = [], last = [], env } = around;
  const lines = blocks.map(({ text }) => `${text}\necho; echo '${BOUNDARY}'`);
  const shell = spawn('bash', ['-c', ['set -eu', ...first, ...lines, ...last].join('\n')], {
    cwd: directory,
    env: { ...process.env, PATH: installShepherd(directory), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), SHELL_LIMIT_MS);
  const [stdout, stderr, [code]] = await Promise.all([
    textFrom(shell.stdout),
    textFrom(shell.stderr),
    once(shell, 'exit'),
  ]);
  clearTimeout(limit);
  const printed = stdout.split(`\n${BOUNDARY}\n`);
  expect({ code, stderr, ends: printed.length - 1 }, stdout.slice(-2_000)).toEqual({
    ...{ code: 0, stderr: '', ends: blocks.length },
  });
  return new Map(blocks.map((block, at) => [block, printed[at]!.trimEnd()]));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a text matches the document, where `…` stands for any text. */
export function looksLike(actual: string, shown: string): boolean {
  const parts = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`).test(actual);
}

/**
 * Paths at which an answer differs from the document. The document may leave out fields and the
 * rest of a list; an empty list means empty.
 */
export function differences(actual: unknown, shown: unknown, at = '$'): string[] {
  if (typeof shown === 'string' && typeof actual === 'string') {
    return looksLike(actual, shown) ? [] : [`${at}: ${JSON.stringify(actual)}`];
  }
  if (Array.isArray(shown) && Array.isArray(actual)) {
    if (shown.length === 0 && actual.length > 0) return [`${at}: is not empty`];
    return shown.flatMap((item, i) => differences(actual[i], item, `${at}[${i}]`));
  }
  if (isRecord(shown) && isRecord(actual)) {
    return Object.keys(shown).flatMap((name) =>
      differences(actual[name], shown[name], `${at}.${name}`),
    );
  }
  return actual === shown ? [] : [`${at}: ${JSON.stringify(actual)}`];
}
