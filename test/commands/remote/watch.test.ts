import { describe, expect, test, vi } from 'vitest';
import { sleep } from '../../../src/adapters/clock/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { NoConsole } from '../../../src/commands/remote/failures.ts';
import {
  eventsIn,
  createHttpTransport,
  type Transport,
} from '../../../src/commands/remote/client.ts';
import type { Console } from '../../../src/console/console.ts';
import { slot } from '../../../src/domain/ids.ts';
import { startScriptedConsole } from '../../console/scripted-console.ts';
import { machine, scriptedFleet, type ScriptedFleet } from '../../console/scripted-fleet.ts';
import { PATIENCE } from '../../support/patience.ts';
import { machineStand } from '../machine-stand.ts';
import { runThrough, scriptedTransport, type CommandResult } from '../run-through.ts';
import { commandStand } from '../shown.ts';

const open = (fleet: ScriptedFleet, port: number): Promise<Console> =>
  startScriptedConsole({ fleet, listen: { host: '127.0.0.1', port } });

interface WatchLine {
  readonly change: string;
  readonly slot?: string;
  readonly machine?: { readonly slot: string; readonly state: string };
}

/** Watches in the background; its lines so far, and how it ends. */
function watching(transport: Transport, stop: AbortController, args: readonly string[] = []) {
  const written: string[] = [];
  const remarks: string[] = [];
  const said = () =>
    written
      .join('')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as WatchLine);
  const ended: Promise<CommandResult> = runThrough(
    {
      transport,
      monotonic: systemClock.monotonic,
      sleep: (ms) => sleep(systemClock, Math.min(ms, 50), stop.signal).catch(() => undefined),
      signal: stop.signal,
      onWrite: (text) => written.push(text),
      onSay: (text) => remarks.push(text),
    },
    ['machines', '--watch', ...args],
  );
  return { said, remarks, ended };
}
const told = ({ change, slot: name, machine: row }: WatchLine) =>
  `${change} ${name ?? `${row!.slot} ${row!.state}`}`;

describe('V44: --watch without a terminal', () => {
  test('outlives a restart of the console, tells each change once, and ends with 0', async () => {
    const fleet = scriptedFleet();
    fleet.put(machine('a', { state: 'Running', substate: 'healthy' }), machine('b'));
    let web = await open(fleet, 0);
    const port = Number(new URL(web.url).port);
    const transport = createHttpTransport({
      url: web.url,
      token: null,
      version: '0.0.0',
      advice: 'wait',
    });
    const stop = new AbortController();
    const { said, remarks, ended } = watching(transport, stop);
    const sees = (line: string) =>
      vi.waitFor(() => expect(said().map(told)).toContain(line), PATIENCE);
    await sees('new equinix/b Reserved');
    fleet.set(slot('equinix', 'a'), { state: 'Recovering', substate: 'rebooting' });
    await sees('changed equinix/a Recovering');
    fleet.set(slot('equinix', 'a'), { lastHeartbeatAtMs: 1 });
    await web.close();
    await vi.waitFor(() => expect(remarks).not.toEqual([]), PATIENCE);

    const after = scriptedFleet();
    after.put(
      machine('a', { state: 'Recovering', substate: 'rebooting', lastHeartbeatAtMs: 2 }),
      machine('c'),
    );
    web = await open(after, port);
    await sees('gone equinix/b');
    await sees('new equinix/c Reserved');
    stop.abort();
    const { code, stderr } = await ended;
    await web.close();
    expect(code).toBe(0);
    expect(stderr).toMatch(/no console answers .*; trying again\n/);
    // A heartbeat is no change, nor is that the console was started anew.
    expect(said().map(told)).toEqual([
      'new equinix/a Running',
      'new equinix/b Reserved',
      'changed equinix/a Recovering',
      'gone equinix/b',
      'new equinix/c Reserved',
    ]);
  });
});

test('what a console that was just started has not told yet is not gone', async () => {
  const row = (id: string) => ({ slot: `metal/${id}`, state: 'Running' });
  const all = { upserts: [row('a'), row('b')], order: ['metal/a', 'metal/b'], total: 2 };
  const part = { upserts: [row('a')], order: ['metal/a'], total: 1 };
  const stop = new AbortController();
  const streams = [
    [{}, all],
    [{ isWhole: false }, part],
    [{}, { ...all, upserts: [row('a'), { ...row('b'), state: 'Idle' }] }],
  ];
  const transport = scriptedTransport(() => Promise.reject(new NoConsole('nobody')), {
    async *stream() {
      const [hello, rows] = streams.shift()!;
      const data = JSON.stringify({ atMs: 1, resume: 'full', ...hello });
      yield { id: null, event: 'hello', data };
      yield { id: '1', event: 'rows', data: JSON.stringify(rows) };
      if (streams.length === 0) stop.abort();
    },
  });
  const { said, ended } = watching(transport, stop);
  expect((await ended).code).toBe(0);
  expect(said().map(told)).toEqual([
    'new metal/a Running',
    'new metal/b Running',
    'changed metal/b Idle',
  ]);
});

test('a console that was just started names no machine by a beginning', async () => {
  let isWhole = false;
  const fleet = { ...scriptedFleet(), isWhole: () => isWhole };
  fleet.put(machine('abcd-1111'));
  const web = await open(fleet, 0);
  const ask = (name: string) => fetch(`${web.url}api/v1/resolve?name=${encodeURIComponent(name)}`);
  try {
    const early = await ask('abcd');
    expect(early.status).toBe(503);
    expect(early.headers.get('retry-after')).toBe('1');
    expect((await ask('equinix/abcd-1111')).status).toBe(200);
    isWhole = true;
    expect(await (await ask('abcd')).json()).toMatchObject({ machines: [{ whole: false }] });
  } finally {
    await web.close();
  }
});

test('events --follow tells each once, in their order, and goes on where it stopped', async () => {
  const { bmdb, transport: inner, close } = await commandStand();
  let isAway = false;
  const transport: Transport = {
    ...inner,
    send: (question) =>
      isAway ? Promise.reject(new NoConsole('no console answers')) : inner.send(question),
  };
  const append = (reason: string) =>
    bmdb.events.append({ type: 'webhook.test', actor: 'ann', reason, details: { webhook: 'x' } });
  await append('before');
  const stop = new AbortController();
  const written: string[] = [];
  const remarks: string[] = [];
  const ended = runThrough(
    {
      ...{ transport, monotonic: systemClock.monotonic, signal: stop.signal },
      sleep: () => sleep(systemClock, 20, stop.signal).catch(() => undefined),
      onWrite: (text) => written.push(text),
      onSay: (text) => remarks.push(text),
    },
    ['events', '--follow', '--after', '0', '--type', 'webhook.test', '-o', 'ndjson'],
  );
  const reasons = () => written.map((line) => (JSON.parse(line) as { reason: string }).reason);
  await vi.waitFor(() => expect(reasons()).toEqual(['before']), PATIENCE);
  isAway = true;
  await vi.waitFor(() => expect(remarks).toHaveLength(1), PATIENCE);
  for (const reason of ['one', 'two']) await append(reason);
  isAway = false;
  await vi.waitFor(() => expect(reasons()).toEqual(['before', 'one', 'two']), PATIENCE);
  stop.abort();
  expect(await ended).toMatchObject({ code: 0 });
  expect(remarks).toEqual(['no console answers; trying again', 'the console answers again']);
  await close();
});

test('events shows the latest ones; --since and --tail choose among them', async () => {
  const stand = machineStand();
  const { bmdb, clock } = stand;
  const append = (reason: string) =>
    bmdb.events.append({ type: 'webhook.test', actor: 'ann', reason, details: { webhook: 'x' } });
  for (let at = 1; at <= 150; at += 1) await append(`old ${at}`);
  clock.increment(3 * 3_600_000);
  for (let at = 1; at <= 3; at += 1) await append(`new ${at}`);
  const s = await commandStand({}, stand);
  const run = (...args: string[]) => s.run(['events', '--type', 'webhook.test', ...args]);
  const reasons = async (...args: string[]) =>
    [...(await run(...args)).stdout.matchAll(/(?:old|new) \d+/g)].map(([found]) => found);
  const latest = await reasons();
  expect(latest).toHaveLength(100);
  expect([latest[0], latest.at(-1)]).toEqual(['old 54', 'new 3']);
  expect(await reasons('--since', '2h')).toEqual(['new 1', 'new 2', 'new 3']);
  expect(await reasons('--tail', '2')).toEqual(['new 2', 'new 3']);
  expect(await reasons('--after', '0', '--limit', '2')).toEqual(['old 1', 'old 2']);
  expect(await run('--tail', '1001')).toMatchObject({ code: 2 });
  await s.close();
});

test('messages are read wherever their bytes are cut (WHATWG HTML, 9.2.6)', async () => {
  const text =
    ': comment\nretry: 5\n\nid: 1.2\nevent: rows\ndata: {"a":\ndata: "ü"}\n\ndata:x\r\n\r\nevent: z\n\n';
  const bytes = Buffer.from(text);
  const expected = [
    { id: '1.2', event: 'rows', data: '{"a":\n"ü"}' },
    { id: '1.2', event: 'message', data: 'x' },
  ];
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const found = [];
    const cut = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })();
    for await (const message of eventsIn(cut)) found.push(message);
    expect(found, `${size} bytes at once`).toEqual(expected);
  }
});
