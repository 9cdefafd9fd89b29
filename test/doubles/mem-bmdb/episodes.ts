import { EPISODES_KEPT_DAYS, EPISODES_MAX } from '../../../src/adapters/bmdb/port.ts';
import type { EpisodesQuery, EpisodesReading } from '../../../src/adapters/bmdb/port.ts';
import { machineId, providerOf, slotIdOf, type Slot } from '../../../src/domain/ids.ts';
import type { StandingRung } from '../../../src/domain/recovery/rungs.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import type { MemMachine, Memory } from './tables.ts';

/** A recovery of a physical machine; see the table `recovery_episodes`. */
export interface MemEpisode {
  readonly slot: Slot;
  readonly machineId: string;
  readonly location: string | null;
  readonly silentSinceMs: number;
  readonly beganAtMs: number;
  rung: StandingRung;
  attempts: number;
  healedAtMs: number | null;
  endedAtMs: number | null;
  counted: boolean;
}

const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;

const openOf = ({ episodes }: Memory, { machineId }: MachineRow) =>
  episodes.find((each) => each.machineId === machineId && each.endedAtMs === null);

/** Counts an attempt; the first one begins an episode. */
export function countEpisode(memory: Memory, machine: MemMachine, rung: StandingRung): void {
  const { row } = machine;
  const slot = slotOfRow(row);
  if (!slot) return;
  const open = openOf(memory, row);
  if (open) {
    open.rung = rung;
    open.attempts += 1;
    return;
  }
  const beganAtMs = memory.now();
  memory.episodes.push({
    ...{ slot, machineId: row.machineId, rung, attempts: 1, beganAtMs, counted: true },
    location: row.provided?.location ?? null,
    silentSinceMs: machine.silentSinceMs ?? beganAtMs,
    ...{ healedAtMs: null, endedAtMs: null },
  });
}

/** The provider refused the attempt, which says nothing about the machine. */
export function uncountAttempt(memory: Memory, { row }: MemMachine): void {
  const open = openOf(memory, row);
  if (open) open.attempts = Math.max(0, open.attempts - 1);
}

export function endEpisode(
  memory: Memory,
  { row }: MemMachine,
  healedAtMs: number | null = null,
): void {
  const open = openOf(memory, row);
  if (open) Object.assign(open, { healedAtMs, endedAtMs: memory.now() });
}

/** A person has released the machine. */
export const forgiveEpisodes = (memory: Memory, { row }: MemMachine): void =>
  forgiveSlot(memory, slotOfRow(row));

export function forgiveSlot(memory: Memory, slot: string | null): void {
  for (const each of memory.episodes) {
    if (each.slot !== slot) continue;
    each.counted = false;
    each.endedAtMs ??= memory.now();
  }
}

/** The part `slot` of a machine's row that episodes determine. */
export function episodesOf(memory: Memory, row: MachineRow) {
  const slot = slotOfRow(row);
  const sinceMs = memory.now() - KEPT_MS;
  const counted = memory.episodes
    .filter(
      (each) => each.slot === slot && each.counted && each.attempts > 0 && each.beganAtMs > sinceMs,
    )
    .toReversed();
  return {
    episodes: counted.map(({ beganAtMs }) => beganAtMs),
    isRecovering: counted.some(({ endedAtMs }) => endedAtMs === null),
    healedBy: counted.find(({ healedAtMs }) => healedAtMs !== null)?.rung ?? null,
  };
}

/** See `BmdbInspection.episodes`. */
export function episodesSince(
  { episodes }: Memory,
  { sinceMs, limit = EPISODES_MAX }: EpisodesQuery,
): EpisodesReading {
  const found = episodes
    .filter(({ beganAtMs }) => beganAtMs >= sinceMs)
    .toReversed()
    .toSorted((a, b) => b.beganAtMs - a.beganAtMs)
    .map(({ slot, machineId: id, counted: _, ...rest }) => ({
      ...{ provider: providerOf(slot), slotId: slotIdOf(slot), machineId: machineId(id) },
      ...rest,
    }));
  return { episodes: found.slice(0, limit), isCut: found.length > limit };
}

export function trimEpisodes(memory: Memory): void {
  const limitMs = memory.now() - EPISODES_KEPT_DAYS * DAY_MS;
  memory.episodes = memory.episodes.filter(({ beganAtMs }) => beganAtMs >= limitMs);
}
