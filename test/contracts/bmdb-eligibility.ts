import { describe, expect, it } from 'vitest';
import { codeOf } from '../../src/domain/errors.ts';
import { providerName } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { MachineRow, Process, QuarantineKind } from '../../src/domain/machine.ts';
import { PROVIDER_STATUSES } from '../../src/domain/machine.ts';
import { KEY, MINUTE, machineRow, providedOf, requestedAt, startedAt } from './bmdb-rows.ts';
import { holdOn, SIGNAL } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';
import {
  AGENT_START_VECTORS,
  agentTags,
  INSTALL_TABLE,
  installing,
  RECOVERY_VECTORS,
} from './bmdb-vectors.ts';

export function eligibilityContract(s: Stage): void {
  const { add, now } = s;

  /** Whether it can be claimed; leaves no trace but history. */
  const may = async (process: Process, id: MachineId): Promise<boolean> => {
    try {
      await (await s.session.claim(process, id)).cancel();
      return true;
    } catch (error) {
      expect(codeOf(error)).toBe('nothing-to-do');
      return false;
    }
  };
  const candidates = (process: Process) =>
    s.h.bmdb.inspection.candidates({ process, limit: 100 }, SIGNAL);
  const statistics = () => s.h.bmdb.inspection.statistics(SIGNAL);

  describe('the state of the installation', () => {
    it.each(INSTALL_TABLE)('$state ($installation): as the table says', async (expected) => {
      const at = await now();
      const installation = installing(expected.installation);
      const silent = agentTags(at, 40, null);
      const provider = providerName('lost');
      const lost = await add({
        ...installation,
        ...silent,
        provided: providedOf('lost', { provider }),
      });
      const fresh = await add(installation);
      const heard = await add({ ...installation, ...startedAt(at) });
      const counts = (await statistics()).providers.get(provider)!;
      expect({
        state: expected.state,
        installation: expected.installation,
        agentStart: await may('ShepherdAgentStart', fresh),
        recovery: await may('ShepherdRecovery', lost),
        handedOut: await isHandedOut(heard),
        statInstalled: counts.installed === 1,
        statPendingRecovery: counts.pendingRecovery === 1,
      }).toEqual(expected);
      expect([counts.installationPending, counts.installationFailed]).toEqual([
        expected.state === 'PENDING' ? 1 : 0,
        expected.state === 'FAILED' ? 1 : 0,
      ]);
    });

    const isHandedOut = async (machineId: MachineId) => {
      const record = { machineId, publicKey: KEY, bootId: null };
      const [outcome] = await s.h.bmdb.heartbeats.recordHeartbeats([record]);
      return outcome?.kind === 'accepted' && outcome.installationRequest !== null;
    };
  });

  /** Each row is a machine of its own; claims, candidates and the count must agree with it. */
  const agree = async (
    process: Process,
    machines: readonly { name: string; change: Partial<MachineRow>; expected: boolean }[],
  ) => {
    const ids: MachineId[] = [];
    for (const { change } of machines) ids.push(await add(change));
    const listed = new Set(await candidates(process));
    const counts = (await statistics()).fleet;
    const found: unknown[] = [];
    for (const [at, { name }] of machines.entries()) {
      const id = ids[at]!;
      found.push({ name, claimed: await may(process, id), listed: listed.has(id) });
    }
    expect(found).toEqual(
      machines.map(({ name, expected }) => ({ name, claimed: expected, listed: expected })),
    );
    const { pendingAgentStart, pendingRecovery } = counts;
    expect(process === 'ShepherdAgentStart' ? pendingAgentStart : pendingRecovery).toBe(
      machines.filter((each) => each.expected).length,
    );
  };

  describe('recovery', () => {
    it('takes exactly the machines that the vectors say', async () => {
      const at = await now();
      await agree(
        'ShepherdRecovery',
        RECOVERY_VECTORS.map(([started, heard, installation, expected]) => ({
          name: [started ?? '-', heard ?? '-', ...installation].join('/'),
          change: { ...agentTags(at, started, heard), ...installing(installation) },
          expected,
        })),
      );
    });

    it('looks at the heartbeats of this start only, and waits for what was handed out', async () => {
      const at = await now();
      const pending = (minutes: number, installation: MachineRow['installation']) => ({
        ...agentTags(at, 40, null),
        installation: { ...installation, handedOutAtMs: at - minutes * MINUTE },
      });
      const { installation } = installing([10, null]);
      const failed = installing([10, 10, 'Error']).installation;
      await agree('ShepherdRecovery', [
        { name: 'stale heartbeat', change: agentTags(at, 5, 60), expected: false },
        { name: 'handed out 25 min ago', change: pending(25, installation), expected: false },
        { name: 'handed out 35 min ago', change: pending(35, installation), expected: true },
        { name: 'failed since', change: pending(25, failed), expected: true },
      ]);
    });

    it('takes machines whose agent start was given up', async () => {
      const at = await now();
      const tried = (count: number, minutes: number): Partial<MachineRow> => ({
        startAttempt: { atMs: at - minutes * MINUTE, count },
      });
      const done = installing([10, 10]);
      await agree('ShepherdRecovery', [
        { name: 'never tried', change: {}, expected: false },
        { name: 'five failures', change: tried(5, 1), expected: false },
        { name: 'six failures', change: tried(6, 1), expected: true },
        { name: 'executed 25 min ago', change: tried(0, 25), expected: false },
        { name: 'executed 35 min ago', change: tried(0, 35), expected: true },
        { name: 'handed over', change: { ...tried(6, 1), ...done }, expected: false },
      ]);
    });
  });

  describe('agent start', () => {
    it('takes exactly the machines that the vectors say', async () => {
      const at = await now();
      await agree(
        'ShepherdAgentStart',
        AGENT_START_VECTORS.map(([name, { provided, started, installation }, expected]) => ({
          name,
          change: {
            ...(provided ? {} : { provided: null }),
            ...(started ? startedAt(at) : {}),
            ...installing(installation),
          },
          expected,
        })),
      );
    });
  });

  const STATUSES = [null, ...PROVIDER_STATUSES];
  it.each([
    ['ShepherdAgentStart', [null, 'Running', 'Unknown']],
    ['ShepherdRecovery', [null, 'Running', 'Stopped', 'Unknown']],
  ] as const)('%s needs a provider status of %j', async (process, suitable) => {
    const at = await now();
    const tags = process === 'ShepherdRecovery' ? agentTags(at, 40, null) : {};
    await agree(
      process,
      STATUSES.map((status) => ({
        name: String(status),
        change: { ...tags, provided: providedOf(`status-${status}`, { status }) },
        expected: (suitable as readonly unknown[]).includes(status),
      })),
    );
  });

  describe.each(['ShepherdAgentStart', 'ShepherdRecovery'] as const)('%s', (process) => {
    const tags = (at: number) =>
      process === 'ShepherdRecovery' ? agentTags(at, 40, null) : agentTags(at, null, null);

    it.each<QuarantineKind>(['needsHuman', 'conflict', 'byOperator'])(
      'leaves machines alone while they are quarantined: %s',
      async (kind) => {
        const at = await now();
        const parked = (untilMs: number | null) => ({
          ...tags(at),
          quarantine: { kind, reason: 'x', untilMs },
        });
        await agree(process, [
          { name: 'for ever', change: parked(null), expected: false },
          { name: 'until later', change: parked(at + MINUTE), expected: false },
          { name: 'until a while ago', change: parked(at - MINUTE), expected: true },
        ]);
      },
    );

    it('leaves machines alone that are to be deprovisioned, or wait after a failure', async () => {
      const at = await now();
      const waiting = (of: Process, minutes: number): Partial<MachineRow> => ({
        ...tags(at),
        backoffs: [
          { process: of, untilMs: at + minutes * MINUTE, cause: 'x', lastIntervalSeconds: 60 },
        ],
      });
      const other = process === 'ShepherdRecovery' ? 'ShepherdAgentStart' : 'ShepherdRecovery';
      await agree(process, [
        {
          name: 'deprovision',
          change: { ...tags(at), deprovision: requestedAt(at) },
          expected: false,
        },
        { name: 'waits', change: waiting(process, 5), expected: false },
        { name: 'waited', change: waiting(process, -5), expected: true },
        { name: 'waits for another process', change: waiting(other, 5), expected: true },
      ]);
    });

    it.each([
      ['no-start', { ShepherdAgentStart: false, ShepherdRecovery: true }],
      ['no-recover', { ShepherdAgentStart: true, ShepherdRecovery: false }],
      ['no-allocate', { ShepherdAgentStart: true, ShepherdRecovery: true }],
      ['preserve', { ShepherdAgentStart: true, ShepherdRecovery: true }],
    ] as const)('under a hold %s', async (kind, expected) => {
      const at = await now();
      const [held, ended, free] = [tags(at), tags(at), tags(at)].map((each) =>
        machineRow(at, each),
      ) as [MachineRow, MachineRow, MachineRow];
      for (const each of [held, ended, free]) await s.h.insert(each);
      await s.h.hold({ ...holdOn(held, kind), untilMs: at + MINUTE });
      await s.h.hold({ ...holdOn(ended, kind), untilMs: at - MINUTE });
      expect(await may(process, held.machineId)).toBe(expected[process]);
      expect(await may(process, ended.machineId)).toBe(true);
      expect(await may(process, free.machineId)).toBe(true);
      await s.h.lift(held.provided!.provider, held.provided!.reservationId!, kind);
      expect(await may(process, held.machineId)).toBe(true);
    });
  });

  it('takes nothing that cannot be read, and shows that alone as such', async () => {
    const at = await now();
    const id = await add(agentTags(at, 40, null));
    const sound = await add();
    await s.h.spoil(id);
    for (const process of ['UnitTest1', 'ShepherdAgentStart', 'ShepherdRecovery'] as const) {
      expect(await may(process, id)).toBe(false);
    }
    const { machines } = await s.h.bmdb.scan(SIGNAL);
    const unreadable = machines.filter((row) => row.unreadable !== undefined);
    expect(unreadable.map((row) => row.machineId)).toEqual([id]);
    expect(unreadable[0]!.unreadable).toContain('Levitating');
    expect(await candidates('ShepherdRecovery')).toEqual([]);
    expect(await may('ShepherdAgentStart', sound)).toBe(true);
  });
}
