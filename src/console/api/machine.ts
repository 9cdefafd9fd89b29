import { createHash } from 'node:crypto';
import { z } from 'zod';
import { acceptanceState } from '../../domain/acceptance.ts';
import { statusOf, type ConditionRow } from '../../domain/conditions.ts';
import { currentHeartbeat, handOutRefusal, installState } from '../../domain/eligibility.ts';
import { slot, slotIdOf } from '../../domain/ids.ts';
import { lineOf } from '../../domain/line-fields.ts';
import type { HoldRow, MachineRow } from '../../domain/machine.ts';
import { RUNGS } from '../../domain/recovery/rungs.ts';
import type { MachineInsight } from '../views.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import { described, read, type Api } from './kit.ts';
import { MachineSchema } from './machine-schema.ts';
import { Problem } from './problem.ts';
import { type MachineRowSchema, Milliseconds, named } from './schemas.ts';
import { requireWhole } from './whole.ts';

export const MachineParams = z.object({ provider: z.string(), slot: z.string() });

/** @throws {Problem} the slot is empty, and no provider lists it; or it is not known yet. */
export function requireMachine(
  fleet: Pick<FleetView, 'entries' | 'isWhole'>,
  params: z.output<typeof MachineParams>,
): MachineEntry {
  const name = slot(params.provider, params.slot);
  const entry = fleet.entries.get(name);
  if (entry) return entry;
  requireWhole(fleet);
  throw new Problem('not-found', `No machine has slot ${name}`);
}

/** `machines/{provider}/{slot}`: one machine, whole. */
export function addMachine(api: Api, fleet: FleetView): void {
  api.get(
    '/machines/:provider/:slot',
    described(
      'see',
      ['machines', 'One machine'],
      { 200: MachineSchema, 304: z.null().describe('Not modified: the sent ETag is current.') },
      { params: MachineParams, headers: z.object({ 'if-none-match': z.string().optional() }) },
    ),
    async (request, reply) => {
      const entry = requireMachine(fleet, request.params);
      const etag = etagOf(entry, fleet);
      // Unlike all other answers it may be cached, if revalidated at each use.
      reply.header('etag', etag).header('cache-control', 'private, no-cache');
      if (isNamed(request.headers['if-none-match'], etag)) return reply.code(304).send(null);
      return machineDetail(entry, fleet);
    },
  );
}

const isNamed = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header.split(',').some((each) => each.trim().replace(/^W\//, '') === etag || each.trim() === '*');

/** Length of a reason in a list; the machine itself shows the whole. */
export const REASON_MAX = 120;

const whole = (atMs: number | null): number | null => (atMs === null ? null : Math.round(atMs));

/** If the actor is in another state than the rows, their reason is not valid for it. */
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
    ...lineOf(view),
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
 * The strong ETag of a machine: changes with its machine id, state, substate, holds or open
 * requests. An acting request shows the ETag that it saw (`If-Match`).
 */
export function etagOf(entry: MachineEntry, fleet: Pick<FleetView, 'facts'>): string {
  const { view, state, substate } = entry;
  const facts = fleet.facts(view.slot);
  const requests = facts?.requests.map(({ key }) => key).toSorted() ?? [];
  const holds = view.holds.toSorted();
  const parts = [view.slot, view.machineId, state, substate, holds, requests];
  return `"${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)}"`;
}

/** A condition with its present status and its effect. */
export const shownCondition = (row: ConditionRow, fleet: FleetView) => ({
  ...row,
  ...fleet.standing(row),
  status: statusOf(row, fleet.nowMs()),
});

type MachineAnswer = z.output<typeof MachineSchema>;

/**
 * Everything that the daemon holds in memory about one machine. The schema lists the shown columns,
 * so that no secret slips in.
 */
export function machineDetail(entry: MachineEntry, fleet: FleetView): MachineAnswer {
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
    adopted: listed?.availability === 'PossiblyUsed',
    plan: listed?.plan ?? null,
    status: row?.provided?.status ?? listed?.status ?? null,
    power: listed?.power ?? 'unknown',
    hostname: listed?.hostname ?? null,
    remoteUser: listed?.remoteUser ?? null,
    createdAtMs: row?.createdAtMs ?? null,
    next: view.next,
    endedBy: view.endedBy,
    dueAtMs: view.dueAtMs,
    permit: row?.permit ?? false,
    conflict: facts?.conflict ?? null,
    holdRows: (facts?.holds ?? []).map((hold) => ({ fromMs: null, ...hold })),
    conditionRows: (facts?.conditions ?? [])
      .map((each) => shownCondition(each, fleet))
      .filter(({ status }) => status !== 'False'),
    acceptance: row?.acceptance
      ? { ...row.acceptance, state: acceptanceState(row.acceptance, fleet.nowMs()) }
      : null,
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
  return MachineSchema.parse(detail);
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

const text = z.string();

export const LadderSchema = named(
  'Ladder',
  z.object({
    rungs: z
      .array(
        z.object({
          rung: z.enum(RUNGS),
          place: z
            .enum(['passed', 'here', 'ahead'])
            .describe('Position relative to the current rung, which is `here`.'),
          attempts: z.int().describe('Attempts on the current rung in this episode.'),
          attemptsMax: z.int(),
          patienceMs: z.int().describe('Maximum wait for evidence that the rung helped.'),
          bar: text.nullable().describe('Why the rung cannot be used.'),
        }),
      )
      .readonly()
      .describe('Sorted: the mildest rung comes first.'),
    patienceEndsAtMs: Milliseconds.nullable().describe('When the wait for the current rung ends.'),
    coolsUntilMs: Milliseconds.nullable().describe('End of the cooldown. No rung starts before.'),
    next: z
      .object({ rung: z.enum(RUNGS).nullable(), attempt: z.int().nullable(), end: text.nullable() })
      .describe('The next attempt. `end`: no rung is left.'),
    queue: z
      .object({ scope: text, place: z.int(), of: z.int() })
      .nullable()
      .describe('Place in the queue for a permit. Null: the machine does not wait.'),
  }),
);
export const HardwareSchema = z.object({
  machineId: text.nullable(),
  report: z
    .record(text, z.unknown())
    .nullable()
    .describe("What its agent found in it, by the names of the message's fields; null: nothing."),
});
const HoldsSchema = z.object({ holds: MachineSchema.shape.holdRows });

export interface MachinePartsDeps {
  readonly fleet: FleetView;
  readonly insight: MachineInsight;
}

/** `machines/{provider}/{slot}/holds`, `…/ladder`, `…/hardware`: single parts of a machine. */
export function addMachineParts(api: Api, { fleet, insight }: MachinePartsDeps): void {
  api.get(
    '/machines/:provider/:slot/holds',
    read('machines', 'Holds of a machine, with their users, reasons and ends', HoldsSchema, {
      params: MachineParams,
    }),
    async ({ params }) => ({ holds: machineDetail(requireMachine(fleet, params), fleet).holdRows }),
  );
  api.get(
    '/machines/:provider/:slot/ladder',
    read(
      'machines',
      'The ladder of recovery of a machine: its position, and the allowed rungs',
      LadderSchema,
      { params: MachineParams },
    ),
    async ({ params }) => {
      requireMachine(fleet, params);
      const found = insight.ladder(slot(params.provider, params.slot));
      if (found) return found;
      throw new Problem('not-found', 'No machine is on the slot, so there is no recovery');
    },
  );
  api.get(
    '/machines/:provider/:slot/hardware',
    read('machines', "What a machine's agent found in it", HardwareSchema, {
      params: MachineParams,
    }),
    async ({ params, signal }) => {
      const { view } = requireMachine(fleet, params);
      const { machineId } = view;
      const report = machineId === null ? null : await insight.hardware(machineId, signal);
      return { machineId, report };
    },
  );
}
