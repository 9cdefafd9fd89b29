import type { GuardRow } from '../machine.ts';
import {
  FLEET,
  graceEndsAtMs,
  suspicionRefusal,
  type GuardCounts,
  type GuardPolicy,
} from './guard-judgement.ts';

export const GUARD_STATES = ['blind', 'grace', 'watching', 'suspicious', 'frozen'] as const;
/**
 * Where the guard stands. `blind`: the database has not answered. `grace`: heartbeats have not been
 * taken in for long enough to tell who is silent. `suspicious`: so many are late or silent that it
 * may be ours. `frozen`: recovery is stopped until it is calm, or an operator says so.
 */
export type GuardState = (typeof GUARD_STATES)[number];

/** Where the guard stands for the fleet or one provider, and why. */
export interface GuardStanding {
  /** `fleet`, or a provider. */
  readonly scope: string;
  readonly state: GuardState;
  /** Database clock, epoch ms; null: not known. */
  readonly sinceMs: number | null;
  /** For people; null: there is nothing to say. */
  readonly reason: string | null;
}

/** What the database said of the guard. */
export interface GuardPicture {
  readonly rows: readonly GuardRow[];
  readonly counts: readonly GuardCounts[];
}
export interface GuardMoment {
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly policy: GuardPolicy;
  /** Heartbeats must have been taken in for so long before silence means anything. */
  readonly heartbeatMs: number;
}

export const BLIND: GuardStanding = {
  scope: FLEET,
  state: 'blind',
  sinceMs: null,
  reason: 'the database has not told yet how the fleet is',
};

/** No daemon is alive that carries anything out. */
export const UNATTENDED: GuardStanding = {
  ...BLIND,
  reason: 'no daemon is alive: nothing is done to any machine, and requests wait',
};

/** The fleet first, then each provider that has started machines or a row. Pure and total. */
export function standingsOf(picture: GuardPicture, moment: GuardMoment): readonly GuardStanding[] {
  const scopes = new Set([FLEET]);
  for (const { scope } of [...picture.rows, ...picture.counts]) scopes.add(scope);
  return [...scopes].map((scope) => standingOf(scope, picture, moment));
}

function standingOf(
  scope: string,
  { rows, counts }: GuardPicture,
  now: GuardMoment,
): GuardStanding {
  const row = rows.find((each) => each.scope === scope);
  const count = counts.find((each) => each.scope === scope);
  return (
    (row && freezeOf(row)) ??
    (scope === FLEET ? graceOf(row, now) : null) ??
    (count && suspicionOf(count, now)) ?? { scope, state: 'watching', sinceMs: null, reason: null }
  );
}

function freezeOf({ scope, frozen }: GuardRow): GuardStanding | null {
  if (!frozen) return null;
  const by = frozen.kind === 'manual' ? `${frozen.by}: ` : '';
  return { scope, state: 'frozen', sinceMs: frozen.atMs, reason: `${by}${frozen.reason}` };
}

function graceOf(row: GuardRow | undefined, { nowMs, heartbeatMs }: GuardMoment) {
  const sinceMs = row?.ingestUpSinceMs ?? null;
  const told = { scope: FLEET, state: 'grace', sinceMs } as const;
  const endsAtMs = graceEndsAtMs({ upSinceMs: sinceMs }, { heartbeatMs });
  if (endsAtMs === null) return { ...told, reason: 'heartbeats are not being taken in' };
  const reason = 'heartbeats are taken in again only lately: silence means nothing yet';
  return nowMs < endsAtMs ? { ...told, reason } : null;
}

function suspicionOf(count: GuardCounts, { policy }: GuardMoment): GuardStanding | null {
  const reason = suspicionRefusal(count, policy);
  return reason === null
    ? null
    : { scope: count.scope, state: 'suspicious', sinceMs: null, reason };
}

const SEVERITY: readonly GuardState[] = ['watching', 'suspicious', 'grace', 'frozen', 'blind'];

/** What is true of the guard as a whole: the gravest of its scopes. */
export function gravest(standings: readonly GuardStanding[]): GuardStanding {
  let worst: GuardStanding | undefined;
  for (const each of standings) {
    const isGraver = !worst || SEVERITY.indexOf(each.state) > SEVERITY.indexOf(worst.state);
    if (isGraver) worst = each;
  }
  return worst ?? BLIND;
}

/**
 * Why no machine of the provider may be recovered now; null: the guard would not mind. A forecast:
 * the BMDB decides, in the claim. What an operator ordered is held up by a freeze only.
 */
export function recoveryBar(
  standings: readonly GuardStanding[],
  provider: string,
  isOrder: boolean,
): string | null {
  const concerned = standings.filter(({ scope }) => scope === FLEET || scope === provider);
  const { state, reason } = gravest(concerned);
  if (state === 'watching') return null;
  const isHeeded = state === 'frozen' || state === 'blind' || !isOrder;
  return isHeeded ? (reason ?? state) : null;
}
