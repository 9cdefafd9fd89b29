import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { Interrupted, NoConsole } from '../../../src/commands/remote/failures.ts';
import { createHttpTransport } from '../../../src/commands/remote/client.ts';
import { runThrough, scriptedTransport } from '../run-through.ts';
import { testRows } from '../../support/rows.ts';

const [ID, OTHER] = ['a', 'b'].map((end) => `00000000-0000-4000-8000-00000000000${end}`);
const slot = 'metal/slot-1';
const machine = (change: object = {}) => ({
  ...{ slot, machineId: ID, state: 'Starting', substate: 'x', reason: null, holds: [] },
  ...{ requests: [], atMs: 1, ...change },
});
type ConsoleAnswer = object | number | 'lost';

/** Waits for Running, 60 s at most, in virtual time; what the console answers to each look. */
async function waiting(
  name: string,
  answers: (look: number, nowMs: number) => ConsoleAnswer,
  signal = new AbortController().signal,
) {
  let [nowMs, looks] = [0, 0];
  const answer = (path: string): ConsoleAnswer => {
    if (!path.endsWith('/resolve')) return answers((looks += 1), nowMs);
    const by = name === slot ? 'slot' : 'machine';
    return { machines: [{ slot, machineId: ID, by, whole: true }], more: false };
  };
  const transport = scriptedTransport(async ({ path }) => {
    const found = answer(path);
    if (found === 'lost') throw new NoConsole('it hung up');
    if (typeof found === 'object') return { status: 200, headers: {}, text: JSON.stringify(found) };
    const code = { 404: 'not-found', 429: 'limited', 503: 'unavailable' }[found]!;
    const problem = { type: '', title: '', status: found, detail: `it is ${code}`, code };
    return { status: found, headers: {}, text: JSON.stringify(problem) };
  });
  const sleep = async (ms: number) => void (nowMs += ms);
  const args = ['machine', 'wait', name, '--for', 'state=Running', '--timeout', '60s'];
  const ran = await runThrough({ transport, monotonic: () => nowMs, sleep, signal }, args);
  return { ...ran, nowMs };
}
const running = machine({ state: 'Running' });

describe('machine wait', () => {
  test.each<ConsoleAnswer>(['lost', 429, 503])(
    'asks again after %j, and is late in the end',
    async (no) => {
      const met = await waiting(slot, (look) => (look < 9 ? no : running));
      expect(met).toMatchObject({ code: 0, stdout: expect.stringContaining('is reached') });
      expect(await waiting(slot, () => no)).toMatchObject({ code: 3, nowMs: 60_000 });
      const late = await waiting(slot, (look) => (look === 1 ? machine() : no));
      expect(late).toMatchObject({
        code: 3,
        stdout: expect.stringMatching(/is not reached \(it /),
      });
    },
  );

  testRows([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends it as the signal has it, and it is told how far it is', async (by, code) => {
    const stop = new AbortController();
    const look = (at: number) => {
      if (at === 3) stop.abort(new Interrupted(by));
      return machine();
    };
    expect(await waiting(slot, look, stop.signal)).toMatchObject({
      code,
      stdout: `${slot}: the wait for state=Running was stopped; it is Starting · x\n`,
    });
  });

  test('believes only after a while that a machine is gone', async () => {
    const met = await waiting(slot, (look) => (look < 9 ? 404 : running));
    expect(met.code).toBe(0);
    const gone = await waiting(slot, (look) => (look === 1 ? machine() : 404));
    expect(gone).toMatchObject({ code: 1, stdout: expect.stringContaining('no daemon knows') });
    expect(gone.nowMs).toBeLessThan(20_000);
  });

  test('for a machine is not met by the next one on its slot', async () => {
    const next = machine({ machineId: OTHER, state: 'Running' });
    const told = await waiting(ID!, (look) => (look === 1 ? machine() : next));
    expect(told).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('another machine is on'),
    });
    expect(await waiting(slot, () => next)).toMatchObject({ code: 0 });
  });
});

test('a stream that is dead without a word is ended, before and after its first byte', async () => {
  let asked = 0;
  const server = createServer((_, back) => {
    asked += 1;
    if (asked > 1) back.writeHead(200).write('event: tick\ndata: {}\n\n');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = createHttpTransport({
    url,
    token: null,
    version: '0',
    advice: 'wait',
    quietMs: 2_000,
  });
  const read = async () => {
    const events: string[] = [];
    const { signal } = new AbortController();
    for await (const { event } of transport.stream({ method: 'GET', path: '/', signal })) {
      events.push(event);
    }
    return events;
  };
  const beganMs = systemClock.monotonic();
  try {
    await expect(read()).rejects.toThrow(NoConsole);
    expect(await read()).toEqual(['tick']);
    expect(systemClock.monotonic() - beganMs).toBeGreaterThan(3_500);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
