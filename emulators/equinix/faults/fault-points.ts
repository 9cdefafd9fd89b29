import type { Api } from '../api/api.ts';
import type { Disturbance } from '../api/call.ts';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { FaultEffect } from '../fault-rules.ts';
import type { EffectOf, Faults, FaultSubject } from './faults.ts';
import type { OpenEntry } from '../../kit/journal.ts';
import type { Outcome } from '../../kit/outcome.ts';
import { createGenerator, type Generator } from '../../kit/random.ts';
import { createRateLimiter, type Verdict } from './rate-limit.ts';
import { isProvisionable } from '../state/state.ts';

/** The points of a request's way where a fault can strike. Each notes its hits in the journal. */
export interface FaultPoints {
  /** The token may lose its right from now on. */
  revoke(hit: Hit): void;
  /** A genuine counter: the headers of the answer, and whether it is 429. */
  limit(hit: Hit, token: string): { refused: boolean; headers: Record<string, string> };
  /** Before anything is done; undefined lets the request pass. */
  before(hit: Hit): Promise<Outcome | undefined>;
  /** A stranger takes the reservation, if it is free and a `race` says so. */
  race(hit: Hit, when: EffectOf<'race'>['when']): void;
  /** Whether the service pretends that the device may not be seen. */
  hidesDevice(hit: Hit): boolean;
  /** What the readers of the world see. */
  disturbance(hit: Hit): Disturbance;
  /** Spoils the answer of what was done. */
  after(hit: Hit, answer: Outcome): Outcome;
  /** Ends the waits of `latency`. */
  close(): void;
}

/** One request, as rules and journal see it. */
export interface Hit {
  readonly entry: OpenEntry;
  readonly subject: FaultSubject;
}

const UNDISTURBED: Disturbance = { staleDeviceMs: 0, staleReservationMs: 0 };

export function createFaultPoints(
  { core, lifecycle }: Api,
  faults: Faults,
  clock: EmulatorClock,
): FaultPoints {
  const limiter = createRateLimiter(core.now);
  const waits = new Set<unknown>();
  const jitters = new Map<string, Generator>();
  const mark = (entry: OpenEntry, ...ids: readonly (string | undefined)[]) => {
    entry.faults = [...entry.faults, ...ids.filter((id) => id !== undefined)];
  };
  const wait = (delayMs: number) =>
    new Promise<void>((resolve) => {
      const timer = clock.setTimeout(() => {
        waits.delete(timer);
        resolve();
      }, delayMs);
      waits.add(timer);
    });

  const jitterOf = (id: string, { jitterSeed }: EffectOf<'latency'>): number => {
    if (jitterSeed === undefined) return core.chance.next();
    const own = jitters.get(id) ?? createGenerator(jitterSeed);
    jitters.set(id, own);
    return own.next();
  };

  return {
    revoke: ({ entry, subject }) => {
      const aims = ({ token }: EffectOf<'tokenRevoked'>) =>
        token === undefined || token === subject.token;
      const hit = faults.strikeOne(['tokenRevoked'], subject, aims);
      if (!hit) return;
      mark(entry, hit.id);
      for (const one of core.state.tokens) if (one.value === subject.token) one.revoked = true;
      core.changed();
    },
    limit: ({ entry, subject }, token) => {
      const counts: Verdict[] = [];
      faults.strike(['rateLimit'], subject, undefined, ({ id, effect }) => {
        const verdict = limiter.count(id, token, effect);
        counts.push(verdict);
        return verdict.refused;
      });
      const refusals = counts.filter((one) => one.refused);
      mark(entry, ...refusals.map((one) => one.id));
      const headers: Record<string, string> = Object.assign(
        {},
        ...[...counts, ...refusals].map((one) => one.headers),
      );
      return { refused: refusals.length > 0, headers };
    },
    before: async ({ entry, subject }) => {
      for (const { id, effect } of faults.strike(['latency'], subject)) {
        mark(entry, id);
        await wait(latencyOf(effect, jitterOf(id, effect)));
      }
      const hit = faults.strikeOne(['drop', 'hang', 'status'], subject, comesBefore);
      mark(entry, hit?.id);
      return hit && { ...outcomeOf(hit.effect, { status: 200 }), isInjected: true };
    },
    race: ({ entry, subject }, when) => {
      const free = (id: string | undefined) => {
        const reservation = core.state.reservations.get(id ?? '');
        return reservation && isProvisionable(reservation) ? reservation : undefined;
      };
      const anyWillDo = subject.reservationId === 'next-available';
      const target = ({ reservationId }: EffectOf<'race'>) =>
        anyWillDo || reservationId === undefined || reservationId === subject.reservationId
          ? free(reservationId ?? subject.reservationId)
          : undefined;
      const aims = (effect: EffectOf<'race'>) =>
        effect.when === when && target(effect) !== undefined;
      const hit = faults.strikeOne(['race'], subject, aims);
      mark(entry, hit?.id);
      if (hit) lifecycle.snatch(target(hit.effect)!);
    },
    hidesDevice: ({ entry, subject }) => {
      const hit = faults.strikeOne(['deviceGone403'], subject);
      mark(entry, hit?.id);
      return hit !== undefined;
    },
    disturbance: ({ entry, subject }) => {
      if (subject.method !== 'GET') return UNDISTURBED;
      const view = subject.route.endsWith('/{id}') ? 'single' : 'list';
      const fits = (effect: EffectOf<'stale'>) => effect.view === 'both' || effect.view === view;
      const stale = faults.strike(['stale'], subject, fits);
      const pages = view === 'list' ? faults.strikeOne(['unstablePages'], subject) : undefined;
      mark(entry, ...stale.map(({ id }) => id), pages?.id);
      return {
        pages: pages?.effect.mode,
        staleDeviceMs: lagOf(stale, 'device'),
        staleReservationMs: lagOf(stale, 'reservation'),
      };
    },
    after: ({ entry, subject }, answer) => {
      const added = faults.strike(['headers'], subject);
      const hit = faults.strikeOne(
        ['drop', 'hang', 'status', 'garbage', 'keyCreate404'],
        subject,
        (effect) =>
          !comesBefore(effect) && (effect.type !== 'keyCreate404' || isKeyCreate(subject)),
      );
      mark(entry, ...added.map(({ id }) => id), hit?.id);
      const headers = Object.assign({}, answer.headers, ...added.map((one) => one.effect.headers));
      const genuine = { ...answer, headers };
      return hit ? { ...outcomeOf(hit.effect, genuine), isInjected: true } : genuine;
    },
    close: () => {
      for (const timer of waits) clock.clearTimeout(timer);
      waits.clear();
    },
  };
}

const comesBefore = (effect: FaultEffect): boolean =>
  (effect.type === 'status' && effect.executed !== true) ||
  ((effect.type === 'drop' || effect.type === 'hang') && effect.phase === 'before');

function outcomeOf(
  effect: EffectOf<'drop' | 'hang' | 'status' | 'garbage' | 'keyCreate404'>,
  answer: Outcome,
): Outcome {
  if (effect.type === 'hang' || effect.type === 'drop') {
    const fate = effect.type === 'hang' ? 'hung' : 'dropped';
    return { ...answer, fate, halfSent: effect.phase === 'midBody' };
  }
  if (effect.type === 'garbage') return garbageOf(effect.kind, answer);
  if (effect.type === 'keyCreate404') return { status: 404, body: { errors: ['Not found'] } };
  const { code, body = { errors: [`Injected status ${code}`] }, headers = {} } = effect;
  return { status: code, headers, ...(body !== null && { body }) };
}

function garbageOf(garbage: EffectOf<'garbage'>['kind'], answer: Outcome): Outcome {
  if (garbage !== 'redirect') return { ...answer, garbage };
  const headers = { ...answer.headers, location: '/elsewhere' };
  return { ...answer, status: 302, headers, garbage };
}

function latencyOf(effect: EffectOf<'latency'>, chance: number): number {
  const least = effect.minMs ?? effect.ms ?? 0;
  return least + chance * Math.max(0, (effect.maxMs ?? least) - least);
}

const lagOf = (
  stale: readonly { effect: EffectOf<'stale'> }[],
  resource: 'device' | 'reservation',
): number =>
  Math.max(
    0,
    ...stale
      .filter(({ effect: { resource: of = 'all' } }) => of === 'all' || of === resource)
      .map(({ effect }) => effect.lagMs),
  );

const isKeyCreate = ({ method, route }: FaultSubject) =>
  method === 'POST' && route.endsWith('/ssh-keys');
