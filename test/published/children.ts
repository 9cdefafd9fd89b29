import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Exchange } from '../../emulators/equinix/exchanges.ts';

const FILE = join(tmpdir(), `published-children-${process.pid}`);

/** The environment of a child process in which an emulator is judged as well. */
export const judgedChild: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${new URL('child.mjs', import.meta.url).href}`,
  PUBLISHED_EXCHANGES: FILE,
};

/** Exchanges of emulators in this process's children since the last call. */
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
