import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { GrpcStatus } from '../../src/wire/grpc.ts';
import { createBench, fail, MINUTE_MS } from './heartbeat-bench.ts';

describe('an agent', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

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
