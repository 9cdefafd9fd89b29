import { StateFileError } from '../options.ts';
import { byDueTime } from '../time/scheduler.ts';
import { PLAIN_ORDER } from './device-order.ts';
import type { State, Timer } from './state.ts';

const VERSION = 1;
const MAPS = ['projects', 'reservations', 'devices', 'sshKeys'] as const;
/** What a file of an earlier release does not hold. */
const LATER_FIELDS = {
  knobs: {},
  timings: {},
  faults: [],
  faultCount: 0,
  requestCount: 0,
  tokensAreRandom: false,
};

/** The state as JSON text. */
export function serialise(state: State): string {
  const lists = Object.fromEntries(MAPS.map((name) => [name, [...state[name].values()]]));
  const timers = [...state.timers.values()].flat().toSorted(byDueTime);
  return JSON.stringify({ version: VERSION, ...state, ...lists, timers });
}

/** @throws {StateFileError} when the text is not a state of this version. */
export function deserialise(text: string, path: string): State {
  const raw: unknown = parseJson(text, path);
  if (typeof raw !== 'object' || raw === null || !('version' in raw) || raw.version !== VERSION) {
    throw new StateFileError(`${path} is not a state file of the emulator, version ${VERSION}`);
  }
  const { version: _version, ...rest } = raw as Record<string, unknown>;
  const listOf = <T>(name: string): T[] => {
    const list = rest[name];
    if (!Array.isArray(list)) throw new StateFileError(`${path}: ${name} is not a list`);
    return list as T[];
  };
  const byId = <T extends { id: string }>(name: string, complete = (item: T): T => item) =>
    new Map(listOf<T>(name).map((item): [string, T] => [item.id, complete(item)]));
  const withPast = <T extends object>(item: T): T => ({ past: [], ...item });
  const withOrder = <T extends object>(item: T): T => ({ ...PLAIN_ORDER, ...withPast(item) });
  return {
    ...structuredClone(LATER_FIELDS),
    ...(rest as unknown as State),
    projects: byId('projects'),
    reservations: byId('reservations', withPast),
    devices: byId('devices', withOrder),
    sshKeys: byId('sshKeys'),
    timers: Map.groupBy(listOf<Timer>('timers'), ({ subject }) => subject),
  };
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StateFileError(`${path} is not JSON`, { cause: error });
  }
}
