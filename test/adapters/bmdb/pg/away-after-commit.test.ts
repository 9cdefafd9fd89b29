import { describe, expect, it, vi } from 'vitest';
import type { Mood } from './breaking-proxy.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  historyOf,
  SIGNAL,
  STARTED,
} from './claim-stand.ts';
import { PATIENCE } from '../../../support/patience.ts';

const s = claimStand(4_000);
const MOODS: Mood[] = ['break before commit, then down', 'break after commit, then down'];

/** The answer to its COMMIT is lost, and the database cannot be reached for some time after. */
const away = async <T>(mood: Mood, call: () => Promise<T>): Promise<T> => {
  s.proxy.mood = mood;
  const answer = call();
  answer.catch(() => undefined);
  // Asked for three times in vain; nothing else connects.
  await vi.waitUntil(() => s.proxy.refused >= 3, { ...PATIENCE, interval: 10 });
  expect(s.proxy.broken).toBe(1);
  s.proxy.mood = 'through';
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
