import type { EventObject } from 'xstate';
import type { MachineView } from '../../src/domain/view.ts';
import type { ChartEffect } from '../doubles/scripted-services.ts';
import { shownSnapshot, type ChildSnapshot } from '../doubles/scripted-services.ts';
import type { ChartRun } from './chart-run.ts';

/** What can happen to a chart, as its events. */

export const ends = (slot: string, output?: unknown): EventObject =>
  ({ type: `xstate.done.actor.${slot}`, actorId: slot, output }) as EventObject;

export const fails = (slot: string, error: unknown): EventObject =>
  ({ type: `xstate.error.actor.${slot}`, actorId: slot, error }) as EventObject;

/** A chart that was called moved on. */
export const shows = (slot: string, shown: ChildSnapshot): EventObject =>
  ({ type: `xstate.snapshot.${slot}`, snapshot: shownSnapshot(shown) }) as EventObject;

export const news = (view: MachineView): EventObject =>
  ({ type: 'machine.observed', view }) as EventObject;

/** Everything a live actor does while something happens to it, in order. */
export async function effectsOf(
  run: ChartRun,
  happen: () => Promise<void>,
): Promise<ChartEffect[]> {
  run.effects();
  await happen();
  return run.effects();
}
