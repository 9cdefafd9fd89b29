import { describe, expect, it } from 'vitest';
import { UNKNOWN, refusedWith } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';

export function providedContract(s: Stage): void {
  const { read, add, addLost } = s;
  describe('what is provided', () => {
    it('changes only where something is given', async () => {
      const id = await add();
      const before = (await read(id)).provided!;
      await s.session.updateProvided(id, { status: 'Stopped' });
      expect((await read(id)).provided).toEqual({ ...before, status: 'Stopped' });
      await s.session.updateProvided(id, { address: null, location: 'la' });
      expect((await read(id)).provided).toEqual({
        ...{ ...before, status: 'Stopped', address: null, location: 'la' },
      });
      await s.session.updateProvided(id, {});
      expect(await refusedWith(s.session.updateProvided(UNKNOWN, { status: 'Running' }))).toBe(
        'not-found',
      );
    });

    it('gives a permit back when the provider misses the machine', async () => {
      const id = await addLost({ permit: true });
      await s.session.updateProvided(id, { status: 'Missing' });
      expect((await read(id)).permit).toBe(false);
      expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
    });
  });
}
