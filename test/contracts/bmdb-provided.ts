import { describe, expect, it, vi } from 'vitest';
import { MINUTE } from './bmdb-rows.ts';
import { refusedWith, SIGNAL, UNKNOWN } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { PATIENCE } from '../support/patience.ts';
import { TRAIT_NAMES } from '../../src/domain/traits.ts';

export function providedContract(s: BmdbStage): void {
  const { read, add, addLost } = s;
  describe('what the provider reports about a machine', () => {
    it('changes only the given fields', async () => {
      const id = await add();
      const before = (await read(id)).provided!;
      await s.session.updateProvided(id, { status: 'Stopped' });
      expect((await read(id)).provided).toEqual({ ...before, status: 'Stopped' });
      await s.session.updateProvided(id, { address: null, location: 'la' });
      expect((await read(id)).provided).toEqual({
        ...before,
        status: 'Stopped',
        address: null,
        location: 'la',
      });
      await s.session.updateProvided(id, {});
      expect(await refusedWith(s.session.updateProvided(UNKNOWN, { status: 'Running' }))).toBe(
        'not-found',
      );
    });

    it('keeps each trait separately', async () => {
      const id = await add();
      let now = (await read(id)).provided!;
      for (const name of TRAIT_NAMES) {
        // The lengths that an entry of a listing may have.
        for (const text of [`a ${name}`, 'x'.repeat(255), null]) {
          await s.session.updateProvided(id, { [name]: text });
          now = { ...now, [name]: text };
          expect((await read(id)).provided).toEqual(now);
        }
      }
    });

    it('keeps an address of any permitted length', async () => {
      const id = await add();
      const address = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.test:22`;
      await s.session.updateProvided(id, { address });
      expect((await read(id)).provided).toMatchObject({ address });
    });

    it('returns the permit when the provider no longer lists the machine', async () => {
      const id = await addLost({ permit: true });
      await s.session.updateProvided(id, { status: 'Stopped', absent: true });
      expect((await read(id)).permit).toBe(true);
      await s.session.updateProvided(id, { status: 'Missing' });
      expect((await read(id)).permit).toBe(false);
      expect(await refusedWith(s.session.claim('ShepherdRecovery', id))).toBe('nothing-to-do');
    });

    it('counts consecutive complete listings without the device', async () => {
      const id = await add();
      expect((await read(id)).missing).toBeNull();
      await s.session.updateProvided(id, { absent: true });
      const first = (await read(id)).missing!;
      expect(first.seen).toBe(1);
      expect(Math.abs(first.sinceMs - (await s.now()))).toBeLessThan(MINUTE);
      await s.h.pass(10 * MINUTE);
      await s.rival.updateProvided(id, { absent: true });
      const second = (await read(id)).missing!;
      expect(second.seen).toBe(2);
      expect((await s.now()) - second.sinceMs).toBeGreaterThanOrEqual(10 * MINUTE);
      // Other news about the device, and the conclusion itself, do not change the count.
      await s.session.updateProvided(id, { location: 'la' });
      await s.session.updateProvided(id, { status: 'Missing' });
      expect(await read(id)).toMatchObject({ missing: second, provided: { status: 'Missing' } });
      await s.session.updateProvided(id, { absent: false, status: 'Running' });
      expect(await read(id)).toMatchObject({ missing: null, provided: { status: 'Running' } });
      await s.session.updateProvided(id, { absent: true });
      expect((await read(id)).missing?.seen).toBe(1);
    });

    it('forgets the count when the device is listed again', async () => {
      const id = await add();
      const unseen = async () => {
        const { cursor } = await s.scan();
        const changes = await s.h.other.changesSince(cursor!, SIGNAL);
        return changes?.machines.length === 0 && cursor;
      };
      const cursor = await vi.waitUntil(unseen, PATIENCE);
      const row = await read(id);
      const { address, location } = row.provided!;
      const same = { address, location, status: 'Running' } as const;
      await s.session.updateProvided(id, { absent: false, ...same });
      expect(await s.h.other.changesSince(cursor, SIGNAL)).toMatchObject({ machines: [] });
      expect(await read(id)).toEqual(row);
    });

    it('counts nothing for a machine without hardware', async () => {
      const id = await add({ provided: null });
      expect(await refusedWith(s.session.updateProvided(id, { absent: true }))).toBe('not-found');
      expect((await read(id)).missing).toBeNull();
    });
  });
}
