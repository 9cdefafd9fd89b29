import { describe, expect, it } from 'vitest';
import type { ReportedCondition } from '../../src/domain/conditions.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { ASKED, KEY, MINUTE, PROVIDER, startedAt } from './bmdb-rows.ts';
import { hardwareReportCodec, type HardwareNode } from '../../src/wire/codec.ts';
import { SIGNAL, UNKNOWN, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function heartbeatsContract(s: BmdbStage): void {
  const { now, read, add, addLost, beat } = s;
  describe('heartbeats', () => {
    const report = (generation: number, result: 'Success' | 'Error' = 'Success') => ({
      generation: BigInt(generation),
      result,
      raw: new Uint8Array([9]),
    });
    const asking = (generation: number): Pick<MachineRow, 'installation'> => ({
      installation: {
        requestGeneration: BigInt(generation),
        handedOutAtMs: null,
        reportGeneration: null,
        reportResult: null,
      },
    });
    const send = async (id: MachineId, installationReport: ReturnType<typeof report>) => {
      const record = { machineId: id, publicKey: KEY, bootId: null, installationReport };
      return (await s.h.bmdb.heartbeats.recordHeartbeats([record]))[0]!;
    };

    it('are accepted only from the agent that was started', async () => {
      const at = await now();
      const id = await add(startedAt(at - MINUTE));
      const idle = await add();
      const other = new Uint8Array(32).fill(8);
      const outcomes = await s.h.bmdb.heartbeats.recordHeartbeats([
        { machineId: id, publicKey: other, bootId: null },
        { machineId: UNKNOWN, publicKey: KEY, bootId: null },
        { machineId: id, publicKey: KEY, bootId: 'boot-1' },
        { machineId: idle, publicKey: KEY, bootId: null },
      ]);
      expect(outcomes.map((each) => each.kind)).toEqual([
        'unauthenticated',
        'unauthenticated',
        'accepted',
        'unauthenticated',
      ]);
      expect(outcomes[2]).toMatchObject({ installationRequest: null });
      const { heartbeat } = await read(id);
      expect(heartbeat).toMatchObject({ bootId: 'boot-1' });
      expect(heartbeat!.atMs).toBeGreaterThanOrEqual(at);
      expect((await read(idle)).heartbeat).toBeNull();
      expect(await s.h.bmdb.heartbeats.recordHeartbeats([])).toEqual([]);
    });

    it('are accepted for machines without a hardware report, unless their agent is new', async () => {
      const at = await now();
      const [silent, told, fresh] = [
        await add(startedAt(at - 10 * MINUTE)),
        await add(startedAt(at - 10 * MINUTE)),
        await add(startedAt(at)),
      ];
      await add(startedAt(at - 10 * MINUTE));
      const hardwareReport = new Uint8Array([1]);
      for (const id of [silent, fresh]) await beat(id);
      await s.h.bmdb.heartbeats.recordHeartbeats([
        { machineId: told, publicKey: KEY, bootId: null, hardwareReport },
      ]);
      expect(await s.h.bmdb.heartbeats.withoutHardware!()).toEqual([silent]);
    });

    const conditionsOf = async (id: MachineId) => {
      const { provided } = await read(id);
      const at = { provider: PROVIDER, slotId: provided!.reservationId! };
      const rows = await s.h.bmdb.conditions.ofSlot(at, SIGNAL);
      return rows.map(({ type, source, status, reason }) => [type, source, status, reason].join());
    };

    it('store what agents say is wrong with their machines', async () => {
      const [id, other] = [await add(startedAt(await now())), await add(startedAt(await now()))];
      const say = (
        machine: MachineId,
        status: ReportedCondition['status'],
        type: ReportedCondition['type'] = 'disk-failing',
        publicKey = KEY,
      ) => {
        const conditions = [{ ...{ type, status, detail: '' }, reason: `it is ${status}` }];
        return { machineId: machine, publicKey, bootId: null, conditions };
      };
      const { recordHeartbeats } = s.h.bmdb.heartbeats;
      await recordHeartbeats([
        say(id, 'True'),
        say(other, 'False'),
        say(UNKNOWN, 'True'),
        say(other, 'True', 'disk-worn', new Uint8Array(32)),
        say(other, 'True', 'hardware-missing'),
      ]);
      expect(await conditionsOf(id)).toEqual(['disk-failing,agent,True,it is True']);
      expect(await conditionsOf(other)).toEqual([]);
      await beat(id);
      expect(await conditionsOf(id)).toEqual(['disk-failing,agent,True,it is True']);
      await recordHeartbeats([say(id, 'False')]);
      expect(await conditionsOf(id)).toEqual(['disk-failing,agent,False,it is False']);
      expect((await s.h.events(id)).filter((each) => /condition/i.test(each))).toEqual([
        'conditionSet disk-failing: it is True',
        'conditionCleared disk-failing: it is False',
      ]);
    });

    it('find out that parts of a machine are missing, until they are back', async () => {
      const id = await add(startedAt(await now()));
      const GIB = 2n ** 30n;
      const disk = (serialNumber: string, name = serialNumber) => ({ name, serialNumber });
      const sent = async (node: HardwareNode | null, warning: string[] = []) => {
        const hardwareReport = node
          ? hardwareReportCodec.encode({ report: node, warning })
          : new Uint8Array([1]);
        const record = { machineId: id, publicKey: KEY, bootId: null, hardwareReport };
        await s.h.bmdb.heartbeats.recordHeartbeats([record]);
        return conditionsOf(id);
      };
      const whole = {
        memoryInstalledBytes: 100n * GIB,
        blockDevice: [disk('S1'), disk('S2', 'sdb'), { name: 'sdc' }],
      };
      const missing = (what: string) => [`hardware-missing,agent,True,${what}`];
      const complete = ['hardware-missing,agent,False,no part is missing'];
      expect(await sent(whole)).toEqual([]);
      expect(await sent({ ...whole, memoryInstalledBytes: 95n * GIB })).toEqual([]);
      expect(await sent(whole)).toEqual([]);
      const lessMemory = { ...whole, memoryInstalledBytes: 64n * GIB };
      expect(await sent(lessMemory)).toEqual(missing('memory: 64 GiB of 100 GiB'));
      const fewer = { ...lessMemory, blockDevice: [disk('S1', 'sdz'), { name: 'sdc' }] };
      const both = missing('memory: 64 GiB of 100 GiB (and 1 more)');
      expect(await sent(fewer)).toEqual(both);
      expect(await sent(fewer), 'the same again').toEqual(both);
      const noDisk = missing('disk sdb (S2)');
      expect(await sent({ ...fewer, memoryInstalledBytes: 100n * GIB })).toEqual(noDisk);
      const unread = ['block devices: EIO'];
      expect(await sent({ ...whole, memoryInstalledBytes: 0n }), 'unknown').toEqual(noDisk);
      expect(await sent({ ...whole, blockDevice: [] }, unread), 'unread').toEqual(noDisk);
      expect(await sent(null), 'unreadable').toEqual(noDisk);
      const more = { ...whole, blockDevice: [...whole.blockDevice, disk('S3')] };
      expect(await sent(more)).toEqual(complete);
      expect(await sent({ ...more, blockDevice: [] }, unread), 'unread').toEqual(complete);
      expect(await sent(whole), 'since the last complete one').toEqual(missing('disk S3 (S3)'));
    });

    it('may appear twice in one batch', async () => {
      const id = await add(startedAt(await now()));
      const record = { machineId: id, publicKey: KEY, bootId: null };
      const twice = await s.h.bmdb.heartbeats.recordHeartbeats([
        record,
        { ...record, bootId: 'boot-2' },
      ]);
      expect(twice.map((each) => each.kind)).toEqual(['accepted', 'accepted']);
      expect((await read(id)).heartbeat?.bootId).toBe('boot-2');
    });

    it('no longer count after the agent was forgotten', async () => {
      const id = await addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      expect(await beat(id)).toEqual([{ kind: 'unauthenticated' }]);
    });

    it('return the installation request until it is reported', async () => {
      const raw = new Uint8Array([4, 5, 6]);
      const id = await add({ ...startedAt(await now()), ...asking(3) }, raw);
      const ask = async () => {
        const [outcome] = await beat(id);
        if (outcome?.kind !== 'accepted') return expect.fail('the heartbeat was refused');
        return outcome.installationRequest && [...outcome.installationRequest];
      };
      expect(await ask()).toEqual([4, 5, 6]);
      const first = (await read(id)).installation.handedOutAtMs;
      expect(first).not.toBeNull();
      await s.h.pass(MINUTE);
      expect(await ask()).toEqual([4, 5, 6]);
      const again = (await read(id)).installation.handedOutAtMs;
      expect((await now()) - again!).toBeGreaterThanOrEqual(MINUTE);
      expect(await send(id, report(3))).toMatchObject({ installationRequest: null });
      expect(await ask()).toBeNull();
      expect((await read(id)).installation).toMatchObject({
        reportGeneration: 3n,
        reportResult: 'Success',
      });
    });

    it('accept an installation report only for the requested installation', async () => {
      const id = await add({ ...startedAt(await now()), ...asking(3) });
      const stored = async () => (await read(id)).installation.reportResult;
      expect((await send(id, report(2))).kind).toBe('accepted');
      expect(await stored()).toBeNull();
      expect((await send(id, report(4))).kind).toBe('invalid');
      expect(await stored()).toBeNull();
      expect((await read(id)).heartbeat).not.toBeNull();
      expect((await send(id, report(3, 'Error'))).kind).toBe('accepted');
      expect(await stored()).toBe('Error');
      await send(id, report(3, 'Success'));
      await send(id, report(3, 'Error'));
      expect(await stored()).toBe('Success');
      const idle = await add(startedAt(await now()));
      expect((await send(idle, report(1))).kind).toBe('accepted');
      expect((await read(idle)).installation.reportGeneration).toBeNull();
    });

    it('C2: tell a machine to reboot when its image is in place and nothing forbids it', async () => {
      const id = await add({ ...startedAt(await now()), ...asking(3) });
      const word = async (result: 'Success' | 'Error', generation = 3) => {
        const outcome = await send(id, report(generation, result));
        return outcome.kind === 'accepted' && outcome.mayReboot === true;
      };
      const { applyRequest } = s;
      expect(await word('Error')).toBe(false);
      expect(await word('Success', 2)).toBe(false);
      expect((await beat(id))[0]).not.toHaveProperty('mayReboot');
      expect(await word('Success')).toBe(true);
      expect(await word('Error')).toBe(false);
      // Only the agent that sends the report is told to reboot.
      expect((await beat(id))[0]).not.toHaveProperty('mayReboot');
      for (const scope of ['fleet', PROVIDER] as const) {
        await applyRequest({ verb: 'freeze', scope });
        expect(await word('Success')).toBe(false);
        await applyRequest({ verb: 'thaw', scope });
        expect(await word('Success')).toBe(true);
      }
      const target = await s.target(id);
      await applyRequest({ verb: 'hold', target, kind: 'preserve', untilMs: null });
      expect(await word('Success'), 'under a hold preserve').toBe(false);
      await applyRequest({ verb: 'unhold', target, kind: 'preserve' });
      await applyRequest({ verb: 'quarantine', target, untilMs: null });
      expect(await word('Success'), 'under quarantine').toBe(false);
      await applyRequest({ verb: 'release', target, forgetHostKey: false });
      expect(await word('Success')).toBe(true);
      await applyRequest({ verb: 'deprovision', target });
      expect(await word('Success'), 'once it is given back').toBe(false);
    });
  });
}
