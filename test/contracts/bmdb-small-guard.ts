import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { MINUTE, PROVIDER, providedOf, startedAt } from './bmdb-rows.ts';
import { SIGNAL } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';

const STATIC = providerName('static');

/** Scopes so small that `silentMin` would be most of them. */
export function smallGuardContract(s: Stage): void {
  const guarded = () => s.begin(DEFAULT_LOSS, DEFAULT_BUDGET, DEFAULT_GUARD);
  const assess = () => s.h.bmdb.guard.assess({ ingestUp: true });
  const claim = (id: MachineId) => s.session.claim('ShepherdRecovery', id);
  /** Its agent was started long ago, and heard so long ago. */
  const heard = async (agoMs: number, change: Partial<MachineRow> = {}) => {
    const at = await s.now();
    const heartbeat = { atMs: at - agoMs, bootId: null };
    return s.add({ ...startedAt(at - 300 * MINUTE), heartbeat, ...change });
  };
  const dead = () => heard(60 * MINUTE);
  const many = (count: number, of: () => Promise<MachineId>) =>
    Promise.all(Array.from({ length: count }, of));
  const countsOf = async (scope: string) =>
    (await assess()).counts.find((each) => each.scope === scope);

  describe('the guard of a small scope', () => {
    it('A8: of a small scope, while more than half of it are late or silent', async () => {
      await guarded();
      const id = await dead();
      const late = [await heard(2 * MINUTE), await heard(2 * MINUTE), await heard(2 * MINUTE)];
      await heard(0);
      await expect(claim(id)).rejects.toThrow(/3 of 5 .*late or silent/);
      await assess();
      await expect(claim(id)).rejects.toThrow(/3 of 5 .*late or silent/);
      await s.beat(late[0]!);
      await (await claim(id)).cancel();
    });

    it.each([2, 3, 4, 5])(
      'A8: freezes a fleet of %i that fell silent together, and lets it go on once it is back',
      async (machines) => {
        await guarded();
        const [id, ...others] = await many(machines, () => heard(11 * MINUTE));
        expect((await assess()).changes).toEqual([
          { scope: 'fleet', now: 'frozen' },
          { scope: PROVIDER, now: 'frozen' },
        ]);
        await expect(claim(id!)).rejects.toThrow(`${machines} of ${machines} started machines`);
        await s.h.pass(1_000);
        const watch = async (minutes: number) => {
          for (let passed = 0; passed < minutes; passed += 0.5) {
            await s.h.pass(MINUTE / 2);
            for (const each of [id!, ...others]) await s.beat(each);
            await assess();
          }
        };
        await watch(5);
        expect(await countsOf('fleet')).toMatchObject({ silent: 0, newlySilent: 0 });
        await watch(11);
        const { guard } = await s.h.bmdb.scan(SIGNAL);
        expect(guard.map(({ frozen }) => frozen)).toEqual([null, null]);
      },
    );

    it.each([2, 4])(
      'A8: thaws a fleet of %i of which one never comes back, which is recovered then',
      async (machines) => {
        await guarded();
        const [gone, ...others] = await many(machines, () => heard(11 * MINUTE));
        await assess();
        await expect(claim(gone!)).rejects.toThrow(/frozen/);
        for (let passed = 0; passed < 20; passed += 0.5) {
          await s.h.pass(MINUTE / 2);
          for (const each of others) await s.beat(each);
          await assess();
        }
        const { guard } = await s.h.bmdb.scan(SIGNAL);
        expect(guard.map(({ frozen }) => frozen)).toEqual([null, null]);
        await (await claim(gone!)).cancel();
      },
    );

    it('A8: does not freeze for one machine alone, nor for half of a few', async () => {
      await guarded();
      const only = await heard(11 * MINUTE, {
        provided: providedOf('only', { provider: STATIC, location: null }),
      });
      const half = await many(2, () => heard(11 * MINUTE));
      await many(3, () => heard(0));
      expect((await assess()).changes).toEqual([]);
      await (await claim(only)).cancel();
      await (await claim(half[0]!)).cancel();
    });
  });
}
