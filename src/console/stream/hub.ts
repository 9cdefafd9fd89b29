import type { ServerResponse } from 'node:http';
import type { Observable, Subscription } from 'rxjs';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Slot } from '../../domain/ids.ts';
import type { Person } from '../access/port.ts';
import { machineRow } from '../api/machine.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import type { Row } from '../index/row.ts';
import { publishedEvent } from '../api/event-schema.ts';
import type { ChangeLog } from './change-log.ts';
import type { EventFeed } from './event-feed.ts';
import type { Window } from './window.ts';

export interface StreamLimits {
  /** Changes are collected this long; only the latest change of a machine is sent. */
  readonly batchMs: number;
  /** Maximum time between two messages, so that both ends notice a dead connection. */
  readonly tickMs: number;
  /** Minimum time between two reports of heartbeat times in a window. */
  readonly heardMs: number;
  /** Life of a stream; its end renews the check of access and spreads readers over daemons. */
  readonly lifeMs: number;
  /** Maximum unread bytes; a reader with more is dropped. */
  readonly lagMaxBytes: number;
  /** Bytes added per `batchMs` to what a reader may be sent: the rate of a stream in a storm. */
  readonly creditBytes: number;
  /** Maximum bytes saved while idle, which may be sent at once. */
  readonly creditMaxBytes: number;
  /** How long a reader waits before it reconnects. */
  readonly retryMs: number;
  readonly readersMax: number;
  /** Streams per person; anonymous readers are not limited. */
  readonly readersOfOneMax: number;
}

export const STREAM_LIMITS: StreamLimits = {
  batchMs: 250,
  tickMs: 10_000,
  heardMs: 5_000,
  lifeMs: 30 * 60_000,
  lagMaxBytes: 1024 * 1024,
  creditBytes: 4 * 1024,
  creditMaxBytes: 128 * 1024,
  retryMs: 1_000,
  readersMax: 128,
  readersOfOneMax: 4,
};

/** What one reader sees besides the frame. */
export interface View {
  readonly window: Window | null;
  /** Slot of the one watched machine; null: none. */
  readonly slot: Slot | null;
  /** The reader follows events, and receives nothing else; null: it does not. */
  readonly feed: EventFeed | null;
  /** The frame includes the fleet's cells. */
  readonly isFleet: boolean;
  /** The reader has seen part of it, and receives only the rest. */
  readonly isResumed: boolean;
  /** Updates what changes by time alone; null: nothing does. */
  readonly refresh: (() => Promise<void>) | null;
  /** Releases the view's resources. */
  readonly release: () => void;
}

export interface HubDeps {
  readonly fleet: FleetView;
  readonly index: MachineIndex;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Differs for every start of the daemon. */
  readonly epoch: string;
  readonly limits: StreamLimits;
  readonly frame: (isFleet: boolean) => object;
  /** A whole machine; null: gone. */
  readonly machine: (slot: Slot) => object | null;
  /** Fires when the frame changes apart from machines. */
  readonly frameChanges$: Observable<void>;
  /** Called when a reader is dropped because it does not read. */
  readonly onDropped?: (() => void) | undefined;
}

/** Streams to each reader its own view. The cost per reader does not grow with the fleet. */
export interface Hub {
  readonly readers: number;
  readersOf(person: Person): number;
  /** @returns ends the stream with a reason. */
  attach(reader: NewReader): (reason: ByeReason) => void;
  /** Makes the hub send soon to readers with something waiting. */
  wake(): void;
  /** Ends all streams, and accepts no more. */
  close(): void;
}
export type ByeReason = 'stopping' | 'signed-out' | 'revoked' | 'renew';

export interface NewReader {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly person: Person;
  readonly view: View;
}

interface Reader extends NewReader {
  isFrameDirty: boolean;
  isMachineDirty: boolean;
  /** Bytes that may be sent now; negative after a big message. */
  credit: number;
  /** Monotonic time until which heartbeat times may wait, in milliseconds. */
  heardAtMs: number;
  readonly endsAtMs: number;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
} as const;

/**
 * Most messages of an idle fleet are of this kind, so they are short: places instead of slots, ages
 * instead of times.
 */
const heardAgo = (heard: ReadonlyMap<number, number>, atMs: number) => ({
  atMs,
  heard: Object.fromEntries([...heard].map(([place, heardAtMs]) => [place, atMs - heardAtMs])),
});

/** Version of the stream protocol. */
export const PROTOCOL = 1;

export function createHub(deps: HubDeps): Hub {
  const { fleet, index, changes, clock, log, limits, epoch } = deps;
  const readers = new Set<Reader>();
  let flushing: unknown = null;
  let ticking: unknown = null;
  let watching: Subscription | null = null;

  const send = ({ response }: Reader, event: string, data: object, id: string | null): number => {
    const mark = id === null ? '' : `id: ${id}\n`;
    const text = `${mark}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    if (response.writableLength + text.length <= limits.lagMaxBytes) {
      response.write(text);
    } else if (!response.destroyed) {
      log.debug(
        { bufferedBytes: response.writableLength },
        'disconnecting a client that does not read its stream',
      );
      response.destroy();
      deps.onDropped?.();
    }
    return text.length;
  };
  /** Id of a reader that has received everything; null: something waits. */
  const idOf = (reader: Reader): string | null => {
    const { window, feed } = reader.view;
    // The database's number, so that any daemon can continue from there.
    if (feed) return feed.position;
    if (reader.isFrameDirty || reader.isMachineDirty || window?.isDirty) return null;
    return `${epoch}.${changes.latest}${window ? `.${window.revision}` : ''}`;
  };
  const tell = (reader: Reader, event: string, data: object) => {
    reader.credit -= send(reader, event, data, idOf(reader));
  };
  const rowOf = ({ entry }: Row) => machineRow(entry, fleet);

  const tellWindow = (reader: Reader, window: Window) => {
    const news = window.take();
    if (!news) return;
    reader.heardAtMs = clock.monotonic() + limits.heardMs;
    const { revision, total, upserts, removed, order, heard } = news;
    if (upserts.length + removed.length + heard.size === 0 && !order) {
      tell(reader, 'list', { revision, total });
      return;
    }
    tell(reader, 'rows', {
      revision,
      total,
      upserts: upserts.map(rowOf),
      removed,
      ...(order && { order }),
      ...(heard.size > 0 && heardAgo(heard, Math.round(fleet.nowMs()))),
    });
  };
  const isDue = ({ view: { window }, heardAtMs }: Reader): boolean =>
    window !== null && (window.isStale || (window.isDirty && clock.monotonic() >= heardAtMs));
  const tellEvents = (reader: Reader, feed: EventFeed) => {
    while (reader.credit > 0 && feed.isDirty) {
      const event = feed.take()!;
      reader.credit -= send(reader, 'event', publishedEvent(event), event.number);
    }
  };
  const flush = (reader: Reader, frames: ReturnType<typeof framesOnce>) => {
    const { view } = reader;
    if (reader.isFrameDirty) {
      reader.isFrameDirty = false;
      tell(reader, 'frame', frames(view.isFleet));
    }
    if (reader.isMachineDirty && view.slot !== null) {
      reader.isMachineDirty = false;
      const machine = deps.machine(view.slot);
      tell(reader, 'machine', machine ?? { slot: view.slot, gone: true });
    }
    if (view.window && isDue(reader)) tellWindow(reader, view.window);
    if (view.feed) tellEvents(reader, view.feed);
  };
  /** Many readers receive the same frame. */
  const framesOnce = () => {
    const made = new Map<boolean, object>();
    return (isFleet: boolean) => {
      const frame = made.get(isFleet) ?? deps.frame(isFleet);
      made.set(isFleet, frame);
      return frame;
    };
  };
  const flushAll = () => {
    flushing = null;
    const frames = framesOnce();
    for (const reader of readers) {
      reader.credit = Math.min(limits.creditMaxBytes, reader.credit + limits.creditBytes);
      if (reader.credit > 0) flush(reader, frames);
    }
    if ([...readers].some(waits)) arm();
  };
  const waits = ({ view, isFrameDirty, isMachineDirty }: Reader): boolean =>
    isFrameDirty ||
    isMachineDirty ||
    (view.window?.isDirty ?? false) ||
    (view.feed?.isDirty ?? false);
  const arm = () => {
    flushing ??= clock.setTimeout(flushAll, limits.batchMs);
  };

  const onChange = (row: Row, before: MachineEntry | null, after: MachineEntry | null) => {
    changes.add(row.slot);
    if (readers.size === 0) return;
    const isOther = before?.state !== after?.state || before?.substate !== after?.substate;
    for (const reader of readers) {
      if (isOther) reader.isFrameDirty = wantsFrames(reader);
      if (reader.view.slot === row.slot) reader.isMachineDirty = true;
      reader.view.window?.onChange(row, before);
    }
    arm();
  };
  const onFrame = () => {
    for (const reader of readers) reader.isFrameDirty = wantsFrames(reader);
    if (readers.size > 0) arm();
  };
  const tick = () => {
    ticking = readers.size > 0 ? clock.setTimeout(tick, limits.tickMs) : null;
    for (const reader of readers) {
      void reader.view.refresh?.().then(arm);
      if (clock.monotonic() >= reader.endsAtMs) bye(reader, 'renew');
      else tell(reader, 'tick', { atMs: Math.round(fleet.nowMs()) });
    }
  };
  const bye = (reader: Reader, reason: ByeReason) => {
    send(reader, 'bye', { reason, retryMs: limits.retryMs }, null);
    reader.response.end();
  };
  const wantsFrames = ({ view }: Reader): boolean => view.feed === null;
  const unlisten = index.onChange(onChange);
  watching = deps.frameChanges$.subscribe(onFrame);

  return {
    get readers() {
      return readers.size;
    },
    readersOf: ({ identity }) =>
      [...readers].filter(({ person }) => person.identity === identity).length,
    attach({ response, headers, person, view }) {
      const reader: Reader = {
        ...{ response, headers, person, view },
        isFrameDirty: view.feed === null,
        isMachineDirty: view.slot !== null,
        credit: limits.creditMaxBytes,
        heardAtMs: 0,
        endsAtMs: clock.monotonic() + limits.lifeMs,
      };
      response.writeHead(200, { ...headers, ...STREAM_HEADERS });
      response.once('close', () => {
        readers.delete(reader);
        view.release();
      });
      response.write(`retry: ${limits.retryMs}\n\n`);
      const atMs = Math.round(fleet.nowMs());
      const resume = view.isResumed ? 'delta' : 'full';
      const { version } = deps;
      const filling = fleet.isWhole?.() === false && { isWhole: false };
      const hello = { protocol: PROTOCOL, version, epoch, atMs, resume, ...filling };
      send(reader, 'hello', hello, null);
      readers.add(reader);
      flush(reader, framesOnce());
      ticking ??= clock.setTimeout(tick, limits.tickMs);
      return (reason) => bye(reader, reason);
    },
    wake: arm,
    close() {
      unlisten();
      watching?.unsubscribe();
      clock.clearTimeout(flushing);
      clock.clearTimeout(ticking);
      for (const reader of readers) bye(reader, 'stopping');
    },
  };
}
