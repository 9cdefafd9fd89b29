import {
  enqueueActions,
  setup,
  stopChild,
  type DoneActorEvent,
  type ErrorActorEvent,
} from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineView } from '../domain/view.ts';
import { lifecycle } from './lifecycle.ts';
import { unprovided } from './services.ts';

/** A larger cell would be slow: see `cell`. */
export const CELL_CAPACITY = 64;

/**
 * Supervises at most CELL_CAPACITY machines. A cell is its own root actor. XState copies the
 * children map on every spawn and scans all timers of the system on every stop. So the cost grows
 * with the square of the size. The cell handles one machine's crash, which never reaches the
 * others. A machine's actor id is its slot.
 */
export const cell = setup({
  types: {
    events: {} as
      | { type: 'machine.observed'; view: MachineView }
      | { type: 'machine.retire'; slot: Slot }
      | DoneActorEvent<unknown, string>
      | ErrorActorEvent<unknown, string>,
  },
  actors: { lifecycle },
  actions: {
    /** Tells the machine its news, or spawns it. A second spawn would orphan the first. */
    tell: enqueueActions(({ enqueue, self }, { view }: { view: MachineView }) => {
      if (self.getSnapshot().children[view.slot]) {
        enqueue.sendTo(view.slot, { type: 'machine.observed', view });
      } else {
        enqueue.spawnChild('lifecycle', { id: view.slot, input: { view } });
      }
    }),
    forget: stopChild((_, { actorId }: { actorId: string }) => actorId),
    /** The machine's actor threw: its I/O must be aborted and the crash reported. */
    reportCrash: (_, _crash: { actorId: string; error: unknown }) => unprovided('reportCrash'),
    /** The machine's actor ended: the slot is gone. */
    reportEnd: (_, _end: { actorId: string }) => unprovided('reportEnd'),
  },
}).createMachine({
  id: 'cell',
  description: 'Runs up to 64 machines, restarts one that crashed, and forgets one that ended.',
  options: { maxIterations: 1000 },
  on: {
    'machine.observed': { actions: { type: 'tell', params: ({ event }) => event } },
    'machine.retire': {
      actions: { type: 'forget', params: ({ event }) => ({ actorId: event.slot }) },
    },
    'xstate.done.actor.*': {
      actions: [
        { type: 'forget', params: ({ event }) => event },
        { type: 'reportEnd', params: ({ event }) => event },
      ],
    },
    'xstate.error.actor.*': {
      actions: [
        { type: 'forget', params: ({ event }) => event },
        { type: 'reportCrash', params: ({ event }) => event },
      ],
    },
  },
});
