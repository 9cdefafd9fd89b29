import { describe, expect, it } from 'vitest';
import type { HardwareQuery, InspectedMachine } from '../../src/adapters/bmdb/port.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { hardwareReportCodec } from '../../src/wire/codec.ts';
import {
  KEY,
  KEY_HEX,
  ladderOn,
  MINUTE,
  machineRow,
  PROVIDER,
  providedOf,
  startedAt,
} from './bmdb-rows.ts';
import { holdOn, refusedWith, SIGNAL, UNKNOWN } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';
import { statisticsContract } from './bmdb-statistics.ts';
import { agentTags, installing } from './bmdb-vectors.ts';

const idOf = (at: number): MachineId => machineId(`00000000-0000-4000-8000-0000000000${at}`);
export function inspectionContract(s: Stage): void {
  statisticsContract(s);
  const { add, addLost, now, openOn } = s;

  describe('candidates', () => {
    const candidates = (process: 'ShepherdAgentStart' | 'ShepherdRecovery', limit = 100) =>
      s.h.bmdb.inspection.candidates({ process, limit }, SIGNAL);

    it('come by the oldest attempt, then by machine id, those never tried first', async () => {
      const at = await now();
      const attempted = new Map([
        ...([
          [11, 5],
          [12, null],
          [13, 20],
          [14, 5],
          [15, null],
        ] as [number, number | null][]),
      ]);
      for (const [id, minutes] of [...attempted].toReversed()) {
        const startAttempt = minutes === null ? null : { atMs: at - minutes * MINUTE, count: 1 };
        await s.h.insert({ ...machineRow(at, { startAttempt }), machineId: idOf(id) });
        const recovery =
          minutes === null
            ? null
            : ladderOn('rebooting', {
                askedAtMs: at - minutes * MINUTE,
                askedRung: 'rebooting',
                nextAtMs: at - MINUTE,
              });
        const lost = { ...startedAt(at - 40 * MINUTE), recovery };
        const provided = providedOf(`lost-${id}`);
        await s.h.insert({ ...machineRow(at, { ...lost, provided }), machineId: idOf(id + 10) });
      }
      expect(await candidates('ShepherdAgentStart')).toEqual([12, 15, 13, 11, 14].map(idOf));
      expect(await candidates('ShepherdAgentStart', 3)).toEqual([12, 15, 13].map(idOf));
      expect(await candidates('ShepherdRecovery')).toEqual([22, 25, 23, 21, 24].map(idOf));
    });

    it('are of one provider where one is given, and free', async () => {
      const at = await now();
      const other = providerName('other');
      const rows = [machineRow(at), machineRow(at), machineRow(at)] as const;
      for (const row of rows) await s.h.insert(row);
      await add({ provided: providedOf('1', { provider: other }) });
      await s.session.claim('ShepherdAgentStart', rows[1].machineId);
      await s.h.hold(holdOn(rows[2], 'no-start'));
      const query = { process: 'ShepherdAgentStart', provider: PROVIDER, limit: 10 } as const;
      expect(await s.h.bmdb.inspection.candidates(query, SIGNAL)).toEqual([rows[0].machineId]);
      expect(await candidates('ShepherdAgentStart')).toHaveLength(2);
    });
  });

  describe('inspection', () => {
    const inspect = async (id: MachineId, expiredBackoffs = false): Promise<InspectedMachine> => {
      const query = { machineId: id, expiredBackoffs };
      const { machines, next } = await s.h.other.inspection.machines(query, SIGNAL);
      expect([machines.length, next]).toEqual([1, null]);
      return machines[0]!;
    };
    const valuesOf = ({ tags }: InspectedMachine) =>
      Object.fromEntries(
        Object.entries(tags).map(([tag, fields]) => [
          tag,
          Object.fromEntries(fields.map(({ name, value }) => [name, value])),
        ]),
      );
    const iso = (ms: number) => new Date(ms).toISOString();

    it('shows every tag of a machine with every field, as text', async () => {
      const at = await now();
      const machine = machineRow(at, {
        ...agentTags(at, 40, null),
        ...installing([5, 4, 'Error']),
        startAttempt: { atMs: at - MINUTE, count: 3 },
        quarantine: { kind: 'byOperator', reason: 'being moved', untilMs: at - MINUTE },
        hostKey: 'host-key',
      });
      await s.h.insert(machine);
      const id = machine.machineId;
      const report = { report: { cpu: [{ cores: 8, vendor: 'ACME' }] }, warning: ['hot'] };
      const hardwareReport = hardwareReportCodec.encode(report);
      const record = { machineId: id, publicKey: KEY, bootId: 'boot-1', hardwareReport };
      await s.h.bmdb.heartbeats.recordHeartbeats([record]);
      const values = valuesOf(await inspect(id));
      const { heartbeat, installation, provided } = await s.read(id);
      expect(values).toMatchObject({
        AgentHeartbeat: { agent_heartbeat_at: iso(heartbeat!.atMs), boot_id: 'boot-1' },
        AgentStartAttempt: { attempted_at: iso(at - MINUTE), count: '3' },
        AgentStarted: {
          agent_started_at: iso(at - 40 * MINUTE),
          agent_public_key: KEY_HEX,
          boot_id: 'boot-1',
        },
        HardwareReport: {
          hardware_report_raw:
            'report {\n  cpu {\n    cores: 8\n    vendor: "ACME"\n  }\n}\nwarning: "hot"',
        },
        OSInstallationReport: { generation: '4', os_installation_result: 'Error' },
        OSInstallationRequest: { generation: '5', handed_out_at: iso(installation.handedOutAtMs!) },
        Provided: {
          provider: PROVIDER,
          provider_id: provided!.providerId,
          provider_status: 'Running',
          provider_missing_since: '<unknown>',
        },
        Quarantined: { kind: 'byOperator', reason: 'being moved', until: iso(at - MINUTE) },
        SshHostKey: { key: 'host-key' },
      });
      expect(Object.keys(values)).not.toContain('Recovery');
    });

    it('has the tags and columns that the schema names', async () => {
      const { tagTypes, version } = await s.h.bmdb.inspection.schema(SIGNAL);
      expect(version).toMatch(/^\d+_[a-z-]+$/);
      const at = await now();
      const id = await addLost({
        ...installing([5, 5, 'Error']),
        heartbeat: { atMs: at - 20 * MINUTE, bootId: null },
        hostKey: 'host-key',
        startAttempt: { atMs: at, count: 1 },
        quarantine: { kind: 'conflict', reason: 'x', untilMs: at - MINUTE },
      });
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null });
      await work.cancel();
      const { tags } = await inspect(id);
      const shown = new Map(tagTypes.map((type) => [type.name, type.columns]));
      expect(Object.keys(tags)).toEqual(
        [...shown.keys()].filter(
          (name) => !['BootTimes', 'HardwareReport', 'DeprovisionRequest'].includes(name),
        ),
      );
      for (const [name, fields] of Object.entries(tags)) {
        expect(fields.map((field) => ({ name: field.name, type: field.type }))).toEqual(
          shown.get(name),
        );
      }
    });

    it('shows live work and active waits, ended ones only when asked', async () => {
      const at = await now();
      const wait = { cause: 'no luck', lastIntervalSeconds: 60 };
      const backoffs: MachineRow['backoffs'] = [
        { ...wait, process: 'ShepherdAgentStart', untilMs: at - MINUTE },
        { ...wait, process: 'ShepherdRecovery', untilMs: at + 60 * MINUTE },
      ];
      const id = await add({ backoffs });
      const short = await openOn(s.h.bmdb, 60_000);
      await short.claim('UnitTest1', id);
      const { createdAtMs } = await s.read(id);
      expect(await inspect(id)).toMatchObject({ machineId: id, createdAtMs });
      expect((await inspect(id)).work).toEqual({ UnitTest1: short.sessionId });
      expect((await inspect(id)).backoffs).toEqual({
        ShepherdRecovery: { untilMs: at + 60 * MINUTE, cause: 'no luck' },
      });
      expect(Object.keys((await inspect(id, true)).backoffs).toSorted()).toEqual([
        ...['ShepherdAgentStart', 'ShepherdRecovery'],
      ]);
      await s.h.expireSession(short.sessionId);
      expect((await inspect(id)).work).toEqual({});
      await short.close();
    });

    it('goes through the machines page by page, and knows no others', async () => {
      const ids = (await Promise.all(Array.from({ length: 5 }, () => add()))).toSorted();
      const page = (after: MachineId | null) =>
        s.h.bmdb.inspection.machines({ limit: 2, ...(after && { after }) }, SIGNAL);
      const first = await page(null);
      const second = await page(first.next);
      const third = await page(second.next);
      const seen = [first, second, third].map(({ machines }) =>
        machines.map((each) => each.machineId),
      );
      expect(seen).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
      expect(third.next).toBeNull();
      const unknown = await s.h.bmdb.inspection.machines({ machineId: UNKNOWN }, SIGNAL);
      expect(unknown).toMatchObject({ machines: [], next: null });
    });

    it('stops when it is told to', async () => {
      const stopped = AbortSignal.abort(new Error('enough'));
      const { inspection } = s.h.bmdb;
      for (const call of [
        inspection.statistics(stopped),
        inspection.candidates({ process: 'UnitTest1', limit: 1 }, stopped),
        inspection.schema(stopped),
        inspection.machines({}, stopped),
        inspection.hardware({}, stopped),
        inspection.history(UNKNOWN, stopped),
      ]) {
        expect(await refusedWith(call)).toBe('cancelled');
      }
    });
  });
}

/** What people alone read, and a database in memory does not tell. */
export function hardwareContract(s: Stage): void {
  const { now } = s;

  describe('hardware', () => {
    const hardware = (query: HardwareQuery = {}) => s.h.other.inspection.hardware(query, SIGNAL);
    /** What an agent reports of a machine with so many cores. */
    const report = async (id: MachineId, cores: number) => {
      const hardwareReport = hardwareReportCodec.encode({ report: { cpu: [{ cores }] } });
      await s.h.bmdb.heartbeats.recordHeartbeats([
        { machineId: id, publicKey: KEY, bootId: 'boot-1', hardwareReport },
      ]);
    };
    const started = async (at: number, provided = providedOf(`device-${at}`)) => {
      const nowMs = await now();
      const row = machineRow(nowMs, { ...startedAt(nowMs - 40 * MINUTE), provided });
      await s.h.insert({ ...row, machineId: idOf(at) });
      return idOf(at);
    };

    it('is what agents found in machines that are provided', async () => {
      expect(await hardware()).toEqual({ machines: [], next: null });
      await started(11);
      const id = await started(12, providedOf('one', { provider: providerName('other') }));
      await report(id, 8);
      const { machines, next } = await hardware();
      expect([machines.length, next]).toEqual([1, null]);
      expect(machines[0]).toMatchObject({
        machineId: id,
        provider: 'other',
        providerId: providedOf('one').providerId,
        report: {
          name: 'hardware_report_raw',
          type: 'bytea',
          value: 'report {\n  cpu {\n    cores: 8\n  }\n}',
          message: { report: { cpu: [{ cores: 8 }] } },
        },
      });
      await s.h.insert({
        ...machineRow(await now(), { ...startedAt((await now()) - 40 * MINUTE), provided: null }),
        machineId: idOf(13),
      });
      await report(idOf(13), 4);
      expect((await hardware()).machines.map((each) => each.machineId)).toEqual([id]);
    });

    it('comes page by page, each machine once, by machine id', async () => {
      for (const at of [15, 11, 14, 12, 13]) await report(await started(at), at);
      const page = async (query: HardwareQuery) => {
        const { machines, next } = await hardware(query);
        return [machines.map((each) => each.machineId), next];
      };
      expect(await page({ limit: 2 })).toEqual([[11, 12].map(idOf), idOf(12)]);
      expect(await page({ limit: 2, after: idOf(12) })).toEqual([[13, 14].map(idOf), idOf(14)]);
      expect(await page({ limit: 2, after: idOf(14) })).toEqual([[idOf(15)], null]);
      expect(await page({ limit: 5 })).toEqual([[11, 12, 13, 14, 15].map(idOf), null]);
      expect(await page({ after: idOf(15) })).toEqual([[], null]);
    });
  });
}
