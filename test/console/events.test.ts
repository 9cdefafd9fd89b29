import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { startConsole } from '../../src/console/console.ts';
import type { Console } from '../../src/console/console.ts';
import type { EventLimits } from '../../src/console/events.ts';
import type { FleetView, MachineSummary } from '../../src/console/port.ts';
import { AT_MS, machine, scriptedFleet, WATCHING } from './scripted-fleet.ts';
import { PATIENCE } from '../support/patience.ts';

const started: Console[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

async function start(
  fleet: FleetView,
  eventLimits: Partial<EventLimits> = {},
  log: Log = silentLog,
) {
  const each = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    fleet,
    metrics: { ...silentMetrics, expose: async () => ({ contentType: 'text/plain', body: '' }) },
    health: () => ({ checks: {} }),
    clock: systemClock,
    log,
    version: '9.9.9',
    inspectorUrl: 'http://127.0.0.1:1/',
    eventLimits,
  });
  started.push(each);
  return each;
}

/** What any of the messages may have. */
interface EventData {
  readonly machines?: readonly MachineSummary[];
  readonly upserts?: readonly MachineSummary[];
}
interface ServerSentEvent {
  readonly type: string;
  readonly data: EventData;
}

const eventOf = (frame: string): ServerSentEvent => ({
  type: /^event: (.*)$/m.exec(frame)?.[1] ?? '',
  data: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null') as EventData,
});

/** A stream as a browser reads it. */
async function listen(url: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}events`, { agent: false }, resolve).on('error', reject);
  });
  const events: ServerSentEvent[] = [];
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const frames = (text + chunk).split('\n\n');
    text = frames.pop() ?? '';
    events.push(...frames.map(eventOf));
  });
  const ended = new Promise<void>((resolve) => response.once('close', () => resolve()));
  response.on('error', () => undefined);
  const until = (count: number, type: string) =>
    vi.waitUntil(() => events.filter((event) => event.type === type).length >= count, 10_000);
  return { response, events, ended, until, hangUp: () => response.destroy() };
}

const ofType = (events: readonly ServerSentEvent[], type: string) =>
  events.filter((event) => event.type === type).map(({ data }) => data);

describe('live events', () => {
  test('a full snapshot first, then what changed', async () => {
    const one = machine('a');
    const fleet = scriptedFleet(one, machine('b'));
    const { url } = await start(fleet);
    const { events, until, response } = await listen(url);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    await until(1, 'snapshot');
    expect(events[0]!.data).toMatchObject({
      version: '9.9.9',
      inspectorUrl: 'http://127.0.0.1:1/',
      mayEraseDisks: [],
      traits: [{ name: 'location', label: 'Location' }],
      atMs: AT_MS,
      counts: { Reserved: 2, Running: 0 },
    });
    expect(events[0]!.data.machines).toHaveLength(2);
    fleet.set(one.slot, { state: 'Running', substate: 'healthy' });
    await until(1, 'change');
    expect(ofType(events, 'change')[0]).toEqual({
      upserts: [{ ...one, state: 'Running', substate: 'healthy' }],
      removed: [],
      needHuman: 0,
      counts: expect.objectContaining({ Reserved: 1, Running: 1 }) as unknown,
    });
  });

  test('the guard is told with the snapshot, and when it stands differently', async () => {
    const one = machine('a');
    const fleet = scriptedFleet(one);
    const { url } = await start(fleet);
    const { events, until } = await listen(url);
    await until(1, 'snapshot');
    expect(events[0]!.data).toMatchObject({ guard: WATCHING, needHuman: 0 });
    const frozen = { ...WATCHING, state: 'frozen' } as const;
    fleet.guard(frozen);
    fleet.set(one.slot, { state: 'Quarantined', substate: 'needsHuman' });
    await until(1, 'change');
    expect(ofType(events, 'change')[0]).toMatchObject({ guard: frozen, needHuman: 1 });
    fleet.set(one.slot, { state: 'Running', substate: 'healthy' });
    await until(2, 'change');
    expect(ofType(events, 'change')[1]).not.toHaveProperty('guard');
  });

  test('a storm of changes is one message with the last word on each machine', async () => {
    const [a, b, c] = [machine('a'), machine('b'), machine('c')];
    const fleet = scriptedFleet(a, b);
    const { url } = await start(fleet);
    const { events, until } = await listen(url);
    await until(1, 'snapshot');
    for (let i = 0; i < 1_000; i += 1) fleet.set(a.slot, { lastHeartbeatAtMs: AT_MS + i });
    fleet.remove(b.slot);
    fleet.put(c);
    fleet.remove(c.slot);
    await until(1, 'change');
    expect(ofType(events, 'change')[0]).toMatchObject({
      upserts: [{ slot: a.slot, lastHeartbeatAtMs: AT_MS + 999 }],
      removed: [b.slot, c.slot],
    });
    fleet.put(b);
    await until(2, 'change');
    expect(ofType(events, 'change')).toHaveLength(2);
    expect(ofType(events, 'change')[1]).toMatchObject({ upserts: [b], removed: [] });
  });

  test('beats when nothing happens', async () => {
    const { url } = await start(scriptedFleet(), { tickMs: 20 });
    const { until } = await listen(url);
    await until(2, 'tick');
  });

  test('watches the fleet only while somebody reads', async () => {
    const fleet = scriptedFleet();
    const { url } = await start(fleet);
    expect(fleet.watched()).toBe(false);
    const [one, other] = [await listen(url), await listen(url)];
    expect(fleet.watched()).toBe(true);
    one.hangUp();
    await one.ended;
    expect(fleet.watched()).toBe(true);
    other.hangUp();
    await vi.waitUntil(() => !fleet.watched(), 10_000);
  });

  test('a reader that does not read is dropped, and others are not', async () => {
    const big = machine('a', { reason: 'x'.repeat(100_000) });
    const fleet = scriptedFleet(big);
    const dropped = vi.fn<(message: string) => void>();
    const log = { ...silentLog, debug: (_fields: object, message: string) => dropped(message) };
    const { url } = await start(fleet, { lagMaxBytes: 1_000_000, batchMs: 1 }, log);
    const [slow, quick] = [await listen(url), await listen(url)];
    await slow.until(1, 'snapshot');
    slow.response.pause();
    let sinceMs = 0;
    const changeUntilDropped = () => {
      fleet.set(big.slot, { sinceMs: ++sinceMs });
      return dropped.mock.calls.length > 0;
    };
    await vi.waitUntil(changeUntilDropped, { ...PATIENCE, interval: 2 });
    slow.response.resume();
    await slow.ended;
    const latest = () => ofType(quick.events, 'change').at(-1)?.upserts?.[0]?.sinceMs === sinceMs;
    await vi.waitUntil(latest, 10_000);
    expect(dropped.mock.calls).toEqual([['dropping a slow page']]);
  });

  test('when the fleet view fails readers are sent away, and not fed with silence', async () => {
    const fleet = scriptedFleet();
    const { url } = await start(fleet);
    const { until, ended } = await listen(url);
    await until(1, 'snapshot');
    fleet.fail(new Error('mirror broke'));
    await ended;
    const { response } = await listen(url);
    expect(response.statusCode).toBe(500);
  });

  test('too many readers are told so', async () => {
    const { url } = await start(scriptedFleet(), { clientsMax: 1 });
    await listen(url);
    const refused = await listen(url);
    expect(refused.response.statusCode).toBe(503);
    expect(refused.response.headers['retry-after']).toBe('5');
  });

  test('closing the console ends all streams', async () => {
    const fleet = scriptedFleet();
    const console = await start(fleet);
    const { ended } = await listen(console.url);
    await console.close();
    started.splice(0);
    await ended;
    expect(fleet.watched()).toBe(false);
  });
});
