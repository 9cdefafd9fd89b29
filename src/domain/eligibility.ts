import { mayServe } from './balancing/members.ts';
import { slotIdOf, slotOf } from './ids.ts';
import { PROCESSES } from './machine.ts';
import type {
  HoldKind,
  HoldRow,
  MachineRow,
  OrderRow,
  Process,
  ProviderStatus,
  RequestRow,
} from './machine.ts';
import type { OrderVerb } from './verbs.ts';
import { DEFAULT_ESCALATION, SERVE_WAIT_MS, type LossPolicy } from './policy.ts';

/**
 * Decides what may be done with a machine now: pure functions of its rows and the database clock.
 * The BMDB builds its SQL from the same rules, with one expression for each refusal; a property
 * test compares both.
 */

/** State of an installation of an operating system. */
export type InstallState = 'NONE' | 'PENDING' | 'FAILED' | 'DONE';

/** Why a process may not start on a machine, for people too: the first `RULES` that apply. */
export type Ineligibility =
  | 'it cannot be read'
  | 'it is being worked on'
  | 'it has no hardware'
  | 'its agent is started'
  | 'it was handed over'
  | 'it is quarantined'
  | 'it is to be deprovisioned'
  | 'nobody asked to deprovision it'
  | 'a hold forbids it'
  | 'its provider status does not allow it'
  | 'a newer program recovers it'
  | 'it waits after a failure'
  | 'it cools down after an attempt'
  | 'it is not lost'
  | 'its agent start is not given up'
  | 'it still serves';

export function installState(row: Pick<MachineRow, 'installation'>): InstallState {
  const { requestGeneration, reportGeneration, reportResult } = row.installation;
  if (requestGeneration === null) return 'NONE';
  if (requestGeneration !== reportGeneration) return 'PENDING';
  return reportResult === 'Success' ? 'DONE' : 'FAILED';
}

/** The last heartbeat, unless it is older than the agent's start; then it does not count. */
export function currentHeartbeat(row: MachineRow): MachineRow['heartbeat'] {
  const { agentStarted, heartbeat } = row;
  return agentStarted && heartbeat && heartbeat.atMs >= agentStarted.atMs ? heartbeat : null;
}

/** The machine is lost just after this if no heartbeat arrives; null: no agent was started. */
export function lostAtMs(row: MachineRow, loss: LossPolicy): number | null {
  if (!row.agentStarted) return null;
  const heartbeat = currentHeartbeat(row);
  const silence = heartbeat
    ? heartbeat.atMs + loss.heartbeatMs
    : row.agentStarted.atMs + loss.firstHeartbeatMs;
  const { handedOutAtMs } = row.installation;
  if (handedOutAtMs === null || installState(row) !== 'PENDING') return silence;
  return Math.max(silence, handedOutAtMs + loss.handOutMs);
}

/** When a heartbeat is overdue for a daemon that does not receive heartbeats itself. */
export const lateAtMs = (heardAtMs: number, { periodMs, readGapMs = 0 }: LossPolicy): number =>
  heardAtMs + 2 * periodMs + readGapMs;

/** The agent was started and has been silent for too long. */
export function isLost(row: MachineRow, nowMs: number, loss: LossPolicy): boolean {
  const at = lostAtMs(row, loss);
  return at !== null && nowMs > at;
}

/** Agent start failed too often, or ran long ago without a recorded result. */
export function isStartGivenUp(row: MachineRow, nowMs: number, loss: LossPolicy): boolean {
  const attempt = row.startAttempt;
  if (!attempt || row.agentStarted) return false;
  const { failuresMax, attemptAgeMs } = loss.escalation ?? DEFAULT_ESCALATION;
  const { atMs, count } = attempt;
  return count >= failuresMax || (atMs !== null && nowMs > atMs + attemptAgeMs);
}

/** The process that carries out an order. */
export const PROCESS_FOR: Readonly<Record<OrderVerb, Process>> = {
  'restart-agent': 'ShepherdRecovery',
  reboot: 'ShepherdRecovery',
  reinstall: 'ShepherdReinstall',
};

/** The order that the process must carry out on the machine; null: none, or it has expired. */
export function orderFor(process: Process, row: MachineRow, nowMs: number): OrderRow | null {
  const { order } = row;
  return order && PROCESS_FOR[order.verb] === process && order.expiresAtMs > nowMs ? order : null;
}

/** Everything besides the row on which the predicates depend. */
export interface Circumstances {
  /** Holds; those of other slots are ignored. */
  readonly holds: readonly HoldRow[];
  /** Database clock. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
}

/** Processes of the recovery ladder. The guard may bar them, and they respect its cool-down. */
export const isLadder = (process: Process): boolean =>
  process === 'ShepherdRecovery' || process === 'ShepherdReinstall';

/** Processes that interrupt the machine's service. */
const INTERRUPTING: readonly Process[] = [
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
];

/** Why a process never applies to a machine, whatever else is true of it. */
const BARS: readonly Ineligibility[] = [
  'it has no hardware',
  'it was handed over',
  'it is quarantined',
  'it is to be deprovisioned',
  'a hold forbids it',
  'its provider status does not allow it',
];
/** The ladder does not continue with a machine whose state it cannot read. */
const LADDER_BARS: readonly Ineligibility[] = [...BARS, 'a newer program recovers it'];
const LADDER: readonly Ineligibility[] = [
  ...LADDER_BARS,
  'it is not lost',
  'its agent start is not given up',
];
/** Why the process may not start, apart from other work and waits, in this order. */
const GROUNDS: Readonly<Partial<Record<Process, readonly Ineligibility[]>>> = {
  ShepherdAgentStart: [...BARS, 'its agent is started'],
  ShepherdRecovery: LADDER,
  ShepherdReinstall: LADDER,
  ShepherdDeprovision: ['nobody asked to deprovision it', 'a hold forbids it'],
};

/**
 * An order makes its process eligible whether or not the machine is lost. An order waits only for
 * the machine's load balancers; all other refusals still apply.
 */
export const LIFTED_BY_ORDER: ReadonlySet<Ineligibility> = new Set([
  'it is not lost',
  'its agent start is not given up',
  'it waits after a failure',
  'it cools down after an attempt',
]);

/** The refusals that each question about a process checks: the first that applies is the answer. */
export const RULES = {
  /** Why the process never applies to the machine, whatever else is true of it. */
  bar: (process: Process) => (isLadder(process) ? LADDER_BARS : BARS),
  /**
   * Why the machine is not eligible for the process. An eligible machine can only still wait for
   * the ladder's cool-down or its load balancers. Statistics count eligible machines as pending.
   */
  ineligibility: (process: Process): readonly Ineligibility[] => [
    'it cannot be read',
    'it is being worked on',
    ...(GROUNDS[process] ?? []),
    'it waits after a failure',
  ],
  /** Why the process may not start on the machine now. */
  refusal: (process: Process): readonly Ineligibility[] => [
    ...RULES.ineligibility(process),
    'it cools down after an attempt',
    'it still serves',
  ],
  /**
   * Why the provider must not act on a machine that is already claimed. Meanwhile the machine may
   * have returned, or be quarantined or under a hold. Ignores other work and waits.
   */
  ask: (process: Process): readonly Ineligibility[] =>
    INTERRUPTING.includes(process) ? ['it cannot be read', ...GROUNDS[process]!] : [],
};

const APPLIES: Readonly<
  Record<Ineligibility, (row: MachineRow, now: Circumstances, process: Process) => boolean>
> = {
  'it cannot be read': ({ unreadable }) => unreadable !== undefined,
  'it is being worked on': ({ work }, _, process) =>
    work.some((each) => exclusionGroup(each.process) === exclusionGroup(process)),
  'it has no hardware': ({ provided }) => provided === null,
  'its agent is started': ({ agentStarted }) => agentStarted !== null,
  'it was handed over': (row) => installState(row) === 'DONE',
  'it is quarantined': (row, { nowMs }) => isQuarantined(row, nowMs),
  'it is to be deprovisioned': ({ deprovision }) => deprovision !== null,
  'nobody asked to deprovision it': ({ deprovision }) => deprovision === null,
  'a hold forbids it': (row, now, process) =>
    BARRING[process]?.some((kind) => isHeld(row, kind, now)) ?? false,
  'its provider status does not allow it': ({ provided }, _, process) =>
    isLadder(process)
      ? UNRECOVERABLE.includes(provided!.status)
      : !STARTABLE.includes(provided!.status),
  'a newer program recovers it': ({ unknownRung }) => unknownRung !== undefined,
  'it waits after a failure': (row, { nowMs }, process) =>
    backoffUntilMs(row, process, nowMs) !== null,
  'it cools down after an attempt': ({ recovery }, { nowMs }, process) =>
    isLadder(process) && (recovery?.nextAtMs ?? nowMs) > nowMs,
  'it is not lost': (row, { nowMs, loss }) =>
    row.agentStarted !== null && !isLost(row, nowMs, loss),
  'its agent start is not given up': (row, { nowMs, loss }) =>
    row.agentStarted === null && !isStartGivenUp(row, nowMs, loss),
  'it still serves': (row, now, process) => isAwaitingDrain(process, row, now),
};

const firstOf =
  (rules: (process: Process) => readonly Ineligibility[]) =>
  (process: Process, row: MachineRow, now: Circumstances): Ineligibility | null => {
    const isLifted = (each: Ineligibility) =>
      LIFTED_BY_ORDER.has(each) && orderFor(process, row, now.nowMs) !== null;
    return (
      rules(process).find((each) => APPLIES[each](row, now, process) && !isLifted(each)) ?? null
    );
  };

/** See `RULES`; null: the process may start. */
export const refusal = firstOf(remembered(RULES.refusal));
/** See `RULES`; null: the machine is eligible. */
export const ineligibility = firstOf(remembered(RULES.ineligibility));
/** See `RULES`; null: the provider may act. */
export const askRefusal = firstOf(remembered(RULES.ask));
/** See `RULES`; null: the process applies to the machine. */
export const barOf = firstOf(remembered(RULES.bar));

/** Builds the rules of each process once, because views ask for every machine. */
function remembered(rules: (process: Process) => readonly Ineligibility[]) {
  const made = new Map(PROCESSES.map((process) => [process, rules(process)]));
  return (process: Process) => made.get(process)!;
}

/** When the process was last tried on the machine, as far as is recorded; null: never. */
export function lastAttemptMs(process: Process, row: MachineRow): number | null {
  if (isLadder(process)) return row.recovery?.askedAtMs ?? null;
  return process === 'ShepherdAgentStart' ? (row.startAttempt?.atMs ?? null) : null;
}

/**
 * A request waits for its delivery: the next heartbeat's answer hands it to the agent, unless
 * `handOutRefusal` objects.
 */
export const isInstallationDue = (row: Pick<MachineRow, 'installation'>): boolean =>
  installState(row) === 'PENDING';

/** Why the agent does not get a due request now; null: it does. This may change later. */
export function handOutRefusal(
  row: Pick<MachineRow, 'provided' | 'quarantine' | 'deprovision' | 'members'>,
  now: Pick<Circumstances, 'holds' | 'nowMs'>,
): Ineligibility | null {
  if (isQuarantined(row, now.nowMs)) return 'it is quarantined';
  if (row.deprovision !== null) return 'it is to be deprovisioned';
  if (BARRING_INSTALL.some((kind) => isHeld(row, kind, now))) return 'a hold forbids it';
  return serves(row) ? 'it still serves' : null;
}

/** A load balancer may be sending traffic to the machine. */
export const serves = ({ members }: Pick<MachineRow, 'members'>): boolean => members.some(mayServe);

/** The agent reports: its last heartbeat counts, and the machine is not lost. */
export function isHeartbeating(row: MachineRow, nowMs: number, loss: LossPolicy): boolean {
  const heartbeat = currentHeartbeat(row);
  return heartbeat !== null && nowMs < heartbeat.atMs + loss.heartbeatMs;
}

/** End of the active backoff of a process; null: none. */
export function backoffUntilMs(row: MachineRow, process: Process, nowMs: number): number | null {
  const found = row.backoffs.find((each) => each.process === process);
  return found && found.untilMs > nowMs ? found.untilMs : null;
}

/**
 * The last wait of a process, from which the next wait grows. Null: the next wait is the initial
 * one, because nothing failed before, or a heartbeat after that wait ended the earlier trouble.
 */
export function previousWaitSeconds(row: MachineRow, process: Process): number | null {
  const before = row.backoffs.find((each) => each.process === process);
  const heardAtMs = isLadder(process) ? currentHeartbeat(row)?.atMs : undefined;
  if (!before || (heardAtMs !== undefined && heardAtMs > before.untilMs)) return null;
  return before.lastIntervalSeconds;
}

export const isQuarantined = (
  { quarantine }: Pick<MachineRow, 'quarantine'>,
  nowMs: number,
): boolean => quarantine !== null && isInForce(quarantine, nowMs);

/** Whether it has no end, or ends later than now. */
export const isUnended = (
  { untilMs }: { readonly untilMs: number | null },
  nowMs: number,
): boolean => untilMs === null || untilMs > nowMs;

/** Whether it has begun and not ended. */
export const isInForce = (
  row: { readonly fromMs?: number | null; readonly untilMs: number | null },
  nowMs: number,
): boolean => (row.fromMs ?? nowMs) <= nowMs && isUnended(row, nowMs);

/** The hold of a kind that is in force on a slot, or else `applies`. */
export const holdOn = (
  { provider, slotId }: Pick<RequestRow, 'provider' | 'slotId'>,
  kind: HoldKind,
  { holds, nowMs }: Pick<Circumstances, 'holds' | 'nowMs'>,
  applies = isInForce,
) =>
  holds.find(
    (hold) =>
      hold.kind === kind &&
      hold.provider === provider &&
      hold.slotId === slotId &&
      applies(hold, nowMs),
  );

/** Whether a hold of this kind is in force on the machine's slot. */
export function isHeld(
  row: Pick<MachineRow, 'provided'>,
  kind: HoldKind,
  now: Pick<Circumstances, 'holds' | 'nowMs'>,
): boolean {
  const { provided } = row;
  if (!provided) return false;
  const { provider, reservationId, providerId } = provided;
  const slotId = slotIdOf(slotOf(provider, { reservationId, id: providerId }));
  return holdOn({ provider, slotId }, kind, now) !== undefined;
}

/** Processes that exclude each other on one machine share a group. */
export const exclusionGroup = (process: Process): string =>
  process.startsWith('Shepherd') ? 'shepherd' : process;

/** Hold kinds that bar a process. */
export const BARRING: Readonly<Partial<Record<Process, readonly HoldKind[]>>> = {
  ShepherdAgentStart: ['no-start', 'retired'],
  ShepherdRecovery: ['no-recover', 'retired'],
  ShepherdReinstall: ['no-recover', 'preserve', 'retired'],
  ShepherdDeprovision: ['preserve'],
};
/** Hold kinds that bar a creation on the slot. */
export const BARRING_CREATION: readonly HoldKind[] = ['no-allocate', 'retired'];
/** Hold kinds that keep an operating system from being installed by the agent. */
export const BARRING_INSTALL: readonly HoldKind[] = ['preserve', 'retired'];
/** Provider statuses in which an agent may be started on a machine. */
export const STARTABLE: readonly (ProviderStatus | null)[] = [null, 'Unknown', 'Running'];
/** Provider statuses in which the ladder leaves a machine alone. */
export const UNRECOVERABLE: readonly (ProviderStatus | null)[] = [
  'Missing',
  'Provisioning',
  'ProvisioningFailedPermanent',
];

/**
 * Whether the ladder takes the machine again once the pause after its last attempt is over.
 * @param may why the ladder does not take it now.
 */
export const isCoolingDown = ({ recovery }: MachineRow, may: Ineligibility | null): boolean =>
  recovery !== null &&
  (may === 'it cools down after an attempt' || may === 'it waits after a failure');

/**
 * Whether the process must wait until the machine's load balancers drain it. The requester may have
 * waived the wait, and a lost machine waits no longer than `serveWaitEndMs`.
 */
function isAwaitingDrain(process: Process, row: MachineRow, now: Circumstances): boolean {
  if (!INTERRUPTING.includes(process) || !serves(row)) return false;
  if (process === 'ShepherdDeprovision') return row.deprovision?.drain !== 'skip';
  const order = orderFor(process, row, now.nowMs);
  if (order?.drain === 'skip') return false;
  const endMs = serveWaitEndMs(row, now.loss);
  return endMs === null ? order !== null : now.nowMs <= endMs;
}

/** End of the ladder's wait for load balancers; null: it does not wait, except for an order. */
export function serveWaitEndMs(row: MachineRow, loss: LossPolicy): number | null {
  const sinceMs = lostAtMs(row, loss) ?? row.startAttempt?.atMs ?? null;
  return sinceMs === null ? null : sinceMs + (loss.serveWaitMs ?? SERVE_WAIT_MS);
}
