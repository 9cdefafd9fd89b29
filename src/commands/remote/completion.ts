import tab from '@bomb.sh/tab/commander';
import { script } from '@bomb.sh/tab';
import type { Command } from 'commander';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { withTimeLimit } from '../../daemon/time-limit.ts';
import { FleetError } from '../../domain/errors.ts';
import { STATES } from '../../domain/states.ts';
import { programVersion } from '../version.ts';
import type { Fleet, MachinePage } from './answers.ts';
import { createClient, type Client } from './client.ts';
import { readContexts } from './contexts.ts';
import { openDoor } from './open-door.ts';

/** What a shell may offer where names of this fleet are wanted. */
interface Names {
  readonly machines: readonly string[];
  readonly providers: readonly string[];
  readonly locations: readonly string[];
  readonly contexts: readonly string[];
}
type Kind = keyof Names;

const NONE: Names = { machines: [], providers: [], locations: [], contexts: [] };

/** A person who presses Tab waits no longer; nothing is offered then. */
const PATIENCE_MS = 250;
const MACHINES_MAX = 100;

/** By the option before the word. */
const OF_OPTIONS: Readonly<Record<string, Kind>> = {
  '--slots': 'machines',
  '--provider': 'providers',
  '--location': 'locations',
  '--context': 'contexts',
};
const OF_ARGUMENTS: Readonly<Record<string, Kind>> = {
  machine: 'machines',
  provider: 'providers',
  context: 'contexts',
};

/** `shepherd completion SHELL`: the script that has a shell ask this program. */
export function printCompletion(shell: string): void {
  script(shell, 'shepherd', 'shepherd');
}

/**
 * `shepherd complete -- WORD…`, as the shell's script asks: what the last word may become. Where no
 * console answers in time, names of the fleet are left out.
 */
export async function complete(cli: Command, words: readonly string[]): Promise<void> {
  const root = tab(cli);
  // It is the shells', not people's.
  root.commands.delete('complete');
  const kind = kindOf(cli, words);
  const names = kind === null ? NONE : await namesOf(kind, words);
  const offer = (values: readonly string[]) => (say: (value: string, about: string) => void) => {
    for (const value of values) say(value, '');
  };
  for (const command of [root, ...root.commands.values()]) {
    for (const [name, option] of command.options) {
      const known = OF_OPTIONS[`--${name}`];
      if (known) option.handler = offer(names[known]);
      if (name === 'state') option.handler = offer(STATES);
      if (name === 'for') option.handler = offer(STATES.map((state) => `state=${state}`));
    }
    const asked = kind === null ? [] : names[kind];
    for (const argument of command.arguments.values()) {
      if (argumentKind(command.value, argument.name) === kind) argument.handler = offer(asked);
    }
  }
  root.parse([...words]);
}

function argumentKind(command: string, argument: string): Kind | null {
  if (command.startsWith('context ') && argument === 'name') return 'contexts';
  return OF_ARGUMENTS[argument] ?? null;
}

/** What kind of name is wanted; null: none of the fleet. */
function kindOf(cli: Command, words: readonly string[]): Kind | null {
  const [last = '', before = ''] = words.toReversed();
  const known = OF_OPTIONS[before];
  if (known) return known;
  if (last.startsWith('-') || before.startsWith('--')) return null;
  let command = cli;
  const path: string[] = [];
  for (const word of words.slice(0, -1)) {
    const inner = command.commands.find((each) => each.name() === word);
    if (!inner) continue;
    command = inner;
    path.push(word);
  }
  const [argument] = command.registeredArguments;
  return argument ? argumentKind(path.join(' '), argument.name()) : null;
}

async function namesOf(kind: Kind, words: readonly string[]): Promise<Names> {
  try {
    if (kind === 'contexts') return { ...NONE, contexts: Object.keys(readContexts().contexts) };
    const flagged = (name: string) => {
      const at = words.indexOf(name);
      return at < 0 ? undefined : words[at + 1];
    };
    // The database takes longer than anybody waits for a Tab.
    if (flagged('--config') !== undefined) return NONE;
    const [url, context] = [flagged('--url'), flagged('--context')];
    const flags = { ...(url !== undefined && { url }), ...(context !== undefined && { context }) };
    const env = { ...process.env, SHEPHERD_CONFIG: undefined };
    const version = programVersion();
    const door = await openDoor(
      flags,
      { version, by: '', say: () => undefined, isSilent: true },
      env,
    );
    return await withTimeLimit(systemClock, PATIENCE_MS, (signal) =>
      ask(
        createClient(door, signal, () => undefined),
        kind,
        words.at(-1) ?? '',
      ),
    );
  } catch (error) {
    // Nobody to ask, or not in time, or not allowed: a shell that completes has nowhere to say so.
    if (error instanceof FleetError || (error as Error).name === 'AbortError') return NONE;
    throw error;
  }
}

async function ask(client: Client, kind: Kind, word: string): Promise<Names> {
  if (kind !== 'machines') {
    const { providers, cells } = await client.get<Fleet>('/fleet');
    const locations = [...new Set(cells.flatMap(({ location }) => location ?? []))];
    return { ...NONE, providers, locations };
  }
  const begun = word.split(',').at(-1)!;
  const filter = /^[\w./-]+$/.test(begun) ? begun : '';
  const page = await client.get<MachinePage>('/machines', { filter, limit: MACHINES_MAX });
  const machines = page.machines.flatMap(({ slot, machineId }) => [
    slot,
    ...[slot.slice(slot.indexOf('/') + 1), machineId].filter(
      (id) => id !== null && begun.length >= 4 && id.startsWith(begun),
    ),
  ]) as string[];
  const head = word.slice(0, word.length - begun.length);
  return { ...NONE, machines: machines.map((name) => head + name) };
}
