import { describe, expect, it } from 'vitest';
import { providerName } from '../../../../src/domain/ids.ts';
import type { Mood } from './breaking-proxy.ts';
import { claimStand, SIGNAL } from './claim-stand.ts';

const s = claimStand();
const NAME = { provider: providerName('rack'), key: 'bmc-1' };
const rows = () => s.other.records.all(NAME.provider, SIGNAL);

/** The answer to its COMMIT is lost once. */
async function lost<T>(mood: Mood, call: () => Promise<T>): Promise<T> {
  s.proxy.mood = mood;
  const answer = await call();
  expect(s.proxy.broken).toBe(1);
  s.proxy.mood = 'through';
  return answer;
}

describe.each<Mood>(['break before commit', 'break after commit'])(
  'a record that is written while the answer is lost (%s)',
  (mood) => {
    it('is made once, and is ours', async () => {
      const version = await lost(mood, () => s.session.records.make(NAME, 1));
      expect(await rows()).toEqual([{ key: 'bmc-1', value: 1, version }]);
    });

    it('is replaced once, and is as we wrote it', async () => {
      const before = await s.session.records.make(NAME, 1);
      const version = await lost(mood, () => s.session.records.replace(NAME, 2, before));
      expect(await rows()).toEqual([{ key: 'bmc-1', value: 2, version }]);
    });

    it('is dropped', async () => {
      const before = await s.session.records.make(NAME, 1);
      await lost(mood, () => s.session.records.drop(NAME, before));
      expect(await rows()).toEqual([]);
    });
  },
);

it('the database keeps to the limits by itself', async () => {
  const insert = `INSERT INTO provider_records (provider, key, value, version) VALUES ($1, $2, $3, 'v')`;
  for (const [key, value] of [
    ['', '1'],
    ['x'.repeat(201), '1'],
    ['key', JSON.stringify('x'.repeat(16 * 1024))],
  ]) {
    await expect(s.server.sql.query(insert, ['rack', key, value])).rejects.toMatchObject({
      code: '23514',
    });
  }
});
