import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { measureRate, median, quantile, shares } from './measure.ts';

const run = promisify(execFile);
const BENCH = path.join(import.meta.dirname, 'bench.ts');
const temp = mkdtempSync(path.join(tmpdir(), 'bench-test-'));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const bench = (...args: string[]) =>
  run(process.execPath, [BENCH, ...args], { env: { ...process.env, TMPDIR: temp } });

/** Every number in it that is measured, whatever it is called. */
const numbersIn = (value: unknown): number[] => {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
};

interface Printed {
  readonly suite: string;
  readonly args: readonly string[];
  readonly figures: readonly string[];
  /** Of these each number is more than 0. */
  readonly measured: readonly string[];
  readonly expected: object;
  readonly progress: RegExp;
}

const PERCENTILES = { p50: expect.any(Number), p99: expect.any(Number) };
test.each<Printed>([
  {
    suite: 'bmdb',
    args: ['--span-ms', '100', '--scale', '0.05'],
    figures: [
      ...['machine', 'claims', 'cycles', 'agentStartCycles', 'heartbeats', 'commits'],
      ...['claimLatencyMs', 'mirrorLatencyMs', 'peers', 'ratios'],
    ],
    measured: ['claims', 'cycles', 'agentStartCycles', 'heartbeats', 'claimLatencyMs', 'peers'],
    expected: {
      ...{ machine: { fsync: 'on', synchronousCommit: 'on' } },
      ...{ claimLatencyMs: PERCENTILES, mirrorLatencyMs: PERCENTILES },
      peers: { graphileWorkerBatched: expect.any(Number), pgBoss: expect.any(Number) },
    },
    progress: /round 1\/1: claims 1 /,
  },
  {
    suite: 'provider',
    args: ['--scale', '0.01'],
    figures: ['callsPerMachine', 'calls', 'listings', 'list', 'reconcileMs', 'ratios'],
    measured: ['callsPerMachine', 'list', 'reconcileMs'],
    expected: {
      list: { devices: 100, reservations: 100 },
      reconcileMs: { 10000: expect.any(Number), 100000: expect.any(Number) },
    },
    progress: /round 1\/1: listing /,
  },
  {
    suite: 'fleet',
    args: ['--span-ms', '200', '--scale', '0.02'],
    figures: [
      ...['bringUp', 'statementsPerMachine', 'cpuMsPerMachine', 'eventsPerMachine'],
      ...['microstepsPerMachine', 'fleet', 'uploadRatio', 'heartbeatsPerSecond', 'heartbeatRatio'],
      ...['openLoop', 'peers'],
    ],
    measured: ['bringUp', 'uploadRatio', 'heartbeatsPerSecond', 'heartbeatRatio'],
    expected: {
      bringUp: { 1: expect.any(Number), 10: expect.any(Number), 50: expect.any(Number) },
    },
    progress: /round 1: bring-up at 50/,
  },
  {
    suite: 'console',
    args: ['--span-ms', '300', '--scale', '0.01'],
    figures: [
      ...['machines', 'readers', 'first', 'firstSortMs', 'jumpMs', 'filterKeyMs', 'listMs'],
      ...['rest', 'storm', 'heapMb', 'bringUp', 'before'],
    ],
    measured: ['machines', 'heapMb'],
    expected: { machines: 1_000 },
    progress: /./,
  },
  {
    suite: 'takeover',
    args: ['--scale', '0.05'],
    figures: ['takeover', 'toOriginal', 'daemonCpuMs', 'sshdCpuMs', 'sshdShare', 'peers'],
    measured: ['takeover', 'toOriginal', 'daemonCpuMs', 'sshdCpuMs', 'sshdShare'],
    expected: { peers: { original: { 1: 1.7, 10: 2.7, 50: 1.4 } } },
    progress: /round 1: takeover at 50: [\d.]+ machines\/s/,
  },
])('the suite $suite prints one JSON object with every figure, and leaves nothing', async (row) => {
  const { stdout, stderr } = await bench(row.suite, '--json', '--rounds', '1', ...row.args);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const figures = JSON.parse(stdout) as Record<string, unknown>;
  expect(Object.keys(figures).toSorted()).toEqual(row.figures.toSorted());
  expect(figures).toMatchObject(row.expected);
  const measured = row.measured.flatMap((name) => numbersIn(figures[name]));
  expect(measured.length).toBeGreaterThanOrEqual(row.measured.length);
  expect(measured.filter((value) => !(value > 0))).toEqual([]);
  expect(stderr).toMatch(row.progress);
  expect(readdirSync(temp)).toEqual([]);
});

test('an unknown suite is refused with the names of those there are', async () => {
  await expect(bench('nothing')).rejects.toThrow(/Allowed choices are balancer, bmdb/);
  expect(existsSync(temp)).toBe(true);
});

/** Each call takes so long on a clock of its own. */
const rateOf = (callMs: number, callers: number) => {
  let nowMs = 1_000;
  const once = () => {
    nowMs += callMs;
    return Promise.resolve(true);
  };
  return measureRate({ callers, warmMs: 20, spanMs: 50, once, now: () => nowMs });
};

test('a rate counts the calls after the warm-up', async () => {
  const { perSecond, latenciesMs } = await rateOf(5, 1);
  expect(latenciesMs).toEqual(Array(11).fill(5));
  expect(perSecond).toBe(220);
});

test('a rate is that of all callers', async () => {
  expect((await rateOf(5, 10)).perSecond).toBeGreaterThan((await rateOf(5, 1)).perSecond);
});

test('a call that takes longer than the span is waited for', async () => {
  expect((await rateOf(200, 1)).perSecond).toBeCloseTo(1_000 / 180);
});

test('a rate that ran dry before it was measured is an error', async () => {
  let ms = 0;
  const once = async () => {
    ms += 49;
    return false;
  };
  const asked = { callers: 1, warmMs: 50, spanMs: 50, once, now: () => ms };
  await expect(measureRate(asked)).rejects.toThrow(/left/);
});

test('medians, quantiles and shares', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(quantile([1, 2, 3, 4], 0.99)).toBe(4);
  expect(() => median([])).toThrow(/no values/);
  expect(shares([1, 2, 3, 4, 5], 2)).toEqual([
    [1, 2],
    [3, 4],
  ]);
});
