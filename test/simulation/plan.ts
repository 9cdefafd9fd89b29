import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { OPERATOR_KINDS, POOL_KINDS, STRIKES, STRIKE_KINDS, type StrikeKind } from './strikes.ts';
import type { Random } from '../../src/adapters/clock/port.ts';

/** One fault, drawn before the run: its kind, time and figures. */
export interface PlannedFault {
  readonly kind: StrikeKind;
  /** Time after the start of the run. */
  readonly atMs: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** A whole run as data. Equal plans leave equal traces. */
export interface SimulationPlan {
  readonly seed: number;
  readonly machines: number;
  readonly daemons: number;
  readonly hours: number;
  /** Number of locations over which the machines are spread. */
  readonly locations: number;
  /** Whether all machines serve in a pool at a balancer. */
  readonly hasPool: boolean;
  /**
   * Reservations beyond the machines. With them, the provider has a target, and recovery retires
   * chronic machines.
   */
  readonly spares: number;
  /** Whether planned work may only begin in maintenance windows. */
  readonly hasWindows: boolean;
  /**
   * Whether timers that are due together fire in random order and answers are delayed at random.
   */
  readonly shuffled: boolean;
  /** Sorted by time. */
  readonly strikes: readonly PlannedFault[];
}

export type PlanOptions = Pick<SimulationPlan, 'seed' | 'machines' | 'daemons' | 'hours'>;

/** A fleet must start, and its heartbeats must arrive for a while, before faults show anything. */
const CALM_MS = 20 * 60_000;
/** Machines are created within this time. A rough start has a quarter of its strikes in it. */
const BRING_UP_MS = 3 * 60_000;
/** After each of these faults a machine is silent until somebody acts. */
const SILENCING = ['agent-dies', 'machine-hangs', 'machine-dies', 'rack-fails'] as const;
/** After each of these faults a daemon may go on with work that it no longer owns. */
const STALLING = ['daemon-paused', 'daemon-dies-in-a-call', 'daemon-cut-off'] as const;
/** Time between two strikes of a slow night: as long as a silence counts as new. */
const SLOW_MS = 10 * 60_000;
const HOUR_MS = 3_600_000;

/** Creates a separate random number generator per purpose, so that no purpose shifts another. */
export const streamOf = (seed: number, purpose: string): Random => {
  let hash = seed >>> 0;
  for (const char of purpose) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return createSeededRandom(hash);
};

/**
 * Draws a run from a seed. In a storm, each kind that the seed has strikes at its own rate, and
 * much of the fleet suffers at once. In a slow night, a few kinds strike one after the other, so
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
  // Strikes that meet on one machine reveal more than the same strikes on many machines.
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
  const repairs = streamOf(seed, 'repairs');
  return {
    ...options,
    locations,
    hasPool,
    spares: repairs.next() < 0.4 ? 2 : 0,
    hasWindows: repairs.next() < 0.4,
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

/**
 * Consecutive seeds take turns through each kind of order, each way to fall silent and each trouble
 * of daemons.
 */
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

/** Returns a time in the run after its first quiet minutes. */
const timeOf = (chance: number, hours: number): number =>
  CALM_MS + chance * Math.max(0, hours * HOUR_MS - CALM_MS);

/** Returns at least one, so that a drawn kind does strike. */
function poisson(random: Random, mean: number): number {
  let count = 0;
  for (let sum = 0; sum < mean; sum -= Math.log(1 - random.next())) count += 1;
  return Math.max(1, count - 1);
}
