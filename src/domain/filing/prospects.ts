import { drainText, mayServe } from '../balancing/members.ts';
import type { PoolRow } from '../balancing/pool-row.ts';
import { installState, isInForce, isQuarantined, type Circumstances } from '../eligibility.ts';
import type { ProviderName } from '../ids.ts';
import type { GuardRow, MachineRow, RequestRow } from '../machine.ts';
import type { LossPolicy } from '../policy.ts';
import { calmRow, FLEET } from '../recovery/guard-judgement.ts';
import { RUNG_OF } from '../recovery/ladder.ts';
import { RUNG_FACTS, type LadderMeans } from '../recovery/rungs.ts';
import { openOrderText, orderRefusal } from '../requests.ts';
import { settlementOf, type Scene } from '../settlement.ts';
import { isOrder, MACHINE_VERBS, VERBS } from '../verbs.ts';
import { lossOf, wishOf } from '../wishes.ts';
import type { MachineVerb, OrderVerb, PoolVerb, Verb } from '../verbs.ts';
import type { Given, RequestedThing, ThingAtLarge, Wish } from '../wishes.ts';
import type { Selected } from './selection.ts';

/** What would become of a request, as far as is known before it is filed. */

export interface Prospect {
  /** Why it would be refused, for people; null: it would not. */
  readonly refusal: string | null;
  /** What would become of it, for people; null: it is refused, or is work. */
  readonly outcome: string | null;
  /** What it would wait for, a line for each thing. */
  readonly waits: readonly string[];
}

/** Who asks, why, and what is known at that time. */
export interface Outlook {
  readonly by: string;
  readonly reason: string;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
  readonly guard: readonly GuardRow[];
  readonly pools: readonly PoolRow[];
  /** Null: the provider is not known here. */
  readonly means: (provider: ProviderName) => ProviderMeans | null;
}

/** Of one machine or slot. Whoever carries it out decides anew, by what is true then. */
export function prospectOf(what: RequestedThing, selected: Selected, now: Outlook): Prospect {
  const { provider, slotId, machineId, entry } = selected;
  const row = entry?.rows.find((each) => each.machineId === machineId) ?? null;
  const request = requestOf(what, { provider, slotId, machineId }, now);
  const { verb } = request;
  const refusal = providerRefusal(verb, provider, now.means(provider));
  if (refusal !== null) return { refusal, outcome: null, waits: [] };
  if (isOrder(verb)) return orderProspect(what, { ...request, verb }, row, selected, now);
  return decided({ ...sceneOf(what, request, now), row, now: circumstances(selected, now) });
}

/** A verb that has an object on a machine. */
export interface Offer {
  readonly verb: MachineVerb;
  /** Why it would be refused, for people; null: it may be asked for. */
  readonly refusal: string | null;
}

/** The verbs that have an object on the machine or slot, each as it would be asked for in the plainest way. */
export function offersOf(selected: Selected, now: Outlook): Offer[] {
  const { provider, slotId, machineId, entry } = selected;
  const row = entry?.rows.find((each) => each.machineId === machineId) ?? null;
  const target = { provider, slotId, machineId };
  return MACHINE_VERBS.filter((verb) => hasObject(verb, row, circumstances(selected, now))).map(
    (verb) => {
      const wish = { ...PLAINEST, verb } as Given<MachineVerb>;
      return { verb, refusal: prospectOf({ ...wish, target }, selected, now).refusal };
    },
  );
}

/** No refusal depends on which hold, image or label it is. */
const PLAINEST = {
  kind: 'no-recover',
  image: { url: '', sha256: '', compression: 'none', rootDevice: { name: '' } },
  set: 'a-',
} as const;

/** Of something that is about no machine: the guard, or a pool. */
export function prospectAtLarge(what: ThingAtLarge, now: Outlook): Prospect {
  const provider = placeOf(what);
  const request = requestOf(what, { provider, slotId: null, machineId: null }, now);
  return decided(sceneOf(what, request, now));
}

/** The one provider that it is about; null: the fleet, or a pool. */
function placeOf(what: ThingAtLarge): ProviderName | null {
  if ('provider' in what) return what.provider;
  return 'scope' in what && what.scope !== FLEET ? what.scope : null;
}

const circumstances = ({ entry }: Selected, { nowMs, loss }: Outlook): Scene['now'] => ({
  holds: entry?.facts.holds ?? [],
  nowMs,
  loss,
});

/** Long enough for all that depends on it. */
const VALID_MS = 3_600_000;

const requestOf = (
  what: RequestedThing,
  place: Pick<RequestRow, 'provider' | 'slotId' | 'machineId'>,
  { by, reason, nowMs }: Outlook,
): RequestRow => ({
  key: '',
  verb: what.verb,
  ...place,
  by,
  reason,
  createdAtMs: nowMs,
  expiresAtMs: nowMs + VALID_MS,
});

function sceneOf(what: RequestedThing, request: RequestRow, now: Outlook): Scene {
  const wish = wishOf(what);
  const scope = request.provider ?? FLEET;
  return {
    request,
    wish,
    row: null,
    guard: now.guard.find((each) => each.scope === scope) ?? calmRow(scope),
    pools: 'pool' in wish ? poolsMeant(wish, now.pools) : [],
    now: { holds: [], nowMs: now.nowMs, loss: now.loss },
    isInstalling: false,
  };
}

const poolsMeant = ({ pool, balancer }: Wish<PoolVerb>, pools: readonly PoolRow[]): PoolRow[] =>
  pools.filter((row) => row.pool === pool && (balancer ?? row.balancer) === row.balancer);

function decided(scene: Scene): Prospect {
  const { state, outcome } = settlementOf(scene) ?? { state: 'open', outcome: null };
  return state === 'refused'
    ? { refusal: outcome, outcome: null, waits: [] }
    : { refusal: null, outcome, waits: [] };
}

function orderProspect(
  what: RequestedThing,
  request: RequestRow & { readonly verb: OrderVerb },
  row: MachineRow | null,
  selected: Selected,
  now: Outlook,
): Prospect {
  const open = row?.order ?? null;
  const refusal =
    open === null
      ? orderRefusal(request, row, circumstances(selected, now))
      : openOrderText(row!.machineId, open);
  const waits = refusal === null && row !== null ? waitsOf(what, row, selected, now) : [];
  return { refusal, outcome: null, waits };
}

function waitsOf(
  what: RequestedThing,
  { work, members }: MachineRow,
  { provider }: Selected,
  { guard }: Outlook,
): string[] {
  const skipsDrain = 'drain' in what && what.drain === 'skip';
  return [
    ...guard.flatMap(({ scope, frozen }) =>
      frozen !== null && (scope === FLEET || scope === provider)
        ? [
            `recovery of ${scope === FLEET ? 'the fleet' : scope} is frozen by ${frozen.by}: ${frozen.reason}`,
          ]
        : [],
    ),
    ...work.map(({ process }) => `${process} works on it now`),
    ...(!skipsDrain && members.some(mayServe) ? [drainText(members)] : []),
  ];
}

/** What a provider can do, as far as verbs need it. */
export type ProviderMeans = LadderMeans & { readonly deprovision: boolean };

/**
 * Why the machine's provider can never do what the verb asks, for people; null: it can.
 * @param means null: the provider is not known here; another daemon may know it.
 */
export function providerRefusal(
  verb: Verb,
  provider: string,
  means: ProviderMeans | null,
): string | null {
  if (means === null) return null;
  if (verb === 'deprovision') {
    return means.deprovision ? null : `provider ${provider} cannot take machines back`;
  }
  if (!isOrder(verb)) return null;
  const { means: needed, words } = RUNG_FACTS[RUNG_OF[verb]];
  return needed === null || means[needed] ? null : `provider ${provider} cannot ${words.order}`;
}

/** Whether there is anything that the verb could change; without it the verb is not offered. */
export function hasObject(verb: MachineVerb, row: MachineRow | null, now: Circumstances): boolean {
  const isLater = (atMs: number | null | undefined): boolean => (atMs ?? 0) > now.nowMs;
  switch (verb) {
    case 'unhold':
      return now.holds.some((hold) => isInForce(hold, now.nowMs));
    case 'withdraw':
      return (row?.order ?? null) !== null;
    case 'cancel-install':
      return row !== null && installState(row) === 'PENDING';
    case 'clear-backoff':
      return (
        row !== null &&
        (isLater(row.recovery?.nextAtMs) || row.backoffs.some(({ untilMs }) => isLater(untilMs)))
      );
    case 'release':
      return (
        row !== null &&
        (isQuarantined(row, now.nowMs) ||
          row.recovery !== null ||
          row.startAttempt !== null ||
          row.backoffs.length > 0)
      );
    default:
      return row !== null || VERBS[verb].of === 'slot';
  }
}

/**
 * What is lost when it is done, for people; null: nothing that could not be had back.
 * @param providers of the machines that are meant.
 * @param givingBack what becomes of a machine of this provider that is given back.
 */
export function lossAt(
  wish: Wish<MachineVerb>,
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
): string | null {
  if (wish.verb === 'deprovision') {
    return givingBackText(providers, givingBack, wish.returnToPool);
  }
  return lossOf(wish);
}

/** What becomes of machines that are given back, provider by provider where they differ, and of their slots. */
export function givingBackText(
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
  returnToPool: boolean,
): string {
  const names = [...new Set(providers)].toSorted();
  const texts = [...new Set(names.map(givingBack))];
  const machine =
    texts.length <= 1
      ? (texts[0] ?? DELETED)
      : names.map((name) => `at ${name} ${givingBack(name)}`).join('; ');
  return `${machine}; ${returnToPool ? RETURNED : KEPT_FREE}`;
}

const RETURNED = 'Shepherd may use its slot again at once';
const KEPT_FREE =
  'Shepherd leaves its slot alone until somebody does: machine unhold --kind no-allocate';

/** What most providers do. */
export const DELETED = 'the device is deleted, with everything on its disks';
