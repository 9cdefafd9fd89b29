import { describe, expect, it } from 'vitest';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { HoldKind, MachineRow, Process } from '../../src/domain/machine.ts';
import { MINUTE, providedOf, requestedAt, startedAt } from './bmdb-rows.ts';
import { holdOn, SIGNAL } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { agentTags, installing } from './bmdb-vectors.ts';

/**
 * Claims, candidates and counts follow the rules that the tests of `refusal` write out. Another
 * test compares the SQL with these rules for random rows.
 */
export function eligibilityContract(s: BmdbStage): void {
  const { add, now } = s;

  /** Whether the process can claim the machine. Only history records the attempt. */
  const may = async (process: Process, id: MachineId): Promise<boolean> => {
    try {
      await (await s.session.claim(process, id)).cancel();
      return true;
    } catch (error) {
      expect(codeOf(error)).toBe('nothing-to-do');
      return false;
    }
  };

  describe.each([
    ['ShepherdAgentStart', 'no-start', (at: number) => agentTags(at, null, null)],
    ['ShepherdRecovery', 'no-recover', (at: number) => agentTags(at, 40, null)],
  ] as const)('%s', (process, forbidding, sound) => {
    it('claims and counts a machine that no rule excludes', async () => {
      const at = await now();
      const wait = { cause: 'x', lastIntervalSeconds: 60 };
      const other = process === 'ShepherdRecovery' ? 'ShepherdAgentStart' : 'ShepherdRecovery';
      const parked = { kind: 'needsHuman', reason: 'x', cause: null } as const;
      const until = (minutes: number | null) => (minutes === null ? null : at + minutes * MINUTE);
      const rows: [string, boolean, Partial<MachineRow>, (HoldKind | null)?, number?][] = [
        ['sound', true, {}],
        ['well', false, { ...startedAt(at), heartbeat: { atMs: at, bootId: null } }],
        ['without hardware', false, { provided: null }],
        ['missing', false, { provided: providedOf('missing', { status: 'Missing' }) }],
        ['handed over', false, installing([10, 10])],
        ['not installed', true, installing([10, 10, 'Error'])],
        ['parked for ever', false, { quarantine: { ...parked, untilMs: until(null) } }],
        ['parked until later', false, { quarantine: { ...parked, untilMs: until(1) } }],
        ['parked until a while ago', true, { quarantine: { ...parked, untilMs: until(-1) } }],
        ['to be given back', false, { deprovision: requestedAt(at) }],
        ['waiting', false, { backoffs: [{ process, untilMs: at + MINUTE, ...wait }] }],
        ['done waiting', true, { backoffs: [{ process, untilMs: at - MINUTE, ...wait }] }],
        ['waiting otherwise', true, { backoffs: [{ process: other, untilMs: at + 1, ...wait }] }],
        ['held', false, {}, forbidding, 1],
        ['held until a while ago', true, {}, forbidding, -1],
        ['held otherwise', true, {}, 'no-allocate', 1],
      ];
      const ids: MachineId[] = [];
      for (const [, , change, kind, minutes] of rows) {
        const id = await add({ ...sound(at), ...change });
        ids.push(id);
        if (!kind) continue;
        await s.h.hold({ ...holdOn(await s.read(id), kind), untilMs: until(minutes!) });
      }
      const { fleet } = await s.h.bmdb.inspection.statistics(SIGNAL);
      const found: unknown[] = [];
      for (const [row, id] of ids.entries()) {
        found.push([rows[row]![0], await may(process, id)]);
      }
      expect(found).toEqual(rows.map(([name, expected]) => [name, expected]));
      const counted =
        process === 'ShepherdRecovery' ? fleet.pendingRecovery : fleet.pendingAgentStart;
      expect(counted).toBe(rows.filter(([, expected]) => expected).length);
    });
  });

  it('never offers a machine that cannot be read, and reports only that about it', async () => {
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
    expect(await may('ShepherdAgentStart', sound)).toBe(true);
  });
}
