import type { z } from 'zod';
import type { MemberRow } from '../../domain/balancing/members.ts';
import { currentHeartbeat, handOutRefusal, installState } from '../../domain/eligibility.ts';
import { slotIdOf } from '../../domain/ids.ts';
import type { HoldRow, MachineRow, SlotFacts } from '../../domain/machine.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import { etagOf, machineRow, reasonOf } from './machine-row.ts';
import type { MachineSchema } from './machine-schema.ts';

type Machine = z.output<typeof MachineSchema>;

/** Whole milliseconds, whatever the clock's estimate added to them. */
const whole = (atMs: number): number => Math.round(atMs);
const wholeOr = (atMs: number | null | undefined): number | null =>
  typeof atMs === 'number' ? Math.round(atMs) : null;

/** Everything of one machine that the daemon has in memory. Fields are named one by one: no secret slips in. */
export function machineDetail(entry: MachineEntry, fleet: FleetView): Machine {
  const { view } = entry;
  const facts = fleet.facts(view.slot);
  const row = facts?.row ?? null;
  return {
    ...machineRow(entry, fleet),
    reason: reasonOf(entry),
    etag: etagOf(entry, fleet),
    atMs: whole(fleet.nowMs()),
    provider: view.provider,
    slotId: slotIdOf(view.slot),
    providerId: view.providerId,
    reservationId: view.reservationId,
    createdAtMs: wholeOr(row?.createdAtMs),
    next: view.next,
    endedBy: view.endedBy,
    dueAtMs: wholeOr(view.dueAtMs),
    permit: row?.permit ?? false,
    members: (row?.members ?? []).map(memberOf),
    ...ofListing(facts, row),
    ...ofOperators(facts, row, fleet.nowMs()),
    ...ofAgent(row),
    ...ofWork(facts, row),
  };
}

const memberOf = (member: MemberRow) => ({
  ...{ pool: member.pool, balancer: member.balancer, state: member.state, note: member.note },
  ...{ how: member.how, waived: member.waived, sessions: member.sessions },
  sinceMs: whole(member.sinceMs),
  deadlineMs: wholeOr(member.deadlineMs),
});

const ofListing = (facts: SlotFacts | undefined, row: MachineRow | null) => ({
  plan: facts?.listed?.plan ?? null,
  status: row?.provided?.status ?? facts?.listed?.status ?? null,
  power: facts?.listed?.power ?? ('unknown' as const),
  hostname: facts?.listed?.hostname ?? null,
  conflict: facts?.conflict ?? null,
  shelf: facts?.penalty
    ? { untilMs: whole(facts.penalty.untilMs), cause: facts.penalty.cause }
    : null,
});

const ofOperators = (facts: SlotFacts | undefined, row: MachineRow | null, nowMs: number) => ({
  holdRows: (facts?.holds ?? []).map(({ kind, setBy, reason, untilMs }) => ({
    kind,
    setBy,
    reason,
    untilMs: wholeOr(untilMs),
  })),
  requests: (facts?.requests ?? []).map(({ key, verb, by, reason, createdAtMs, expiresAtMs }) => ({
    key,
    verb,
    by,
    reason,
    createdAtMs: whole(createdAtMs),
    expiresAtMs: whole(expiresAtMs),
  })),
  order: row?.order ? { ...row.order, expiresAtMs: whole(row.order.expiresAtMs) } : null,
  quarantine: row?.quarantine
    ? { ...row.quarantine, untilMs: wholeOr(row.quarantine.untilMs) }
    : null,
  deprovision: row?.deprovision
    ? { ...row.deprovision, requestedAtMs: whole(row.deprovision.requestedAtMs) }
    : null,
  installation: row
    ? {
        requested: row.installation.requestGeneration !== null,
        handedOutAtMs: wholeOr(row.installation.handedOutAtMs),
        result: row.installation.reportResult,
        ...ofInstallation(row, facts?.holds ?? [], nowMs),
      }
    : null,
});

/** JSON has no integers of 64 bits. */
function ofInstallation(row: MachineRow, holds: readonly HoldRow[], nowMs: number) {
  const { requestGeneration, reportGeneration } = row.installation;
  const state = installState(row);
  return {
    state,
    requestGeneration: requestGeneration?.toString() ?? null,
    reportGeneration: reportGeneration?.toString() ?? null,
    barredBy: state === 'PENDING' ? handOutRefusal(row, { holds, nowMs }) : null,
  };
}

const ofAgent = (row: MachineRow | null) => ({
  heartbeat: row?.heartbeat
    ? {
        atMs: whole(row.heartbeat.atMs),
        bootId: row.heartbeat.bootId,
        isCurrent: currentHeartbeat(row) !== null,
      }
    : null,
  startAttempt: row?.startAttempt
    ? {
        count: row.startAttempt.count,
        unreached: row.startAttempt.unreached ?? 0,
        atMs: wholeOr(row.startAttempt.atMs),
      }
    : null,
  missingSinceMs: wholeOr(row?.missing?.sinceMs),
  bootSeconds: row && { reboot: row.bootTimes.reboot, reinstall: row.bootTimes.reinstall },
});

const ofWork = (facts: SlotFacts | undefined, row: MachineRow | null) => ({
  work: (row?.work ?? []).map(({ process, sessionId, startedAtMs }) => ({
    process,
    sessionId,
    startedAtMs: whole(startedAtMs),
  })),
  backoffs: (row?.backoffs ?? []).map(({ process, untilMs, cause }) => ({
    process,
    untilMs: whole(untilMs),
    cause,
  })),
  ladder: row?.recovery
    ? {
        rung: row.recovery.rung,
        attempts: row.recovery.attempts,
        nextAtMs: wholeOr(row.recovery.nextAtMs),
        askedAtMs: wholeOr(row.recovery.askedAtMs),
        askedRung: row.recovery.askedRung,
        operationRef: row.recovery.operationRef,
        orderKey: row.recovery.orderKey,
        powerOffAskedAtMs: wholeOr(row.recovery.powerOffAskedAtMs),
      }
    : null,
  agent: row?.agentStarted
    ? {
        startedAtMs: whole(row.agentStarted.atMs),
        publicKey: row.agentStarted.publicKey,
        bootId: row.agentStarted.bootId,
      }
    : null,
  hostKey: row?.hostKey ?? null,
  creation: facts?.intent
    ? {
        startedAtMs: whole(facts.intent.createdAtMs),
        hostname: facts.intent.hostname,
        attempts: facts.intent.attempts,
        lastError: facts.intent.lastError,
      }
    : null,
});
