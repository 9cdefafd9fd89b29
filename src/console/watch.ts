import type { Clock } from '../adapters/clock/port.ts';
import type { EventBook } from '../adapters/bmdb/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Slot } from '../domain/ids.ts';
import { frameOf } from './api/fleet.ts';
import { machineDetail } from './api/machine.ts';
import { createCells, createMachineIndex } from './index/machine-index.ts';
import type { FleetView } from './port.ts';
import { createChangeLog } from './stream/change-log.ts';
import { createEventFollower } from './stream/event-feed.ts';
import { createHub, STREAM_LIMITS, type StreamLimits } from './stream/hub.ts';

export interface WatchDeps {
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  readonly events: EventBook;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
  /** Called when a stream's reader is dropped because it does not read. */
  readonly onDropped: () => void;
}

/** The API's data about the fleet while the console is open: index and readers of streams. */
export function watchFleet({ streamLimits, onDropped, ...deps }: WatchDeps) {
  const { fleet, clock, log, version, events } = deps;
  const limits = { ...STREAM_LIMITS, ...streamLimits };
  const index = createMachineIndex({
    entries: fleet.entries,
    entryChanges$: fleet.entryChanges$,
    clock,
    nowMs: fleet.nowMs,
    isOverdue: fleet.isOverdue,
  });
  const cells = createCells(index, fleet.entries.values());
  const frame = () => frameOf(fleet);
  const changes = createChangeLog(clock);
  const epoch = Math.round(clock.now()).toString(36);
  const follower = createEventFollower({ events, clock, log });
  const hub = createHub({
    ...{ fleet, index, changes, clock, log, version, epoch, limits, onDropped },
    frame: (isFleet) => (isFleet ? { ...frame(), cells: cells() } : frame()),
    machine: (slot: Slot) => {
      const entry = fleet.entries.get(slot);
      return entry ? machineDetail(entry, fleet) : null;
    },
    frameChanges$: fleet.frameChanges$,
  });
  return {
    ...{ index, cells, frame, changes, epoch, hub, limits, events, follower },
    close() {
      hub.close();
      follower.close();
      index.close();
    },
  };
}
