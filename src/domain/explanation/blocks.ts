import {
  BARRING,
  BARRING_CREATION,
  backoffUntilMs,
  isLadder,
  orderFor,
  serves,
  serveWaitEndMs,
  isInForce,
} from '../eligibility.ts';
import { drainText } from '../balancing/members.ts';
import { isOfCondition } from '../conditions.ts';
import type {
  GuardRow,
  HoldKind,
  MachineRow,
  Process,
  ProviderHoldRow,
  QuarantineKind,
} from '../machine.ts';
import { capacityKeys, QUOTA_KEY } from '../provisioning/provider-holds.ts';
import { FLEET, graceEndsAtMs } from '../recovery/guard-judgement.ts';
import { isUnderWay } from '../recovery/permits.ts';
import {
  BLIND,
  guardStatuses,
  type GuardStatus,
  type GuardState,
} from '../recovery/guard-status.ts';
import { spanText } from '../../lib/texts.ts';
import { worksElsewhere } from '../view.ts';
import type { At } from './places.ts';
import { BLOCK_KINDS, type Block, type ExplainedWork } from './types.ts';

/** A block and its phrase in a sentence. The sentence adds the duration. */
export interface Way extends Block {
  readonly phrase: string;
  /** The phrase already contains the duration. */
  readonly timeless?: true;
}

/** All blocks that keep the work from starting now, in the order of the sentence. */
export function waysOf(
  at: At,
  work: ExplainedWork | null,
  process: Process | null,
): readonly Way[] {
  const ways = [
    ...quarantine(at),
    ...(work === null ? [] : holds(at, work, process)),
    ...(work === 'recovery' ? guard(at) : []),
    ...(work === 'creation' ? creation(at) : []),
    ...(work === null || work === 'creation' ? [] : provisioning(at)),
    ...elsewhere(at),
    ...(process === null ? [] : waits(at, process)),
    ...(work === 'recovery' ? budget(at) : []),
  ].filter(({ endsAtMs }) => endsAtMs === null || endsAtMs >= at.moment.nowMs);
  return ways.length === 0 ? turn(at, work) : ways.toSorted(byKind);
}

/** A block without a known end, whose text is its phrase. `more` overrides fields. */
const way = (
  kind: Way['kind'],
  text: string,
  endedBy: string,
  more: Partial<Pick<Way, 'endsAtMs' | 'phrase' | 'timeless'>> = {},
): Way => ({ kind, text, endsAtMs: null, endedBy, phrase: text, ...more });

const byKind = (a: Way, b: Way): number =>
  BLOCK_KINDS.indexOf(a.kind) - BLOCK_KINDS.indexOf(b.kind);

function quarantine({ state, view, facts: { slot }, moment }: At): Way[] {
  if (state !== 'Quarantined' || view.state !== state) return [];
  const { row, conflict } = slot;
  const set = row?.unreadable === undefined ? (row?.quarantine ?? null) : null;
  const substate = set?.cause === 'retired' ? set.cause : set?.kind;
  const isSet = set !== null && substate === view.substate && set.reason === view.reason;
  const endsAtMs = isSet ? set.untilMs : null;
  const end = isSet ? endOf(set) : foundEnd(view.substate, row?.unreadable, conflict);
  const atMost = endsAtMs === null ? '' : `, or for ${spanText(endsAtMs - moment.nowMs)} more`;
  const phrase = `nothing is done until ${end}${atMost}`;
  const text = 'nothing is done to it';
  return [way('quarantine', text, view.endedBy ?? end, { endsAtMs, phrase, timeless: true })];
}

const SET_ENDS: Readonly<Record<QuarantineKind, string>> = {
  needsHuman: 'an operator releases it, or it reports without a break',
  conflict: 'an operator releases it',
  byOperator: 'an operator releases it',
};

const endOf = ({ kind, cause }: NonNullable<MachineRow['quarantine']>): string => {
  if (cause === 'retired') return 'an operator unretires it';
  return cause === null ? SET_ENDS[kind] : SET_ENDS.conflict;
};

function foundEnd(
  substate: string,
  unreadable: string | undefined,
  conflict: string | null,
): string {
  if (unreadable !== undefined) return 'a newer program reads its rows';
  if (substate === 'missing') return 'its provider shows it again, or an operator gives it back';
  return conflict === null
    ? 'an operator handles the device, or it is adopted'
    : 'rows and provider agree';
}

const FORBIDS: Readonly<Record<ExplainedWork, string>> = {
  creation: 'creation',
  agentStart: 'agent start',
  recovery: 'recovery',
  deprovision: 'giving it back',
};

function holds({ facts, moment }: At, work: ExplainedWork, process: Process | null): Way[] {
  const barring: readonly HoldKind[] =
    work === 'creation' ? BARRING_CREATION : ((process && BARRING[process]) ?? []);
  return facts.slot.holds
    .filter((hold) => barring.includes(hold.kind) && isInForce(hold, moment.nowMs))
    .map(({ kind, setBy, reason, untilMs }) => {
      const phrase = `${setBy}'s hold ${kind} forbids ${FORBIDS[work]}`;
      const verb = kind === 'retired' ? 'unretire' : 'unhold';
      const endedBy = isOfCondition({ setBy })
        ? 'the source of the condition: shepherd machine condition clear'
        : `an operator: shepherd machine ${verb}`;
      const end = untilMs === null ? '' : '; or its end';
      return way('hold', `${phrase}: ${reason}`, `${endedBy}${end}`, { endsAtMs: untilMs, phrase });
    });
}

const GUARD_KIND: Readonly<
  Record<Exclude<GuardState, 'watching'>, 'freeze' | 'grace' | 'suspicion'>
> = { blind: 'suspicion', suspicious: 'suspicion', grace: 'grace', frozen: 'freeze' };

/** An operator's order waits only for a freeze. Work under way waits for nothing. */
function guard({ row, facts: { guard: picture, slot }, moment }: At): Way[] {
  if (row && isUnderWay(row)) return [];
  const { nowMs, guard: policy, loss } = moment;
  const { heartbeatMs } = loss;
  const standings = picture ? guardStatuses(picture, { nowMs, policy, heartbeatMs }) : [BLIND];
  const isOrdered = row !== null && (row.order?.expiresAtMs ?? 0) > nowMs;
  return standings
    .filter(({ scope }) => scope === FLEET || scope === slot.provider)
    .filter(({ state }) => state !== 'watching' && (state === 'frozen' || !isOrdered))
    .map((standing) => {
      const decided = picture?.rows.find(({ scope }) => scope === standing.scope);
      return guardWay(standing, decided, moment);
    });
}

function guardWay(
  { scope, state, reason }: GuardStatus,
  row: GuardRow | undefined,
  { guard: { calmForMs }, loss }: At['moment'],
): Way {
  const kind = GUARD_KIND[state as Exclude<GuardState, 'watching'>];
  const whose = scope === FLEET ? 'the fleet' : scope;
  if (kind === 'freeze') {
    const isManual = row?.frozen?.kind === 'manual';
    const untilMs = row?.frozen?.untilMs ?? null;
    const calmSinceMs = isManual ? null : (row?.calmSinceMs ?? null);
    const calm = isManual ? '' : 'itself, once it is calm; or ';
    const itself = untilMs === null ? calm : 'itself, at its end; or ';
    const phrase = `recovery of ${whose} is frozen by ${row?.frozen?.by ?? 'the guard'}`;
    return way(
      kind,
      `recovery of ${whose} is frozen: ${reason}`,
      `${itself}an operator: shepherd fleet thaw`,
      { endsAtMs: calmSinceMs === null ? untilMs : calmSinceMs + calmForMs, phrase },
    );
  }
  if (kind === 'grace') {
    const endsAtMs = graceEndsAtMs({ upSinceMs: row?.ingestUpSinceMs ?? null }, loss);
    const endedBy = 'itself, once heartbeats have been received for long enough';
    return way(kind, reason ?? state, endedBy, { endsAtMs, phrase: 'silence means nothing yet' });
  }
  const endedBy = 'itself, when fewer are late or silent; or a freeze of the guard';
  const late = `too many of ${whose} are late together`;
  const phrase = state === 'blind' ? 'the state of the guard is not read yet' : late;
  return way(kind, reason ?? state, endedBy, { phrase });
}

function creation({ facts, moment: { nowMs } }: At): Way[] {
  const { slot, breaker } = facts;
  const { penalty, listed, provider } = slot;
  const plan = listed && {
    name: listed.plan,
    location: listed.location,
    spot: listed.spot === true,
  };
  const keys: readonly string[] = plan ? Object.values(capacityKeys(plan, '')) : ['all'];
  const concerns = ({ kind, key, untilMs }: ProviderHoldRow) =>
    untilMs > nowMs &&
    ((kind === 'throttle' && key === 'create') ||
      (kind === 'quota' && key === QUOTA_KEY) ||
      (kind === 'capacity' && keys.includes(key)));
  const clear = `an operator: shepherd provider clear ${provider}`;
  const ways: Way[] = [];
  if (penalty && penalty.untilMs > nowMs) {
    const endedBy = `its end; or ${clear} ${slot.slot.slice(provider.length + 1)}`;
    const span = spanText(penalty.untilMs - nowMs);
    const phrase = `in cooldown for ${span} more, or until \`provider clear\``;
    const end = { endsAtMs: penalty.untilMs, phrase, timeless: true } as const;
    ways.push(way('shelf', `in cooldown: ${penalty.cause}`, endedBy, end));
  }
  for (const hold of facts.providerHolds) {
    if (hold.provider !== provider || !concerns(hold)) continue;
    const { kind, key, untilMs: endsAtMs, amount, cause } = hold;
    const what = kind === 'capacity' ? `no capacity (${key})` : `quota of ${amount ?? 0} machines`;
    const phrase = kind === 'throttle' ? 'creations are throttled' : what;
    const told = kind === 'throttle' ? 'throttle' : 'quota';
    ways.push(way(told, `${phrase}: ${cause}`, `its end; or ${clear}`, { endsAtMs, phrase }));
  }
  if (breaker !== null) {
    const phrase = "its provider's listing is not trusted";
    const endedBy = 'itself, when provider and rows agree again';
    ways.push(way('suspicion', `${phrase}: ${breaker}`, endedBy, { phrase }));
  }
  return ways;
}

/** The provider is working on the machine; nothing else may start meanwhile. */
function provisioning({ substate }: At): Way[] {
  return substate === 'installing'
    ? [way('install', 'its provider has not finished', 'its provider')]
    : [];
}

function elsewhere({ row, facts, moment, view }: At): Way[] {
  const { slot, self, shown } = facts;
  const ways: Way[] = [];
  const endedBy = 'the daemon that works on it, or the end of its session';
  if (row?.unknownRung !== undefined) {
    const text = `a newer program recovers it, on its rung ${row.unknownRung}`;
    ways.push(way('elsewhere', text, endedBy));
  } else if (row && worksElsewhere(row, self) && (self !== null || shown === null)) {
    const work = row.work.find(({ sessionId }) => sessionId !== self)!;
    ways.push(way('elsewhere', `session ${work.sessionId.slice(0, 8)} works on it`, endedBy));
  }
  const isUnknown = moment.providers !== undefined && !moment.providers.has(slot.provider);
  if (isUnknown && view.state !== 'Released') {
    const text = `provider ${slot.provider} is not configured here`;
    ways.push(way('elsewhere', text, 'a daemon that has its provider configured'));
  }
  return ways;
}

/** Waits of the process: after failures, between attempts, for load balancers, for its provider. */
function waits({ row, facts, moment }: At, process: Process): Way[] {
  if (!row) return [];
  const { nowMs, loss } = moment;
  const isOrdered = orderFor(process, row, nowMs) !== null;
  const ways: Way[] = [];
  const clear = 'its end; or an operator: shepherd machine clear-backoff';
  const untilMs = backoffUntilMs(row, process, nowMs);
  if (untilMs !== null && !isOrdered) {
    const cause = row.backoffs.find((each) => each.process === process)?.cause ?? '';
    const phrase = 'it waits after a failure';
    ways.push(way('backoff', `${phrase}: ${cause}`, clear, { endsAtMs: untilMs, phrase }));
  }
  const coolMs = row.recovery?.nextAtMs ?? null;
  if (coolMs !== null && coolMs > nowMs && isLadder(process) && !isOrdered) {
    const end = { endsAtMs: coolMs, phrase: 'it cools down' };
    ways.push(way('cooldown', 'it cools down after an attempt', clear, end));
  }
  if (isAwaitingPools(row, process, moment)) {
    const endsAtMs = isLadder(process) && !isOrdered ? serveWaitEndMs(row, loss) : null;
    const phrase = 'its load balancers still send it traffic';
    const endedBy = 'its load balancers, when they have drained it';
    ways.push(way('turn', `it ${drainText(row.members)}`, endedBy, { endsAtMs, phrase }));
  }
  return [...ways, ...throttles(facts, process, nowMs)];
}

function isAwaitingPools(
  row: NonNullable<At['row']>,
  process: Process,
  { nowMs, loss }: At['moment'],
): boolean {
  if (!serves(row) || process === 'ShepherdAgentStart') return false;
  if (process === 'ShepherdDeprovision') return row.deprovision?.drain !== 'skip';
  const order = orderFor(process, row, nowMs);
  if (order) return order.drain !== 'skip';
  const endMs = serveWaitEndMs(row, loss);
  return endMs !== null && nowMs <= endMs;
}

/** Provider calls of each process. */
const CALLS: Readonly<Partial<Record<Process, readonly string[]>>> = {
  ShepherdRecovery: ['reboot', 'power'],
  ShepherdReinstall: ['reinstall'],
  ShepherdDeprovision: ['destroy'],
};

function throttles({ slot, providerHolds }: At['facts'], process: Process, nowMs: number): Way[] {
  const calls = CALLS[process] ?? [];
  return providerHolds
    .filter(({ provider, kind }) => provider === slot.provider && kind === 'throttle')
    .filter(({ key, untilMs }) => untilMs > nowMs && calls.includes(key))
    .map(({ key, untilMs, cause }) =>
      way(
        'throttle',
        `calls of ${key} to its provider wait: ${cause}`,
        `its end; or an operator: shepherd provider clear ${slot.provider}`,
        { endsAtMs: untilMs, phrase: `its provider throttles ${key}` },
      ),
    );
}

function budget({ facts: { queue } }: At): Way[] {
  if (!queue) return [];
  const { scope, place, of } = queue;
  const text = `it is ${ordinal(place)} of ${of} for a permit of ${scope.replace(/^\w+ /, '')}`;
  return [way('budget', text, 'other machines that come back or give up')];
}

function turn({ view, state, facts: { shown } }: At, work: ExplainedWork | null): readonly Way[] {
  const isDue =
    view.next !== null && view.next === work && (shown === null || shown.state === state);
  return isDue ? [way('turn', 'it waits for its turn', 'a daemon with a free place')] : [];
}

const ENDINGS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd', other: 'th' };
const rules = new Intl.PluralRules('en', { type: 'ordinal' });
const ordinal = (place: number): string => `${place}${ENDINGS[rules.select(place)]}`;

/** The process that does the work; null: no process, or nothing is left to try. */
export function processFor(work: ExplainedWork | null, ladder: Process): Process | null {
  if (work === 'agentStart') return 'ShepherdAgentStart';
  if (work === 'recovery') return ladder;
  return work === 'deprovision' ? 'ShepherdDeprovision' : null;
}
