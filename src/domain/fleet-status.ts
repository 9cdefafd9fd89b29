import { lostAtMs } from './eligibility.ts';
import { CONDITIONS_FILTER, type Headline, type Share, type ShareWord } from './headline.ts';
import { shortName } from './ids.ts';
import type { MachineRow, Process } from './machine.ts';
import type { LossPolicy } from './policy.ts';
import { scopeName } from './recovery/guard-judgement.ts';
import { unheardTooLongAtMs, type GuardState } from './recovery/guard-status.ts';

export const NEED_KINDS = ['guard', 'unlisted', 'pool', 'machines', 'conditions'] as const;
/** Something that needs a person's attention. */
export interface Need {
  readonly kind: (typeof NEED_KINDS)[number];
  /** A few words, without the reason. */
  readonly title: string;
  /** The reason, and what ends the need. */
  readonly text: string;
  /** Epoch ms of the database clock; null: unknown. */
  readonly sinceMs: number | null;
  /** A provider, `fleet`, or null. */
  readonly scope: string | null;
}

/** Something that happens at a known time unless another event comes first. */
export interface NextEvent {
  /** Epoch ms of the database clock. */
  readonly atMs: number;
  readonly text: string;
}

/** The state of the fleet at a glance: whether a person is needed now. */
export interface FleetStatus {
  /** Gravest first; empty: nobody is needed. */
  readonly needs: readonly Need[];
  /** Work in progress, in the words of the headline. */
  readonly doing: readonly Share[];
  /** Null: no event has a known time. */
  readonly next: NextEvent | null;
}

interface GuardScope {
  readonly scope: string;
  readonly state: GuardState;
  readonly sinceMs: number | null;
  readonly reason: string | null;
  readonly ends: string | null;
  readonly endsAtMs: number | null;
}

/** All input of the status. */
export interface StatusFacts {
  readonly nowMs: number;
  readonly headline: Headline;
  /** Number of machines that need a person. */
  readonly needHuman: number;
  readonly scopes: readonly GuardScope[];
  /** Providers that cannot be listed. */
  readonly unlisted: readonly {
    readonly provider: string;
    readonly sinceMs: number;
    readonly cause: string;
  }[];
  /** Pools at their balancers; absent: none. */
  readonly pools?: readonly {
    readonly pool: string;
    readonly balancer: string;
    readonly frozen: { readonly atMs: number; readonly reason: string } | null;
  }[];
  /** The next event of each single machine. */
  readonly machines: Iterable<NextEvent>;
}

const DOING: readonly ShareWord[] = [
  'recovering',
  'starting',
  'installing',
  'creating',
  'deprovisioning',
];

/** Computes the needs, the work in progress, and the next event. Pure and total. */
export function fleetStatus(facts: StatusFacts): FleetStatus {
  const { headline, needHuman, scopes, unlisted } = facts;
  return {
    needs: [
      ...scopes.flatMap(guardNeed),
      ...unlisted.map(({ provider, sinceMs, cause }) => ({
        ...({ kind: 'unlisted', scope: provider } as const),
        title: `provider ${provider} cannot be listed`,
        text: cause,
        sinceMs,
      })),
      ...(facts.pools ?? []).flatMap(({ pool, balancer, frozen }): Need[] => {
        if (!frozen) return [];
        const title = `pool ${pool} at ${balancer} is frozen`;
        const text = `${frozen.reason}. "shepherd lb thaw ${pool}" accepts that`;
        return [{ kind: 'pool', title, text, sinceMs: Math.round(frozen.atMs), scope: null }];
      }),
      ...(needHuman === 0 ? [] : [machinesNeed(needHuman)]),
      ...(headline.conditions === 0 ? [] : [conditionsNeed(headline.conditions)]),
    ],
    doing: headline.shares.filter(({ word }) => DOING.includes(word)),
    next: nextOf(facts),
  };
}

/** A freeze may need a person to end it; so does a grace without incoming heartbeats. */
function guardNeed(guard: GuardScope): readonly Need[] {
  const { scope, state, sinceMs, reason, ends, endsAtMs } = guard;
  const isEndless = state === 'blind' || (state === 'grace' && endsAtMs === null);
  if (state !== 'frozen' && !isEndless) return [];
  const title =
    state === 'frozen'
      ? `recovery is frozen for ${scopeName(scope)}${endText(endsAtMs)}`
      : `nothing is recovered in ${scopeName(scope)}`;
  const text = [reason, ends].filter((each) => each !== null).join('. ');
  return [{ kind: 'guard', title, text, sinceMs, scope }];
}

const endText = (endsAtMs: number | null): string =>
  endsAtMs === null ? '' : ` until ${new Date(endsAtMs).toISOString().slice(0, 16)}Z`;

const machinesNeed = (count: number): Need => ({
  kind: 'machines',
  title: count === 1 ? '1 machine needs a person' : `${count} machines need a person`,
  text: 'They wait for a decision, or have been silent or unreachable for too long',
  sinceMs: null,
  scope: null,
});

const conditionsNeed = (count: number): Need => ({
  kind: 'conditions',
  title: count === 1 ? '1 machine has a condition' : `${count} machines have conditions`,
  text: `the filter ${CONDITIONS_FILTER} lists them`,
  sinceMs: null,
  scope: null,
});

function nextOf({ nowMs, scopes, machines }: StatusFacts): NextEvent | null {
  const guard = scopes.flatMap(({ scope, state, endsAtMs }): NextEvent[] => {
    if (endsAtMs === null) return [];
    const text = state === 'frozen' ? 'recovery thaws' : 'recovery begins again';
    return [{ atMs: endsAtMs, text: `${text} for ${scopeName(scope)}` }];
  });
  return earliest([earliest(guard, nowMs), earliest(machines, nowMs)], nowMs);
}

function earliest(events: Iterable<NextEvent | null>, nowMs: number): NextEvent | null {
  let next: NextEvent | null = null;
  for (const event of events) {
    if (event && event.atMs > nowMs && (next === null || event.atMs < next.atMs)) next = event;
  }
  return next;
}

/** The parts of a machine that its next event depends on. */
export interface WaitingMachine {
  readonly slot: string;
  readonly state: string;
  readonly substate: string;
  readonly needsHuman: boolean;
  readonly row: MachineRow;
  /** No machine of its provider is recovered now. */
  readonly isBarred: boolean;
}

/** The earliest timed event of a machine that is not healthy. */
export function nextOfMachine(
  { slot, state, substate, needsHuman, row, isBarred }: WaitingMachine,
  { nowMs, loss }: { readonly nowMs: number; readonly loss: LossPolicy },
): NextEvent | null {
  const place = `${state}/${substate}`;
  const name = shortName(slot);
  const events: (NextEvent | null)[] = [];
  if (place === 'Running/late') events.push(at(lostAtMs(row, loss), `${name} counts as silent`));
  if ((place === 'Running/silent' || place === 'Recovering/coolingDown') && !isBarred) {
    events.push(at(waitEndMs(row), `recovery of ${name} is tried again`));
  }
  if (place === 'Provisioned/backingOff') {
    const text = `the agent of ${name} is started again`;
    events.push(at(backoffEndMs(row, 'ShepherdAgentStart'), text));
  }
  if (UNHEARD.has(place) && !needsHuman) {
    events.push(
      at(unheardTooLongAtMs(row, loss), `${name} needs a person, unless its agent reports`),
    );
  }
  return earliest(events, nowMs);
}

const UNHEARD: ReadonlySet<string> = new Set([
  ...['Running/silent', 'Recovering/coolingDown', 'Provisioned/backingOff'],
]);
/** A fast check: for most machines the next event is their next heartbeat. */
export const hasNext = ({ state, substate }: Pick<WaitingMachine, 'state' | 'substate'>): boolean =>
  substate !== 'healthy' && (substate === 'late' || UNHEARD.has(`${state}/${substate}`));
const at = (atMs: number | null, text: string): NextEvent | null =>
  atMs === null ? null : { atMs, text };
const backoffEndMs = (row: MachineRow, process: Process): number | null =>
  row.backoffs.find((each) => each.process === process)?.untilMs ?? null;

/** When both the backoff and the cool-down of recovery have ended. */
function waitEndMs(row: MachineRow): number | null {
  const ends = [backoffEndMs(row, 'ShepherdRecovery'), row.recovery?.nextAtMs ?? null];
  const known = ends.filter((end) => end !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** The needs of a person, in one line. */
export const needsText = ({ needs }: Pick<FleetStatus, 'needs'>): string =>
  needs.length === 0 ? 'nothing' : needs.map(({ title }) => title).join('; ');

/** `2 recovering · 1 starting`. */
export const doingText = ({ doing }: Pick<FleetStatus, 'doing'>): string =>
  doing.map(({ machines, word }) => `${machines} ${word}`).join(' · ') || 'nothing is under way';
