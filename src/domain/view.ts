import {
  agentStartRefusal,
  backoffUntilMs,
  currentHeartbeat,
  installState,
  isQuarantined,
  lostAtMs,
  recoveryRefusal,
  refusal,
} from './eligibility.ts';
import type { MachineId, ProviderName, SessionId, Slot } from './ids.ts';
import type { HoldKind, MachineRow, Process, SlotFacts } from './machine.ts';
import { DEFAULT_ESCALATION, type LossPolicy } from './policy.ts';

export const STATES = [
  'Reserved',
  'Provisioned',
  'AgentStarting',
  'Running',
  'Recovering',
  'HandedOver',
  'Quarantined',
  'Deprovisioning',
  'Released',
] as const;
export type MachineState = (typeof STATES)[number];

/** What the daemon may do with the machine next, if it gets its turn. */
export type NextWork = 'agentStart' | 'recovery' | 'deprovision' | null;

/**
 * What is true of a slot now: computed from rows, listing and clock, never stored. The actor of the
 * machine is sent this on each change; the page and the CLI show the same.
 */
export interface MachineView {
  readonly slot: Slot;
  readonly provider: ProviderName;
  readonly machineId: MachineId | null;
  readonly providerId: string | null;
  readonly reservationId: string | null;
  readonly address: string | null;
  readonly location: string | null;
  readonly lastHeartbeatAtMs: number | null;
  readonly holds: readonly HoldKind[];
  readonly state: MachineState;
  readonly substate: string;
  readonly reason: string | null;
  readonly next: NextWork;
  /** When the clock alone may change this view (epoch ms of the database); null: never. */
  readonly dueAtMs: number | null;
}

/** The state part of a view. */
export interface Place {
  readonly state: MachineState;
  readonly substate: string;
  readonly reason?: string | null;
  readonly next?: NextWork;
}

export interface Moment {
  readonly nowMs: number;
  readonly loss: LossPolicy;
  /** Those that this daemon can ask; all when absent. Nothing is done to machines of others. */
  readonly providers?: { has(name: ProviderName): boolean };
}

/** Derives the view of a slot. Total: any combination of facts has exactly one state. */
export function viewOf(facts: SlotFacts, moment: Moment): MachineView {
  const { row, listed } = facts;
  const told = tellOf(facts, moment);
  return {
    slot: facts.slot,
    provider: facts.provider,
    machineId: row?.machineId ?? facts.intent?.machineId ?? null,
    providerId: row?.provided?.providerId ?? listed?.id ?? null,
    reservationId: row?.provided?.reservationId ?? listed?.reservationId ?? null,
    address: row?.provided?.address ?? listed?.address ?? null,
    location: row?.provided?.location ?? listed?.location ?? null,
    lastHeartbeatAtMs: row?.heartbeat?.atMs ?? null,
    ...told,
    dueAtMs: nextChange(facts, moment, told),
  };
}

/** The part of a view that the clock may change. */
type Told = Pick<MachineView, 'state' | 'substate' | 'reason' | 'next' | 'holds'>;

function tellOf(facts: SlotFacts, moment: Moment): Told {
  const {
    state,
    substate,
    reason = null,
    next = null,
  } = doable(placeOf(facts, moment), facts, moment);
  return { state, substate, reason, next, holds: activeHolds(facts, moment.nowMs) };
}

/** Leaves alone what this daemon could not ask for. */
function doable(place: Place, { provider }: SlotFacts, { providers }: Moment): Place {
  if ((place.next ?? null) === null || !providers || providers.has(provider)) return place;
  return { ...place, next: null, reason: `provider ${provider} is not configured here` };
}

/** The first moment just after which the clock alone makes us tell something else. */
function nextChange(facts: SlotFacts, moment: Moment, told: Told): number | null {
  const ahead = limitsOf(facts, moment.loss)
    .filter((at) => at >= moment.nowMs && at < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a - b);
  for (const at of ahead) {
    if (!sameTold(told, tellOf(facts, { ...moment, nowMs: at + 1 }))) return at;
  }
  return null;
}

/** Every time that a rule below compares with the clock. */
function limitsOf({ row, holds, penalty }: SlotFacts, loss: LossPolicy): number[] {
  const { attemptAgeMs } = loss.escalation ?? DEFAULT_ESCALATION;
  const heardAt = row && currentHeartbeat(row)?.atMs;
  const limits = [
    row?.quarantine?.untilMs,
    row && lostAtMs(row, loss),
    heardAt && heardAt + 2 * loss.periodMs,
    row?.startAttempt && row.startAttempt.atMs + attemptAgeMs,
    row?.recovery?.nextAtMs,
    penalty?.untilMs,
    ...(row?.backoffs ?? []).map(({ untilMs }) => untilMs),
    ...holds.map(({ untilMs }) => untilMs),
  ];
  return limits.filter((at) => typeof at === 'number');
}

const sameTold = (a: Told, b: Told): boolean =>
  a.state === b.state &&
  a.substate === b.substate &&
  a.reason === b.reason &&
  a.next === b.next &&
  a.holds.length === b.holds.length;

const activeHolds = (facts: SlotFacts, nowMs: number): HoldKind[] =>
  facts.holds.filter((hold) => hold.untilMs === null || hold.untilMs > nowMs).map((h) => h.kind);

/** The first rule that matches decides. */
function placeOf(facts: SlotFacts, moment: Moment): Place {
  return (
    parked(facts, moment) ??
    atWork(facts, moment) ??
    started(facts, moment) ??
    provisioned(facts, moment) ??
    reserved(facts, moment)
  );
}

function parked(facts: SlotFacts, moment: Moment): Place | null {
  const { row } = facts;
  // Whatever else its rows say: part of them could not be read.
  if (row?.unreadable !== undefined) {
    return { state: 'Quarantined', substate: 'conflict', reason: row.unreadable };
  }
  if (row?.quarantine && isQuarantined(row, moment.nowMs)) {
    const { kind, reason } = row.quarantine;
    return { state: 'Quarantined', substate: kind, reason };
  }
  if (row && row.deprovision !== null) return goingBack(facts, row, moment);
  if (row?.provided?.status === 'Missing') {
    const reason = 'the provider no longer knows this machine';
    return { state: 'Quarantined', substate: 'missing', reason };
  }
  const conflict = facts.conflict ?? orphan(facts);
  return conflict ? { state: 'Quarantined', substate: 'conflict', reason: conflict } : null;
}

/** On its way back to the provider. Nothing drains yet: no balancer knows the machine. */
function goingBack({ listed, holds }: SlotFacts, row: MachineRow, { nowMs, loss }: Moment): Place {
  const may = refusal('ShepherdDeprovision', row, { holds, nowMs, loss });
  const { requestedBy, reason: why } = row.deprovision!;
  const asked = `${requestedBy} asked for it: ${why}`;
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

function atWork(facts: SlotFacts, moment: Moment): Place | null {
  const { row } = facts;
  if (!row) return null;
  const rung = row.recovery?.rung ?? 'rebooting';
  if (row.work.some((work) => RECOVERY.includes(work.process))) {
    return { state: 'Recovering', substate: rung };
  }
  if (row.permit) {
    const may = recoveryRefusal(row, facts.holds, moment.nowMs, moment.loss);
    const reason = causeOf(row, 'ShepherdRecovery') ?? 'between two attempts';
    const next = may === null ? 'recovery' : null;
    return { state: 'Recovering', substate: 'coolingDown', reason, next };
  }
  if (row.work.some((work) => work.process === 'ShepherdAgentStart')) {
    return { state: 'AgentStarting', substate: 'elsewhere' };
  }
  return null;
}

function started(facts: SlotFacts, { nowMs, loss }: Moment): Place | null {
  const { row } = facts;
  if (!row) return null;
  const install = installState(row);
  if (install === 'DONE') return { state: 'HandedOver', substate: 'installed' };
  if (!row.agentStarted) return null;
  const lostAt = lostAtMs(row, loss) ?? Number.POSITIVE_INFINITY;
  if (nowMs > lostAt) {
    const may = recoveryRefusal(row, facts.holds, nowMs, loss);
    return {
      state: 'Running',
      substate: 'silent',
      reason: may ?? 'no heartbeat within the deadline',
      next: may === null ? 'recovery' : null,
    };
  }
  if (install === 'PENDING' && row.installation.handedOutAtMs !== null) {
    return { state: 'Running', substate: 'installingOs' };
  }
  const heardAt = currentHeartbeat(row)?.atMs ?? null;
  if (heardAt === null) return { state: 'Running', substate: 'awaitingHeartbeat' };
  const lateAt = heardAt + 2 * loss.periodMs;
  return nowMs > lateAt
    ? { state: 'Running', substate: 'late', reason: 'a heartbeat is overdue' }
    : { state: 'Running', substate: 'healthy' };
}

function provisioned(facts: SlotFacts, moment: Moment): Place | null {
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
  if (recoveryRefusal(row, holds, nowMs, loss) === null) {
    const reason = 'agent start was given up; a reboot comes next';
    return { state, substate: 'waiting', reason, next: 'recovery' };
  }
  const refusal = agentStartRefusal(row, holds, nowMs, loss);
  if (refusal === null) return { state, substate: 'waiting', next: 'agentStart' };
  const backsOff = backoffUntilMs(row, 'ShepherdAgentStart', nowMs) !== null;
  const substate = backsOff ? 'backingOff' : 'waiting';
  return { state, substate, reason: causeOf(row, 'ShepherdAgentStart') ?? refusal };
}

function reserved({ intent, penalty, listed, listingComplete }: SlotFacts, now: Moment): Place {
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

const causeOf = (row: MachineRow, process: Process): string | null =>
  row.backoffs.find((backoff) => backoff.process === process)?.cause ?? null;

/** Whether a session other than `self` works on the machine. */
export const worksElsewhere = (row: MachineRow | null, self: SessionId | null): boolean =>
  row !== null && row.work.some((work) => work.sessionId !== self);
