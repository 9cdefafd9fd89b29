import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { failureDelayMs, spread } from '../../src/agent/backoff.ts';
import { parseEndpoint } from '../../src/agent/endpoint.ts';
import { runHeartbeatLoop } from '../../src/agent/heartbeat-loop.ts';
import type { LoopEnd } from '../../src/agent/heartbeat-loop.ts';
import type { Installer } from '../../src/agent/installation.ts';
import type { HeartbeatRequest, HeartbeatResponse } from '../../src/wire/codec.ts';
import { GrpcError, GrpcStatus } from '../../src/wire/grpc.ts';

describe('waits', () => {
  test('failures wait 500 ms and half as long again each time, ±50 %, at most a minute', () => {
    expect([1, 2, 3].map((failures) => failureDelayMs(failures, 0.5))).toEqual([500, 750, 1125]);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (n, r) => {
          const delayMs = failureDelayMs(n, r);
          expect(delayMs).toBeGreaterThanOrEqual(250);
          expect(delayMs).toBeLessThanOrEqual(60_000);
        },
      ),
    );
  });

  test('a spread stays in its share', () => {
    expect(spread(30_000, 0.1, 0)).toBe(27_000);
    expect(spread(30_000, 0.1, 0.5)).toBe(30_000);
  });
});

describe('endpoint', () => {
  test.each([
    ['shepherd.lan:8080', { host: 'shepherd.lan', port: 8080 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:443', { host: '::1', port: 443 }],
  ])('%s', (text, expected) => expect(parseEndpoint(text)).toEqual(expected));

  test.each(['', 'host', 'host:', ':80', 'host:0', 'host:65536', '::1:80', '[x]:80', 'a b:1'])(
    '%j is none',
    (text) => expect(() => parseEndpoint(text)).toThrow(/endpoint is not host:port/),
  );
});

/** On vitest's fake timers. */
const sleep = (delayMs: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    setTimeout(resolve, delayMs);
  });

/** The loop under virtual time, with a server that answers as told. */
function createBench(install: Installer = () => Promise.resolve()) {
  const requests: HeartbeatRequest[] = [];
  const stop = new AbortController();
  const answers: (() => HeartbeatResponse)[] = [];
  let otherwise = (): HeartbeatResponse => ({});
  const reports = { made: 0 };
  const client = {
    close: () => undefined,
    heartbeat: (request: HeartbeatRequest) => {
      requests.push(request);
      return Promise.resolve().then(answers.shift() ?? otherwise);
    },
  };
  let end: LoopEnd | undefined;
  const loop = runHeartbeatLoop(
    {
      client,
      machineId: 'm',
      bootId: 'b',
      agentVersion: 'v',
      uptime: () => 42.9,
      hardwareReport: () => {
        reports.made += 1;
        return Promise.resolve({ report: { product: `made ${reports.made}` } });
      },
      install,
      time: { now: () => performance.now(), sleep, random: () => 0.5 },
      log: () => undefined,
    },
    stop.signal,
  ).then((reason) => (end = reason));
  return {
    requests,
    answers,
    stop: () => stop.abort(),
    loop,
    ended: () => end,
    always: (answer: () => HeartbeatResponse) => void (otherwise = answer),
  };
}

const fail = (status: number) => () => {
  throw new GrpcError(status, 'no');
};
const MINUTE_MS = 60_000;

describe('heartbeat loop', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  test('says who it is, every 30 s, and the hardware report with the second', async () => {
    const { requests, stop, loop } = createBench();
    await pass(0);
    expect(requests).toEqual([
      { machineId: 'm', bootId: 'b', agentVersion: 'v', phase: 0, uptimeSeconds: 42n },
    ]);
    await pass(29_999);
    expect(requests).toHaveLength(1);
    await pass(1);
    expect(requests[1]).toHaveProperty('hardwareReport');
    await pass(10 * MINUTE_MS);
    expect(requests.filter((each) => each.hardwareReport)).toHaveLength(1);
    stop();
    expect(await loop).toBe('stopped');
  });

  test('sends the hardware report until one comes through, on request, and once a day', async () => {
    const { requests, answers, stop } = createBench();
    const withReport = () => requests.flatMap((each, at) => (each.hardwareReport ? [at] : []));
    answers.push(
      () => ({}),
      fail(GrpcStatus.unavailable),
      () => ({}),
      () => ({}),
      () => ({ sendHardwareReport: true }),
      () => ({}),
    );
    await pass(10 * MINUTE_MS);
    expect(withReport()).toEqual([1, 2, 5]);
    await pass(24 * 60 * MINUTE_MS);
    expect(withReport()).toHaveLength(4);
    stop();
  });

  test('obeys the period it is given, within reason', async () => {
    const { requests, answers, stop } = createBench();
    answers.push(() => ({ heartbeatIntervalSeconds: 2n }));
    await pass(10_000);
    expect(requests).toHaveLength(6);
    answers.push(() => ({ heartbeatIntervalSeconds: 2n ** 62n }));
    await pass(2_000);
    await pass(60 * MINUTE_MS);
    expect(requests).toHaveLength(8);
    answers.push(() => ({ heartbeatIntervalSeconds: -5n }));
    await pass(60 * MINUTE_MS);
    expect(requests).toHaveLength(9);
    stop();
  });

  test('waits longer after each failure, and forgets them with a success', async () => {
    const { requests, answers, stop } = createBench();
    const down = fail(GrpcStatus.unavailable);
    answers.push(down, down, down, () => ({}), down);
    const counts = [];
    for (const ms of [0, 500, 750, 1125, 30_000, 500]) {
      await pass(ms);
      counts.push(requests.length);
    }
    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    stop();
  });

  test('gives up after half an hour of nothing but refusals', async () => {
    const { always, ended, loop } = createBench();
    always(fail(GrpcStatus.unauthenticated));
    await pass(29 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    await pass(3 * MINUTE_MS);
    expect(await loop).toBe('disowned');
  });

  test('never gives up while the service is only away', async () => {
    const { always, ended, stop } = createBench();
    always(fail(GrpcStatus.unavailable));
    await pass(300 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    stop();
  });

  test('reports an error for each generation once, and lives on', async () => {
    const tried: (bigint | null | undefined)[] = [];
    const { requests, always, stop, ended } = createBench((request) => {
      tried.push(request.generation);
      return Promise.reject(new Error('no disk'));
    });
    let generation = 7n;
    always(() => ({ installationRequest: { generation } }));
    await pass(5 * MINUTE_MS);
    generation = 8n;
    await pass(5 * MINUTE_MS);
    expect(tried).toEqual([7n, 8n]);
    const reports = requests.flatMap((each) => each.installationReport ?? []);
    expect(reports).toEqual([
      { generation: 7n, error: { error: 'no disk' } },
      { generation: 8n, error: { error: 'no disk' } },
    ]);
    expect(ended()).toBeUndefined();
    stop();
  });

  test('heartbeats while it installs, reports at once when done, and ends', async () => {
    let finish = () => {};
    const { requests, always, loop } = createBench(
      () => new Promise((resolve) => (finish = resolve)),
    );
    always(() => ({ installationRequest: { generation: 1n } }));
    await pass(5 * MINUTE_MS);
    expect(requests.slice(1).every((each) => each.phase === 1)).toBe(true);
    const before = requests.length;
    finish();
    await pass(0);
    expect(await loop).toBe('installed');
    expect(requests).toHaveLength(before + 1);
    expect(requests.at(-1)).toMatchObject({
      phase: 2,
      installationReport: { generation: 1n, success: {} },
    });
  });

  test('a generation that is not positive is an error, not an installation', async () => {
    let installed = 0;
    const { requests, always, stop } = createBench(() => {
      installed += 1;
      return Promise.resolve();
    });
    always(() => ({ installationRequest: { generation: 0n } }));
    await pass(MINUTE_MS);
    expect(installed).toBe(0);
    expect(requests.filter((each) => each.installationReport)).toMatchObject([
      { installationReport: { generation: 0n, error: {} } },
    ]);
    stop();
  });
});
