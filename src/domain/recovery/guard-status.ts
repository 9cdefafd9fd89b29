import {
  STARTABLE,
  currentHeartbeat,
  installState,
  isQuarantined,
  isStartGivenUp,
  lostAtMs,
} from '../eligibility.ts';
import type { GuardRow, MachineRow } from '../machine.ts';
import { PERMIT_RETURNED_AFTER, type LossPolicy } from '../policy.ts';
import {
  FLEET,
  graceEndsAtMs,
  suspicionRefusal,
  type GuardCounts,
  type GuardPolicy,
} from './guard-judgement.ts';

export const GUARD_STATES = ['blind', 'grace', 'watching', 'suspicious', 'frozen'] as const;
/**
 * States of the guard. `blind`: the database has not answered. `grace`: heartbeats have not been
 * received long enough to tell who is silent. `suspicious`: many machines are late or silent, so
 * Shepherd itself may be the cause. `frozen`: recovery stops until the scope is calm or an operator
 * thaws it.
 */
export type GuardState = (typeof GUARD_STATES)[number];

/** The guard's state for the fleet or one provider, with the reason. */
export interface GuardStatus {
  /** `fleet`, or a provider. */
  readonly scope: string;
  readonly state: GuardState;
  /** Database clock, epoch ms; null: unknown. */
  readonly sinceMs: number | null;
  /** For people; null: no reason. */
  readonly reason: string | null;
}

/** The guard's rows and policy as read from the database. */
export interface GuardPicture {
  readonly rows: readonly GuardRow[];
  readonly counts: readonly GuardCounts[];
}
export interface GuardMoment {
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly policy: GuardPolicy;
  /** Silence counts only after heartbeats were received for this long. */
  readonly heartbeatMs: number;
}

export const BLIND: GuardStatus = {
  scope: FLEET,
  state: 'blind',
  sinceMs: null,
  reason: 'the state of the fleet has not been read from the database yet',
};

/** No living daemon carries out requests. */
export const UNATTENDED: GuardStatus = {
  ...BLIND,
  reason: 'no daemon is alive: nothing is done to any machine, and requests wait',
};

/** The fleet first, then each provider with started machines or a row. Pure and total. */
export function guardStatuses(picture: GuardPicture, moment: GuardMoment): readonly GuardStatus[] {
  const scopes = new Set([FLEET]);
  for (const { scope } of [...picture.rows, ...picture.counts]) scopes.add(scope);
  return [...scopes].map((scope) => standingOf(scope, picture, moment));
}

function standingOf(scope: string, { rows, counts }: GuardPicture, now: GuardMoment): GuardStatus {
  const row = rows.find((each) => each.scope === scope);
  const count = counts.find((each) => each.scope === scope);
  return (
    (row && freezeOf(row)) ??
    (scope === FLEET ? graceOf(row, now) : null) ??
    (count && suspicionOf(count, now)) ?? { scope, state: 'watching', sinceMs: null, reason: null }
  );
}

function freezeOf({ scope, frozen }: GuardRow): GuardStatus | null {
  if (!frozen) return null;
  const by = frozen.kind === 'manual' ? `${frozen.by}: ` : '';
  return { scope, state: 'frozen', sinceMs: frozen.atMs, reason: `${by}${frozen.reason}` };
}

function graceOf(row: GuardRow | undefined, { nowMs, heartbeatMs }: GuardMoment) {
  const sinceMs = row?.ingestUpSinceMs ?? null;
  const told = { scope: FLEET, state: 'grace', sinceMs } as const;
  const endsAtMs = graceEndsAtMs({ upSinceMs: sinceMs }, { heartbeatMs });
  if (endsAtMs === null) return { ...told, reason: 'heartbeats are not being received' };
  const reason = 'heartbeats resumed only recently: silence means nothing yet';
  return nowMs < endsAtMs ? { ...told, reason } : null;
}

function suspicionOf(count: GuardCounts, { policy }: GuardMoment): GuardStatus | null {
  const reason = suspicionRefusal(count, policy);
  return reason === null
    ? null
    : { scope: count.scope, state: 'suspicious', sinceMs: null, reason };
}

const SEVERITY: readonly GuardState[] = ['watching', 'suspicious', 'grace', 'frozen', 'blind'];

/** The gravest state of all scopes. */
export function gravest(standings: readonly GuardStatus[]): GuardStatus {
  let worst: GuardStatus | undefined;
  for (const each of standings) {
    const isGraver = !worst || SEVERITY.indexOf(each.state) > SEVERITY.indexOf(worst.state);
    if (isGraver) worst = each;
  }
  return worst ?? BLIND;
}

/**
 * Why no machine of the provider may be recovered now; null: the guard has no objection. A
 * forecast: the BMDB decides in the claim. An operator's order waits only for a freeze.
 */
export function recoveryBar(
  standings: readonly GuardStatus[],
  provider: string,
  isOrder: boolean,
): string | null {
  const concerned = standings.filter(({ scope }) => scope === FLEET || scope === provider);
  const { state, reason } = gravest(concerned);
  if (state === 'watching') return null;
  const isHeeded = state === 'frozen' || state === 'blind' || !isOrder;
  return isHeeded ? (reason ?? state) : null;
}

/** The actor of log lines about silence and resumed heartbeats. */
export const SILENCE_ACTOR = 'shepherd';
export const SILENT = 'Running · silent';
export const SILENCE_REASONS = {
  fell: 'no heartbeat within the deadline',
  heard: `${PERMIT_RETURNED_AFTER} heartbeats without a break`,
  installed: 'its installation succeeded',
} as const;

export interface SilenceMoment {
  /** Database clock. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
}

/**
 * A machine that Shepherd should hear needs a person after this limit of silence, or of failed
 * agent starts, whatever is being tried.
 */
export function isUnheardTooLong(row: MachineRow, { nowMs, loss }: SilenceMoment): boolean {
  const { agentStarted, provided, deprovision } = row;
  if (!provided || deprovision || installState(row) === 'DONE') return false;
  if (provided.status === 'Missing' || isQuarantined(row, nowMs)) return false;
  const isAwaited =
    agentStarted !== null ||
    (STARTABLE.includes(provided.status) && isStartGivenUp(row, nowMs, loss));
  return isAwaited && nowMs > unheardTooLongAtMs(row, loss);
}

/** Without a heartbeat, `isUnheardTooLong` may hold after this moment, and not before. */
export function unheardTooLongAtMs(row: MachineRow, loss: LossPolicy): number {
  const { agentStarted, heartbeat, createdAtMs } = row;
  if (!agentStarted) return (heartbeat?.atMs ?? createdAtMs) + loss.needsHumanAfterMs;
  const heardAtMs = currentHeartbeat(row)?.atMs ?? agentStarted.atMs;
  return Math.max(heardAtMs + loss.needsHumanAfterMs, lostAtMs(row, loss)!);
}

/**
 * Whether to search for machines that fell silent. Requires that heartbeats arrive, because
 * otherwise silence means nothing. Requires silent machines in the guard's last assessment, so that
 * a healthy fleet costs nothing.
 */
export const mayBeSilent = (grace: string | null, counts: readonly GuardCounts[]): boolean =>
  grace === null && counts.find(({ scope }) => scope === FLEET)?.silent !== 0;
