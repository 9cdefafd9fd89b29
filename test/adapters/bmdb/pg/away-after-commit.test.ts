import { describe, expect, it } from 'vitest';
import type { Mood } from './breaking-proxy.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  historyOf,
  SIGNAL,
  STARTED,
} from './claim-stand.ts';

const s = claimStand();
const MOODS: Mood[] = ['break before commit, then down', 'break after commit, then down'];

/** The answer to its COMMIT is lost, and the database cannot be reached for some time after: nothing else connects. */
const away = async <T>(mood: Mood, call: () => Promise<T>): Promise<T> => {
  s.proxy.mood = mood;
  s.proxy.refusesMax = 3;
  const answer = await call();
  expect([s.proxy.broken, s.proxy.refused]).toEqual([1, 3]);
  return answer;
};

describe.each(MOODS)('what became of a lost COMMIT (%s) is found out', (mood) => {
  it('of a claim', async () => {
    const id = await addMachine(s);
    const work = await away(mood, () => s.session.claim('ShepherdAgentStart', id));
    expect(await historyOf(s, id)).toEqual(['Started']);
    expect((await s.bmdb.readMachine(id, SIGNAL)).row?.work).toMatchObject([{ epoch: work.epoch }]);
    await work.finish(STARTED);
  });

  it('of a finish', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    await away(mood, () => work.finish(STARTED));
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
    expect(await codeOfRefusal(work.finish(STARTED))).toBe('already-finished');
  });
});
