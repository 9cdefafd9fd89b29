import { drainText, ladderWaitText, membershipsOf, type Membership } from './balancing/members.ts';
import {
  backoffUntilMs,
  currentHeartbeat,
  installState,
  isCoolingDown,
  isInForce,
  isQuarantined,
  lateAtMs,
  lostAtMs,
  orderFor,
  refusal,
  serves,
  serveWaitEndMs,
} from './eligibility.ts';
import type { Ineligibility } from './eligibility.ts';
import type { ProviderName, SessionId, Slot } from './ids.ts';
import { lineFieldsOf, type LineFields } from './line-fields.ts';

import type { HoldKind, MachineRow, OrderRow, Process, SlotFacts } from './machine.ts';
import { HOLD_KINDS, type OrderVerb } from './verbs.ts';
import { DEFAULT_ESCALATION, type LossPolicy } from './policy.ts';
import { RUNG_OF } from './recovery/ladder.ts';
import { isUnheardTooLong, unheardTooLongAtMs } from './recovery/guard-status.ts';
import { dueRequest } from './requests.ts';
import { needsHuman, type MachineState } from './states.ts';

/** The daemon's next work on the machine, once it gets a permit. */
export type NextWork = 'agentStart' | 'recovery' | 'deprovision' | null;

/**
 * The current state of a slot, computed from rows, listing and clock; never stored. The machine's
 * actor receives each change; the page and the CLI show the same.
 */
export interface MachineView extends LineFields {
  readonly slot: Slot;
  readonly provider: ProviderName;
  readonly providerId: string | null;
  readonly reservationId: string | null;
  readonly lastHeartbeatAtMs: number | null;
  /** Its memberships at load balancers. */
  readonly members: readonly Membership[];
  readonly holds: readonly HoldKind[];
  readonly state: MachineState;
  readonly substate: string;
  readonly reason: string | null;
  readonly next: NextWork;
  /** Key of the operator request to apply now; null: none. */
  readonly request: string | null;
  /** Who or what can end a quarantine, for people. */
  readonly endedBy: string | null;
  /** The machine waits for a decision, or has been silent or unreachable for too long. */
  readonly needsHuman: boolean;
  /** When the clock alone may change this view (epoch ms of the database); null: never. */
  readonly dueAtMs: number | null;
}

/** The state part of a view. */
export interface ViewState {
  readonly state: MachineState;
  readonly substate: string;
  readonly reason?: string | null;
  readonly next?: NextWork;
  readonly endedBy?: string | null;
}

export interface Moment {
  readonly nowMs: number;
  readonly loss: LossPolicy;
  /** Providers that this daemon can call; absent: all. Machines of other providers get no work. */
  readonly providers?: { has(name: ProviderName): boolean };
}

/** Derives the view of a slot. Total: every combination of facts has exactly one state. */
export function viewOf(facts: SlotFacts, moment: Moment): MachineView {
  const { row, listed } = facts;
  const told = tellOf(facts, moment);
  return {
    slot: facts.slot,
    provider: facts.provider,
    providerId: row?.provided?.providerId ?? listed?.id ?? null,
    reservationId: row?.provided?.reservationId ?? listed?.reservationId ?? null,
    ...lineFieldsOf(facts),
    lastHeartbeatAtMs: row?.heartbeat?.atMs ?? null,
    members: membershipsOf(row?.members),
    ...told,
    dueAtMs: nextChange(facts, moment, told),
  };
}

/** The part of a view that the clock may change. */
const TOLD = ['state', 'substate', 'reason', 'next', 'request', 'endedBy', 'needsHuman'] as const;
type ViewDetails = Pick<MachineView, (typeof TOLD)[number] | 'holds'>;

function tellOf(facts: SlotFacts, moment: Moment): ViewDetails {
  const place = doable(ordered(placeOf(facts, moment), facts, moment), facts, moment);
  const { requests, row, holds } = facts;
  const due = dueRequest(requests, row, { holds, nowMs: moment.nowMs, loss: moment.loss });
  return {
    ...{ reason: null, next: null, endedBy: null, ...place },
    request: due?.key ?? null,
    needsHuman: needsHuman(place) || (row !== null && isUnheardTooLong(row, moment)),
    holds: activeHolds(facts, moment.nowMs),
  };
}

/** Without work of ours under way, an operator's order comes before other due work. */
function ordered(place: ViewState, { row, holds }: SlotFacts, { nowMs, loss }: Moment): ViewState {
  if (!row || !LEADS_TO_RECOVERY.has(place.state)) return place;
  for (const process of RECOVERY) {
    const order = orderFor(process, row, nowMs);
    if (!order) continue;
    const may = refusal(process, row, { holds, nowMs, loss });
    if (may === null) return { ...place, next: 'recovery', reason: orderText(order) };
    if (may === WAITS) {
      return { ...place, next: null, reason: `${orderText(order)}; ${drainText(row.members)}` };
    }
  }
  return place;
}

/** The work starts once the machine's load balancers drain it. */
const WAITS: Ineligibility = 'it still serves';

const LEADS_TO_RECOVERY: ReadonlySet<MachineState> = new Set<MachineState>([
  'Provisioned',
  'Running',
  'Recovering',
]);
const ASKED_FOR: Readonly<Record<OrderVerb, string>> = {
  'restart-agent': 'a restart of its agent',
  reboot: 'a reboot',
  reinstall: 'a reinstallation',
};
/** The requester, the order and the reason. */
export const orderText = ({ by, verb, reason }: OrderRow): string =>
  `${by} asked for ${ASKED_FOR[verb]}: ${reason}`;

/** Removes the next work from the view if this daemon cannot call the machine's provider. */
function doable(place: ViewState, { provider }: SlotFacts, { providers }: Moment): ViewState {
  if ((place.next ?? null) === null || !providers || providers.has(provider)) return place;
  return { ...place, next: null, reason: `provider ${provider} is not configured here` };
}

/** The first moment just after which the view changes without a change of rows. */
function nextChange(facts: SlotFacts, moment: Moment, told: ViewDetails): number | null {
  const ahead = limitsOf(facts, moment.loss)
    .filter((at) => at >= moment.nowMs && at < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a - b);
  for (const at of ahead) {
    if (!sameTold(told, tellOf(facts, { ...moment, nowMs: at + 1 }))) return at;
  }
  return null;
}

/** All times that a rule below compares with the clock. */
function limitsOf({ row, holds, penalty, requests }: SlotFacts, loss: LossPolicy): number[] {
  const { attemptAgeMs } = loss.escalation ?? DEFAULT_ESCALATION;
  const heardAt = row && currentHeartbeat(row)?.atMs;
  const executedAt = row?.startAttempt?.atMs;
  const limits = [
    row?.quarantine?.untilMs,
    row && lostAtMs(row, loss),
    row && unheardTooLongAtMs(row, loss),
    heardAt && lateAtMs(heardAt, loss),
    executedAt && executedAt + attemptAgeMs,
    row?.recovery?.nextAtMs,
    row && serves(row) ? serveWaitEndMs(row, loss) : null,
    row?.order?.expiresAtMs,
    penalty?.untilMs,
    ...requests.map(({ expiresAtMs }) => expiresAtMs),
    ...(row?.backoffs ?? []).map(({ untilMs }) => untilMs),
    ...holds.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]),
  ];
  return limits.filter((at) => typeof at === 'number');
}

const sameTold = (a: ViewDetails, b: ViewDetails): boolean =>
  TOLD.every((key) => a[key] === b[key]) && String(a.holds) === String(b.holds);

/** Each kind once, in one order: an operator and a condition may set the same kind. */
function activeHolds({ holds }: SlotFacts, nowMs: number): HoldKind[] {
  const kinds = new Set(holds.filter((hold) => isInForce(hold, nowMs)).map(({ kind }) => kind));
  return kinds.size === 0 ? NO_HOLDS : HOLD_KINDS.filter((kind) => kinds.has(kind));
}
const NO_HOLDS: HoldKind[] = [];

/** The first matching rule decides. */
function placeOf(facts: SlotFacts, moment: Moment): ViewState {
  return (
    parked(facts, moment) ??
    atWork(facts, moment) ??
    started(facts, moment) ??
    provisioned(facts, moment) ??
    reserved(facts, moment)
  );
}

function parked(facts: SlotFacts, moment: Moment): ViewState | null {
  const { row } = facts;
  // Other rows do not matter: part of them could not be read.
  const state = 'Quarantined';
  if (row?.unreadable !== undefined) {
    return { state, substate: 'conflict', reason: row.unreadable, endedBy: ENDS.unreadable };
  }
  if (row?.quarantine && isQuarantined(row, moment.nowMs)) {
    const { kind, reason, untilMs, cause } = row.quarantine;
    if (cause === 'retired') {
      return { state, substate: cause, reason, endedBy: ENDS.unretire };
    }
    const byItself =
      kind === 'needsHuman' && cause === null ? ', or heartbeats without a break' : '';
    const endedBy = `${ENDS.release}${byItself}${untilMs === null ? '' : ', or its end'}`;
    return { state, substate: kind, reason, endedBy };
  }
  if (row && row.deprovision !== null) return goingBack(facts, row, moment);
  if (row?.provided?.status === 'Missing') {
    const reason = 'the provider no longer knows this machine';
    return { state, substate: 'missing', reason, endedBy: ENDS.missing };
  }
  const conflict = facts.conflict ?? orphan(facts);
  if (!conflict) return null;
  const endedBy = facts.conflict ? ENDS.contradiction : ENDS.orphan;
  return { state, substate: 'conflict', reason: conflict, endedBy };
}

const ENDS = {
  release: 'an operator: shepherd machine release',
  unretire: 'an operator: shepherd machine unretire',
  unreadable: 'a program that can read its rows',
  missing:
    'the provider, when it shows the machine again; or an operator: shepherd machine deprovision',
  contradiction: 'an operator who reconciles rows and provider',
  orphan: 'an operator, at the provider; or provisioner.assimilate',
} as const;

/** A machine that is being given back. Its load balancers drain it first. */
function goingBack(
  { listed, holds }: SlotFacts,
  row: MachineRow,
  { nowMs, loss }: Moment,
): ViewState {
  const may = refusal('ShepherdDeprovision', row, { holds, nowMs, loss });
  const { requestedBy, reason: why } = row.deprovision!;
  const asked = `${requestedBy} asked for it: ${why}`;
  if (may === WAITS) {
    const reason = `${asked}; ${drainText(row.members)}`;
    return { state: 'Deprovisioning', substate: 'draining', reason, next: null };
  }
  return {
    state: 'Deprovisioning',
    substate: listed?.id ? 'deleting' : 'cleaning',
    reason: may === null ? asked : (causeOf(row, 'ShepherdDeprovision') ?? may),
    next: may === null && row.provided ? 'deprovision' : null,
  };
}

const orphan = ({ row, listed, intent }: SlotFacts): string | null =>
  !row && !intent && listed?.availability === 'KnownUsed'
    ? `device ${listed.id} is ours by name, but no machine or intent refers to it`
    : null;

const RECOVERY: readonly Process[] = ['ShepherdRecovery', 'ShepherdReinstall'];

function atWork(facts: SlotFacts, moment: Moment): ViewState | null {
  const { row } = facts;
  if (!row) return null;
  if (row.work.some((work) => RECOVERY.includes(work.process))) {
    return { state: 'Recovering', substate: rungAt(row), reason: newerText(row) };
  }
  const may = ladderRefusal(row, facts.holds, moment);
  if (row.permit || isCoolingDown(row, may)) {
    const reason = newerText(row) ?? lastCause(row, RECOVERY) ?? 'between two attempts';
    const next = may === null ? 'recovery' : null;
    return { state: 'Recovering', substate: 'coolingDown', reason, next };
  }
  if (row.work.some((work) => work.process === 'ShepherdAgentStart')) {
    return { state: 'AgentStarting', substate: 'elsewhere' };
  }
  return null;
}

/** Why the ladder may not take the machine now, apart from operators' requests. */
const ladderRefusal = (
  row: MachineRow,
  holds: SlotFacts['holds'],
  { nowMs, loss }: Pick<Moment, 'nowMs' | 'loss'>,
) => refusal('ShepherdRecovery', { ...row, order: null }, { holds, nowMs, loss });

/** The rung under way: the last requested rung, else the ladder's current or first rung. */
function rungAt({ work, recovery, order, agentStarted, unknownRung }: MachineRow) {
  if (unknownRung !== undefined) return 'elsewhere';
  if (work.some(({ process }) => process === 'ShepherdReinstall')) return 'reinstalling';
  if (recovery?.askedRung) return recovery.askedRung;
  if (order) return RUNG_OF[order.verb];
  return recovery?.rung ?? (agentStarted ? 'restartingAgent' : 'rebooting');
}

const newerText = ({ unknownRung }: MachineRow): string | null =>
  unknownRung === undefined ? null : `a newer program recovers it, on its rung ${unknownRung}`;

function started(facts: SlotFacts, { nowMs, loss }: Moment): ViewState | null {
  const { row } = facts;
  if (!row) return null;
  const install = installState(row);
  if (install === 'DONE') return { state: 'HandedOver', substate: 'installed' };
  if (!row.agentStarted) return null;
  const lostAt = lostAtMs(row, loss) ?? Number.POSITIVE_INFINITY;
  if (nowMs > lostAt) {
    const may = ladderRefusal(row, facts.holds, { nowMs, loss });
    return {
      state: 'Running',
      substate: 'silent',
      reason: withCause(
        may === WAITS
          ? `${SILENT}; ${ladderWaitText(row.members, serveWaitEndMs(row, loss))}`
          : (may ?? SILENT),
        lastCause(row, RECOVERY),
      ),
      next: may === null ? 'recovery' : null,
    };
  }
  if (install === 'PENDING' && row.installation.handedOutAtMs !== null) {
    return { state: 'Running', substate: 'installingOs' };
  }
  const heardAt = currentHeartbeat(row)?.atMs ?? null;
  if (heardAt === null) return { state: 'Running', substate: 'awaitingHeartbeat' };
  const lateAt = lateAtMs(heardAt, loss);
  return nowMs > lateAt
    ? { state: 'Running', substate: 'late', reason: 'a heartbeat is overdue' }
    : { state: 'Running', substate: 'healthy' };
}

function provisioned(facts: SlotFacts, moment: Moment): ViewState | null {
  const { row, holds } = facts;
  if (!row) return null;
  const { nowMs, loss } = moment;
  const state = 'Provisioned';
  switch (row.provided?.status) {
    case 'ProvisioningFailedPermanent':
      return { state, substate: 'failed', reason: 'the provider gave up on this machine' };
    case 'Provisioning':
      return { state, substate: 'installing' };
    case 'Stopped':
      return { state, substate: 'stopped', reason: 'switched off at the provider' };
    default:
  }
  const may = ladderRefusal(row, holds, moment);
  if (may === null || may === WAITS) {
    const reason =
      may === null
        ? GIVEN_UP
        : `${GIVEN_UP}; ${ladderWaitText(row.members, serveWaitEndMs(row, loss))}`;
    const why = withCause(reason, lastCause(row, STARTING));
    return { state, substate: 'waiting', reason: why, next: may === null ? 'recovery' : null };
  }
  const barred = refusal('ShepherdAgentStart', row, { holds, nowMs, loss });
  const cause = lastCause(row, STARTING);
  if (barred === null) return { state, substate: 'waiting', next: 'agentStart', reason: cause };
  const backsOff = backoffUntilMs(row, 'ShepherdAgentStart', nowMs) !== null;
  const substate = backsOff ? 'backingOff' : 'waiting';
  return { state, substate, reason: cause ?? barred };
}

const SILENT = 'no heartbeat within the deadline';
const GIVEN_UP = 'agent start was given up; the recovery ladder comes next';

function reserved({ intent, penalty, listed, listingComplete }: SlotFacts, now: Moment): ViewState {
  if (intent) {
    const reason = intent.lastError;
    return { state: 'Reserved', substate: 'creating', reason };
  }
  if (!listed && listingComplete) return { state: 'Released', substate: 'gone' };
  if (penalty && penalty.untilMs > now.nowMs) {
    return { state: 'Reserved', substate: 'penalised', reason: penalty.cause };
  }
  return { state: 'Reserved', substate: 'available' };
}

const STARTING: readonly Process[] = ['ShepherdAgentStart'];

const withCause = (why: string, cause: string | null): string =>
  cause === null ? why : `${why}; last failure: ${cause}`;

const lastCause = (row: MachineRow, processes: readonly Process[]): string | null =>
  processes.map((process) => causeOf(row, process)).find((cause) => cause !== null) ?? null;

const causeOf = (row: MachineRow, process: Process): string | null =>
  row.backoffs.find((backoff) => backoff.process === process)?.cause ?? null;

/** Whether a session other than `self` works on the machine. */
export const worksElsewhere = (row: MachineRow | null, self: SessionId | null): boolean =>
  row !== null && row.work.some((work) => work.sessionId !== self);
