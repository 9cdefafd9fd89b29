import type { ServerResponse } from 'node:http';
import type { Subscription } from 'rxjs';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { explain } from '../domain/errors.ts';
import type { Slot } from '../domain/ids.ts';
import type { FleetChange, FleetView, MachineSummary } from './port.ts';

export interface EventHubDeps {
  readonly fleet: FleetView;
  readonly clock: Clock;
  readonly log: Log;
  /** Goes out with every snapshot: what the page's frame shows. */
  readonly about: {
    readonly version: string;
    readonly inspectorUrl: string | null;
    /** Providers whose machines recovery may reinstall, which erases their disks. */
    readonly mayEraseDisks: readonly string[];
    /** What each machine has a column for, by its key in a machine. */
    readonly traits: readonly { readonly name: string; readonly label: string }[];
  };
  readonly limits?: Partial<EventLimits>;
  /** Told when a reader is dropped that does not read. */
  readonly onDropped?: (() => void) | undefined;
}

export interface EventLimits {
  /** Changes are gathered this long, so that a storm of them is few messages. */
  readonly batchMs: number;
  /** A message at least this often, so that both ends notice a dead connection. */
  readonly tickMs: number;
  /** What a reader may lag behind, beyond its snapshot, before it is dropped. */
  readonly lagMaxBytes: number;
  readonly clientsMax: number;
}

const LIMITS: EventLimits = {
  batchMs: 250,
  tickMs: 10_000,
  lagMaxBytes: 4 * 1024 * 1024,
  clientsMax: 64,
};

/** Streams the fleet to any number of pages. */
export interface EventHub {
  readonly readers: number;
  /** False when there are too many readers already; the response is then untouched. */
  attach(response: ServerResponse, headers: Readonly<Record<string, string>>): boolean;
  /** Ends all streams and stops listening to the fleet. */
  close(): void;
}

interface Client {
  readonly response: ServerResponse;
  readonly bufferMaxBytes: number;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
} as const;

const frame = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * Server-sent events: `snapshot` once per connection, then `change` (batched) and `tick`. A reader
 * that lags is dropped and comes back by itself for a new snapshot, so memory is bounded and
 * nobody is shown half of the truth. The fleet is watched only while somebody reads.
 */
export function createEventHub(deps: EventHubDeps): EventHub {
  const { fleet, clock, log, about } = deps;
  const limits = { ...LIMITS, ...deps.limits };
  const clients = new Set<Client>();
  const batch = createBatch(clock, limits.batchMs, (data) => broadcast(frame('change', data)));
  let watching: Subscription | null = null;
  let ticking: unknown = null;

  const send = (client: Client, text: string) => {
    if (client.response.writableLength + text.length <= client.bufferMaxBytes) {
      client.response.write(text);
      return;
    }
    log.debug({ bufferedBytes: client.response.writableLength }, 'dropping a slow page');
    client.response.destroy();
    deps.onDropped?.();
  };
  const broadcast = (text: string) => {
    for (const client of clients) send(client, text);
  };
  const tick = () => {
    broadcast(`: heartbeat\n${frame('tick', {})}`);
    ticking = clock.setTimeout(tick, limits.tickMs);
  };
  const hangUp = () => {
    for (const { response } of clients) response.end();
  };
  const watch = () => {
    const error = (err: unknown) => {
      log.error({ err: explain(err) }, 'fleet view failed; pages will reconnect');
      watching = null;
      hangUp();
    };
    const subscription = watching ?? fleet.changes$.subscribe({ next: batch.add, error });
    watching = subscription.closed ? null : subscription;
    if (!watching) throw new Error('the fleet view has ended');
    ticking ??= clock.setTimeout(tick, limits.tickMs);
  };
  const rest = () => {
    watching?.unsubscribe();
    watching = null;
    clock.clearTimeout(ticking);
    ticking = null;
    batch.clear();
  };

  return {
    get readers() {
      return clients.size;
    },
    attach(response, headers) {
      if (clients.size >= limits.clientsMax) return false;
      watch();
      const first = `retry: 1000\n${frame('snapshot', { ...about, ...fleet.snapshot() })}`;
      const client = { response, bufferMaxBytes: first.length + limits.lagMaxBytes };
      response.writeHead(200, { ...headers, ...STREAM_HEADERS });
      clients.add(client);
      response.once('close', () => {
        clients.delete(client);
        if (clients.size === 0) rest();
      });
      send(client, first);
      return true;
    },
    close() {
      rest();
      hangUp();
    },
  };
}

/** Gathers changes for `batchMs`; of one machine, and of the fleet, only the latest is kept. */
function createBatch(clock: Clock, batchMs: number, flush: (message: FleetChange) => void) {
  const latest = new Map<Slot, MachineSummary | null>();
  let frame: Omit<FleetChange, 'upserts' | 'removed'> | null = null;
  let timer: unknown = null;
  const clear = () => {
    clock.clearTimeout(timer);
    timer = null;
    frame = null;
    latest.clear();
  };
  const release = () => {
    if (!frame) return;
    const upserts = [...latest.values()].filter((machine) => machine !== null);
    const removed = [...latest].filter(([, machine]) => machine === null).map(([slot]) => slot);
    const message = { ...frame, upserts, removed };
    clear();
    flush(message);
  };
  const add = ({ upserts, removed, ...rest }: FleetChange) => {
    for (const slot of removed) latest.set(slot, null);
    for (const machine of upserts) latest.set(machine.slot, machine);
    frame = { ...frame, ...rest };
    timer ??= clock.setTimeout(release, batchMs);
  };
  return { add, clear };
}
