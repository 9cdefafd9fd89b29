import {
  createActor,
  fromCallback,
  type ActorRefFrom,
  type AnyActorRef,
  type AnyMachineSnapshot,
  type InspectionEvent,
} from 'xstate';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Slot } from '../domain/ids.ts';
import type { MachineView } from '../domain/view.ts';
import { CELL_CAPACITY, type cell } from '../machines/cell.ts';
import type { SlotNews, SlotsChanged } from '../machines/fleet.ts';
import { isSameToChart, type lifecycle } from '../machines/lifecycle.ts';
import { follow, isBusy, shownIn, type Shown } from '../machines/shown.ts';

type CellLogic = typeof cell;
type MachineRef = ActorRefFrom<typeof lifecycle>;
interface Cell {
  readonly id: string;
  readonly ref: ActorRefFrom<CellLogic>;
  readonly slots: Set<Slot>;
}

export interface CellPoolOptions {
  /** Builds the provided chart of one cell; the hooks report machines that crash or end. */
  readonly createCell: (hooks: CellHooks) => CellLogic;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts the I/O of a machine and returns the resources of its task. */
  readonly dropWork: (slot: Slot) => void;
  /** Cancels work rows that a crashed machine may have left under our live session. */
  readonly releaseWork: (view: MachineView) => Promise<void>;
  readonly onCrash: (slot: Slot, error: unknown) => void;
  /** Called with the state of a machine's actor, after its news and after its own changes. */
  readonly onShown: (shown: Shown) => void;
  /** Lets observers find the actors. */
  readonly finder?: MachineFinder;
  /** Called when a machine's actor at rest and its rows disagree, with no news on the way. */
  readonly onMismatch?: (view: MachineView) => void;
  /** Observers of a cell's actor system; undefined adds no cost. */
  readonly inspect?: (cellId: string) => ((event: InspectionEvent) => void) | undefined;
  readonly cellCapacity?: number;
}
export interface CellHooks {
  readonly onCrash: (slot: Slot, error: unknown) => void;
  readonly onEnd: (slot: Slot) => void;
}

const RESPAWN_FIRST_MS = 1_000;
const RESPAWN_MAX_MS = 300_000;

/**
 * The `cellPool` service of the fleet. Puts each slot into a cell with room, and forwards its news.
 * Restarts a crashed machine's actor from its latest view, with a growing pause. Rebuilds a dead
 * cell with all its machines.
 */
export const cellPool = (options: CellPoolOptions) =>
  fromCallback<SlotsChanged, void>(({ receive, sendBack }) => {
    const pool = createPool(options, (slot) => told.isAwaited(slot));
    options.finder?.use(pool.find);
    const told = inSlices(options.clock, (item) => {
      if (item.type === 'observed') pool.tell(item.view);
      else pool.retire(item.slot);
    });
    receive(({ news }) => {
      try {
        told.take(news);
      } catch (error) {
        // XState does not dispose of a callback that threw: its cells would live on beside new
        // ones.
        told.stop();
        pool.stop();
        throw error;
      }
    });
    told.onBroken((error) => sendBack({ type: 'service.crashed', error }));
    return () => {
      options.finder?.use(null);
      told.stop();
      pool.stop();
    };
  });

/** Spawning 100,000 machines takes seconds; the session must be renewed meanwhile. */
const SLICE_MS = 2;
/** Ends a slice even if the clock stands still. */
const SLICE_MAX = 1_000;

/** Handles a few news items at once and many in slices, always in order. */
function inSlices(clock: Clock, handle: (item: SlotNews) => void) {
  let queue: readonly SlotNews[] = [];
  /** Position in the queue where the next slice begins. */
  let from = 0;
  let timer: unknown;
  let broken: (error: unknown) => void = () => undefined;
  const next = () => {
    const untilMs = clock.monotonic() + SLICE_MS;
    const end = Math.min(queue.length, from + SLICE_MAX);
    while (from < end) {
      const item = queue[from]!;
      from += 1;
      handle(item);
      if (clock.monotonic() >= untilMs) break;
    }
    if (from < queue.length) timer = clock.setTimeout(later, 0);
    else [queue, from] = [[], 0];
  };
  const later = () => {
    try {
      next();
    } catch (error) {
      stop();
      broken(error);
    }
  };
  const stop = () => {
    clock.clearTimeout(timer);
    [queue, from] = [[], 0];
  };
  return {
    take(news: readonly SlotNews[]) {
      const isIdle = queue.length === 0;
      [queue, from] = [isIdle ? news : [...queue.slice(from), ...news], 0];
      if (isIdle) next();
    },
    /** Whether news of this slot wait in the queue. */
    isAwaited(slot: Slot): boolean {
      for (let at = from; at < queue.length; at += 1) if (slotOf(queue[at]!) === slot) return true;
      return false;
    },
    onBroken: (callback: (error: unknown) => void) => void (broken = callback),
    stop,
  };
}

const slotOf = (item: SlotNews): Slot => (item.type === 'observed' ? item.view.slot : item.slot);

function createPool(options: CellPoolOptions, isAwaited: (slot: Slot) => boolean) {
  const { clock, log, dropWork } = options;
  const cells = new Set<Cell>();
  const capacity = options.cellCapacity ?? CELL_CAPACITY;
  /** Cells with room. */
  const roomy = new Set<Cell>();
  const cellOf = new Map<Slot, Cell>();
  const views = new Map<Slot, MachineView>();
  const crashes = new Map<Slot, number>();
  const respawns = new Map<Slot, unknown>();
  /** Stops the observation of a busy machine. */
  const followed = new Map<Slot, () => void>();
  /** Machines at rest whose actors and rows disagree. */
  const apart = new Set<Slot>();
  let born = 0;
  let stopped = false;

  const place = (slot: Slot): Cell => {
    let home = cellOf.get(slot);
    if (home) return home;
    [home = bear()] = roomy;
    home.slots.add(slot);
    if (home.slots.size >= capacity) roomy.delete(home);
    cellOf.set(slot, home);
    return home;
  };

  const machineIn = ({ ref }: Cell, slot: Slot): MachineRef | undefined =>
    ref.getSnapshot().children[slot];

  /** Tells a machine's actor directly; the cell creates a missing actor. */
  const send = (view: MachineView): void => {
    const home = place(view.slot);
    const there = machineIn(home, view.slot);
    (there ?? home.ref).send({ type: 'machine.observed', view });
    const machine = there ?? machineIn(home, view.slot);
    if (machine) show(view.slot, machine);
  };

  const show = (slot: Slot, machine: MachineRef): void => {
    const snapshot = machine.getSnapshot();
    const shown = snapshot.status === 'error' ? null : shownIn(snapshot, views.get(slot));
    if (shown) {
      compare(shown);
      options.onShown(shown);
    }
    if (!isBusy(snapshot)) unfollow(slot);
    else if (!followed.has(slot))
      followed.set(
        slot,
        follow(machine, () => show(slot, machine)),
      );
  };

  /**
   * Compares actor and rows at rest. During work, rows may differ; after work, the actor may know
   * more than news on the way. Reports once until both agree again.
   */
  const compare = ({ slot, state, working }: Shown): void => {
    const view = views.get(slot);
    if (!view || working || view.state === state) return void apart.delete(slot);
    if (apart.has(slot) || isAwaited(slot)) return;
    apart.add(slot);
    options.onMismatch?.(view);
  };

  const unfollow = (slot: Slot): void => {
    followed.get(slot)?.();
    followed.delete(slot);
  };

  const leave = (slot: Slot) => {
    unfollow(slot);
    const home = cellOf.get(slot);
    if (!home) return;
    home.slots.delete(slot);
    cellOf.delete(slot);
    if (cells.has(home)) roomy.add(home);
  };

  const bear = (): Cell => {
    const id = `cell-${born}`;
    born += 1;
    const logic = options.createCell({
      onCrash: (slot, error) => {
        leave(slot);
        crashed(slot, error);
      },
      onEnd: leave,
    });
    const inspect = options.inspect?.(id);
    const ref = createActor(logic, { id, clock, ...(inspect && { inspect }) });
    const newborn: Cell = { id, ref, slots: new Set() };
    ref.subscribe({ error: (error) => cellDied(newborn, error) });
    cells.add(newborn);
    roomy.add(newborn);
    ref.start();
    return newborn;
  };

  const cellDied = (dead: Cell, error: unknown) => {
    cells.delete(dead);
    roomy.delete(dead);
    log.error({ err: error, cell: dead.id }, 'a cell crashed and is being rebuilt');
    const orphans = dead.ref.getSnapshot().children as Record<string, AnyActorRef | undefined>;
    for (const slot of dead.slots) {
      unfollow(slot);
      cellOf.delete(slot);
      layToRest(orphans[slot], views.get(slot));
      crashed(slot, error);
    }
  };

  const crashed = (slot: Slot, error: unknown) => {
    dropWork(slot);
    options.onCrash(slot, error);
    const count = crashes.get(slot) ?? 0;
    crashes.set(slot, count + 1);
    respawnLater(slot, Math.min(RESPAWN_MAX_MS, RESPAWN_FIRST_MS * 2 ** Math.min(count, 20)));
  };

  const respawnLater = (slot: Slot, delayMs: number) => {
    clock.clearTimeout(respawns.get(slot));
    respawns.set(
      slot,
      clock.setTimeout(() => void respawn(slot), delayMs),
    );
  };

  const respawn = async (slot: Slot) => {
    const view = views.get(slot);
    if (!view || stopped) return;
    try {
      await options.releaseWork(view);
    } catch (err) {
      log.warn({ err, slot }, 'work of a crashed machine could not be released yet');
      respawnLater(slot, RESPAWN_MAX_MS / 10);
      return;
    }
    if (!respawns.delete(slot) || stopped) return;
    const latest = views.get(slot);
    if (latest) send(latest);
  };

  return {
    find: (slot: Slot): MachineRef | undefined => {
      const home = cellOf.get(slot);
      return home && machineIn(home, slot);
    },
    tell(view: MachineView) {
      const { slot } = view;
      const before = views.get(slot);
      views.set(slot, view);
      if (respawns.has(slot)) return;
      const home = cellOf.get(slot);
      const machine = home && machineIn(home, slot);
      // News that do not move the chart are not sent; only the display may change.
      if (machine && before && isSameToChart(before, view)) show(slot, machine);
      else send(view);
    },
    retire(slot: Slot) {
      clock.clearTimeout(respawns.get(slot));
      respawns.delete(slot);
      crashes.delete(slot);
      views.delete(slot);
      apart.delete(slot);
      cellOf.get(slot)?.ref.send({ type: 'machine.retire', slot });
      leave(slot);
      dropWork(slot);
    },
    stop() {
      stopped = true;
      for (const timer of respawns.values()) clock.clearTimeout(timer);
      for (const { ref } of cells) ref.stop();
      for (const slot of views.keys()) dropWork(slot);
    },
  };
}

/**
 * XState leaves the children of a crashed actor running. Tells a machine of a dead cell that its
 * slot is gone, repeatedly, because it takes no news while it works.
 */
function layToRest(orphan: AnyActorRef | undefined, view: MachineView | undefined): void {
  if (!view || orphan?.getSnapshot().status !== 'active') return;
  const gone: MachineView = { ...view, state: 'Released', substate: 'gone', next: null };
  const tell = () => orphan.send({ type: 'machine.observed', view: gone });
  orphan.subscribe({
    next: (snapshot: AnyMachineSnapshot) => {
      if (snapshot.status === 'active' && !snapshot.hasTag('working')) tell();
    },
    // The cell is already dead. Without this observer, its error would end the process.
    error: () => undefined,
  });
  tell();
}

type Find = (slot: Slot) => MachineRef | undefined;

/** Finds the actor of a machine for observers, who never send it anything. */
export interface MachineFinder {
  find(slot: Slot): MachineRef | undefined;
  /** Sets the lookup of actors; null: there are none. */
  use(find: Find | null): void;
}

export function createMachineFinder(): MachineFinder {
  let found: Find | null = null;
  return { find: (slot) => found?.(slot), use: (find) => void (found = find) };
}
