import { drainText, mayServe } from '../balancing/members.ts';
import type { PoolRow } from '../balancing/pool-row.ts';
import {
  installState,
  isInForce,
  isQuarantined,
  isUnended,
  type Circumstances,
} from '../eligibility.ts';
import type { ProviderName } from '../ids.ts';
import { isAdopted, type Adopting } from '../provisioning/adoption.ts';
import type { GuardRow, MachineRow, RequestRow, SlotFacts } from '../machine.ts';
import type { LossPolicy } from '../policy.ts';
import { calmRow, FLEET } from '../recovery/guard-judgement.ts';
import { RUNG_OF } from '../recovery/ladder.ts';
import { lackOf, meansOf, RUNG_FACTS, type LadderMeans } from '../recovery/rungs.ts';
import { openOrderText, orderRefusal } from '../requests.ts';
import { resultOfRequest } from '../request-outcome.ts';
import type { Scene } from '../request-result.ts';
import { isOrder, MACHINE_VERBS, VERBS } from '../verbs.ts';
import { lossOf, wishOf } from '../operator-request.ts';
import type { MachineVerb, OrderVerb, PoolVerb, Verb } from '../verbs.ts';
import type {
  GivenRequest,
  RequestedThing,
  ThingAtLarge,
  OperatorRequest,
} from '../operator-request.ts';
import type { Selected } from './selection.ts';

/** The expected result of a request before it is submitted. */

export interface Prospect {
  /** Why the request would be refused, for people; null: it would not. */
  readonly refusal: string | null;
  /** The result, for people; null: the request is refused, or becomes work. */
  readonly outcome: string | null;
  /** What the request would wait for, one line each. */
  readonly waits: readonly string[];
}

/** The requester, the reason, and the facts known at that time. */
export interface Outlook {
  readonly by: string;
  readonly reason: string;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
  readonly guard: readonly GuardRow[];
  readonly pools: readonly PoolRow[];
  /** The machine was not asked for alone, by its name. */
  readonly isBulk: boolean;
  /** Null: the provider is unknown here. */
  readonly means: (provider: ProviderName) => ProviderMeans | null;
}

/** The prospect for one machine or slot. The daemon that applies the request decides again. */
export function prospectOf(what: RequestedThing, selected: Selected, now: Outlook): Prospect {
  const { provider, slotId, machineId, entry } = selected;
  const row = entry?.rows.find((each) => each.machineId === machineId) ?? null;
  const request = requestOf(what, { provider, slotId, machineId }, now);
  const { verb } = request;
  const refusal = providerRefusal(verb, selected, now.means(provider), now.isBulk);
  if (refusal !== null) return { refusal, outcome: null, waits: [] };
  if (isOrder(verb)) return orderProspect(what, { ...request, verb }, row, selected, now);
  return decided({ ...sceneOf(what, request, now), row, now: circumstances(selected, now) });
}

/** A verb that could change something on a machine. */
export interface Offer {
  readonly verb: MachineVerb;
  /** Why the request would be refused, for people; null: it may be submitted. */
  readonly refusal: string | null;
}

/** The verbs that could change something on the machine or slot, each in its plainest form. */
export function offersOf(selected: Selected, now: Outlook): Offer[] {
  const { provider, slotId, machineId, entry } = selected;
  const row = entry?.rows.find((each) => each.machineId === machineId) ?? null;
  const target = { provider, slotId, machineId };
  return MACHINE_VERBS.filter((verb) => hasObject(verb, row, circumstances(selected, now))).map(
    (verb) => {
      const wish = { ...PLAINEST, verb } as GivenRequest<MachineVerb>;
      return { verb, refusal: prospectOf({ ...wish, target }, selected, now).refusal };
    },
  );
}

/** No refusal depends on the kind of hold, the image or the label. */
const PLAINEST = {
  kind: 'no-recover',
  image: { url: '', sha256: '', compression: 'none', rootDevice: { name: '' } },
  set: 'a-',
} as const;

/** The prospect for a request that concerns no machine: the guard, or a pool. */
export function prospectAtLarge(what: ThingAtLarge, now: Outlook): Prospect {
  const provider = placeOf(what);
  const request = requestOf(what, { provider, slotId: null, machineId: null }, now);
  return decided(sceneOf(what, request, now));
}

/** The single provider concerned; null: the fleet, or a pool. */
function placeOf(what: ThingAtLarge): ProviderName | null {
  if ('provider' in what) return what.provider;
  return 'scope' in what && what.scope !== FLEET ? what.scope : null;
}

const circumstances = ({ entry }: Selected, { nowMs, loss }: Outlook): Scene['now'] => ({
  holds: entry?.facts.holds ?? [],
  nowMs,
  loss,
});

/** Longer than any decision here depends on. */
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

const poolsMeant = (
  { pool, balancer }: OperatorRequest<PoolVerb>,
  pools: readonly PoolRow[],
): PoolRow[] =>
  pools.filter((row) => row.pool === pool && (balancer ?? row.balancer) === row.balancer);

function decided(scene: Scene): Prospect {
  const { state, outcome } = resultOfRequest(scene) ?? { state: 'open', outcome: null };
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

/** The capabilities of a provider that matter to verbs. */
export type ProviderMeans = LadderMeans & { readonly deprovision: boolean } & Adopting<
    LadderMeans & { readonly deprovision: boolean }
  >;

/** What a refusal needs to know of a selected machine. */
interface Addressed extends Pick<Selected, 'provider' | 'machineId'> {
  readonly entry: {
    readonly rows: readonly Pick<MachineRow, 'machineId' | 'provided'>[];
    readonly facts: Pick<SlotFacts, 'listed'>;
  } | null;
}

const INSTALLED_ALONE =
  'this machine is adopted, and its disk is written only if it is named alone';
const INSTALLED_INSTEAD =
  'this machine is adopted, and never reinstalled; to have it installed, let go of it (machine ' +
  'deprovision), take it off the list, and make it free';

/**
 * Why the provider can never do to the machine what the verb requests, for people; null: it can.
 * @param all null: the provider is unknown here; another daemon may know it.
 * @param isBulk see `Outlook`.
 */
export function providerRefusal(
  verb: Verb,
  { provider, machineId, entry }: Addressed,
  all: ProviderMeans | null,
  isBulk: boolean,
): string | null {
  const row = entry?.rows.find((each) => each.machineId === machineId);
  // Adopting is unknown of a provider that only other daemons know.
  if (verb === 'install' && isBulk && isAdopted(all ?? { adopted: true }, row?.provided)) {
    return INSTALLED_ALONE;
  }
  if (all === null) return null;
  const means = meansOf(all, { row, listed: entry?.facts.listed });
  if (verb === 'deprovision') {
    return means.deprovision ? null : `provider ${provider} cannot take machines back`;
  }
  if (!isOrder(verb)) return null;
  const { means: needed, words } = RUNG_FACTS[RUNG_OF[verb]];
  const lack = lackOf(needed, means);
  if (lack === null) return null;
  if (verb === 'reinstall' && all.reinstall && isAdopted(all, row?.provided)) {
    return INSTALLED_INSTEAD;
  }
  const why = lack === 'machine' ? ': this machine has no means for it' : '';
  return `provider ${provider} cannot ${words.order}${why}`;
}

/** Whether the verb could change anything; otherwise it is not offered. */
export function hasObject(verb: MachineVerb, row: MachineRow | null, now: Circumstances): boolean {
  const holds = now.holds.filter((hold) => isInForce(hold, now.nowMs)).map(({ kind }) => kind);
  const isLater = (atMs: number | null | undefined): boolean => (atMs ?? 0) > now.nowMs;
  switch (verb) {
    case 'unhold':
      return now.holds.some((hold) => hold.kind !== 'retired' && isUnended(hold, now.nowMs));
    case 'retire':
      return !holds.includes('retired');
    case 'unretire':
      return holds.includes('retired');
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
 * What the request destroys, for people; null: nothing irrecoverable.
 * @param providers providers of the selected machines.
 * @param givingBack what happens to a machine of this provider when it is given back.
 */
export function lossAt(
  wish: OperatorRequest<MachineVerb>,
  providers: Iterable<string>,
  givingBack: (provider: string) => string,
): string | null {
  if (wish.verb === 'deprovision') {
    return givingBackText(providers, givingBack, wish.returnToPool);
  }
  return lossOf(wish);
}

/** What happens to machines that are given back, and to their slots, by provider. */
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
  'Shepherd leaves its slot alone until an operator runs machine unhold --kind no-allocate';

/** The usual case. */
export const DELETED = 'the device is deleted, with everything on its disks';
