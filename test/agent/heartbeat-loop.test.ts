import fc from 'fast-check';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { failureDelayMs } from '../../src/agent/heartbeat-loop.ts';
import type { HeartbeatRequest, HeartbeatResponse } from '../../src/wire/codec.ts';
import { GrpcStatus } from '../../src/wire/grpc.ts';
import { rowsIn, span } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';
import { createBench, fail, MINUTE_MS } from './heartbeat-bench.ts';

test('waits 500 ms after a failure, then half as long again each time, ±50 %, at most a minute', () => {
  expect([1, 2, 3].map((failures) => failureDelayMs(failures, 0.5))).toEqual([500, 750, 1125]);
  const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), chance, (n, random) => {
      const delayMs = failureDelayMs(n, random);
      expect(delayMs).toBeGreaterThanOrEqual(250);
      expect(delayMs).toBeLessThanOrEqual(60_000);
    }),
  );
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
function bench(...[install, isThrowAway]: Parameters<typeof createBench>) {
  const made = createBench(install, isThrowAway);
  onTestFinished(made.stop);
  return made;
}

const FAILURES: Readonly<Record<string, number>> = {
  down: GrpcStatus.unavailable,
  unknown: GrpcStatus.unauthenticated,
  denied: GrpcStatus.permissionDenied,
  invalid: GrpcStatus.invalidArgument,
  full: GrpcStatus.resourceExhausted,
};
/** `ok`, a failure, or orders: `install 7`, `reboot`, `report`, `every 30`, joined by `+`. */
function answerIn(words: string): () => HeartbeatResponse {
  if (FAILURES[words]) return fail(FAILURES[words]);
  const parts = words.split('+').map((each): HeartbeatResponse => {
    const [what, number] = each.split(' ');
    if (what === 'install') return { installationRequest: { generation: BigInt(number!) } };
    if (what === 'every') return { heartbeatIntervalSeconds: BigInt(number!) };
    return { reboot: what === 'reboot', sendHardwareReport: what === 'report' };
  });
  return () => Object.assign({}, ...parts) as HeartbeatResponse;
}
function sentAs({ phase, hardwareReport, installationReport: report }: HeartbeatRequest): string {
  const result = report?.success ? 'done' : `failed: ${report?.error?.error}`;
  return [
    ['beat', 'installing', 'reporting'][phase!],
    ...(hardwareReport ? ['hardware'] : []),
    ...(report ? [`${report.generation} ${result}`] : []),
  ].join(' ');
}
/** The heartbeats sent, with repetition counts, and the end if any. */
function told({ requests, ended }: ReturnType<typeof createBench>): string {
  const runs: { text: string; count: number }[] = [];
  for (const text of requests.map(sentAs)) {
    const last = runs.at(-1);
    if (last?.text === text) last.count += 1;
    else runs.push({ text, count: 1 });
  }
  const sent = runs.map(({ text, count }) => (count > 1 ? `${count}× ${text}` : text));
  return [...sent, ...(ended() ? [ended()] : [])].join(', ');
}
const INSTALLERS = {
  works: () => Promise.resolve(),
  breaks: () => Promise.reject(new Error('no disk')),
  hangs: () => new Promise<void>(() => {}),
};

/** The server's first answer, later answers, for how long; and the heartbeats sent meanwhile. */
testRows(
  rowsIn(`
    works; 29s999ms: ok → beat
    works; 10m30s: ok → beat, beat hardware, 20× beat
    works; 10m: ok, down, ok, ok, report, ok; 24h: ok → beat, 2× beat hardware, 2× beat, beat hardware, 2880× beat, beat hardware, 14× beat
    works; 3m: ok, full, ok, full, ok → beat, beat hardware, beat, beat hardware, beat, beat hardware, 2× beat
    works; 3m: ok, invalid, ok, invalid, ok → beat, beat hardware, beat, beat hardware, beat, beat hardware, 2× beat
    works; 10s: every 2, ok; 2s: every 4611686018427387904; 60m: ok; 60m: every -5 → beat, beat hardware, 7× beat
    breaks; 5m: install 7; 5m: install 8 → beat, reporting hardware 7 failed: no disk, 10× beat, reporting 8 failed: no disk, 9× beat
    works; 1m: install 0 → beat, reporting hardware 0 failed: generation 0 is not positive, beat
    works; 2m: install 1+reboot → beat, reporting hardware 1 done, installed
    hangs; 14m: install 1; 2m: install 1 → beat, installing hardware, 29× installing, reporting 1 failed: it took longer than 15 minutes, beat
    works; 1m: install 1, down, down, reboot → beat, 3× reporting hardware 1 done, installed
    works; 5m: install 1, invalid, install 1+reboot; 1m: install 2+reboot → beat, reporting hardware 1 done, beat hardware, 10× beat, reporting 2 done, installed
    works; 60m: install 1; 1m: reboot → beat, reporting hardware 1 done, 120× reporting 1 done, installed
    works; 5m: install 1; 5m: install 2; 1m: reboot → beat, reporting hardware 1 done, 10× reporting 1 done, 11× reporting 2 done, installed
    works on its own system; 60m: install 1+reboot → beat, reporting hardware 1 done, 119× beat
  `),
)('%s: %s', async (words, sent) => {
  const [how = '', ...phases] = words.split('; ');
  const [installer = '', system] = how.split(' on ');
  const it = createBench(INSTALLERS[installer as 'works'], system === undefined);
  for (const phase of phases) {
    const [time = '', script = ''] = phase.split(': ');
    const answers = script.split(', ');
    it.always(answerIn(answers.pop()!));
    it.answers.push(...answers.map(answerIn));
    await pass(span(time));
  }
  expect(told(it)).toBe(sent);
  it.stop();
});

test('logs its identity, and that it was stopped', async () => {
  const { requests, stop, loop } = bench();
  await pass(0);
  expect(requests).toEqual([
    { machineId: 'm', bootId: 'b', agentVersion: 'v', phase: 0, uptimeSeconds: 42n },
  ]);
  stop();
  expect(await loop).toBe('stopped');
});

test('sends the hardware report when it differs from the previous one', async () => {
  const { withReport, requests, reports } = bench();
  await pass(60 * MINUTE_MS);
  expect(withReport()).toEqual([1]);
  expect(reports.made).toBeGreaterThan(4);
  reports.product = 'b';
  await pass(11 * MINUTE_MS);
  expect(withReport()).toHaveLength(2);
  expect(requests[withReport()[1]!]!.hardwareReport).toEqual({ report: { product: 'b' } });
});

test('sends heartbeats without waiting for a slow hardware report', async () => {
  const { withReport, requests, reports } = bench();
  let open = () => {};
  reports.gate = new Promise((resolve) => (open = resolve));
  await pass(10 * MINUTE_MS);
  expect(requests).toHaveLength(21);
  expect([withReport(), reports.made]).toEqual([[], 1]);
  open();
  await pass(MINUTE_MS);
  expect(withReport()).toEqual([21]);
});

const condition = (type: string) => ({ type, status: 1, reason: 'broken', detail: '' });
/** Heartbeats with conditions: their number, and the types. */
const withConditions = (requests: readonly HeartbeatRequest[]) =>
  requests.flatMap((each, at) =>
    each.condition ? [[at, ...each.condition.map(({ type }) => type)].join(' ')] : [],
  );

test('sends conditions after a change and once a day', async () => {
  const { requests, reports } = bench();
  reports.conditions = [condition('a')];
  await pass(60 * MINUTE_MS);
  expect(withConditions(requests)).toEqual(['1 a']);
  reports.conditions = [condition('a'), condition('b')];
  await pass(11 * MINUTE_MS);
  expect(withConditions(requests).slice(1)).toEqual([expect.stringMatching(/^\d+ a b$/)]);
  await pass(22 * 60 * MINUTE_MS);
  expect(withConditions(requests)).toHaveLength(2);
  await pass(2 * 60 * MINUTE_MS);
  expect(withConditions(requests)).toHaveLength(3);
});

test('repeats conditions that no server accepted', async () => {
  const { requests, reports, answers } = bench();
  reports.conditions = [condition('a')];
  answers.push(...['ok', 'down', 'down', 'ok', 'ok'].map(answerIn));
  await pass(5 * MINUTE_MS);
  expect(withConditions(requests)).toEqual(['1 a', '2 a', '3 a']);
});

test('sends conditions that it finds out during a call with the next one', async () => {
  const { requests, reports, answers } = bench();
  reports.conditions = [condition('a')];
  let [open, answer] = [() => {}, (_: HeartbeatResponse) => {}];
  reports.gate = new Promise((resolve) => (open = resolve));
  await pass(1_000);
  answers.push((() => new Promise((resolve) => (answer = resolve))) as never);
  await pass(30_000);
  expect(requests).toHaveLength(2);
  open();
  await pass(1_000);
  answer({});
  await pass(MINUTE_MS);
  expect(withConditions(requests)).toEqual(['2 a']);
});

test('sends no field of conditions while it knows nothing', async () => {
  const { requests } = bench();
  await pass(25 * 60 * MINUTE_MS);
  expect(requests.filter((each) => 'condition' in each)).toEqual([]);
});

test('compares its clock with that of the server, if the server tells it', async () => {
  const { skews, always, wallMs } = bench();
  await pass(MINUTE_MS);
  expect(skews).toEqual([null]);
  always(() => ({ clockMs: BigInt(Math.floor(wallMs()) + 40_000) }));
  await pass(11 * MINUTE_MS);
  expect(skews[1]).toBeCloseTo(-40_000, -1);
});

test('repeats a failed hardware report, without harm', async () => {
  const { withReport, requests, reports } = bench();
  reports.gate = Promise.reject(new Error('no sysfs'));
  await pass(5 * MINUTE_MS);
  expect(requests).toHaveLength(11);
  reports.gate = Promise.resolve();
  await pass(MINUTE_MS);
  expect(withReport()).toHaveLength(1);
});

testRows([
  [0, 27_000],
  [0.75, 31_500],
])('does not march in step: with chance %d it comes after %d ms', async (chance, periodMs) => {
  const { requests, stop, ...made } = createBench();
  made.chance.next = chance;
  await pass(periodMs - 1);
  expect(requests).toHaveLength(1);
  await pass(1);
  expect(requests).toHaveLength(2);
  stop();
});

test('waits longer after each failure, and forgets failures after a success', async () => {
  const { requests, answers } = bench();
  answers.push(...['down', 'down', 'down', 'ok', 'down'].map(answerIn));
  const counts = [];
  for (const ms of [0, 500, 750, 1125, 30_000, 500]) {
    await pass(ms);
    counts.push(requests.length);
  }
  expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
});

test('reports at once when an installation is done, apart from the pause after each heartbeat', async () => {
  let finish = () => {};
  const { requests, always, loop } = bench(() => new Promise((resolve) => (finish = resolve)));
  always(answerIn('install 1+reboot'));
  await pass(5 * MINUTE_MS);
  const before = requests.length;
  await pass(1_000);
  finish();
  await pass(0);
  expect(await loop).toBe('installed');
  expect(requests).toHaveLength(before + 1);
});

test('does not loop fast when a server demands another generation each time', async () => {
  const { requests, always } = bench(INSTALLERS.breaks);
  let generation = 0n;
  always(() => ({ installationRequest: { generation: (generation += 1n) - 5n } }));
  await pass(10_000);
  expect(requests.length).toBeLessThanOrEqual(51);
});

test('cancels an installation after a quarter of an hour, or when stopped', async () => {
  const signals: AbortSignal[] = [];
  const { always, stop, loop } = bench(
    (_request, signal) =>
      new Promise((_, reject) => {
        signals.push(signal);
        signal.addEventListener('abort', () => reject(new Error('cut short')));
      }),
  );
  always(answerIn('install 1'));
  await pass(14 * MINUTE_MS);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await pass(2 * MINUTE_MS);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  always(answerIn('install 2'));
  await pass(MINUTE_MS);
  stop();
  expect(await loop).toBe('stopped');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('logs what is dropped, and that a system that nobody permits to erase stays', async () => {
  const { answers, always, said } = bench(undefined, false);
  always(answerIn('install 2'));
  answers.push(...['install 1', 'invalid'].map(answerIn));
  await pass(5 * MINUTE_MS);
  expect(said.join()).toContain('rejects the installation report; it is dropped');
  expect(said.join()).toContain('the machine is not rebooted');
});

test('C2: restarts the half hour when other failures come between refusals', async () => {
  const { always, ended } = bench();
  let calls = 0;
  always(() => answerIn((calls += 1) % 10 === 0 ? 'down' : 'unknown')());
  await pass(120 * MINUTE_MS);
  expect(ended()).toBeUndefined();
});

test('C2: gives up after half an hour of denials, too, and of both in turn', async () => {
  const { always, ended, loop } = bench();
  let calls = 0;
  always(() => answerIn((calls += 1) % 2 === 0 ? 'denied' : 'unknown')());
  await pass(29 * MINUTE_MS);
  expect(ended()).toBeUndefined();
  await pass(3 * MINUTE_MS);
  expect(await loop).toBe('disowned');
});

test('C2: ignores a reboot order without an image of its own', async () => {
  const { always, ended } = bench();
  always(answerIn('reboot'));
  await pass(60 * MINUTE_MS);
  expect(ended()).toBeUndefined();
});
