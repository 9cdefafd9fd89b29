import type { SessionId } from '../../../src/domain/ids.ts';
import type { Config } from '../../../src/config.ts';
import type {
  GuardRow,
  HoldKind,
  HoldRow,
  MachineRow,
  Process,
} from '../../../src/domain/machine.ts';
import type { MemRequest, MemTables, MemWork } from '../../doubles/mem-bmdb/tables.ts';
import { MINUTE } from './rule.ts';

/**
 * What the rules assume: figures and predicates from the specification and the operators'
 * documents. Nothing here comes from the product's own decisions, because the rules judge those
 * decisions.
 */

/** A machine is lost when its agent has been silent for this long. */
export const HEARD_WITHIN_MS = 10 * MINUTE;
/**
 * The same limit before the first heartbeat, and during the installation of an operating system.
 */
export const FIRST_HEARD_WITHIN_MS = 30 * MINUTE;
export const LADDER = ['restartingAgent', 'rebooting', 'powerCycling', 'reinstalling'] as const;
/** Attempts on each rung of the ladder. */
export const ATTEMPTS = {
  restartingAgent: 2,
  rebooting: 3,
  powerCycling: 2,
  reinstalling: 2,
} as const;
/** Maximum time to wait for the evidence of an attempt. */
export const PATIENCE_MS = {
  restartingAgent: MINUTE,
  rebooting: 15 * MINUTE,
  powerCycling: 15 * MINUTE,
  reinstalling: 45 * MINUTE,
} as const;
/** After this many failed agent starts in a row, the ladder takes the machine. */
export const START_FAILURES_MAX = 6;
export const START_AGE_MAX_MS = 30 * MINUTE;

export const isLadder = (process: Process) =>
  process === 'ShepherdRecovery' || process === 'ShepherdReinstall';

export const isAlive = (tables: Pick<MemTables, 'sessions'>, id: string, atMs: number): boolean =>
  (tables.sessions.get(id as SessionId)?.deadlineMs ?? -Infinity) > atMs;

/** The machine's open operator request. */
export function orderOf(
  { orders, requests }: Pick<MemTables, 'orders' | 'requests'>,
  row: MachineRow,
  nowMs: number,
): MemRequest | null {
  const found = requests.get(orders.get(row.machineId) ?? '');
  return found && found.state === 'open' && found.expiresAtMs > nowMs ? found : null;
}
const ORDERED: Readonly<Record<string, Process>> = {
  'restart-agent': 'ShepherdRecovery',
  reboot: 'ShepherdRecovery',
  reinstall: 'ShepherdReinstall',
};

/** `PENDING`, `DONE`, `FAILED` or `NONE`. */
function installation({
  installation: { requestGeneration, reportGeneration, ...rest },
}: MachineRow) {
  if (requestGeneration === null) return 'NONE';
  if (requestGeneration !== reportGeneration) return 'PENDING';
  return rest.reportResult === 'Success' ? 'DONE' : 'FAILED';
}
export const isHandedOver = (row: MachineRow): boolean => installation(row) === 'DONE';
export const isInstalling = (row: MachineRow): boolean => installation(row) === 'PENDING';

/** Time of the last heartbeat; null: none since the agent was started. */
export const heardAtMs = ({ agentStarted, heartbeat }: MachineRow): number | null =>
  agentStarted && heartbeat && heartbeat.atMs >= agentStarted.atMs ? heartbeat.atMs : null;

/** Time from which the machine is lost without a further heartbeat; null: it has no agent. */
export function lostFromMs(row: MachineRow): number | null {
  if (!row.agentStarted) return null;
  const heard = heardAtMs(row);
  const silentMs =
    heard === null ? row.agentStarted.atMs + FIRST_HEARD_WITHIN_MS : heard + HEARD_WITHIN_MS;
  const { handedOutAtMs } = row.installation;
  if (handedOutAtMs === null || !isInstalling(row)) return silentMs;
  return Math.max(silentMs, handedOutAtMs + FIRST_HEARD_WITHIN_MS);
}
export const isLost = (row: MachineRow, nowMs: number): boolean =>
  nowMs > (lostFromMs(row) ?? Infinity);

export function isGivenUp({ startAttempt, agentStarted }: MachineRow, nowMs: number): boolean {
  if (!startAttempt || agentStarted) return false;
  const { count, atMs } = startAttempt;
  return count >= START_FAILURES_MAX || (atMs !== null && nowMs - atMs > START_AGE_MAX_MS);
}
export const isQuarantined = ({ quarantine }: MachineRow, nowMs: number): boolean =>
  quarantine !== null && (quarantine.untilMs ?? Infinity) > nowMs;

export const isHeld = (
  { provided }: Pick<MachineRow, 'provided'>,
  kind: HoldKind,
  holds: readonly HoldRow[],
  nowMs: number,
): boolean =>
  holds.some(
    (hold) =>
      hold.kind === kind &&
      hold.provider === provided?.provider &&
      hold.slotId === (provided.reservationId ?? provided.providerId) &&
      (hold.untilMs ?? Infinity) > nowMs,
  );

export interface Now {
  readonly atMs: number;
  readonly holds: readonly HoldRow[];
  readonly order: MemRequest | null;
}

/** Whether load balancers send traffic to the machine. */
const serves = ({ members }: MachineRow): boolean =>
  members.some(({ state, waived }) => state !== 'drained' && !waived);

/** Why the process must not run on the machine now; null: it may. */
export function whyNot(process: Process, row: MachineRow, now: Now): string | null {
  const { atMs, holds } = now;
  const ordered = now.order !== null && ORDERED[now.order.verb] === process ? now.order : null;
  const held = (...kinds: HoldKind[]) => kinds.some((kind) => isHeld(row, kind, holds, atMs));
  const status = row.provided?.status ?? null;
  const backoff = row.backoffs.find((each) => each.process === process);
  const waits = ordered === null && backoff !== undefined && backoff.untilMs > atMs;
  if (process === 'ShepherdDeprovision') {
    if (!row.deprovision) return 'nobody asked to give it back';
    if (held('preserve')) return 'it is held';
    if (serves(row) && row.deprovision.drain !== 'skip') return 'it still serves';
    return waits ? 'it backs off' : null;
  }
  if (!row.provided) return 'there is no hardware';
  if (isHandedOver(row)) return 'it was handed over';
  if (isQuarantined(row, atMs)) return 'it is quarantined';
  if (row.deprovision) return 'it is given back';
  if (process === 'ShepherdAgentStart') {
    if (row.agentStarted) return 'its agent is started';
    if (held('no-start')) return 'it is held';
    if (status !== null && status !== 'Running' && status !== 'Unknown') return `it is ${status}`;
    return waits ? 'it backs off' : null;
  }
  if (held('no-recover', ...(process === 'ShepherdReinstall' ? (['preserve'] as const) : []))) {
    return 'it is held';
  }
  if (['Missing', 'Provisioning', 'ProvisioningFailedPermanent'].includes(String(status))) {
    return `it is ${status}`;
  }
  if (ordered) {
    return serves(row) && ordered.parameters['drain'] !== 'skip' && !isLost(row, atMs)
      ? 'it still serves'
      : null;
  }
  if (!isLost(row, atMs) && !isGivenUp(row, atMs)) return 'nothing is wrong with it';
  const fromMs = lostFromMs(row) ?? row.startAttempt?.atMs ?? null;
  if (serves(row) && fromMs !== null && atMs <= fromMs + 10 * MINUTE) return 'it still serves';
  if ((row.recovery?.nextAtMs ?? 0) > atMs) return 'it cools down';
  return waits ? 'it backs off' : null;
}

/** Leases of live sessions on a machine. */
export const liveLeases = (
  tables: Pick<MemTables, 'sessions'>,
  leases: readonly MemWork[],
  atMs: number,
): readonly MemWork[] => leases.filter(({ sessionId }) => isAlive(tables, sessionId, atMs));

/** Whether recovery of the provider was frozen at that time and still is. */
export const isFrozen = (
  rows: ReadonlyMap<string, GuardRow>,
  provider: string,
  atMs: number,
): boolean =>
  ['fleet', provider].some((scope) => (rows.get(scope)?.frozen?.atMs ?? Infinity) <= atMs);

const DAY_MS = 24 * 60 * MINUTE;
/** Whether planned work may begin: no window is configured, or one of them is open. Times are UTC. */
export function isWindowOpen(windows: Config['windows'], atMs: number): boolean {
  const all = Object.values(windows);
  return (
    all.length === 0 ||
    all.some(({ at, for: forMs }) => {
      const [hour = 0, minute = 0] = at.split(':').map(Number);
      const openedMs = (hour * 60 + minute) * MINUTE;
      return (DAY_MS + (atMs % DAY_MS) - openedMs) % DAY_MS < forMs;
    })
  );
}
