import type { EventObject } from 'xstate';
import type { MachineView } from '../../src/domain/view.ts';
import type { ChartEffect } from '../doubles/scripted-services.ts';
import { shownSnapshot, type ChildSnapshot } from '../doubles/scripted-services.ts';
import type { ChartRun } from './chart-run.ts';

/** Events that can happen to a chart. */

export const ends = (slot: string, output?: unknown): EventObject =>
  ({ type: `xstate.done.actor.${slot}`, actorId: slot, output }) as EventObject;

export const fails = (slot: string, error: unknown): EventObject =>
  ({ type: `xstate.error.actor.${slot}`, actorId: slot, error }) as EventObject;

/** An invoked chart moved on. */
export const shows = (slot: string, shown: ChildSnapshot): EventObject =>
  ({ type: `xstate.snapshot.${slot}`, snapshot: shownSnapshot(shown) }) as EventObject;

export const news = (view: MachineView): EventObject =>
  ({ type: 'machine.observed', view }) as EventObject;

/** All effects of a live actor while something happens to it, in order. */
export async function effectsOf(
  run: ChartRun,
  happen: () => Promise<void>,
): Promise<ChartEffect[]> {
  run.effects();
  await happen();
  return run.effects();
}
