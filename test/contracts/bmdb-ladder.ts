import { describe, expect, it } from 'vitest';
import type { Work } from '../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { Process } from '../../src/domain/machine.ts';
import type { OrderVerb } from '../../src/domain/verbs.ts';
import { BOOT_TIMES_KEPT } from '../../src/domain/policy.ts';
import { ASKED, ladderOn, MINUTE } from './bmdb-rows.ts';
import { agentStarted, refusedWith, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import type { StandingRung } from '../../src/domain/recovery/rungs.ts';

const processOf = (rung: StandingRung): Process =>
  rung === 'reinstalling' ? 'ShepherdReinstall' : 'ShepherdRecovery';

export function ladderContract(s: BmdbStage): void {
  const { read, addLost } = s;
  const claim = (id: MachineId, rung: StandingRung = 'rebooting') =>
    s.session.claim(processOf(rung), id);
  const ask = async (
    id: MachineId,
    rung: StandingRung,
    bootId: string | null = null,
  ): Promise<Work> => {
    const work = await claim(id, rung);
    await work.note({ kind: 'recoveryAsked', rung, bootId });
    return work;
  };
  const order = async (id: MachineId, verb: OrderVerb = 'reboot'): Promise<string> => {
    const target = await s.target(id);
    const what = verb === 'reboot' ? ({ verb, target, force: false } as const) : { verb, target };
    return await s.submit(what);
  };

  describe('the recovery ladder', () => {
    it('remembers the request and what was known before it', async () => {
      const id = await addLost({ hostKey: 'old-key' });
      const work = await ask(id, 'powerCycling', 'boot-1');
      const { recovery } = await read(id);
      expect(recovery).toEqual({
        rung: 'powerCycling',
        attempts: 1,
        nextAtMs: null,
        askedAtMs: recovery!.askedAtMs,
        askedRung: 'powerCycling',
        orderKey: null,
        operationRef: null,
        bootIdBefore: 'boot-1',
        hostKeyBefore: 'old-key',
        offSeenAtMs: null,
        powerOffAskedAtMs: recovery!.askedAtMs,
      });
      expect(Math.abs(recovery!.askedAtMs! - (await s.now()))).toBeLessThan(MINUTE);
      await work.note({ kind: 'recoveryAsked', rung: 'powerCycling', bootId: null });
      expect((await read(id)).recovery).toMatchObject({ attempts: 2, bootIdBefore: null });
      expect((await read(id)).hostKey).toBe('old-key');
    });

    it('remembers when a power cycle first saw the power off', async () => {
      const id = await addLost();
      const work = await ask(id, 'rebooting');
      await work.note({ kind: 'powerSeenOff' });
      expect((await read(id)).recovery!.offSeenAtMs).toBeNull();
      const cycle = { kind: 'recoveryAsked', rung: 'powerCycling', bootId: null } as const;
      await work.note(cycle);
      await work.note({ kind: 'powerSeenOff' });
      const first = (await read(id)).recovery!.offSeenAtMs!;
      expect(Math.abs(first - (await s.now()))).toBeLessThan(MINUTE);
      await s.h.pass(10_000);
      const before = (await read(id)).recovery!;
      await work.note({ kind: 'powerSeenOff' });
      expect((await read(id)).recovery).toEqual(before);
      await work.note(cycle);
      expect((await read(id)).recovery!.offSeenAtMs).toBeNull();
    });

    it('knows a power-off request until a power-on request is accepted', async () => {
      const id = await addLost();
      const work = await ask(id, 'powerCycling');
      /** Milliseconds by which this request precedes the last one. */
      const agoMs = async () => {
        const { askedAtMs, powerOffAskedAtMs } = (await read(id)).recovery!;
        return (askedAtMs ?? Number.NaN) - (powerOffAskedAtMs ?? Number.NaN);
      };
      expect(await agoMs()).toBe(0);
      await s.h.pass(10_000);
      await work.note({ kind: 'recoveryAsked', rung: 'powerCycling', bootId: null });
      expect(await agoMs(), 'since the first').toBeGreaterThanOrEqual(10_000);
      await work.note({ kind: 'recoveryRefused', counts: true });
      await work.note(ASKED);
      expect(await agoMs(), 'whatever is asked then').toBeGreaterThanOrEqual(10_000);
      await work.note({ kind: 'powerOnAccepted' });
      const { recovery } = await read(id);
      expect(recovery).toMatchObject({ powerOffAskedAtMs: null, askedRung: 'rebooting' });
      await work.note({ kind: 'powerOnAccepted' });
      expect((await read(id)).recovery).toEqual(recovery);
    });

    it.each([
      ['another step', 'rebooting', true],
      ['its power cycle', 'powerCycling', false],
    ] as const)('knows it beyond the proof of %s: %s, %s', async (_, rung, isKnown) => {
      const id = await addLost();
      const work = await ask(id, 'powerCycling');
      await work.note({ kind: 'recoveryAsked', rung, bootId: null });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: 90 });
      const { powerOffAskedAtMs } = (await read(id)).recovery!;
      expect(powerOffAskedAtMs !== null).toBe(isKnown);
    });

    it('has no time of power off without a request', async () => {
      const id = await addLost();
      const work = await claim(id);
      await work.note({ kind: 'powerSeenOff' });
      expect((await read(id)).recovery).toBeNull();
    });

    it('forgets all of this after a proof', async () => {
      const id = await addLost({ hostKey: 'old-key' });
      const work = await ask(id, 'powerCycling', 'boot-1');
      await work.note({ kind: 'powerSeenOff' });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: 90 });
      const { recovery } = await read(id);
      expect(recovery).toEqual(ladderOn('powerCycling', { nextAtMs: recovery!.nextAtMs }));
      expect((await s.h.events(id)).at(-1)).toBe('recovered powerCycling');
    });
  });

  describe('a reinstallation', () => {
    it('forgets the host key when it is requested', async () => {
      const id = await addLost({ hostKey: 'old-key' });
      await ask(id, 'reinstalling');
      expect(await read(id)).toMatchObject({
        hostKey: null,
        recovery: { rung: 'reinstalling', attempts: 1, hostKeyBefore: 'old-key' },
      });
    });

    it('still knows the old key when it is requested again', async () => {
      const id = await addLost({ hostKey: 'old-key' });
      const work = await ask(id, 'reinstalling');
      await work.fail(STEADY, 'no evidence');
      await s.h.pass(2 * MINUTE);
      await ask(id, 'reinstalling');
      expect(await read(id)).toMatchObject({
        hostKey: null,
        recovery: { attempts: 2, hostKeyBefore: 'old-key' },
      });
    });

    it.each([true, false])('changes no key after a definite refusal (%s)', async (counts) => {
      const id = await addLost({ hostKey: 'old-key' });
      const work = await ask(id, 'reinstalling');
      await work.note({ kind: 'recoveryRefused', counts });
      expect(await read(id)).toMatchObject({
        hostKey: 'old-key',
        recovery: { attempts: counts ? 1 : 0, askedAtMs: null, askedRung: null },
      });
    });

    it('leaves the key open when it is refused after an earlier request', async () => {
      const id = await addLost({ hostKey: 'old-key' });
      await (await ask(id, 'reinstalling')).fail(STEADY, 'no evidence');
      await s.h.pass(2 * MINUTE);
      const work = await ask(id, 'reinstalling');
      await work.note({ kind: 'recoveryRefused', counts: true });
      expect((await read(id)).hostKey).toBeNull();
    });
  });

  describe('a host key', () => {
    it('is pinned with the attempt after its proof, however the work ends', async () => {
      const id = await s.add();
      const work = await s.session.claim('ShepherdAgentStart', id);
      await work.note({ kind: 'agentStartAttempt', hostKey: 'new-key' });
      expect((await s.h.other.readMachine(id, AbortSignal.timeout(240_000))).row!.hostKey).toBe(
        'new-key',
      );
      await work.cancel();
      expect((await read(id)).hostKey).toBe('new-key');
      expect(await refusedWith(work.note({ kind: 'agentStartAttempt', hostKey: 'x' }))).toBe(
        'work-lost',
      );
    });
  });

  describe('boot times', () => {
    it('are those of the last boots of each kind, newest first', async () => {
      const id = await addLost();
      const boot = async (rung: StandingRung, bootSeconds: number | null) => {
        const work = await ask(id, rung);
        await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds });
        await (await s.session.claim('ShepherdAgentStart', id)).finish(agentStarted());
        await s.h.pass(40 * MINUTE);
      };
      expect((await read(id)).bootTimes).toEqual({ reboot: [], reinstall: [] });
      await boot('restartingAgent', null);
      expect((await read(id)).bootTimes).toEqual({ reboot: [], reinstall: [] });
      for (let at = 1; at <= BOOT_TIMES_KEPT; at++) await boot('rebooting', 100 + at);
      await boot('reinstalling', 900.4);
      await boot('powerCycling', 200);
      expect((await read(id)).bootTimes).toEqual({
        reboot: [200, 105, 104, 103, 102],
        reinstall: [900],
      });
    });
  });

  describe('an order that leaves the ladder unchanged', () => {
    it('is one for a machine without an episode', async () => {
      const id = await addLost();
      const key = await order(id);
      const work = await claim(id);
      await work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: 'boot-1', order: key });
      const { recovery } = await read(id);
      expect(recovery).toEqual(
        ladderOn('restartingAgent', {
          attempts: 0,
          askedAtMs: recovery!.askedAtMs,
          askedRung: 'rebooting',
          orderKey: key,
          bootIdBefore: 'boot-1',
        }),
      );
      expect((await s.h.events(id)).at(-1)).toBe(
        'recoveryAsked rebooting, ordered by ann: no longer needed',
      );
    });

    it('is so whatever its steps report', async () => {
      const ladder = ladderOn('powerCycling', { attempts: 2 });
      const id = await addLost({ recovery: ladder, hostKey: 'old-key' });
      const key = await order(id, 'reinstall');
      const work = await claim(id, 'reinstalling');
      const asked = { kind: 'recoveryAsked', rung: 'reinstalling', bootId: null } as const;
      await work.note({ ...asked, order: key });
      expect(await read(id)).toMatchObject({
        hostKey: null,
        recovery: { rung: 'powerCycling', attempts: 2, askedRung: 'reinstalling', orderKey: key },
      });
      await work.note({ kind: 'recoveryRefused', counts: false });
      expect(await read(id)).toMatchObject({
        hostKey: 'old-key',
        recovery: { ...ladder, hostKeyBefore: 'old-key' },
      });
    });

    it('makes no request after it was applied, or for another machine', async () => {
      const [id, other] = [await addLost(), await addLost()];
      const key = await order(id);
      const asked = ASKED;
      const work = await claim(id);
      expect(await refusedWith(work.note({ ...asked, order: 'unknown' }))).toBe('nothing-to-do');
      await work.fail(STEADY, 'x', { order: key });
      await s.h.pass(2 * MINUTE);
      const again = await claim(id);
      expect(await refusedWith(again.note({ ...asked, order: key }))).toBe('nothing-to-do');
      await again.cancel();
      const mine = await order(other);
      const foreign = await claim(id);
      expect(await refusedWith(foreign.note({ ...asked, order: mine }))).toBe('nothing-to-do');
      expect((await read(id)).recovery).toBeNull();
    });
  });
}
