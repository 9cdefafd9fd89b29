import type { z } from 'zod';
import { currentHeartbeat, handOutRefusal, installState } from '../../domain/eligibility.ts';
import { slotIdOf } from '../../domain/ids.ts';
import type { HoldRow, MachineRow } from '../../domain/machine.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import { etagOf, machineRow, reasonOf } from './machine-row.ts';
import { MachineSchema } from './machine-schema.ts';

type Machine = z.output<typeof MachineSchema>;

/**
 * Everything of one machine that the daemon has in memory. The schema names what of the rows is told:
 * no secret slips in.
 */
export function machineDetail(entry: MachineEntry, fleet: FleetView): Machine {
  const { view } = entry;
  const facts = fleet.facts(view.slot);
  const row = facts?.row ?? null;
  const { intent, penalty, listed } = facts ?? {};
  const detail: z.input<typeof MachineSchema> = {
    ...machineRow(entry, fleet),
    reason: reasonOf(entry),
    etag: etagOf(entry, fleet),
    atMs: fleet.nowMs(),
    provider: view.provider,
    slotId: slotIdOf(view.slot),
    providerId: view.providerId,
    reservationId: view.reservationId,
    plan: listed?.plan ?? null,
    status: row?.provided?.status ?? listed?.status ?? null,
    power: listed?.power ?? 'unknown',
    hostname: listed?.hostname ?? null,
    createdAtMs: row?.createdAtMs ?? null,
    next: view.next,
    endedBy: view.endedBy,
    dueAtMs: view.dueAtMs,
    permit: row?.permit ?? false,
    conflict: facts?.conflict ?? null,
    holdRows: facts?.holds ?? [],
    requests: facts?.requests ?? [],
    order: row?.order ?? null,
    work: row?.work ?? [],
    backoffs: row?.backoffs ?? [],
    ladder: row?.recovery ?? null,
    quarantine: row?.quarantine ?? null,
    deprovision: row?.deprovision ?? null,
    installation: row && installationOf(row, facts?.holds ?? [], fleet.nowMs()),
    agent: row?.agentStarted ? { ...row.agentStarted, startedAtMs: row.agentStarted.atMs } : null,
    heartbeat: row?.heartbeat
      ? { ...row.heartbeat, isCurrent: currentHeartbeat(row) !== null }
      : null,
    startAttempt: row?.startAttempt ?? null,
    missingSinceMs: row?.missing?.sinceMs ?? null,
    bootSeconds: row?.bootTimes ?? null,
    hostKey: row?.hostKey ?? null,
    creation: intent ? { ...intent, startedAtMs: intent.createdAtMs } : null,
    shelf: penalty ?? null,
    members: row?.members ?? [],
  };
  return MachineSchema.parse(wholeMs(detail));
}

/** JSON has no integers of 64 bits. */
function installationOf(row: MachineRow, holds: readonly HoldRow[], nowMs: number) {
  const { requestGeneration, reportGeneration, handedOutAtMs, reportResult } = row.installation;
  const state = installState(row);
  return {
    requested: requestGeneration !== null,
    handedOutAtMs,
    result: reportResult,
    state,
    requestGeneration: requestGeneration?.toString() ?? null,
    reportGeneration: reportGeneration?.toString() ?? null,
    barredBy: state === 'PENDING' ? handOutRefusal(row, { holds, nowMs }) : null,
  };
}

/** The same data, with whole milliseconds, whatever the clock's estimate added to them. */
function wholeMs(value: unknown, name = ''): unknown {
  if (typeof value === 'number') return name.endsWith('Ms') ? Math.round(value) : value;
  if (Array.isArray(value)) return value.map((each) => wholeMs(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, wholeMs(each, key)]));
}
