import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { createMemoryNetwork, type MemoryNetwork } from '../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { addEquinixCommands } from '../../src/commands/equinix-program.ts';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import type { EquinixEmulator, EquinixEmulatorOptions } from '../../emulators/equinix/options.ts';
import { parseWorld } from '../../emulators/equinix/world.ts';

export const SOURCE = '9d1c0000-0000-4000-8000-000000000001';
export const TARGET = '77b20000-0000-4000-8000-000000000002';
export const OURS = 'shep0-ci000-000000000000000';
export const OTHERS = 'other-00000-000000000000000';
export const ownedBy = (owner: string) => [`shepherd-owner-${owner}`];
/** Ids that sort by their number. */
export const reservationId = (n: number) =>
  `4f0c2d9a-7b1e-4c55-9a02-${String(n).padStart(12, '0')}`;

/** What the person at the terminal does when a question comes. */
export type Answer = string | { readonly key: 'ctrl-c' | 'ctrl-d' };

export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly notes: readonly string[];
  readonly json: unknown;
}

/** An account with two projects, and a terminal. */
export interface OperatorStand {
  readonly fake: EquinixEmulator;
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  /**
   * Runs a command line; without an answer there is no terminal. An answer may be thought about
   * while the question stands. `meanwhile` gets the way out.
   */
  run(
    args: readonly string[],
    answer?: Answer | (() => Promise<string>),
    meanwhile?: (hands: { interrupt(): void; readonly notes: readonly string[] }) => void,
  ): Promise<Ran>;
  /** Changes a device as somebody else would who has a token of the account. */
  rename(
    id: string,
    change: { readonly hostname?: string; readonly tags?: readonly string[] },
  ): Promise<void>;
  /** Requests that change something, oldest first. */
  changes(): string[];
  hostnames(): string[];
  close(): Promise<void>;
}

export async function startOperatorStand(
  world: object,
  options: Partial<EquinixEmulatorOptions> = {},
  /** What a BMDB knows. */
  machinesOf: () => Promise<ReadonlyMap<string, string>> = async () => new Map(),
): Promise<OperatorStand> {
  const projects = [
    { id: SOURCE, name: 'fleet' },
    { id: TARGET, name: 'elsewhere' },
  ];
  const clock = createSimulatedClock(Date.parse('2026-08-01T10:00:00Z'));
  const network = createMemoryNetwork(clock);
  const fake = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    profile: 'fast',
    timings: { deprovisioningMs: 5, cleaningMs: 10 },
    world: parseWorld({ projects, ...world }, 'test'),
    ...options,
  });
  const env = { EQUINIX_TOKEN: fake.tokens.user, EQUINIX_USERNAME: 'tester' };
  const access = ['--base-url', fake.url, '--api-rate', '0s'];

  const run: OperatorStand['run'] = async (args, answer, meanwhile) => {
    const input = Object.assign(new PassThrough(), { isTTY: answer !== undefined });
    const ending = new AbortController();
    const out: string[] = [];
    const notes: string[] = [];
    const operator = {
      input,
      say: (line: string) => void out.push(line),
      note(line: string) {
        notes.push(line);
        if (!line.startsWith('Type the ') || answer === undefined) return;
        if (typeof answer === 'string') input.write(`${answer}\n`);
        else if (typeof answer === 'function') {
          void answer().then((typed) => input.write(`${typed}\n`));
        } else if (answer.key === 'ctrl-c') ending.abort();
        else input.end();
      },
      env,
      clock,
      network,
      random: createSeededRandom(3),
      machinesOf,
      signal: ending.signal,
    };
    let exitCode = -1;
    const cli = new Command('shepherd')
      .exitOverride()
      .configureOutput({ writeErr: (text) => void notes.push(text) });
    addEquinixCommands(
      cli,
      () => ({ operator, release: () => void input.destroy() }),
      (isGood) => void (exitCode = isGood ? 0 : 1),
    );
    meanwhile?.({ interrupt: () => ending.abort(), notes });
    const command = args[0] ?? '';
    const patience = command === 'list' && !args.includes('--timeout') ? ['--timeout', '10h'] : [];
    const line = ['equinix', command, ...access, ...patience, ...args.slice(1)];
    await runOut(clock, cli.parseAsync(line, { from: 'user' }));
    const text = out.join('\n');
    const json: unknown = args.includes('--json') ? JSON.parse(text) : undefined;
    return { exitCode, out: text, notes, json };
  };

  return {
    fake,
    clock,
    network,
    run,
    async rename(id, change) {
      const { status } = await network.fetch(`${fake.url}/devices/${id}`, {
        method: 'PUT',
        headers: { 'x-auth-token': fake.tokens.user, 'content-type': 'application/json' },
        body: JSON.stringify(change),
      });
      if (status !== 200) throw new Error(`the change of device ${id} was answered ${status}`);
    },
    changes: () =>
      fake
        .requests()
        .filter(({ method }) => method !== 'GET')
        .map(({ method, route }) => `${method} ${route}`),
    hostnames: () => fake.devices().map(({ hostname }) => hostname),
    close: () => fake.close(),
  };
}
