import { describe, expect, it } from 'vitest';
import type { InstallImage } from '../../src/domain/verbs.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { installationReportCodec, installationRequestCodec } from '../../src/wire/codec.ts';
import { KEY, MINUTE, startedAt } from './bmdb-rows.ts';
import { holdOn } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';

export function installsContract(s: BmdbStage): void {
  const { add, read } = s;
  const { applyRequest } = s;

  describe('an installation', () => {
    const image: InstallImage = {
      url: 'https://images.test/a.img?token=1',
      sha256: 'ab'.repeat(32),
      compression: 'zstd',
      rootDevice: { wwn: 'naa.5000C500A1B2C3D4' },
    };
    const install = async (id: MachineId, change: Partial<InstallImage> = {}) =>
      applyRequest({ verb: 'install', target: await s.target(id), image: { ...image, ...change } });
    const handedOut = async (id: MachineId) => {
      const [outcome] = await s.beat(id);
      return outcome?.kind === 'accepted' ? outcome.installationRequest : null;
    };

    it('is handed to the agent unchanged with its next heartbeat', async () => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      expect(await install(id)).toMatchObject({
        state: 'done',
        outcome: 'it is handed to the agent as generation 1',
      });
      expect((await read(id)).installation).toMatchObject({
        requestGeneration: 1n,
        handedOutAtMs: null,
        reportGeneration: null,
      });
      expect(await s.h.events(id)).toEqual(['installRequested generation 1: no longer needed']);
      expect(await s.h.actors(id)).toEqual(['ann']);
      const found = installationRequestCodec.decode((await handedOut(id))!);
      expect(found).toMatchObject({ generation: 1n, type: 'genericImage' });
      const { imageUrl, sha256, compression, rootDevice } = found.genericImage!;
      expect({ imageUrl, compression }).toEqual({ imageUrl: image.url, compression: 2 });
      expect(Buffer.from(sha256!).toString('hex')).toBe(image.sha256);
      expect(rootDevice).toMatchObject({ by: 'wwn' });
      expect(Buffer.from(rootDevice!.wwn!).toString('hex')).toBe('5000c500a1b2c3d4');
    });

    it.each([
      ['name', { name: 'vda' }],
      ['serial', { serial: 'S3Z8' }],
    ] as const)('names its disk by %s', async (by, rootDevice) => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      await install(id, { rootDevice, compression: 'none' });
      const { genericImage } = installationRequestCodec.decode((await handedOut(id))!);
      expect(genericImage!.rootDevice).toMatchObject({ by, ...rootDevice });
      expect(genericImage!.compression ?? 0).toBe(0);
    });

    it('is handed out when nothing forbids it any more', async () => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      await install(id);
      const { provider, slotId } = await s.target(id);
      await s.h.hold(holdOn(await read(id), 'preserve'));
      expect(await handedOut(id)).toBeNull();
      await s.h.lift(provider, slotId, 'preserve');
      expect(await handedOut(id)).not.toBeNull();
    });

    it('is not handed out again by a late report', async () => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      await install(id);
      expect(await handedOut(id)).not.toBeNull();
      const target = await s.target(id);
      const held = await applyRequest({
        verb: 'hold',
        target: { ...target, machineId: null },
        kind: 'preserve',
        untilMs: null,
      });
      const late = 'an installation was handed to its agent before, and may be under way';
      expect(held!.outcome).toBe(`preserve holds until it is removed; ${late}`);
      expect(await handedOut(id)).toBeNull();
      const parked = await applyRequest({ verb: 'quarantine', target, untilMs: null });
      expect(parked!.outcome).toBe(`quarantined until it is released; ${late}`);
      await applyRequest({ verb: 'unhold', target, kind: 'preserve' });
      expect((await applyRequest({ verb: 'deprovision', target }))!.outcome).toBe(
        `it will be given back; ${late}`,
      );
    });

    it('can be withdrawn until the agent has it', async () => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      const cancel = async () =>
        applyRequest({ verb: 'cancel-install', target: await s.target(id) });
      expect(await cancel()).toMatchObject({
        state: 'done',
        outcome: 'no installation was requested',
      });
      await install(id);
      expect(await cancel()).toMatchObject({
        state: 'done',
        outcome: 'generation 1 is not installed',
      });
      expect((await read(id)).installation).toMatchObject({
        requestGeneration: null,
        handedOutAtMs: null,
      });
      expect(await handedOut(id)).toBeNull();
      expect(await s.h.events(id)).toContain('installCancelled generation 1: no longer needed');
      await install(id);
      expect(await handedOut(id)).not.toBeNull();
      expect(await cancel()).toMatchObject({
        state: 'refused',
        outcome: 'generation 1 was handed to its agent: it may be under way',
      });
      expect((await read(id)).installation.requestGeneration).toBe(1n);
    });

    it('is logged once when handed out and once when reported', async () => {
      const id = await add(startedAt((await s.now()) - MINUTE));
      await install(id);
      await handedOut(id);
      await handedOut(id);
      const report = (result: 'Success' | 'Error', error: string) => ({
        generation: 1n,
        result,
        raw: installationReportCodec.encode({
          generation: 1n,
          ...(result === 'Error' ? { error: { error }, result: 'error' } : {}),
          ...(result === 'Success' ? { success: {}, result: 'success' } : {}),
        }),
      });
      const tells = (installationReport: ReturnType<typeof report>) =>
        s.h.other.heartbeats.recordHeartbeats([
          { machineId: id, publicKey: KEY, bootId: null, installationReport },
        ]);
      for (const _ of [1, 2]) {
        await tells(report('Error', 'no such disk\n\u001b[31msda'));
      }
      for (const _ of [1, 2]) await tells(report('Success', ''));
      await tells(report('Error', 'late'));
      expect((await s.h.events(id)).slice(1)).toEqual([
        'installHandedOut generation 1',
        'installReported generation 1: Error: no such disk; \ufffd[31msda',
        'installReported generation 1: Success',
      ]);
      expect((await s.h.actors(id)).slice(1)).toEqual(['bmsrv', 'bmsrv', 'bmsrv']);
    });
  });
}
