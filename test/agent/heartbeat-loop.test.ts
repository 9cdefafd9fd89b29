import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { failureDelayMs } from '../../src/agent/heartbeat-loop.ts';
import { GrpcStatus } from '../../src/wire/grpc.ts';
import { createBench, fail, MINUTE_MS } from './heartbeat-bench.ts';

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
});

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
    const { withReport, answers, stop } = createBench();
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

  test('sends the hardware report when it is another than before', async () => {
    const { withReport, requests, reports, stop } = createBench();
    await pass(60 * MINUTE_MS);
    expect(withReport()).toEqual([1]);
    expect(reports.made).toBeGreaterThan(4);
    reports.product = 'b';
    await pass(11 * MINUTE_MS);
    expect(withReport()).toHaveLength(2);
    expect(requests[withReport()[1]!]!.hardwareReport).toEqual({ report: { product: 'b' } });
    stop();
  });

  test('heartbeats do not wait for a hardware report that takes its time', async () => {
    const { withReport, requests, reports, stop } = createBench();
    let open = () => {};
    reports.gate = new Promise((resolve) => (open = resolve));
    await pass(10 * MINUTE_MS);
    expect(requests).toHaveLength(21);
    expect([withReport(), reports.made]).toEqual([[], 1]);
    open();
    await pass(MINUTE_MS);
    expect(withReport()).toEqual([21]);
    stop();
  });

  test('a hardware report that cannot be made is tried again, and harms nothing', async () => {
    const { withReport, requests, reports, stop } = createBench();
    reports.gate = Promise.reject(new Error('no sysfs'));
    await pass(5 * MINUTE_MS);
    expect(requests).toHaveLength(11);
    reports.gate = Promise.resolve();
    await pass(MINUTE_MS);
    expect(withReport()).toHaveLength(1);
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

  test.each([
    [0, 27_000],
    [0.75, 31_500],
  ])('does not march in step: with chance %d it comes after %d ms', async (chance, periodMs) => {
    const bench = createBench();
    bench.chance.next = chance;
    await pass(periodMs - 1);
    expect(bench.requests).toHaveLength(1);
    await pass(1);
    expect(bench.requests).toHaveLength(2);
    bench.stop();
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
    always(() => ({ installationRequest: { generation: 1n }, reboot: true }));
    await pass(5 * MINUTE_MS);
    expect(requests.slice(1).every((each) => each.phase === 1)).toBe(true);
    const before = requests.length;
    // Not in the breath that follows each heartbeat.
    await pass(1_000);
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

  test('a server that asks for another generation each time does not make it run hot', async () => {
    const { requests, always, stop } = createBench(() => Promise.reject(new Error('no disk')));
    let generation = 0n;
    always(() => ({ installationRequest: { generation: (generation += 1n) - 5n } }));
    await pass(10_000);
    expect(requests.length).toBeLessThanOrEqual(51);
    stop();
  });

  test('an installation that does not end is an error after a quarter of an hour', async () => {
    const signals: AbortSignal[] = [];
    const { requests, always, stop } = createBench((_request, signal) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    always(() => ({ installationRequest: { generation: 1n } }));
    await pass(14 * MINUTE_MS);
    expect(requests.slice(1).every(({ phase }) => phase === 1)).toBe(true);
    expect(signals[0]!.aborted).toBe(false);
    await pass(2 * MINUTE_MS);
    expect(signals[0]!.aborted).toBe(true);
    expect(requests.flatMap((each) => each.installationReport ?? [])).toEqual([
      { generation: 1n, error: { error: 'it took longer than 15 minutes' } },
    ]);
    expect(requests.at(-1)).toMatchObject({ phase: 0 });
    expect(signals).toHaveLength(1);
    stop();
  });

  test('a report that is not delivered goes along again, with the same words', async () => {
    const { requests, answers, always, stop, loop } = createBench();
    always(() => ({ reboot: true }));
    const down = fail(GrpcStatus.unavailable);
    answers.push(() => ({ installationRequest: { generation: 1n } }), down, down);
    await pass(MINUTE_MS);
    expect(await loop).toBe('installed');
    const reports = requests.map((each) => each.installationReport);
    expect(reports).toEqual([undefined, ...Array.from({ length: 3 }, () => reports[1])]);
    expect(requests.slice(1).every(({ phase }) => phase === 2)).toBe(true);
    stop();
  });

  test('drops an installation report that the server calls invalid, and goes on', async () => {
    const tried: unknown[] = [];
    const { requests, answers, always, said, ended, stop } = createBench((request) => {
      tried.push(request.generation);
      return Promise.resolve();
    });
    let generation = 1n;
    always(() => ({ installationRequest: { generation }, reboot: true }));
    answers.push(() => ({ installationRequest: { generation } }), fail(GrpcStatus.invalidArgument));
    await pass(5 * MINUTE_MS);
    expect(requests.filter((each) => each.installationReport)).toHaveLength(1);
    expect(said.join()).toContain('the installation report, it is dropped');
    expect(requests.at(-1)).toMatchObject({ phase: 0 });
    expect([tried, ended()]).toEqual([[1n], undefined]);
    generation = 2n;
    await pass(MINUTE_MS);
    expect([tried, ended()]).toEqual([[1n, 2n], 'installed']);
    stop();
  });

  test.each(['resourceExhausted', 'invalidArgument'] as const)(
    'a hardware report that ends as %s keeps no heartbeat back, and is sent again',
    async (status) => {
      const { withReport, requests, answers, stop } = createBench();
      const refuse = fail(GrpcStatus[status]);
      answers.push(
        () => ({}),
        refuse,
        () => ({}),
        refuse,
      );
      await pass(3 * MINUTE_MS);
      expect(withReport()).toEqual([1, 3, 5]);
      expect(requests.length).toBeGreaterThan(6);
      stop();
    },
  );

  test('other failures between refusals start the half hour anew', async () => {
    const { always, ended, stop } = createBench();
    let calls = 0;
    always(() => {
      calls += 1;
      return fail(calls % 10 === 0 ? GrpcStatus.unavailable : GrpcStatus.unauthenticated)();
    });
    await pass(120 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    stop();
  });

  test('when it is stopped it cancels what it installs', async () => {
    let cancelled = false;
    const { always, stop, loop } = createBench(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            cancelled = true;
            reject(new Error('cut short'));
          });
        }),
    );
    always(() => ({ installationRequest: { generation: 1n } }));
    await pass(1_000);
    stop();
    expect(await loop).toBe('stopped');
    expect(cancelled).toBe(true);
  });

  test('C2: gives up after half an hour of being denied, too, and of both in turn', async () => {
    const { always, ended, loop } = createBench();
    let calls = 0;
    always(() => {
      calls += 1;
      return fail(calls % 2 === 0 ? GrpcStatus.permissionDenied : GrpcStatus.unauthenticated)();
    });
    await pass(29 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    await pass(3 * MINUTE_MS);
    expect(await loop).toBe('disowned');
  });

  test('C2: does not end before the server says so, and reports its success until then', async () => {
    const { requests, always, ended, loop } = createBench();
    always(() => ({ installationRequest: { generation: 1n } }));
    await pass(60 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    const reports = requests.slice(1).map(({ installationReport }) => installationReport);
    expect(reports.length).toBeGreaterThan(100);
    expect(reports.every((report) => report?.generation === 1n && report.success)).toBe(true);
    always(() => ({ reboot: true }));
    await pass(MINUTE_MS);
    expect(await loop).toBe('installed');
  });

  test('C2: takes another request instead of waiting for a word about the one before', async () => {
    const { requests, always, ended, loop } = createBench();
    always(() => ({ installationRequest: { generation: 1n } }));
    await pass(5 * MINUTE_MS);
    // Somebody asked for another image meanwhile: of the first nothing is wanted any more.
    always(() => ({ installationRequest: { generation: 2n } }));
    await pass(5 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    expect(requests.at(-1)!.installationReport).toMatchObject({ generation: 2n, success: {} });
    always(() => ({ reboot: true }));
    await pass(MINUTE_MS);
    expect(await loop).toBe('installed');
  });

  test('C2: on a system that nobody may throw away it stays, whatever the server says', async () => {
    const { requests, always, said, ended, stop } = createBench(undefined, false);
    always(() => ({ installationRequest: { generation: 1n }, reboot: true }));
    await pass(60 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    expect(requests.filter((each) => each.installationReport)).toHaveLength(1);
    expect(said.join()).toContain('the machine is not rebooted');
    stop();
  });

  test('C2: a word to reboot without an image of its own is not heeded', async () => {
    const { always, ended, stop } = createBench();
    always(() => ({ reboot: true }));
    await pass(60 * MINUTE_MS);
    expect(ended()).toBeUndefined();
    stop();
  });
});
