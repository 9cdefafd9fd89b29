import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { OPERATOR_KINDS, POOL_KINDS, STRIKES, STRIKE_KINDS, type StrikeKind } from './strikes.ts';
import type { Random } from '../../src/adapters/clock/port.ts';

/** One fault, drawn before the run: what, when, and with which figures. */
export interface PlannedFault {
  readonly kind: StrikeKind;
  /** After the start of the run. */
  readonly atMs: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** A whole run as data. The same plan leaves the same trace. */
export interface SimulationPlan {
  readonly seed: number;
  readonly machines: number;
  readonly daemons: number;
  readonly hours: number;
  /** Machines are spread over so many locations. */
  readonly locations: number;
  /** All machines serve in a pool at a balancer. */
  readonly hasPool: boolean;
  /** Timers that are due together fire in any order, and answers come late by chance. */
  readonly shuffled: boolean;
  /** In the order of their times. */
  readonly strikes: readonly PlannedFault[];
}

export type PlanOptions = Pick<SimulationPlan, 'seed' | 'machines' | 'daemons' | 'hours'>;

/** A fleet must come up, and its heartbeats be heard for a while, before faults tell anything. */
const CALM_MS = 20 * 60_000;
/** Machines are created within this; a rough start has a quarter of its strikes in it. */
const BRING_UP_MS = 3 * 60_000;
/** After each of these a machine is silent until something is done. */
const SILENCING = ['agent-dies', 'machine-hangs', 'machine-dies', 'rack-fails'] as const;
/** After each of these a daemon may go on with what is no longer its own. */
const STALLING = ['daemon-paused', 'daemon-dies-in-a-call', 'daemon-cut-off'] as const;
/** Between two strikes of a slow night: as long as a silence counts as new. */
const SLOW_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;

/** A random number generator of its own for each purpose, so that no purpose shifts another. */
export const streamOf = (seed: number, purpose: string): Random => {
  let hash = seed >>> 0;
  for (const char of purpose) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return createSeededRandom(hash);
};

/**
 * Draws a run from a seed. Two kinds of night: in a storm each kind that the seed has strikes at its own
 * rate, and much of the fleet suffers at once; in a slow night a few kinds strike one after the other, so
 * that nothing is frozen and machines climb the ladder to its end.
 */
export function drawPlan(options: PlanOptions): SimulationPlan {
  const { seed, machines, hours } = options;
  const swarm = streamOf(seed, 'swarm');
  const locations = 1 + Math.floor(swarm.next() * Math.min(4, machines));
  const shuffled = swarm.next() < 0.7;
  const hasPool = swarm.next() < 0.4;
  const kinds = STRIKE_KINDS.filter((kind) => hasPool || !POOL_KINDS.has(kind));
  const isSlow = seed % 2 === 0;
  const drawn = isSlow ? slowNight(seed, swarm, kinds, hours) : storm(swarm, kinds, hours);
  // Strikes that meet on one machine tell more than the same on many.
  const victims =
    isSlow || swarm.next() < 0.4
      ? Array.from({ length: 1 + Math.floor(2 * swarm.next()) }, swarm.next)
      : null;
  const streams = new Map(kinds.map((kind) => [kind, streamOf(seed, kind)]));
  const strikes = drawn.map(({ kind, atMs }): PlannedFault => {
    const random = streams.get(kind)!;
    const figures = STRIKES[kind].draw(random);
    const which = 'which' in figures && victims?.[Math.floor(random.next() * victims.length)];
    return { kind, atMs, figures: { ...figures, ...(typeof which === 'number' && { which }) } };
  });
  return {
    ...options,
    locations,
    hasPool,
    shuffled,
    strikes: strikes.toSorted((a, b) => a.atMs - b.atMs || a.kind.localeCompare(b.kind)),
  };
}

type Drawn = Pick<PlannedFault, 'kind' | 'atMs'>;

function storm(swarm: Random, kinds: readonly StrikeKind[], hours: number): Drawn[] {
  const share = 0.15 + 0.6 * swarm.next();
  const intensity = 0.3 + 1.4 * swarm.next();
  const isRough = swarm.next() < 0.3;
  return kinds.flatMap((kind) => {
    if (swarm.next() > share) return [];
    const count = poisson(swarm, STRIKES[kind].perHour * hours * intensity);
    return Array.from({ length: count }, () => {
      const chance = swarm.next();
      const isEarly = isRough && chance < 0.25;
      const atMs = Math.floor(isEarly ? 4 * chance * BRING_UP_MS : timeOf(chance, hours));
      return { kind, atMs };
    });
  });
}

/** Consecutive seeds have each kind of order, each way to fall silent, and each trouble of daemons in its turn. */
function slowNight(
  seed: number,
  swarm: Random,
  kinds: readonly StrikeKind[],
  hours: number,
): Drawn[] {
  const turn = Math.floor(seed / 2);
  const some = () => kinds[Math.floor(swarm.next() * kinds.length)]!;
  const silencing = SILENCING[turn % SILENCING.length]!;
  const ordering = OPERATOR_KINDS[turn % OPERATOR_KINDS.length]!;
  const stalling = STALLING[turn % STALLING.length]!;
  const chosen = [ordering, silencing, stalling, some(), some()];
  const count = Math.max(1, Math.floor((hours * HOUR_MS - CALM_MS) / SLOW_MS));
  return Array.from({ length: count }, (_, at) => ({
    kind: chosen[at % chosen.length]!,
    atMs: Math.floor(timeOf((at + swarm.next()) / count, hours)),
  }));
}

/** When in the run, after its first quiet minutes. */
const timeOf = (chance: number, hours: number): number =>
  CALM_MS + chance * Math.max(0, hours * HOUR_MS - CALM_MS);

/** At least one, so that a kind that was drawn does strike. */
function poisson(random: Random, mean: number): number {
  let count = 0;
  for (let sum = 0; sum < mean; sum -= Math.log(1 - random.next())) count += 1;
  return Math.max(1, count - 1);
}
