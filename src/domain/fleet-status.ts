import { lostAtMs } from './eligibility.ts';
import type { Headline, Share, ShareWord } from './headline.ts';
import type { MachineRow, Process } from './machine.ts';
import type { LossPolicy } from './policy.ts';
import { scopeName } from './recovery/guard-judgement.ts';
import { unheardTooLongAtMs, type GuardState } from './recovery/standing.ts';

export const NEED_KINDS = ['guard', 'unlisted', 'machines'] as const;
/** Something that a person has to look at. */
export interface Need {
  readonly kind: (typeof NEED_KINDS)[number];
  /** In a few words, without its reason. */
  readonly title: string;
  /** Why, and what ends it. */
  readonly text: string;
  /** Epoch ms of the database clock; null: not known. */
  readonly sinceMs: number | null;
  /** A provider, `fleet`, or null. */
  readonly scope: string | null;
}

/** Something that happens when its time has come, unless something else comes before. */
export interface NextEvent {
  /** Epoch ms of the database clock. */
  readonly atMs: number;
  readonly text: string;
}

/** What a person asks before going to bed. */
export interface FleetStatus {
  /** The gravest first; none: nobody is needed. */
  readonly needs: readonly Need[];
  /** What is being done, by the words of the headline. */
  readonly doing: readonly Share[];
  /** Null: nothing is known to happen at a time. */
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

/** All that the status is made of. */
export interface StatusFacts {
  readonly nowMs: number;
  readonly headline: Headline;
  /** Machines that need a person. */
  readonly needHuman: number;
  readonly scopes: readonly GuardScope[];
  /** Providers that cannot be listed. */
  readonly unlisted: readonly {
    readonly provider: string;
    readonly sinceMs: number;
    readonly cause: string;
  }[];
  /** What happens next to single machines. */
  readonly machines: Iterable<NextEvent>;
}

const DOING: readonly ShareWord[] = [
  'recovering',
  'starting',
  'installing',
  'creating',
  'deprovisioning',
];

/** What needs a person, what is being done, and when the next thing happens. Pure and total. */
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
      ...(needHuman === 0 ? [] : [machinesNeed(needHuman)]),
    ],
    doing: headline.shares.filter(({ word }) => DOING.includes(word)),
    next: nextOf(facts),
  };
}

/** A freeze ends by itself at best, and a grace does not where no heartbeats are taken in. */
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
  text: 'Nothing is done about them until somebody decides, or they are silent or out of reach for too long',
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

/** A machine as its next event is told. */
export interface WaitingMachine {
  readonly slot: string;
  readonly state: string;
  readonly substate: string;
  readonly needsHuman: boolean;
  readonly row: MachineRow;
  /** Nothing is recovered in its provider now. */
  readonly isBarred: boolean;
}

/** What the clock brings to a machine that is not as it should be, the earliest of it. */
export function nextOfMachine(
  { slot, state, substate, needsHuman, row, isBarred }: WaitingMachine,
  { nowMs, loss }: { readonly nowMs: number; readonly loss: LossPolicy },
): NextEvent | null {
  const place = `${state}/${substate}`;
  const events: (NextEvent | null)[] = [];
  if (place === 'Running/late') events.push(at(lostAtMs(row, loss), `${slot} counts as silent`));
  if ((place === 'Running/silent' || place === 'Recovering/coolingDown') && !isBarred) {
    events.push(at(waitEndMs(row), `recovery of ${slot} is tried again`));
  }
  if (place === 'Provisioned/backingOff') {
    const text = `the agent of ${slot} is started again`;
    events.push(at(backoffEndMs(row, 'ShepherdAgentStart'), text));
  }
  if (UNHEARD.has(place) && !needsHuman) {
    events.push(at(unheardTooLongAtMs(row, loss), `${slot} needs a person, unless it is heard`));
  }
  return earliest(events, nowMs);
}

const UNHEARD: ReadonlySet<string> = new Set([
  ...['Running/silent', 'Recovering/coolingDown', 'Provisioned/backingOff'],
]);
/** Quick: nothing comes to most machines by the clock but their next heartbeat. */
export const hasNext = ({ state, substate }: Pick<WaitingMachine, 'state' | 'substate'>): boolean =>
  substate !== 'healthy' && (substate === 'late' || UNHEARD.has(`${state}/${substate}`));
const at = (atMs: number | null, text: string): NextEvent | null =>
  atMs === null ? null : { atMs, text };
const backoffEndMs = (row: MachineRow, process: Process): number | null =>
  row.backoffs.find((each) => each.process === process)?.untilMs ?? null;

/** When neither a wait after a failure nor a cool-down keeps recovery from the machine. */
function waitEndMs(row: MachineRow): number | null {
  const ends = [backoffEndMs(row, 'ShepherdRecovery'), row.recovery?.nextAtMs ?? null];
  const known = ends.filter((end) => end !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** What needs a person, in one line. */
export const needsText = ({ needs }: Pick<FleetStatus, 'needs'>): string =>
  needs.length === 0 ? 'nothing' : needs.map(({ title }) => title).join('; ');

/** `2 recovering · 1 starting`. */
export const doingText = ({ doing }: Pick<FleetStatus, 'doing'>): string =>
  doing.map(({ machines, word }) => `${machines} ${word}`).join(' · ') || 'nothing is under way';
