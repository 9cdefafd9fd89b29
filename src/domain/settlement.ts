import { installState, isHeld, isQuarantined } from './eligibility.ts';
import type { Circumstances } from './eligibility.ts';
import {
  EXPIRED,
  goneText,
  isLeftToNewer,
  isOnSlot,
  isOrder,
  orderRefusal,
  quarantineText,
  wasAskedFor,
} from './requests.ts';
import type { Decision, InstallImage } from './requests.ts';
import { poolVerdict, type PoolRow } from './balancing/pool-row.ts';
import { DECISION_VERBS, GUARD_VERBS, ORDER_VERBS, POOL_VERBS, PROVIDER_VERBS } from './verbs.ts';
import type {
  DrainMode,
  GuardRow,
  HoldKind,
  MachineRow,
  ProviderHoldKind,
  RequestRow,
} from './machine.ts';
import type { PoolVerb, Verb } from './verbs.ts';
import { RUNG_FACTS } from './recovery/rungs.ts';
import { RUNGS, type Rung } from './recovery/rung-names.ts';

/** What becomes of a request when it is settled. */

/** What is known of a request and of what it is about, in the transaction that settles it. */
export interface Scene {
  readonly request: RequestRow;
  /** What it asks, with its details; null: this program cannot read it, or it is work. */
  readonly decision: Decision | null;
  /** The machine that it names; null: there is none. */
  readonly row: MachineRow | null;
  /** What the guard has decided for the scope that it names. */
  readonly guard: GuardRow | null;
  /** How the pool that it names stands, at each balancer that it means. */
  readonly pools: readonly PoolRow[];
  readonly now: Circumstances;
  /** What is to be installed was handed to the agent of a machine on the slot, and not reported. */
  readonly isInstalling: boolean;
}

/** What is to be written, beside the end of the request and the line in the slot's log. */
export type Effect =
  | {
      readonly do: 'hold';
      readonly kind: HoldKind;
      readonly untilMs: number | null;
      readonly force: boolean;
    }
  | { readonly do: 'unhold'; readonly kind: HoldKind }
  | { readonly do: 'quarantine'; readonly untilMs: number | null }
  | { readonly do: 'release'; readonly forgetHostKey: boolean }
  | {
      readonly do: 'deprovision';
      readonly drain: DrainMode | null;
      /** Of the first request for the machine; later ones do not change it. */
      readonly returnToPool: boolean;
    }
  | { readonly do: 'clearBackoff' }
  | { readonly do: 'freeze' | 'thaw' }
  | {
      readonly do: 'clearProvider';
      readonly hold: ProviderHoldKind | null;
      readonly shelf: readonly string[];
    }
  /** Of these rows what operators ask of pools is written. */
  | { readonly do: 'changePools'; readonly rows: readonly PoolRow[] }
  | { readonly do: 'install'; readonly generation: bigint; readonly image: InstallImage }
  | { readonly do: 'cancelInstall'; readonly generation: bigint }
  /** The order ends as refused, unless it was asked for meanwhile. */
  | { readonly do: 'withdraw'; readonly order: string; readonly outcome: string };

/** How a request ends. */
export interface Settlement {
  readonly state: 'done' | 'refused';
  /** For people. */
  readonly outcome: string;
  readonly effect: Effect | null;
  /**
   * Its line in the slot's log, in the name of who asked; null: a plain one, with the verb and the
   * outcome.
   */
  readonly event: { readonly kind: string; readonly reason: string } | null;
}

/** All verbs that operators may use. Newer programs may know more of them, and settle those. */
export const VERBS: readonly Verb[] = [
  ...ORDER_VERBS,
  ...DECISION_VERBS,
  ...GUARD_VERBS,
  ...POOL_VERBS,
  ...PROVIDER_VERBS,
];

/**
 * How the request ends; null: it stays open, as it is work that may still be carried out, or a verb
 * that this program does not know.
 */
export function settlementOf(scene: Scene): Settlement | null {
  const { request, row, now } = scene;
  const { verb, machineId, expiresAtMs } = request;
  if (!VERBS.includes(verb)) return null;
  if (isOrder(verb)) {
    const why = orderRefusal({ ...request, verb }, row, now);
    return why === null ? null : refused(why);
  }
  if (expiresAtMs <= now.nowMs) return refused(EXPIRED);
  if (verb !== 'hold' && verb !== 'unhold' && row?.unreadable !== undefined) {
    return refused(row.unreadable);
  }
  if (isLeftToNewer(request, row, now.nowMs)) return null;
  if (machineId !== null && !isOnSlot(row, request)) return refused(goneText(request));
  return decide(scene);
}

/** Outcome of an order that was carried out. @param rung as the ladder's row has it, if it has one. */
export const provedText = (rung: string | null): string =>
  RUNGS.includes(rung as Rung) ? RUNG_FACTS[rung as Rung].words.done : 'it was done';

export const refused = (outcome: string): Settlement => ({
  state: 'refused',
  outcome,
  effect: null,
  event: null,
});

const done = (
  outcome: string,
  effect: Effect | null = null,
  event: Settlement['event'] = null,
): Settlement => ({ state: 'done', outcome, effect, event });

function decide(scene: Scene): Settlement {
  const { request, decision } = scene;
  switch (decision?.verb) {
    case 'hold':
      return hold(scene, decision);
    case 'unhold':
      return unhold(scene, decision);
    case 'quarantine':
      return quarantine(scene, decision);
    case 'release':
      return release(scene, decision);
    case 'install':
      return install(scene, decision);
    case 'cancel-install':
      return cancelInstall(request, scene.row!);
    case 'deprovision':
      return deprovision(scene, decision);
    case 'clear-backoff':
      return clearBackoff(scene, scene.row!);
    case 'withdraw':
      return withdraw(request, scene.row!, decision.order);
    case 'freeze':
      return freeze(scene);
    case 'thaw':
      return thaw(scene);
    case 'clear-provider':
      return clearProvider(decision);
    case 'pause-pool':
    case 'resume-pool':
    case 'thaw-pool':
    case 'teardown-pool':
      return changePools(scene, decision);
    default:
      // A newer program may have filed what this one cannot read.
      return refused('this program cannot read it; upgrade it');
  }
}

type Of<Name extends Decision['verb']> = Extract<Decision, { readonly verb: Name }>;

const OVER = 'its end is over already';
const untilText = (untilMs: number | null, end: string): string =>
  `until ${untilMs === null ? end : new Date(untilMs).toISOString()}`;

/** A decision may stop a request for an installation, but not the agent that has it already. */
const underWayText = ({ isInstalling }: Scene): string =>
  isInstalling ? '; an installation was handed to its agent before, and may be under way' : '';

function hold(scene: Scene, { kind, untilMs, force = false }: Of<'hold'>): Settlement {
  const { request, now } = scene;
  if (untilMs !== null && untilMs <= now.nowMs) return refused(OVER);
  const before = holdOf(request, kind, now);
  const instead = before ? `, instead of that by ${before.setBy} (${before.reason})` : '';
  const underWay = kind === 'preserve' ? underWayText(scene) : '';
  return done(
    `${kind} holds ${untilText(untilMs, 'it is taken away')}${instead}${underWay}`,
    { do: 'hold', kind, untilMs, force },
    { kind: 'held', reason: `${kind}: ${request.reason}` },
  );
}

function unhold({ request, now }: Scene, { kind }: Of<'unhold'>): Settlement {
  const before = holdOf(request, kind, now);
  // A hold that has ended by itself counts as none; its row is removed, too.
  if (!before) return done('there was none', { do: 'unhold', kind });
  return done(
    `${kind} is taken away; ${before.setBy} had set it (${before.reason})`,
    { do: 'unhold', kind },
    { kind: 'unheld', reason: `${kind}: ${request.reason}` },
  );
}

const holdOf = (
  { provider, slotId }: RequestRow,
  kind: HoldKind,
  { holds, nowMs }: Circumstances,
) =>
  holds.find(
    (each) =>
      each.kind === kind &&
      each.provider === provider &&
      each.slotId === slotId &&
      (each.untilMs === null || each.untilMs > nowMs),
  );

/** Only `release` ends a conflict, so that no other decision hides one. */
const isInConflict = (row: MachineRow, nowMs: number): boolean =>
  isQuarantined(row, nowMs) && row.quarantine?.kind === 'conflict';

function quarantine(scene: Scene, { untilMs }: Of<'quarantine'>): Settlement {
  const { request, now } = scene;
  const row = scene.row!;
  if (untilMs !== null && untilMs <= now.nowMs) return refused(OVER);
  if (isInConflict(row, now.nowMs)) return refused(`${quarantineText(row)} already`);
  const instead = isQuarantined(row, now.nowMs) ? `; ${formerText(row)}` : '';
  return done(
    `quarantined ${untilText(untilMs, 'it is released')}${instead}${underWayText(scene)}`,
    { do: 'quarantine', untilMs },
    { kind: 'quarantined', reason: `byOperator: ${request.reason}` },
  );
}

function release({ request, row, now }: Scene, { forgetHostKey }: Of<'release'>): Settlement {
  const was = isQuarantined(row!, now.nowMs) ? formerText(row!) : 'it was not quarantined';
  return done(
    `released; ${was}${keyText(row!, forgetHostKey)}`,
    { do: 'release', forgetHostKey },
    { kind: 'released', reason: request.reason },
  );
}

function keyText({ hostKey, quarantine: found }: MachineRow, forgetHostKey: boolean): string {
  if (forgetHostKey) return '; its next SSH host key is pinned anew';
  if (found?.kind !== 'conflict' || hostKey === null) return '';
  return '; its pinned SSH host key stays: if that is what changed, the quarantine will come back';
}

const formerText = (row: MachineRow): string => quarantineText(row).replace('it is', 'it was');

/** Who asks again may say that it is to go faster; nobody makes it slower. */
const HURRY: Readonly<Record<DrainMode | 'wait', number>> = { wait: 0, force: 1, skip: 2 };

function deprovision(scene: Scene, { drain, returnToPool }: Of<'deprovision'>): Settlement {
  const { request, now } = scene;
  const row = scene.row!;
  if (isHeld(row, 'preserve', now)) return refused('a hold preserves it');
  if (isInConflict(row, now.nowMs)) {
    return refused(`${quarantineText(row)}: release it first`);
  }
  const { deprovision: before } = row;
  if (before) {
    const pool = before.returnToPool ? '; its slot returns to the pool' : '';
    const already = `${before.requestedBy} asked for it already: ${before.reason}${pool}`;
    if (HURRY[drain ?? 'wait'] <= HURRY[before.drain ?? 'wait']) return done(already);
    const how = drain === 'skip' ? 'its pools are not waited for' : 'its pools must let it go';
    return done(
      `${already}; from now on ${how}`,
      { do: 'deprovision', drain, returnToPool },
      { kind: 'deprovisionRequested', reason: `${how}: ${request.reason}` },
    );
  }
  return done(
    `it is to be given back${underWayText(scene)}`,
    { do: 'deprovision', drain, returnToPool },
    { kind: 'deprovisionRequested', reason: request.reason },
  );
}

function install({ request, row, now }: Scene, { image, fault }: Of<'install'>): Settlement {
  if (installState(row!) === 'DONE') return refused('it was handed over');
  if (row!.deprovision) return refused('it is to be deprovisioned');
  if (isQuarantined(row!, now.nowMs)) return refused(`${quarantineText(row!)}: release it first`);
  if (isHeld(row!, 'preserve', now)) return refused('a hold preserves it');
  if (fault !== null) return refused(`that cannot be installed: ${fault}`);
  const { requestGeneration, reportGeneration } = row!.installation;
  const generation = [requestGeneration, reportGeneration].reduce<bigint>(
    (most, each) => (each !== null && each > most ? each : most),
    0n,
  );
  const next = generation + 1n;
  const instead = installState(row!) === 'PENDING' ? `, instead of ${requestGeneration}` : '';
  return done(
    `it is handed to the agent as generation ${next}${instead}`,
    { do: 'install', generation: next, image },
    { kind: 'installRequested', reason: `generation ${next}: ${request.reason}` },
  );
}

/**
 * An agent may have had an earlier request that this one replaced. The number of one that is
 * forgotten is used again, and its report must not answer another.
 */
function cancelInstall({ reason }: RequestRow, row: MachineRow): Settlement {
  const { requestGeneration, reportGeneration, handedOutAtMs } = row.installation;
  if (installState(row) === 'DONE') return refused('it was handed over');
  if (installState(row) !== 'PENDING') return done('nothing was to be installed');
  if (handedOutAtMs !== null) {
    return refused(`generation ${requestGeneration} was handed to its agent: it may be under way`);
  }
  if (requestGeneration !== (reportGeneration ?? 0n) + 1n) {
    return refused(
      `generation ${requestGeneration} replaced another, which may be under way; a hold preserve ` +
        'keeps it from the agent',
    );
  }
  return done(
    `generation ${requestGeneration} is not installed`,
    { do: 'cancelInstall', generation: requestGeneration },
    { kind: 'installCancelled', reason: `generation ${requestGeneration}: ${reason}` },
  );
}

function clearBackoff({ request, now }: Scene, row: MachineRow): Settlement {
  const waits = row.backoffs.filter(({ untilMs }) => untilMs > now.nowMs);
  const cools = (row.recovery?.nextAtMs ?? 0) > now.nowMs;
  const names = [...waits.map(({ process }) => process), ...(cools ? ['cool-down'] : [])];
  return done(
    names.length === 0 ? 'nothing was waited for' : `no longer waited for: ${names.join(', ')}`,
    { do: 'clearBackoff' },
    { kind: 'backoffCleared', reason: request.reason },
  );
}

/** An order whose request was made may be under way: the end of that work settles it. */
function withdraw({ by, reason }: RequestRow, row: MachineRow, meant: string | null): Settlement {
  const { order } = row;
  if (order === null) return done('nothing was ordered that waits');
  if (meant !== null && order.key !== meant) return done('that order does not wait any more');
  const what = `the ${order.verb} that ${order.by} asked for`;
  if (wasAskedFor(row, order.key)) return refused(`${what} is under way`);
  const outcome = `${by} withdrew it: ${reason}`;
  return done(`${what} is withdrawn`, { do: 'withdraw', order: order.key, outcome });
}

const frozenText = ({ frozen }: GuardRow) => `${frozen?.by} (${frozen?.kind}: ${frozen?.reason})`;

function freeze({ guard }: Scene): Settlement {
  if (guard?.frozen?.kind === 'manual')
    return done(`it was frozen already by ${frozenText(guard)}`);
  const before = guard?.frozen ? `; it was frozen by ${frozenText(guard)} before` : '';
  return done(`frozen until somebody thaws it${before}`, { do: 'freeze' });
}

/** Machines that were lost before a thaw freeze nothing any more: an operator has seen them. */
function thaw({ guard }: Scene): Settlement {
  const before = guard?.frozen ? `; it was frozen by ${frozenText(guard)}` : '; it was not frozen';
  return done(`thawed${before}`, { do: 'thaw' });
}

/** Done twice it is done once: what has ended by itself, or was never so, is ended as well. */
function clearProvider({ hold: kind, shelf }: Of<'clear-provider'>): Settlement {
  const parts = [
    ...(kind === null ? [] : [`holds of kind ${kind} are ended`]),
    ...(shelf.length === 0 ? [] : [`off the shelf: ${shelf.join(', ')}`]),
  ];
  if (parts.length === 0) return refused('it does not say what is to be cleared');
  return done(parts.join('; '), { do: 'clearProvider', hold: kind, shelf });
}

function changePools({ request, pools, now }: Scene, decision: Of<PoolVerb>): Settlement {
  const { refusal, outcome, rows } = poolVerdict(pools, decision, { ...request, atMs: now.nowMs });
  if (refusal) return refused(outcome);
  return done(outcome, rows.length === 0 ? null : { do: 'changePools', rows });
}
