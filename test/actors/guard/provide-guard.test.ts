import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createActor } from 'xstate';
import { createGuardWatch, type GuardWatch } from '../../../src/actors/guard/watch.ts';
import { provideGuard, STRAY_MS, type GuardDeps } from '../../../src/actors/guard/provide-guard.ts';
import type {
  BmdbSession,
  GuardAssessment,
  RequestState,
} from '../../../src/adapters/bmdb/port.ts';
import { createMemMetrics, type MemMetrics } from '../../doubles/mem-metrics.ts';
import { NotFound, SessionExpired, Unreachable } from '../../../src/domain/errors.ts';
import { sessionId, type SessionId, type Slot } from '../../../src/domain/ids.ts';
import type { GuardRow, RequestRow, SlotFacts } from '../../../src/domain/machine.ts';
import { rankOf } from '../../../src/domain/daemons.ts';
import { calmRow, DEFAULT_GUARD } from '../../../src/domain/recovery/guard-judgement.ts';
import { requestRow, SESSION, SLOT, slotFacts } from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const PERIOD_MS = DEFAULT_GUARD.assessMs;
const ANN = 'ann asked for it';

let clock: VirtualClock;
let log: RecordingLog;
let metrics: MemMetrics;
let watch: GuardWatch;
let changes: number;
/** The next assessment fails. */
let fails: boolean;
/** The BMDB's answer, the requests to the guard, and the other daemons. */
let found: GuardAssessment;
let requests: RequestRow[];
let facts: Map<Slot, SlotFacts>;
let sessions: SessionId[];
let ingestUp: boolean;
let assessments: boolean[];
let settle: BmdbSession['applyRequest'];
let appliedKeys: string[];
let actor: ReturnType<typeof start>;

const fleetRow = (change: Partial<GuardRow> = {}): GuardRow => ({
  ...calmRow('fleet'),
  ingestUpSinceMs: clock.now() - 20 * MINUTE,
  ...change,
});
const calm = (): GuardAssessment => ({ rows: [fleetRow()], counts: [], changes: [] });
const frozen = (): GuardAssessment => ({
  ...calm(),
  rows: [
    fleetRow({
      frozen: {
        atMs: clock.now(),
        by: 'guard',
        kind: 'silence',
        reason: '9 of 20 fell silent',
        untilMs: null,
      },
    }),
  ],
  counts: [{ scope: 'fleet', machines: 20, started: 20, silent: 9, newlySilent: 9, ...REST }],
});
const REST = { quiet: 9, unreachable: 0 };
const done = (request: RequestRow): RequestState => ({
  ...request,
  state: 'done',
  outcome: ANN,
  settledAtMs: clock.now(),
  batch: null,
  role: null,
  proven: false,
});

function start() {
  const guarded = {
    assess: async (findings: { readonly ingestUp: boolean }) => {
      assessments.push(findings.ingestUp);
      if (!fails) return found;
      fails = false;
      throw new Unreachable('not now');
    },
  };
  const session = { sessionId: SESSION, applyRequest: (key: string) => settle(key) } as BmdbSession;
  const deps: GuardDeps = {
    bmdb: { guard: guarded },
    keeper: { require: () => session },
    mirror: {
      requests: () => requests,
      facts: () => facts,
      sessions: () => sessions,
      nowMs: () => clock.now(),
    },
    watch,
    isTakingIn: () => ingestUp,
    headStartMs: 1_000,
    log,
  };
  return createActor(provideGuard(deps), { clock, input: { assessMs: PERIOD_MS } }).start();
}
const state = () => (actor.getSnapshot().value as { standing: string }).standing;

beforeEach(() => {
  clock = createSimulatedClock();
  [log, metrics, fails, changes] = [recordingLog(), createMemMetrics(), false, 0];
  [requests, facts, sessions, ingestUp] = [[], new Map(), [SESSION], true];
  [assessments, appliedKeys, found] = [[], [], calm()];
  settle = async (key) => {
    appliedKeys.push(key);
    const request = requests.find((each) => each.key === key);
    if (!request) throw new NotFound(`no request ${key}`);
    requests = requests.filter((each) => each !== request);
    return done(request);
  };
  watch = createGuardWatch({
    policy: DEFAULT_GUARD,
    heartbeatMs: 10 * MINUTE,
    nowMs: () => clock.now(),
    clock,
    metrics,
    log,
    onChange: () => (changes += 1),
  });
  actor = start();
});
afterEach(async () => {
  actor.stop();
  await settled();
  expect(clock.pending, 'timers left').toBe(0);
});

describe('assessments of the guard', () => {
  test('run at once and each period, and say whether heartbeats are accepted', async () => {
    actor.stop();
    assessments.length = 0;
    actor = start();
    expect(state()).toBe('blind');
    await settled();
    expect([assessments, state()]).toEqual([[true], 'watching']);
    ingestUp = false;
    await advance(clock, 3 * PERIOD_MS);
    expect(assessments).toEqual([true, false, false, false]);
  });

  test('show each state with reason and time', async () => {
    await settled();
    expect(watch.view()).toMatchObject({ state: 'watching', reason: null });
    found = { ...calm(), rows: [fleetRow({ ingestUpSinceMs: clock.now() - MINUTE })] };
    await advance(clock, PERIOD_MS);
    expect(state()).toBe('grace');
    const quiet = { ...frozen().counts[0]!, scope: 'stub' };
    found = { ...calm(), counts: [quiet] };
    await advance(clock, PERIOD_MS);
    expect(state()).toBe('suspicious');
    const sinceMs = clock.now();
    await advance(clock, 10 * PERIOD_MS);
    expect(watch.view().standings[1]).toMatchObject({
      scope: 'stub',
      state: 'suspicious',
      sinceMs,
    });
    expect(actor.getSnapshot().context.reason).toBe(watch.view().reason);
    expect(watch.view().reason).toContain('9 of 20');
  });
});

describe('messages of the guard', () => {
  test('report a freeze as an error with numbers and advice, and a thaw once', async () => {
    await settled();
    found = frozen();
    await advance(clock, 3 * PERIOD_MS);
    const errors = log.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      message: expect.stringContaining('shepherd fleet thaw') as unknown,
      fields: { scope: 'fleet', kind: 'silence', silent: 9, newlySilent: 9, started: 20 },
    });
    found = calm();
    await advance(clock, 3 * PERIOD_MS);
    const thawed = log.lines.filter(({ message }) => message.includes('thawed'));
    expect(thawed).toMatchObject([
      { level: 'info', message: expect.stringContaining('assessed again') },
    ]);
  });

  test('alarm nobody about an operator’s freeze', async () => {
    await settled();
    const [row] = frozen().rows;
    const byHand = { ...row!.frozen!, kind: 'manual', by: 'ann' } as const;
    found = { ...calm(), rows: [{ ...row!, frozen: byHand }] };
    await advance(clock, PERIOD_MS);
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { by: 'ann' } });
  });

  test('drop the metrics of a scope that is gone, but not its time frozen', () => {
    const standing = { state: 'frozen', sinceMs: null, reason: null } as const;
    const counts = [{ scope: 'a', machines: 21, started: 20, silent: 9, newlySilent: 8, ...REST }];
    watch.take({ rows: [], counts }, [{ ...standing, scope: 'a' }]);
    expect(metrics.series('shepherd_guard_frozen')).toEqual([['provider a', 1]]);
    expect(metrics.series('shepherd_guard_silent_machines')).toEqual([['provider a', 9]]);
    expect(metrics.series('shepherd_guard_started_machines')).toEqual([['provider a', 20]]);
    watch.take({ rows: [], counts: [] }, [{ ...standing, scope: 'fleet', state: 'watching' }]);
    expect(metrics.series('shepherd_guard_frozen')).toEqual([['fleet', 0]]);
    const now = metrics.series('shepherd_guard_state').filter(([, value]) => value === 1);
    expect(now).toEqual([['fleet watching', 1]]);
  });

  test('set metrics for state, silent machines and time frozen of each scope', async () => {
    await settled();
    found = frozen();
    await advance(clock, 4 * PERIOD_MS);
    expect(metrics.series('shepherd_guard_state').filter(([, is]) => is === 1)).toEqual([
      ['fleet frozen', 1],
    ]);
    expect(metrics.series('shepherd_guard_frozen')).toEqual([['fleet', 1]]);
    expect(metrics.series('shepherd_guard_silent_machines')).toEqual([['fleet', 9]]);
    const seconds = () => metrics.total('shepherd_guard_frozen_seconds_total', { scope: 'fleet' });
    expect(seconds()).toBe((3 * PERIOD_MS) / 1_000);
    await advance(clock, PERIOD_MS / 2);
    expect(watch.view().frozenSeconds).toBe((3.5 * PERIOD_MS) / 1_000);
    found = calm();
    await advance(clock, 4 * PERIOD_MS);
    expect(watch.view().frozenSeconds).toBe((4 * PERIOD_MS) / 1_000);
  });

  test('repeat nothing that did not change', async () => {
    await advance(clock, 10 * PERIOD_MS);
    expect(changes).toBe(1);
    found = frozen();
    await advance(clock, 10 * PERIOD_MS);
    expect(changes).toBe(2);
  });

  test('keep a freeze while blind and do not repeat it', async () => {
    await settled();
    found = frozen();
    await advance(clock, PERIOD_MS);
    fails = true;
    await advance(clock, PERIOD_MS);
    expect(state()).toBe('blind');
    expect(watch.barOf('stub', true)).not.toBeNull();
    await advance(clock, PERIOD_MS);
    expect(state()).toBe('frozen');
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(log.lines.filter(({ message }) => message.includes('thawed'))).toEqual([]);
  });
});

describe('requests to the guard', () => {
  const freeze = (key: string, change: Partial<RequestRow> = {}) =>
    requestRow({
      key,
      verb: 'freeze',
      provider: null,
      slotId: null,
      machineId: null,
      createdAtMs: clock.now(),
      ...change,
    });
  const ask = async (...asked: RequestRow[]) => {
    await settled();
    requests = asked;
    actor.send({ type: 'guard.nudged' });
    await settled();
  };

  test('freeze and thaw at once', async () => {
    await ask(freeze('a'), freeze('b', { verb: 'thaw' }));
    expect(appliedKeys).toEqual(['a', 'b']);
    expect(log.lines.at(-1)).toMatchObject({
      message: 'a request was applied or refused',
      fields: { request: 'b', verb: 'thaw', of: 'fleet', by: 'ann', state: 'done', outcome: ANN },
    });
  });

  test('about a machine are left to its actor', async () => {
    facts.set(SLOT, slotFacts());
    await ask(requestRow({ createdAtMs: clock.now() }));
    await advance(clock, 10 * MINUTE);
    expect(appliedKeys).toEqual([]);
  });

  test('about an unknown slot are applied after a while', async () => {
    await ask(requestRow({ createdAtMs: clock.now() }));
    await advance(clock, STRAY_MS - 1);
    expect(appliedKeys).toEqual([]);
    await advance(clock, PERIOD_MS);
    expect(appliedKeys).toEqual(['request-1']);
  });

  test('give a preferred daemon a head start', async () => {
    const rivals = Array.from({ length: 40 }, (_, at) =>
      sessionId(`bbbbbbbb-0000-4000-8000-${String(at).padStart(12, '0')}`),
    );
    const better = rivals.find((rival) => rankOf(SESSION, [SESSION, rival], 'fleet' as Slot) === 1);
    sessions = [SESSION, better!];
    await ask(freeze('a'));
    expect(appliedKeys).toEqual([]);
    await advance(clock, PERIOD_MS);
    expect(appliedKeys).toEqual(['a']);
  });

  test('that fail do not delay others and are tried again', async () => {
    const applyAll = settle;
    settle = async (key) => {
      if (key === 'a') throw new Unreachable('not now');
      return applyAll(key);
    };
    await ask(freeze('a'), freeze('b'));
    expect(appliedKeys).toEqual(['b']);
    settle = applyAll;
    await advance(clock, PERIOD_MS);
    expect(appliedKeys).toEqual(['b', 'a']);
  });

  test('that stay open are not reported', async () => {
    settle = async () => null;
    await ask(freeze('a'));
    expect(log.count('a request was applied or refused')).toBe(0);
  });
});

test('wait for a session while assessments go on', async () => {
  actor.stop();
  requests = [requestRow({ verb: 'thaw', slotId: null, machineId: null })];
  const lonely = createActor(
    provideGuard({
      watch,
      log,
      isTakingIn: () => true,
      headStartMs: 1_000,
      bmdb: { guard: { assess: async () => calm() } },
      keeper: {
        require: () => {
          throw new SessionExpired('none');
        },
      },
      mirror: {
        requests: () => requests,
        facts: () => facts,
        sessions: () => sessions,
        nowMs: () => clock.now(),
      },
    }),
    { clock, input: { assessMs: PERIOD_MS } },
  ).start();
  await advance(clock, 3 * PERIOD_MS);
  expect(log.count('requests about the guard could not be applied yet')).toBe(4);
  expect(lonely.getSnapshot().value).toMatchObject({ standing: 'watching' });
  lonely.stop();
});
