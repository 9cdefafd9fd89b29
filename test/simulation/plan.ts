import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { BALANCER_KINDS, STRIKES, STRIKE_KINDS, type StrikeKind } from './strikes.ts';
import type { Random } from '../../src/adapters/clock/port.ts';

/** One fault, drawn before the run: what, when, and with which figures. */
export interface Strike {
  readonly kind: StrikeKind;
  /** After the start of the run. */
  readonly atMs: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** A whole run as data. The same plan leaves the same trace. */
export interface Plan {
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
  readonly strikes: readonly Strike[];
}

export type PlanOptions = Pick<Plan, 'seed' | 'machines' | 'daemons' | 'hours'>;

/** A fleet must come up, and its heartbeats be heard for a while, before faults tell anything. */
const CALM_MS = 20 * 60_000;
/** Machines are created within this; a rough start has a quarter of its strikes in it. */
const BRING_UP_MS = 3 * 60_000;
const HOUR_MS = 3_600_000;

/** A random number generator of its own for each purpose, so that no purpose shifts another. */
export const streamOf = (seed: number, purpose: string): Random => {
  let hash = seed >>> 0;
  for (const char of purpose) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return createSeededRandom(hash);
};

/** Draws a run from a seed: each seed has a subset of all kinds of strikes, and a rate for each. */
export function drawPlan(options: PlanOptions): Plan {
  const { seed, machines, hours } = options;
  const swarm = streamOf(seed, 'swarm');
  // From quiet nights, in which one fault meets a fleet that is well, to bad ones.
  const share = 0.15 + 0.6 * swarm.next();
  const intensity = 0.3 + 1.4 * swarm.next();
  const locations = 1 + Math.floor(swarm.next() * Math.min(4, machines));
  const shuffled = swarm.next() < 0.7;
  const hasPool = swarm.next() < 0.4;
  const isRough = swarm.next() < 0.3;
  const timeOf = (chance: number): number =>
    isRough && chance < 0.25
      ? 4 * chance * BRING_UP_MS
      : CALM_MS + chance * Math.max(0, hours * HOUR_MS - CALM_MS);
  const strikes = STRIKE_KINDS.flatMap((kind): Strike[] => {
    const random = streamOf(seed, kind);
    if (random.next() > share || (BALANCER_KINDS.has(kind) && !hasPool)) return [];
    const { perHour, draw } = STRIKES[kind];
    const count = poisson(random, perHour * hours * intensity);
    return Array.from({ length: count }, () => ({
      kind,
      atMs: Math.floor(timeOf(random.next())),
      figures: draw(random),
    }));
  });
  return {
    ...options,
    locations,
    hasPool,
    shuffled,
    strikes: strikes.toSorted((a, b) => a.atMs - b.atMs || a.kind.localeCompare(b.kind)),
  };
}

/** At least one, so that a kind that was drawn does strike. */
function poisson(random: Random, mean: number): number {
  let count = 0;
  for (let sum = 0; sum < mean; sum -= Math.log(1 - random.next())) count += 1;
  return Math.max(1, count - 1);
}
