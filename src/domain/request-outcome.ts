import { poolVerdict } from './balancing/pool-row.ts';
import { holdOn, installState, isHeld, isQuarantined, isUnended } from './eligibility.ts';
import { fromText } from '../lib/texts.ts';
import { changedLabels, LABELS_MAX, labelsOf, readLabelChange } from './labels.ts';
import type { DrainMode, GuardRow, MachineRow } from './machine.ts';
import { isRung, RUNG_FACTS } from './recovery/rungs.ts';
import {
  done,
  OVER,
  refused,
  untilText,
  type RequestResult,
  type Scene,
} from './request-result.ts';
import {
  EXPIRED,
  goneText,
  isLeftToNewer,
  isOnSlot,
  orderRefusal,
  quarantineText,
  wasAskedFor,
} from './requests.ts';
import { isOrder, isVerb, VERBS, type OrderVerb, type PoolVerb, type Verb } from './verbs.ts';
import type { OperatorRequest } from './operator-request.ts';

/** Decides the result of a request when it is applied. */

/**
 * The end of the request. Null: the request stays open, because daemons may still carry it out, or
 * its verb is unknown to this program.
 */
export function resultOfRequest(scene: Scene): RequestResult | null {
  const { request, row, now } = scene;
  const { verb, machineId, expiresAtMs } = request;
  if (!isVerb(verb)) return null;
  if (isOrder(verb)) {
    const why = orderRefusal({ ...request, verb }, row, now);
    return why === null ? null : refused(why);
  }
  if (expiresAtMs <= now.nowMs) return refused(EXPIRED);
  if (VERBS[verb].of !== 'slot' && row?.unreadable !== undefined) {
    return refused(row.unreadable);
  }
  if (isLeftToNewer(request, row, now.nowMs)) return null;
  if (machineId !== null && !isOnSlot(row, request)) return refused(goneText(request));
  // A newer program may have submitted a request that this program cannot read.
  if (scene.wish === null) return refused('this program cannot read it; upgrade it');
  const decide = DECISIONS[verb] as (scene: Scene, wish: OperatorRequest) => RequestResult;
  return decide(scene, scene.wish);
}

/** Outcome of an order that was carried out. @param rung the rung in the ladder's row, if any. */
export const provedText = (rung: string | null): string =>
  isRung(rung) ? RUNG_FACTS[rung].words.done : 'it was done';

const DECISIONS: {
  readonly [V in Exclude<Verb, OrderVerb>]: (
    scene: Scene,
    wish: OperatorRequest<V>,
  ) => RequestResult;
} = {
  hold,
  unhold,
  note: (_, { text }) => done('noted', null, { kind: 'noted', reason: text }),
  label,
  quarantine,
  release,
  retire,
  unretire,
  accept,
  deprovision,
  install,
  withdraw,
  freeze,
  'freeze-until': freeze,
  thaw,
  'cancel-install': cancelInstall,
  'clear-backoff': clearBackoff,
  'clear-provider': clearProvider,
  'pause-pool': changePools,
  'resume-pool': changePools,
  'thaw-pool': changePools,
  'teardown-pool': changePools,
};

/** A decision may cancel a requested installation, but not an agent that already has it. */
const underWayText = ({ isInstalling }: Scene): string =>
  isInstalling ? '; an installation was handed to its agent before, and may be under way' : '';

function hold(scene: Scene, wish: OperatorRequest<'hold'>): RequestResult {
  const { kind, fromMs, untilMs } = wish;
  const { request, now } = scene;
  if (untilMs !== null && untilMs <= now.nowMs) return refused(OVER);
  const isLater = (fromMs ?? now.nowMs) > now.nowMs;
  const inForce = holdOn(request, kind, now);
  // A slot has one hold of each kind: the one in force would end now.
  if (isLater && inForce)
    return refused(`${inForce.setBy}'s hold ${kind} is in force: remove it first`);
  const before = holdOn(request, kind, now, isUnended);
  const instead = before ? `, instead of that by ${before.setBy} (${before.reason})` : '';
  const underWay = kind === 'preserve' ? underWayText(scene) : '';
  return done(
    `${kind} holds ${fromText(fromMs, now.nowMs)}${untilText(untilMs, 'it is removed')}${instead}${underWay}`,
    wish,
    { kind: 'held', reason: `${kind}: ${request.reason}` },
  );
}

function unhold({ request, now }: Scene, wish: OperatorRequest<'unhold'>): RequestResult {
  const { kind } = wish;
  const before = holdOn(request, kind, now, isUnended);
  // A hold that ended by itself counts as none; its row is removed as well.
  if (!before) return done('there was none', wish);
  return done(`${kind} is removed; ${before.setBy} had set it (${before.reason})`, wish, {
    kind: 'unheld',
    reason: `${kind}: ${request.reason}`,
  });
}

function label({ request, row }: Scene, { verb, set }: OperatorRequest<'label'>): RequestResult {
  const change = readLabelChange(set);
  if (typeof change === 'string') return refused(change);
  const labels = changedLabels(row!.slot.labels, change);
  if (labelsOf(labels).size > LABELS_MAX)
    return refused(`it may have ${LABELS_MAX} labels at most`);
  return done(
    labels === null ? 'it has no labels' : `its labels are ${labels}`,
    { verb, labels },
    { kind: 'labelled', reason: `${set}: ${request.reason}` },
  );
}

/** Only `release` ends a conflict, so that no other decision hides it. */
const isInConflict = (row: MachineRow, nowMs: number): boolean =>
  isQuarantined(row, nowMs) && row.quarantine?.kind === 'conflict';

function quarantine(scene: Scene, wish: OperatorRequest<'quarantine'>): RequestResult {
  const { untilMs } = wish;
  const { request, now } = scene;
  const row = scene.row!;
  if (untilMs !== null && untilMs <= now.nowMs) return refused(OVER);
  if (isInConflict(row, now.nowMs)) return refused(`${quarantineText(row)} already`);
  if (isRetired(row, now.nowMs)) return refused('it is retired');
  const instead = isQuarantined(row, now.nowMs) ? `; ${formerText(row)}` : '';
  return done(
    `quarantined ${untilText(untilMs, 'it is released')}${instead}${underWayText(scene)}`,
    wish,
    { kind: 'quarantined', reason: `byOperator: ${request.reason}` },
  );
}

function release({ request, row, now }: Scene, wish: OperatorRequest<'release'>): RequestResult {
  if (isRetired(row!, now.nowMs)) return refused('it is retired: unretire it');
  const was = isQuarantined(row!, now.nowMs) ? formerText(row!) : 'it was not quarantined';
  return done(`released; ${was}${keyText(row!, wish.forgetHostKey)}`, wish, {
    kind: 'released',
    reason: request.reason,
  });
}

const isRetired = (row: MachineRow, nowMs: number): boolean =>
  isQuarantined(row, nowMs) && row.quarantine?.cause === 'retired';

/** Concerns the slot, with whatever is on it. A hold `preserve` always keeps the machine. */
function retire(scene: Scene, { verb, giveBack }: OperatorRequest<'retire'>): RequestResult {
  const { request, now } = scene;
  const before = holdOn(request, 'retired', now);
  if (before) return done(`${before.setBy} had retired it already: ${before.reason}`);
  const preserved = holdOn(request, 'preserve', now) !== undefined;
  const kept = preserved ? '; a hold preserves the machine' : '; a machine on it is given back';
  const outcome = `retired until it is unretired${giveBack ? kept : ''}${underWayText(scene)}`;
  const effect = { verb, giveBack: giveBack && !preserved };
  return done(outcome, effect, { kind: 'retired', reason: request.reason });
}

function unretire({ request, now }: Scene, wish: OperatorRequest<'unretire'>): RequestResult {
  const before = holdOn(request, 'retired', now);
  if (!before) return done('it was not retired');
  return done(`no longer retired; ${before.setBy} had retired it (${before.reason})`, wish, {
    kind: 'unretired',
    reason: request.reason,
  });
}

function accept({ request, row }: Scene, wish: OperatorRequest<'accept'>): RequestResult {
  if (installState(row!) === 'DONE') return refused('it was handed over');
  return done('its agent is asked to check it', wish, {
    kind: 'acceptanceAsked',
    reason: request.reason,
  });
}

function keyText({ hostKey, quarantine: found }: MachineRow, forgetHostKey: boolean): string {
  if (forgetHostKey) return '; its next SSH host key will be pinned';
  if (found?.kind !== 'conflict' || hostKey === null) return '';
  return '; its pinned SSH host key stays: if that is what changed, the quarantine will come back';
}

const formerText = (row: MachineRow): string => quarantineText(row).replace('it is', 'it was');

/** A repeated request may make the drain faster, never slower. */
const HURRY: Readonly<Record<DrainMode | 'wait', number>> = { wait: 0, force: 1, skip: 2 };

function deprovision(scene: Scene, wish: OperatorRequest<'deprovision'>): RequestResult {
  const { drain } = wish;
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
    const how = drain === 'skip' ? 'it does not wait for its pools' : 'its pools must drain it';
    return done(`${already}; from now on ${how}`, wish, {
      kind: 'deprovisionRequested',
      reason: `${how}: ${request.reason}`,
    });
  }
  return done(`it will be given back${underWayText(scene)}`, wish, {
    kind: 'deprovisionRequested',
    reason: request.reason,
  });
}

function install({ request, row, now }: Scene, wish: OperatorRequest<'install'>): RequestResult {
  if (installState(row!) === 'DONE') return refused('it was handed over');
  if (row!.deprovision) return refused('it is to be deprovisioned');
  if (isQuarantined(row!, now.nowMs)) return refused(`${quarantineText(row!)}: release it first`);
  if (isHeld(row!, 'preserve', now)) return refused('a hold preserves it');
  if (isHeld(row!, 'retired', now)) return refused('it is retired');
  const { requestGeneration, reportGeneration } = row!.installation;
  const generation = [requestGeneration, reportGeneration].reduce<bigint>(
    (most, each) => (each !== null && each > most ? each : most),
    0n,
  );
  const next = generation + 1n;
  const instead = installState(row!) === 'PENDING' ? `, instead of ${requestGeneration}` : '';
  return done(
    `it is handed to the agent as generation ${next}${instead}`,
    { ...wish, generation: next },
    { kind: 'installRequested', reason: `generation ${next}: ${request.reason}` },
  );
}

/**
 * An agent may hold an earlier request that this request replaced. A deleted request's number is
 * used again, and a report about the old request must not answer the new one.
 */
function cancelInstall(
  { request: { reason }, row: found }: Scene,
  { verb }: OperatorRequest<'cancel-install'>,
): RequestResult {
  const row = found!;
  const { requestGeneration, reportGeneration, handedOutAtMs } = row.installation;
  if (installState(row) === 'DONE') return refused('it was handed over');
  if (installState(row) !== 'PENDING') return done('no installation was requested');
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
    { verb, generation: requestGeneration },
    { kind: 'installCancelled', reason: `generation ${requestGeneration}: ${reason}` },
  );
}

function clearBackoff(
  { request, row, now }: Scene,
  wish: OperatorRequest<'clear-backoff'>,
): RequestResult {
  const waits = row!.backoffs.filter(({ untilMs }) => untilMs > now.nowMs);
  const cools = (row!.recovery?.nextAtMs ?? 0) > now.nowMs;
  const names = [...waits.map(({ process }) => process), ...(cools ? ['cool-down'] : [])];
  return done(
    names.length === 0 ? 'nothing was waited for' : `no longer waited for: ${names.join(', ')}`,
    wish,
    { kind: 'backoffCleared', reason: request.reason },
  );
}

/** An order whose request was made may be under way: the end of that work also ends the order. */
function withdraw({ request, row }: Scene, { verb, order: meant }: OperatorRequest<'withdraw'>) {
  const { by, reason } = request;
  const { order } = row!;
  if (order === null) return done('no order was waiting');
  if (meant !== null && order.key !== meant) return done('that order is no longer waiting');
  const what = `the ${order.verb} that ${order.by} asked for`;
  if (wasAskedFor(row, order.key)) return refused(`${what} is under way`);
  const outcome = `${by} withdrew it: ${reason}`;
  return done(`${what} is withdrawn`, { verb, order: order.key, outcome });
}

function frozenText({ frozen }: GuardRow): string {
  const { by, kind, reason, untilMs } = frozen!;
  const until = untilMs === null ? '' : ` ${untilText(untilMs, '')}`;
  return `${by}${until} (${kind}: ${reason})`;
}

/** A second freeze by an operator replaces the first one when its end differs. */
function freeze(
  { guard, now }: Scene,
  wish: OperatorRequest<'freeze' | 'freeze-until'>,
): RequestResult {
  const untilMs = wish.verb === 'freeze-until' ? wish.untilMs : null;
  if (untilMs !== null && untilMs <= now.nowMs) return refused(OVER);
  const before = guard?.frozen ?? null;
  if (before?.kind === 'manual' && before.untilMs === untilMs)
    return done(`it was already frozen by ${frozenText(guard!)}`);
  const was = before ? `; it was frozen by ${frozenText(guard!)} before` : '';
  return done(`frozen ${untilText(untilMs, 'somebody thaws it')}${was}`, wish);
}

/** Machines lost before a thaw cause no further freeze, because an operator has seen them. */
function thaw({ guard }: Scene, wish: OperatorRequest<'thaw'>): RequestResult {
  const before = guard?.frozen ? `; it was frozen by ${frozenText(guard)}` : '; it was not frozen';
  return done(`thawed${before}`, wish);
}

/** Idempotent: ended or absent holds count as cleared. */
function clearProvider(_: Scene, wish: OperatorRequest<'clear-provider'>): RequestResult {
  const { hold: kind, shelf } = wish;
  const parts = [
    ...(kind === null ? [] : [`holds of kind ${kind} are ended`]),
    ...(shelf.length === 0 ? [] : [`cooldown ended: ${shelf.join(', ')}`]),
  ];
  return done(parts.join('; '), wish);
}

function changePools(
  { request, pools, now }: Scene,
  wish: OperatorRequest<PoolVerb>,
): RequestResult {
  const { refusal, outcome, rows } = poolVerdict(pools, wish, { ...request, atMs: now.nowMs });
  if (refusal) return refused(outcome);
  return done(outcome, rows.length === 0 ? null : { verb: wish.verb, rows });
}
