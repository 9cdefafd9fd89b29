import type { z } from 'zod';
import { createHash } from 'node:crypto';
import { forLineFields } from '../../domain/line-fields.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import type { MachineRowSchema } from './schemas.ts';

/** What a line of a list shows of a reason; the machine itself shows all of it. */
export const REASON_MAX = 120;

const whole = (atMs: number | null): number | null => (atMs === null ? null : Math.round(atMs));

/** Where the actor shows another state than the rows do, their reason is not its. */
export const reasonOf = ({ view, state }: MachineEntry): string | null =>
  view.state === state ? view.reason : null;

/** A line of a list. */
export function machineRow(
  entry: MachineEntry,
  fleet: Pick<FleetView, 'isElsewhere'>,
): z.output<typeof MachineRowSchema> {
  const { view, state, substate, sinceMs } = entry;
  const reason = reasonOf(entry);
  const isLong = reason !== null && reason.length > REASON_MAX;
  return {
    slot: view.slot,
    ...forLineFields((name) => view[name]),
    state,
    substate,
    reason: isLong ? `${reason.slice(0, REASON_MAX - 1)}…` : reason,
    lastHeartbeatAtMs: whole(view.lastHeartbeatAtMs),
    sinceMs: Math.round(sinceMs),
    holds: view.holds,
    elsewhere: fleet.isElsewhere(view.slot),
  };
}

/**
 * The strong ETag of a machine: other when its machine id, state, substate, holds or open requests
 * are. What acts on a machine shows the one that it saw (`If-Match`).
 */
export function etagOf(entry: MachineEntry, fleet: Pick<FleetView, 'facts'>): string {
  const { view, state, substate } = entry;
  const facts = fleet.facts(view.slot);
  const requests = facts?.requests.map(({ key }) => key).toSorted() ?? [];
  const holds = view.holds.toSorted();
  const parts = [view.slot, view.machineId, state, substate, holds, requests];
  return `"${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}"`;
}
