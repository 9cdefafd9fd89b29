import type { Bmdb, DeliveryResults, Lease, WebhookService } from '../../adapters/bmdb/port.ts';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { WEBHOOK_OUTCOMES, type Metrics } from '../../adapters/metrics/port.ts';
import type { WebhookSender } from '../../adapters/webhooks/port.ts';
import { explain, FleetError } from '../../domain/errors.ts';
import { cloudEventOf, type EventType, type FleetEvent } from '../../domain/events/fleet-event.ts';
import { verdictOn } from '../../domain/events/retries.ts';
import type { DeliveryAnswer, DeliveryVerdict } from '../../domain/events/retries.ts';
import type { Leases } from '../leases.ts';
import type { SessionKeeper } from '../session-keeper.ts';

export interface DelivererDeps {
  readonly bmdb: Pick<Bmdb, 'events' | 'webhooks'>;
  readonly keeper: SessionKeeper;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  /** Interval of checks for new events and due retries. */
  readonly pollMs: number;
}

export interface Endpoint {
  readonly name: string;
  /** URI that identifies the fleet in deliveries. */
  readonly source: string;
  readonly types: readonly EventType[];
  readonly sender: WebhookSender;
}

/** The lease for deliveries to a webhook. */
export const webhookJob = (name: string): string => `webhook/${name}`;

/** Maximum number of simultaneous deliveries to one webhook. */
const AT_ONCE = 4;
/**
 * After this many consecutive attempts without a receiver, attempts start this far apart until one
 * succeeds. So a dead receiver costs little and is not flooded on its return.
 */
const FAILURES_MAX = 8;
const FAILING_PAUSE_MS = 100;
/** Number of new events and due retries to read ahead, once the previous ones are used up. */
const READ_MAX = 32;
/** This many results are written at once; fewer results after a while. */
const RECORD_MAX = 32;
const RECORD_MS = 500;
/** Interval of checks of a webhook that is disabled or cannot be served here. */
const REST_MS = 10_000;
const OLDEST_MS = 10_000;

/**
 * Delivers to a webhook, forever, while this daemon has its lease. Records an event as delivered or
 * failed after it was sent: a crash in between sends it again with the same id.
 * @returns a function that stops it, and resolves when nothing is under way.
 */
export function startDeliverer(deps: DelivererDeps, endpoint: Endpoint): () => Promise<void> {
  const { clock, log, metrics } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const outcome of WEBHOOK_OUTCOMES) {
    metrics.count('shepherd_webhook_deliveries_total', { webhook: endpoint.name, outcome }, 0);
  }
  const run = async () => {
    while (!signal.aborted) {
      try {
        await deliverWhileLeased(deps, endpoint, signal);
      } catch (error) {
        // Other components report failures of the database, the session and its leases.
        const level = error instanceof FleetError ? 'debug' : 'error';
        const fields = { webhook: endpoint.name, err: error };
        if (!signal.aborted) log[level](fields, 'deliveries to a webhook pause for now');
      }
      metrics.clear('shepherd_webhook_oldest_seconds', { webhook: endpoint.name });
      if (!signal.aborted) await sleep(clock, REST_MS, signal).catch(() => undefined);
    }
  };
  const ended = run();
  return async () => {
    stopping.abort();
    await ended;
    endpoint.sender.close();
  };
}

/** Returns when the webhook is disabled. @throws {FleetError} the lease or the database is gone. */
async function deliverWhileLeased(
  deps: DelivererDeps,
  endpoint: Endpoint,
  stopping: AbortSignal,
): Promise<void> {
  const { leases, keeper, bmdb } = deps;
  await keeper.whenAlive(stopping);
  const lease = await leases.take(webhookJob(endpoint.name), stopping);
  const session = keeper.require();
  const signal = AbortSignal.any([stopping, session.signal]);
  const from = await bmdb.events.newest(signal);
  const begun = await session.webhooks.begin(lease, endpoint.name, from);
  if (begun.isDisabled) return;
  const round = createRound(
    deps,
    endpoint,
    { lease, service: session.webhooks, signal },
    begun.toldTo,
  );
  try {
    while (!(await round.step())) signal.throwIfAborted();
  } finally {
    await round.end();
  }
}

interface Item {
  readonly number: string;
  readonly event: FleetEvent | null;
  /** Number of earlier attempts. */
  readonly attempts: number;
  readonly isNew: boolean;
}
interface JudgedDelivery {
  readonly item: Item;
  readonly verdict: DeliveryVerdict;
}
interface HeldDelivery {
  readonly lease: Lease;
  readonly service: WebhookService;
  readonly signal: AbortSignal;
}

/** Deliveries during one holding of the lease. Memory is bounded, however many events there are. */
function createRound(deps: DelivererDeps, endpoint: Endpoint, held: HeldDelivery, toldTo: string) {
  const { bmdb, clock, random, log, metrics, nowMs, pollMs } = deps;
  const { name, sender, source } = endpoint;
  const { lease, service, signal } = held;
  const queue: Item[] = [];
  const underWay = new Map<string, Promise<void>>();
  let settled: JudgedDelivery[] = [];
  /** New events that were read and not recorded yet, in order. */
  const open = new Map<string, FleetEvent>();
  let readTo = toldTo;
  let writtenTo = toldTo;
  let wrotAtMs = clock.monotonic();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Failures in a row. */
  let failures = 0;
  let beganAtMs = Number.NEGATIVE_INFINITY;
  const stopping = new AbortController();
  const sending = AbortSignal.any([signal, stopping.signal]);

  const wants = ({ type, details }: FleetEvent): boolean =>
    type === 'webhook.test' ? details['webhook'] === name : endpoint.types.includes(type);
  const busy = (): string[] => [
    ...queue.map(({ number }) => number),
    ...underWay.keys(),
    ...settled.map(({ item }) => item.number),
  ];
  /** Retries and new events alternate. */
  const fill = async () => {
    const types = [...new Set([...endpoint.types, 'webhook.test' as const])];
    const query = { after: readTo, limit: READ_MAX, types };
    const [due, page] = await Promise.all([
      service.due(name, busy(), READ_MAX),
      bmdb.events.read(query, signal),
    ]);
    const again = due.map((each): Item => ({ ...each, isNew: false }));
    const fresh: Item[] = [];
    readTo = page.next;
    for (const event of page.events.filter(wants)) {
      open.set(event.number, event);
      fresh.push({ number: event.number, event, attempts: 0, isNew: true });
    }
    for (let at = 0; at < Math.max(again.length, fresh.length); at++) {
      queue.push(...[again[at], fresh[at]].filter((item) => item !== undefined));
    }
  };
  /** Null: the delivery was aborted before an answer came. */
  const answerTo = async (event: FleetEvent): Promise<DeliveryAnswer | null> => {
    try {
      const told = cloudEventOf(event, source);
      return await sender.send({ id: told.id, body: JSON.stringify(told) }, sending);
    } catch (error) {
      if (sending.aborted) return null;
      log.error({ webhook: name, event: event.number, err: error }, 'an event could not be sent');
      return { status: null, cause: explain(error) };
    }
  };
  const send = async (item: Item) => {
    const { event, attempts } = item;
    const answer = event && (await answerTo(event));
    if (event && !answer) return;
    const verdict: DeliveryVerdict = answer
      ? verdictOn(answer, attempts + 1, random.next())
      : { verdict: 'dead', status: null, cause: 'the event is no longer stored' };
    settled.push({ item, verdict });
    if (answer) failures = isThere(answer) ? 0 : failures + 1;
    metrics.count('shepherd_webhook_deliveries_total', {
      webhook: name,
      outcome: outcomeOf(verdict),
    });
  };
  const begin = (item: Item) => {
    beganAtMs = clock.monotonic();
    const sent = send(item).finally(() => void underWay.delete(item.number));
    underWay.set(item.number, sent);
  };
  /** Pause until the next attempt may begin. */
  const pauseMs = (): number =>
    failures < FAILURES_MAX ? 0 : Math.max(0, beganAtMs + FAILING_PAUSE_MS - clock.monotonic());
  /** @returns whether the webhook is disabled. */
  const record = async (): Promise<boolean> => {
    const these = settled;
    for (const { item } of these) if (item.isNew) open.delete(item.number);
    const next = open.keys().next();
    const told = next.done ? readTo : String(BigInt(next.value) - 1n);
    wrotAtMs = clock.monotonic();
    if (these.length === 0 && told === writtenTo) return false;
    const results = resultsOf(these, told);
    // Deliveries that end meanwhile are recorded next time.
    settled = [];
    try {
      await service.record(lease, name, results);
    } catch (error) {
      settled = [...these, ...settled];
      throw error;
    }
    writtenTo = told;
    for (const { verdict, number, type } of deadOf(these)) {
      log.warn({ webhook: name, event: number, type, cause: verdict.cause }, 'a dead letter');
    }
    if (results.disabled !== null) {
      log.warn({ webhook: name, cause: results.disabled }, 'the webhook is disabled');
    }
    return results.disabled !== null;
  };
  const tellOldest = async () => {
    if (clock.monotonic() - lookedAtMs < OLDEST_MS) return;
    lookedAtMs = clock.monotonic();
    const standing = (await bmdb.webhooks.list(signal)).find((each) => each.name === name);
    const [first] = open.values();
    const oldestMs = Math.min(standing?.waitingSinceMs ?? Infinity, first?.atMs ?? Infinity);
    const seconds = oldestMs === Infinity ? 0 : Math.max(0, nowMs() - oldestMs) / 1_000;
    metrics.set('shepherd_webhook_oldest_seconds', { webhook: name }, seconds);
  };
  return {
    /** @returns whether the webhook is disabled. */
    async step(): Promise<boolean> {
      if (queue.length === 0) await fill();
      while (underWay.size < AT_ONCE && queue.length > 0 && pauseMs() === 0) begin(queue.shift()!);
      const isIdle = underWay.size === 0 && queue.length === 0;
      const forMs = queue.length > 0 && underWay.size < AT_ONCE ? pauseMs() : pollMs;
      if (!isIdle) await anyOf([...underWay.values()], clock, forMs, signal);
      const isEnough = settled.length >= RECORD_MAX || clock.monotonic() - wrotAtMs >= RECORD_MS;
      const isGone = settled.some(({ verdict }) => verdict.verdict === 'disabled');
      if ((isEnough || isGone || isIdle) && (await record())) return true;
      await tellOldest();
      if (isIdle) await sleep(clock, pollMs, signal);
      return false;
    },
    /** Records sent events if that is still possible. */
    async end(): Promise<void> {
      stopping.abort();
      await Promise.all(underWay.values());
      if (settled.length > 0) await record();
    },
  };
}

/** Statuses that refuse this body: the next event's body may be accepted. */
const REFUSES_ONE: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
/** Whether a receiver exists: it accepts an event or refuses only this one. */
const isThere = ({ status }: DeliveryAnswer): boolean =>
  status !== null && (status < 300 || REFUSES_ONE.has(status));

const outcomeOf = ({ verdict }: DeliveryVerdict) => (verdict === 'retry' ? 'failed' : verdict);

const deadOf = (settled: readonly JudgedDelivery[]) =>
  settled.flatMap(({ item, verdict }) =>
    verdict.verdict === 'dead'
      ? [{ verdict, number: item.number, type: item.event?.type ?? null }]
      : [],
  );

function resultsOf(settled: readonly JudgedDelivery[], toldTo: string): DeliveryResults {
  const delivered = settled.filter(({ verdict }) => verdict.verdict === 'delivered');
  const gone = settled.find(({ verdict }) => verdict.verdict === 'disabled');
  return {
    toldTo,
    hasDelivered: delivered.length > 0,
    delivered: delivered.filter(({ item }) => !item.isNew).map(({ item }) => item.number),
    failed: settled.flatMap(({ item: { number, event, attempts }, verdict }) => {
      if (verdict.verdict === 'delivered') return [];
      // An event whose receiver is gone comes first when an operator enables the webhook.
      const nextInMs =
        verdict.verdict === 'retry' ? verdict.inMs : verdict.verdict === 'dead' ? null : 0;
      const { status, cause } = verdict;
      const type = event?.type ?? 'unknown';
      return [{ number, type, attempts: attempts + 1, nextInMs, status, cause }];
    }),
    disabled: gone?.verdict.verdict === 'disabled' ? gone.verdict.cause : null,
  };
}

/** Waits until one of them ends, or for a while. */
async function anyOf(
  promises: readonly Promise<void>[],
  clock: Clock,
  forMs: number,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const pause = sleep(clock, forMs, AbortSignal.any([signal, over.signal])).catch(() => undefined);
  await Promise.race([...promises, pause]);
  over.abort();
}
