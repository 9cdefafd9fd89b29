import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { measureRate, median, quantile, shares } from './measure.ts';
import { inRounds, textOf } from './suite.ts';

const run = promisify(execFile);
const BENCH = path.join(import.meta.dirname, 'bench.ts');
const temp = mkdtempSync(path.join(tmpdir(), 'bench-test-'));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const bench = (...args: string[]) =>
  run(process.execPath, [BENCH, ...args], { env: { ...process.env, TMPDIR: temp } });

const ANY: unknown = expect.anything();
/** All measured numbers in it, whatever their names. */
const numbersIn = (value: unknown): number[] => {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
};

/** The output: figures by name, and their required parts. */
test.each<{ suite: string; args: string[]; figures: object; mayBeZero?: string[] }>([
  {
    suite: 'bmdb',
    args: ['--span-ms', '100', '--scale', '0.05'],
    figures: {
      ...{ claims: ANY, cycles: ANY, agentStartCycles: ANY, heartbeats: ANY, commits: ANY },
      claimLatencyMs: { p50: ANY, p99: ANY },
      mirrorLatencyMs: { p50: ANY, p99: ANY },
      peers: { upsertFloor: ANY },
      ratios: { cycles50To10: ANY, heartbeatsToFloor: ANY },
      machine: expect.objectContaining({ fsync: 'on', synchronousCommit: 'on' }),
    },
  },
  {
    suite: 'provider',
    args: ['--scale', '0.01'],
    figures: {
      ...{ callsPerMachine: ANY, calls: ANY, listings: ANY, ratios: ANY },
      list: { devices: 100, reservations: 100, seconds: ANY, peakMb: ANY },
      reconcileMs: { 10000: ANY, 100000: ANY },
    },
  },
  {
    suite: 'fleet',
    args: ['--span-ms', '200', '--scale', '0.02'],
    figures: {
      bringUp: { 1: ANY, 10: ANY, 50: ANY },
      ...{ statementsPerMachine: ANY, cpuMsPerMachine: ANY, fleet: ANY },
      heartbeats: expect.objectContaining({ perSecond: ANY, cpuUsPerHeartbeat: ANY }),
    },
    mayBeZero: ['fleet', 'heartbeats'],
  },
  {
    suite: 'console',
    args: ['--span-ms', '300', '--scale', '0.01'],
    figures: {
      ...{ machines: 1_000, readers: 2, first: ANY, firstSortMs: ANY, jumpMs: ANY },
      ...{ filterKeyMs: ANY, listMs: ANY, rest: ANY, storm: ANY, heapMb: ANY },
    },
    mayBeZero: ['rest', 'storm'],
  },
  {
    suite: 'agent-start',
    args: ['--scale', '0.05'],
    figures: { agentStart: { 1: ANY, 10: ANY, 50: ANY } },
  },
])('prints one JSON object with every figure of suite $suite, and leaves nothing', async (row) => {
  const { stdout, stderr } = await bench(row.suite, '--json', '--rounds', '1', ...row.args);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const figures = JSON.parse(stdout) as Record<string, unknown>;
  expect(figures).toEqual(row.figures);
  const zero = Object.keys(figures).filter(
    (name) =>
      !row.mayBeZero?.includes(name) && !numbersIn(figures[name]).every((value) => value > 0),
  );
  expect(zero).toEqual([]);
  expect(stderr).toMatch(row.suite === 'console' ? /a storm/ : /round 1\/1: {/);
  expect(readdirSync(temp)).toEqual([]);
});

test('rejects an unknown suite with the names of all suites', async () => {
  await expect(bench('nothing')).rejects.toThrow(/Allowed choices are balancer, bmdb/);
  expect(existsSync(temp)).toBe(true);
});

/** Each call takes this long on a clock of its own; after `calls` calls nothing is left to do. */
const rateOf = (callMs: number, callers: number, calls = Infinity) => {
  let nowMs = 1_000;
  let made = 0;
  const once = async () => {
    nowMs += callMs;
    return (made += 1) <= calls;
  };
  return measureRate({ callers, warmMs: 20, spanMs: 50, once, now: () => nowMs });
};

test('counts the calls of all callers after the warm-up, and waits for a slow call', async () => {
  const one = await rateOf(5, 1);
  expect(one).toEqual({ perSecond: 220, latenciesMs: Array(11).fill(5) });
  expect((await rateOf(5, 10)).perSecond).toBeGreaterThan(one.perSecond);
  expect((await rateOf(200, 1)).perSecond).toBeCloseTo(1_000 / 180);
  await expect(rateOf(19, 1, 0)).rejects.toThrow(/left/);
});

test('prints the medians of the rounds, one per line', async () => {
  const { progress, ...options } = { rounds: 3, spanMs: 1, scale: 1, progress: () => undefined };
  const figures = await inRounds({ ...options, progress }, (round) => ({
    ...{ name: 'a', group: { figure: 1_234.5 * round } },
  }));
  expect(figures).toEqual({ name: 'a', group: { figure: 2_470 } });
  expect(textOf(figures)).toBe('name          a\ngroup figure  2470');
  expect(quantile([1, 2, 3, 4], 0.99)).toBe(4);
  expect(() => median([])).toThrow(/no values/);
  expect(shares([1, 2, 3, 4, 5], 2)).toEqual([
    [1, 2],
    [3, 4],
  ]);
});
