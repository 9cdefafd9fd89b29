import type { Random } from '../../../src/adapters/clock/port.ts';
import type { Simulation, SimulatedDaemon } from '../simulation.ts';

export type Figures = Readonly<Record<string, number>>;

/** A kind of fault: how often it is drawn, its figures, and its effect. */
export interface StrikeKindSpec {
  /** Mean number per hour of a run that has this kind. */
  readonly perHour: number;
  draw(random: Random): Figures;
  /** @returns the struck thing, for people; null: there was nothing to strike. */
  strike(simulation: Simulation, figures: Figures): string | null;
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const between = (random: Random, from: number, to: number) =>
  Math.floor(from + random.next() * (to - from));
/** Picks an item by the figure, so that a plan keeps its meaning when other parts are dropped. */
export const pick = <Item>(items: readonly Item[], figure: number): Item =>
  items[Math.floor(figure * items.length) % items.length]!;

/** Draws figures in [0, 1) with these names. */
export const figures =
  (...names: readonly string[]) =>
  (random: Random): Figures =>
    Object.fromEntries(names.map((name) => [name, random.next()]));
export const target = figures('which');
/** The same, with a duration. */
export const lasting =
  (fromMs: number, toMs: number, ...names: readonly string[]) =>
  (random: Random): Figures => ({
    ...figures('which', ...names)(random),
    forMs: between(random, fromMs, toMs),
  });
export const daemonOf = ({ daemons }: Simulation, { which }: Figures): SimulatedDaemon =>
  pick(daemons, which!);

export const minutes = (ms: number): string =>
  ms < MINUTE ? `${Math.round(ms / SECOND)} s` : `${Math.round(ms / MINUTE)} min`;
