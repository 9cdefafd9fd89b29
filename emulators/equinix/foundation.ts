import { EventEmitter } from 'node:events';
import type { Core } from './core.ts';
import type { Change, EquinixEmulatorOptions } from './options.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { Device, State } from './state/state.ts';
import {
  createManualClock,
  realClock,
  type EmulatorClock,
  type ManualClock,
} from '../kit/clock.ts';
import { createFaults, type Faults } from './faults/faults.ts';
import { createState } from './state/genesis.ts';
import { replaceDerivedTokens } from './state/secrets.ts';
import { DEFAULT_KNOBS } from './state/knobs.ts';
import { createGenerator, type Generator } from '../kit/random.ts';
import { createScheduler } from './time/scheduler.ts';
import { createStateFile, noStateFile, readStateFile, type StateFile } from './state/state-file.ts';
import { deserialise, serialise } from './state/state-text.ts';
import { timingsOf } from './time/timings.ts';
import { readWorldFile, type World } from './world.ts';

/** When a manual clock starts in a new world. */
const MANUAL_START_MS = Date.parse('2026-08-01T10:00:00Z');
/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;

const silentLog: EmulatorLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The emulator without its server: state, time, chance, faults. */
export interface Foundation {
  readonly core: Core;
  readonly clock: EmulatorClock;
  /** The same clock when it is manual. */
  readonly manual: ManualClock | undefined;
  readonly file: StateFile;
  /** Settings of the options, for worlds that say nothing else. */
  readonly settings: Pick<EquinixEmulatorOptions, 'knobs' | 'timings'>;
  readonly faults: Faults;
  /** States that devices were put into by hand. */
  readonly forcedStates: Set<string>;
  readonly events: EventEmitter<{ change: [Change] }>;
}

/**
 * Continues from the state file, or begins with the world.
 * @throws {WorldError} for an unusable world file. @throws {Error} for an unusable state file.
 */
export async function layFoundation(options: EquinixEmulatorOptions): Promise<Foundation> {
  const log = options.log ?? silentLog;
  const seed = options.seed ?? 1;
  const ids = createGenerator(seed);
  const chance = createGenerator(seed ^ CHANCE_SALT);
  const stored = restore(options.stateFile, ids, chance);
  const { clock, manual } = clockOf(options.clock ?? 'real', stored?.nowMs ?? MANUAL_START_MS);
  const begin = async () =>
    createState(await worldOf(options), options.reservations ?? 0, ids, clock.now());
  if (stored) replaceDerivedTokens(stored, log);
  const state = stored ?? (await begin());
  Object.assign(state.knobs, options.knobs);
  Object.assign(state.timings, options.timings);
  const now = forwardOnly(clock, state.nowMs);
  if (stored) postponeTimers(stored, now() - stored.nowMs);
  const file = options.stateFile
    ? createStateFile(options.stateFile, () => snapshot(state, ids, chance, now), log)
    : noStateFile;
  const events = new EventEmitter<{ change: [Change] }>();
  const knobs = { ...DEFAULT_KNOBS };
  const timings = { ...timingsOf(options.profile) };
  let revision = 0;
  const changed: Core['changed'] = (change) => {
    revision++;
    file.touch();
    if (change) events.emit('change', { atMs: now(), ...change });
  };
  const faults = createFaults(state, chance, changed);
  const core: Core = {
    state,
    knobs,
    timings,
    applySettings: () => {
      Object.assign(knobs, DEFAULT_KNOBS, state.knobs);
      Object.assign(timings, timingsOf(options.profile, state.timings));
    },
    ids,
    chance,
    now,
    scheduler: createScheduler(state, clock, now),
    log,
    changed,
    revision: () => revision,
    doomOf: (device) => doomOf(faults, device),
  };
  core.applySettings();
  const forcedStates = new Set<string>();
  return { core, clock, manual, file, faults, forcedStates, events, settings: options };
}

function clockOf(
  wanted: 'real' | 'manual' | EmulatorClock,
  startMs: number,
): { clock: EmulatorClock; manual: ManualClock | undefined } {
  if (wanted === 'real') return { clock: realClock, manual: undefined };
  if (wanted !== 'manual') return { clock: wanted, manual: undefined };
  const manual = createManualClock(startMs);
  return { clock: manual, manual };
}

/** The clock's time, shifted and held so that it never shows less than it did before. */
function forwardOnly(clock: EmulatorClock, storedMs: number): () => number {
  const shiftMs = Math.max(0, storedMs - clock.now());
  let lastMs = storedMs;
  return () => (lastMs = Math.max(lastMs, clock.now() + shiftMs));
}

/**
 * Nothing went on while the emulator was not there: what was left to wait is left now. Only a
 * device's termination has a date.
 */
function postponeTimers(state: State, byMs: number): void {
  for (const [subject, timers] of state.timers) {
    const later = timers.map((timer) =>
      timer.kind === 'terminate' ? timer : { ...timer, dueAtMs: timer.dueAtMs + byMs },
    );
    state.timers.set(subject, later);
  }
}

function restore(path: string | undefined, ids: Generator, chance: Generator): State | undefined {
  const text = path === undefined ? undefined : readStateFile(path);
  if (path === undefined || text === undefined) return undefined;
  const state = deserialise(text, path);
  ids.seek(state.idPosition);
  chance.seek(state.chancePosition);
  return state;
}

function snapshot(state: State, ids: Generator, chance: Generator, now: () => number): string {
  state.nowMs = now();
  state.idPosition = ids.position();
  state.chancePosition = chance.position();
  return serialise(state);
}

const worldOf = async ({ world, worldFile }: EquinixEmulatorOptions): Promise<World> =>
  world ?? (worldFile === undefined ? {} : await readWorldFile(worldFile));

function doomOf(faults: Faults, device: Device): Device['doom'] {
  const hit = faults.strikeOne(['stuck', 'failProvisioning'], {
    method: 'POST',
    route: '/projects/{id}/devices',
    deviceId: device.id,
    reservationId: device.reservationId ?? undefined,
  });
  if (!hit) return null;
  if (hit.effect.type === 'stuck') return { kind: 'stuck' };
  return { kind: 'fail', reason: hit.effect.reason ?? 'installer did not answer' };
}
