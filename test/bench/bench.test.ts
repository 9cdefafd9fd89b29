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

test('the suite of the BMDB prints one JSON object with every figure, and leaves nothing', async () => {
  const sizes = ['--rounds', '1', '--span-ms', '100', '--scale', '0.05'];
  const { stdout, stderr } = await bench('bmdb', '--json', ...sizes);
  const figures = JSON.parse(stdout) as Record<string, Record<string, number>>;
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const keysOf = (name: string) => Object.keys(figures[name]!);
  expect(keysOf('claims')).toEqual(['1', '10', '50']);
  expect(keysOf('cycles')).toEqual(['1', '10', '50']);
  expect(keysOf('heartbeats')).toEqual(['1000', '10000']);
  expect(keysOf('claimLatencyMs')).toEqual(['p50', 'p99']);
  expect(keysOf('mirrorLatencyMs')).toEqual(['p50', 'p99']);
  expect(keysOf('peers').toSorted()).toEqual([
    ...['graphileWorkerBatched', 'graphileWorkerSingle', 'pgBoss', 'upsertFloor'],
  ]);
  const { machine, agentStartCycles, commits, ...groups } = figures;
  for (const value of [
    agentStartCycles,
    commits,
    ...Object.values(groups).flatMap(Object.values),
  ]) {
    expect(value).toBeGreaterThan(0);
  }
  expect(machine).toMatchObject({ fsync: 'on', synchronousCommit: 'on' });
  expect(stderr).toMatch(/round 1\/1: claims 1 /);
  expect(readdirSync(temp)).toEqual([]);
});

test('the suite of providers prints one JSON object with every figure, and leaves nothing', async () => {
  const { stdout, stderr } = await bench('provider', '--json', '--rounds', '1', '--scale', '0.01');
  const figures = JSON.parse(stdout) as {
    callsPerMachine: number;
    list: Record<string, number>;
    reconcileMs: Record<string, number>;
  };
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(figures.list).toMatchObject({ devices: 100, reservations: 100 });
  expect(Object.keys(figures.reconcileMs)).toEqual(['10000', '100000']);
  const { callsPerMachine, list, reconcileMs } = figures;
  for (const value of [callsPerMachine, ...Object.values({ ...list, ...reconcileMs })]) {
    expect(value).toBeGreaterThan(0);
  }
  expect(stderr).toMatch(/round 1\/1: listing /);
  expect(readdirSync(temp)).toEqual([]);
});

test('the suite of the fleet prints one JSON object with every figure, and leaves nothing', async () => {
  const sizes = ['--rounds', '1', '--span-ms', '200', '--scale', '0.02'];
  const { stdout, stderr } = await bench('fleet', '--json', ...sizes);
  const figures = JSON.parse(stdout) as {
    bringUp: Record<string, number>;
    fleet: Record<string, Record<string, number>>;
    uploadRatio: number;
    heartbeatsPerSecond: number;
    heartbeatRatio: number;
    openLoop: { agents: number; cpuUsPerHeartbeat: Record<string, number> };
  };
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const { bringUp, fleet, uploadRatio, heartbeatsPerSecond, heartbeatRatio } = figures;
  expect(Object.keys(bringUp)).toEqual(['1', '10', '50']);
  expect(Object.keys(fleet)).toEqual(['10000', '100000']);
  const measured = Object.values(fleet).flatMap((each) => {
    expect(Object.keys(each)).toEqual([
      ...['mirroredSeconds', 'heapKbPerMachine', 'cpuPercent', 'scanCpuSeconds'],
      ...['loopDelayP99Ms', 'loopDelayMaxMs'],
    ]);
    // Of a few machines these are less than what else goes on.
    const { heapKbPerMachine: _, scanCpuSeconds: __, ...others } = each;
    return Object.values(others);
  });
  const ratios = [uploadRatio, heartbeatsPerSecond, heartbeatRatio];
  // On a machine that is busy with other things no fleet is answered in time.
  expect(figures.openLoop.agents).toBeGreaterThanOrEqual(0);
  expect(Object.keys(figures.openLoop.cpuUsPerHeartbeat)).toEqual([
    ...['tls', 'http2', 'decode', 'batch', 'database'],
  ]);
  for (const value of [...Object.values(bringUp), ...measured, ...ratios]) {
    expect(value).toBeGreaterThan(0);
  }
  expect(stderr).toMatch(/round 1: bring-up at 50/);
  expect(readdirSync(temp)).toEqual([]);
});

test('the suite of the console prints one JSON object with every figure, and leaves nothing', async () => {
  const { stdout } = await bench(
    'console',
    '--json',
    '--rounds',
    '1',
    '--span-ms',
    '300',
    '--scale',
    '0.01',
  );
  const found = JSON.parse(stdout) as Record<string, object>;
  expect(stdout.trim().split('\n')).toHaveLength(1);
  expect(Object.keys(found)).toEqual([
    ...['machines', 'readers', 'first', 'firstSortMs', 'jumpMs', 'filterKeyMs', 'listMs'],
    ...['rest', 'storm', 'heapMb', 'bringUp', 'before'],
  ]);
  expect(found['machines']).toBe(1_000);
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
