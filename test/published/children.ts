import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Exchange } from '../../emulators/equinix/exchanges.ts';

const FILE = join(tmpdir(), `published-children-${process.pid}`);

/** What the environment of a child process needs, for an emulator in it to be judged as well. */
export const judgedChild: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${new URL('child.mjs', import.meta.url).href}`,
  PUBLISHED_EXCHANGES: FILE,
};

/** What emulators in child processes of this one said since the last time. */
export function takeExchangesOfChildren(): Exchange[] {
  if (!existsSync(FILE)) return [];
  const taken = `${FILE}-taken`;
  renameSync(FILE, taken);
  const lines = readFileSync(taken, 'utf8').trim().split('\n');
  rmSync(taken);
  return lines.map((line) => {
    const exchange = JSON.parse(line) as Exchange & { readonly forcedStates: Iterable<string> };
    return { ...exchange, forcedStates: new Set(exchange.forcedStates) };
  });
}
