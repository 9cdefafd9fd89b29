import { drainText, mayServe } from '../balancing/members.ts';
import type { PoolRow } from '../balancing/pool-row.ts';
import { calmRow, FLEET } from '../recovery/guard-judgement.ts';
import type { ProviderName } from '../ids.ts';
import type { GuardRow, MachineRow, RequestRow } from '../machine.ts';
import type { OrderVerb } from '../verbs.ts';
import type { LossPolicy } from '../policy.ts';
import { isOrder, openOrderText, orderRefusal, type Decision } from '../requests.ts';
import { settlementOf, type Scene } from '../settlement.ts';
import { hasObject, providerRefusal, type ProviderMeans } from './possible.ts';
import type { Selected } from './selection.ts';
import { at, type MachineVerb, type Wish } from './verbs.ts';
import type { RequestedThing, ThingAtLarge } from './things.ts';

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
  return PLAINEST.filter(({ verb }) => hasObject(verb, row, circumstances(selected, now))).map(
    (wish) => ({ verb: wish.verb, refusal: prospectOf(at(wish, target), selected, now).refusal }),
  );
}

/** No refusal depends on which hold or image it is. */
const IMAGE = { url: '', sha256: '', compression: 'none', rootDevice: { name: '' } } as const;
const PLAINEST: readonly Wish[] = [
  { verb: 'restart-agent' },
  { verb: 'reboot', force: false },
  { verb: 'reinstall' },
  { verb: 'hold', kind: 'no-recover', untilMs: null },
  { verb: 'unhold', kind: 'no-recover' },
  { verb: 'quarantine', untilMs: null },
  { verb: 'release', forgetHostKey: false },
  { verb: 'deprovision' },
  { verb: 'install', image: IMAGE },
  { verb: 'cancel-install' },
  { verb: 'clear-backoff' },
  { verb: 'withdraw' },
];

/** Of something that is about no machine: the guard, or a pool. */
export function prospectAtLarge(what: ThingAtLarge, now: Outlook): Prospect {
  const provider = placeOf(what);
  const request = requestOf(what, { provider, slotId: null, machineId: null }, now);
  return decided(sceneOf(what, request, now));
}

/** The one provider that it is about; null: the fleet, or a pool. */
function placeOf(what: ThingAtLarge): ProviderName | null {
  if ('shelf' in what) return what.provider;
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
  const scope = request.provider ?? FLEET;
  return {
    request,
    decision: decisionOf(what),
    row: null,
    guard: now.guard.find((each) => each.scope === scope) ?? calmRow(scope),
    pools: 'pool' in what ? poolsMeant(what, now.pools) : [],
    now: { holds: [], nowMs: now.nowMs, loss: now.loss },
    isInstalling: false,
  };
}

const poolsMeant = (
  { pool, balancer }: { readonly pool: string; readonly balancer: string | null },
  pools: readonly PoolRow[],
): PoolRow[] =>
  pools.filter((row) => row.pool === pool && (balancer ?? row.balancer) === row.balancer);

/** The same as it is read again once it is filed; an order is none. */
function decisionOf(what: RequestedThing): Decision | null {
  switch (what.verb) {
    case 'restart-agent':
    case 'reboot':
    case 'reinstall':
      return null;
    case 'deprovision':
      return {
        verb: what.verb,
        drain: what.drain ?? null,
        returnToPool: what.returnToPool ?? false,
      };
    case 'install':
      return { verb: what.verb, image: what.image, fault: null };
    case 'withdraw':
      return { verb: what.verb, order: what.order ?? null };
    default:
      return what;
  }
}

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
