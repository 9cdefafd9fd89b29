import type { BmdbSurroundings } from '../../adapters/bmdb/port.ts';
import type { FreezeKind, GuardRow } from '../../domain/machine.ts';
import type { LossPolicy } from '../../domain/policy.ts';
import { FLEET, graceEndsAtMs } from '../../domain/recovery/guard-judgement.ts';
import { plainCell, timeText, whenText } from './layout.ts';

type Read = Pick<BmdbSurroundings, 'nowMs' | 'guard' | 'sessions'>;

/** Component of the sessions that carry requests out. */
const DAEMON = 'shepherd';
export const isAnyAlive = (sessions: BmdbSurroundings['sessions']): boolean =>
  sessions.some(({ component }) => component === DAEMON);

export const NO_DAEMON = 'no daemon is alive: nothing is done to any machine, and requests wait';
const NO_INGEST = 'recovery waits: no daemon takes heartbeats in now';

/** Whether machines are recovered now: a line for each thing that keeps them from it. */
export function guardLines(read: Read, loss: LossPolicy): string[] {
  const { nowMs, guard, sessions } = read;
  const frozen = frozenLines(read);
  if (!isAnyAlive(sessions)) return [...frozen, NO_DAEMON];
  if (frozen.length > 0) return frozen;
  const upSinceMs = guard.find(({ scope }) => scope === FLEET)?.ingestUpSinceMs ?? null;
  const endsAtMs = graceEndsAtMs({ upSinceMs }, loss);
  if (endsAtMs === null) return [NO_INGEST];
  return nowMs < endsAtMs
    ? [`recovery waits until ${timeText(endsAtMs)}: heartbeats are taken in again only lately`]
    : ['recovery is not frozen'];
}

const ENDS: Readonly<Record<FreezeKind, string>> = {
  manual: 'until "shepherd fleet thaw"',
  silence: 'ends by itself when few enough are silent',
  probes: 'ends by itself when enough can be reached again',
};

/** A line for each scope that is frozen: since when, by whom, why, and what ends it. */
export const frozenLines = ({ guard, nowMs }: Pick<Read, 'guard' | 'nowMs'>): string[] =>
  guard.filter(({ frozen }) => frozen !== null).map((row) => frozenText(row, nowMs));

function frozenText({ scope, frozen }: GuardRow, nowMs: number): string {
  const { atMs, by, kind, reason } = frozen!;
  const whose = scope === FLEET ? 'the fleet' : `provider ${scope}`;
  return plainCell(
    `recovery is FROZEN for ${whose} since ${whenText(atMs, nowMs)} by ${by}: ${reason} (${ENDS[kind]})`,
  );
}
