import { beforeEach, describe, expect, test } from 'vitest';
import { applyRequest, type ApplyRequestDeps } from '../../../src/actors/turns/turns.ts';
import { rankOf } from '../../../src/domain/daemons.ts';
import type { SessionId } from '../../../src/domain/ids.ts';
import { PROVIDER, requestRow, SESSION, SLOT, SLOT_ID, slotFacts } from '../../support/facts.ts';
import { runService } from '../../support/run-service.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

const HEAD_START_MS = 1_000;
const KEY = 'ann-1';
const INPUT = { slot: SLOT, key: KEY };

let stand: TaskStand;
let sessions: SessionId[];
/** The slot's requests that the mirror knows. */
let known: readonly string[];
beforeEach(() => {
  stand = createTaskStand();
  stand.given();
  [sessions, known] = [[], [KEY]];
});

const deps = (): ApplyRequestDeps => ({
  keeper: stand.keeper,
  clock: stand.clock,
  log: stand.log,
  headStartMs: HEAD_START_MS,
  sessions: () => sessions,
  facts: () => new Map([[SLOT, slotFacts({ requests: known.map((key) => requestRow({ key })) })]]),
});
const hold = () =>
  stand.bmdb.requests.submit({
    key: KEY,
    by: 'ann',
    reason: 'under inspection',
    what: {
      verb: 'hold',
      kind: 'no-start',
      untilMs: null,
      target: { provider: PROVIDER, slotId: SLOT_ID, machineId: null },
    },
  });
const holds = () => stand.bmdb.tables.holds.length;
const run = () => {
  const running = runService(applyRequest(deps()), INPUT, stand.clock);
  const state = { settled: null as boolean | null, code: null as string | null };
  running.result.then(
    (key) => (state.settled = key === KEY),
    (error: unknown) => (state.code = (error as { code: string }).code),
  );
  return { state, stop: running.stop };
};
/** A session that ranks before or behind ours. */
function rival(rank: 'before' | 'behind'): SessionId {
  const own = stand.keeper.require().sessionId;
  for (let at = 0; ; at += 1) {
    const other = `${SESSION}-${at}` as SessionId;
    if ((rankOf(own, [own, other], SLOT) === 1) === (rank === 'before')) return other;
  }
}

describe('an operator’s request at an actor', () => {
  test('is applied at once by the first in rank', async () => {
    await stand.openSession();
    await hold();
    sessions = [stand.keeper.require().sessionId, rival('behind')];
    const { state } = run();
    await settled();
    expect([state.settled, holds()]).toEqual([true, 1]);
    const told = stand.log.lines.find(({ message }) => message === 'request settled');
    expect(told?.fields).toMatchObject({ key: KEY, verb: 'hold', by: 'ann', state: 'done' });
  });

  test('is left to a better ranked daemon for its head start', async () => {
    await stand.openSession();
    await hold();
    sessions = [stand.keeper.require().sessionId, rival('before')];
    const { state } = run();
    await advance(stand.clock, HEAD_START_MS - 1);
    expect([state.settled, holds()]).toEqual([null, 0]);
    await advance(stand.clock, 1);
    expect([state.settled, holds()]).toEqual([true, 1]);
  });

  test('is not sent to the database when somebody applied it meanwhile', async () => {
    await stand.openSession();
    await hold();
    sessions = [stand.keeper.require().sessionId, rival('before')];
    const { state } = run();
    await settled();
    known = [];
    await advance(stand.clock, HEAD_START_MS);
    expect([state.settled, holds()]).toEqual([true, 0]);
  });

  test('waits for a session', async () => {
    await hold();
    const { state } = run();
    await advance(stand.clock, 10_000);
    expect(state).toEqual({ settled: null, code: null });
    await stand.openSession();
    await settled();
    expect([state.settled, holds()]).toEqual([true, 1]);
  });

  test('is applied even when its machine is unknown by now', async () => {
    await stand.openSession();
    const { state } = run();
    await settled();
    expect(state.settled).toBe(true);
  });

  test('stays open when it can still be carried out as work', async () => {
    await stand.openSession();
    const target = { provider: PROVIDER, slotId: SLOT_ID, machineId: stand.row().machineId };
    const what = { verb: 'reboot', force: false, target } as const;
    await stand.bmdb.requests.submit({ key: KEY, by: 'ann', reason: 'it is slow', what });
    const { state } = run();
    await settled();
    expect(state).toEqual({ settled: null, code: 'stays-open' });
    expect(stand.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
  });

  test('is reported and rejected when the database does not answer', async () => {
    await stand.openSession();
    await hold();
    stand.bmdb.tables.reachable = false;
    const { state } = run();
    await settled();
    expect(state.code).toBe('unreachable');
    expect(stand.log.count('a request could not be applied yet')).toBe(1);
    stand.bmdb.tables.reachable = true;
  });

  test('is not applied after its actor has ended', async () => {
    await stand.openSession();
    await hold();
    sessions = [stand.keeper.require().sessionId, rival('before')];
    run().stop();
    await advance(stand.clock, HEAD_START_MS);
    expect(holds()).toBe(0);
  });
});
