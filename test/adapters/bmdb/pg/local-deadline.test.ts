import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  historyOf,
  holding,
  openOn,
  untilBlocked,
} from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';
import { createMovedClock, type MovedClock } from '../../../support/moved-time.ts';

const INTERVAL_MS = 60_000;
const s = claimStand();

let bmdb: Bmdb | null = null;
afterEach(async () => {
  await bmdb?.close();
  bmdb = null;
});

const connect = (clock: Clock): Bmdb => openPgBmdb({ url: s.server.url, clock });
const open = () => openOn(bmdb!, INTERVAL_MS);

/** The database holds back its answer, while the local clock goes on by so much. */
const answeredLate = async <T>(
  lock: string,
  goOn: () => void,
  call: () => Promise<T>,
): Promise<T> => {
  const { answer } = await holding(s, lock, async () => {
    const called = call();
    // Whoever awaits it hears of a failure that comes before.
    called.catch(() => undefined);
    await untilBlocked(s, 1);
    goOn();
    return { answer: called };
  });
  return answer;
};

describe('the local deadline counts from the start', () => {
  const LATE_MS = 20_000;
  let clock: MovedClock;
  beforeEach(() => {
    clock = createMovedClock();
    bmdb = connect(clock);
  });
  const leap = () => clock.move(LATE_MS);

  it('of opening the session, however late the answer comes', async () => {
    const session = await answeredLate('LOCK TABLE sessions IN EXCLUSIVE MODE', leap, open);
    expect(session.remainingMs()).toBe(INTERVAL_MS - LATE_MS);
    await session.close();
  });

  it('of a poke, however late the answer comes', async () => {
    const session = await open();
    clock.move(LATE_MS);
    const row = `SELECT 1 FROM sessions WHERE session_id = '${session.sessionId}' FOR UPDATE`;
    // Half of what is left, so that the poke is not given up.
    await answeredLate(
      row,
      () => clock.move(LATE_MS - 1_000),
      () => session.poke(),
    );
    expect(session.remainingMs()).toBe(INTERVAL_MS - LATE_MS + 1_000);
    await session.close();
  });
});

it('a poke that is not answered leaves time for another one, and ends the session at its deadline', async () => {
  const session = await openOn(s.bmdb, INTERVAL_MS);
  s.proxy.mood = 'silent';
  const poked = codeOfRefusal(session.poke());
  s.clock.move(INTERVAL_MS / 2);
  expect(await poked).toBe('timed-out');
  expect(session.remainingMs()).toBe(INTERVAL_MS / 2);
  s.clock.move(INTERVAL_MS / 2);
  expect(codeOf(session.signal.reason)).toBe('session-expired');
  s.proxy.mood = 'down';
});

describe('an answer that is heard after the local deadline is refused', () => {
  let aheadMs: number;
  beforeEach(() => {
    aheadMs = 0;
    // As after a stop of the whole process: the answer is there before any timer has fired.
    const clock = createMovedClock();
    bmdb = connect({ ...clock, monotonic: () => clock.monotonic() + aheadMs });
  });
  const stopped = () => void (aheadMs = INTERVAL_MS);

  it('of the release of a machine', async () => {
    const session = await open();
    const id = await addMachine(s);
    await session.claim('ShepherdAgentStart', id);
    const lease = `SELECT 1 FROM work WHERE machine_id = '${id}' FOR UPDATE`;
    const late = answeredLate(lease, stopped, () => session.releaseWork(id));
    expect(await codeOfRefusal(late)).toBe('session-expired');
    expect(session.signal.aborted).toBe(true);
    // It was the answer that came late: the database did as it was told.
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled released']);
  });

  it('of a note, so that nothing is asked of a provider on the strength of it', async () => {
    const session = await open();
    const id = await addMachine(s);
    const work = await session.claim('ShepherdAgentStart', id);
    const lease = `SELECT 1 FROM work WHERE machine_id = '${id}' FOR UPDATE`;
    const late = answeredLate(lease, stopped, () => work.note({ kind: 'agentStartAttempt' }));
    expect(await codeOfRefusal(late)).toBe('session-expired');
    expect(await codeOfRefusal(session.poke())).toBe('session-expired');
  });
});
