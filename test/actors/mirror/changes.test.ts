import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BmdbChanges, BmdbSnapshot } from '../../../src/adapters/bmdb/port.ts';
import { assembleFacts } from '../../../src/domain/assemble.ts';
import { cursor, machineId, sessionId, slot } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { viewOf } from '../../../src/domain/view.ts';
import {
  agentStarted,
  device,
  hold,
  intentRow,
  liveWork,
  machineRow,
  MACHINE,
  PROVIDER,
  provided,
  SESSION,
  SLOT,
} from '../../support/facts.ts';
import { runService } from '../../support/fleet-stand-in.ts';
import { mirrorStand, type MirrorStand } from '../../support/mirror-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

const GAP_MS = 250;
const MARK = cursor('mark');

let stand: MirrorStand;
let { clock, script, heard$, mirror, log, views, fleet } = {} as MirrorStand;

beforeEach(() => {
  stand = mirrorStand();
  ({ clock, script, heard$, mirror, log, views, fleet } = stand);
});

afterEach(async () => {
  fleet.stop();
  await settled();
  expect(fleet.crashes).toEqual([]);
  expect(clock.pending, 'timers left').toBe(0);
});

/** The first scan, and the changes that the first listing causes. */
const begin = (rows: Partial<BmdbSnapshot> = {}) => stand.begin(rows);
const ask = async () => {
  script.wake();
  await settled();
  expect(script.changes).toHaveLength(1);
};
const tell = async (changes: Partial<BmdbChanges> = {}) => {
  script.changes.shift()!.answer({ cursor: MARK, ...changes });
  await advance(clock, GAP_MS);
};
const change = async (changes: Partial<BmdbChanges>) => {
  await advance(clock, 1);
  await ask();
  await tell(changes);
};
const fresh = () => fleet.news.splice(0);
const observed = (state: string, substate: string) =>
  expect.objectContaining({
    type: 'observed',
    view: expect.objectContaining({ state, substate }) as unknown,
  }) as unknown;
const OTHER = machineId('other');
const otherRow = (given: Partial<MachineRow> = {}) =>
  machineRow({
    machineId: OTHER,
    provided: provided({ providerId: 'device-2', reservationId: 'rack-2' }),
    ...given,
  });
const alive = [{ sessionId: SESSION, component: 'shepherd' }];
const rowOf = (name = SLOT) => mirror.facts().get(name)?.row;
const running = (given: Partial<MachineRow> = {}) =>
  machineRow({
    agentStarted: agentStarted(clock.now() - 60_000),
    heartbeat: { atMs: clock.now(), bootId: 'boot-1' },
    ...given,
  });

describe('changes in the mirror', () => {
  test('are news of their machines and leave the rest', async () => {
    await begin({ machines: [machineRow(), otherRow()] });
    await change({ machines: [running()] });
    expect(fresh()).toEqual([observed('Running', 'healthy')]);
    expect(views).toHaveLength(1);
    expect([...mirror.facts().keys()].toSorted()).toEqual([SLOT, slot('stub', 'rack-2')]);
  });

  test('are no news when they are empty', async () => {
    await begin({ machines: [machineRow(), otherRow()] });
    const before = mirror.facts();
    await change({ machines: [machineRow()] });
    expect([fresh(), views, stand.factsTold()]).toEqual([[], [], 0]);
    expect(mirror.facts()).toBe(before);
  });

  test('report a machine that is gone', async () => {
    await begin({ machines: [machineRow(), otherRow()] });
    await change({ gone: [OTHER] });
    const gone = slot('stub', 'rack-2');
    expect(fresh()).toEqual([observed('Released', 'gone'), { type: 'vanished', slot: gone }]);
    expect(mirror.facts().has(gone)).toBe(false);
  });

  test('place a new machine, and a machine that moved', async () => {
    await begin();
    await change({ machines: [machineRow()] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
    const moved = provided({ reservationId: 'rack-9' });
    await change({ machines: [machineRow({ provided: moved })] });
    expect([...mirror.facts().keys()]).toEqual(['stub/rack-9']);
  });

  test('report two machines on one slot as a conflict until one is gone', async () => {
    await begin({ machines: [machineRow()] });
    await change({ machines: [machineRow({ machineId: OTHER })] });
    expect(fresh()).toEqual([observed('Quarantined', 'conflict')]);
    await change({ gone: [OTHER] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
  });

  test('report a machine that becomes unreadable as a conflict', async () => {
    await begin({ machines: [machineRow()] });
    const unreadable = 'this program does not know it; upgrade it';
    await change({ machines: [machineRow({ unreadable })] });
    expect(fresh()).toEqual([observed('Quarantined', 'conflict')]);
    expect(mirror.facts().get(SLOT)?.conflict).toBe(unreadable);
    await change({ machines: [machineRow()] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
  });

  test('report a rung of a newer program once and spoil nothing', async () => {
    const unknownRung = 'soaking';
    await begin({ machines: [running({ unknownRung }), otherRow({ unknownRung })] });
    await change({ machines: [running({ unknownRung, permit: true })] });
    expect(fresh()).toEqual([observed('Recovering', 'coolingDown')]);
    expect(log.lines.map(({ level, fields }) => [level, fields['rung']])).toEqual([
      ['warn', 'soaking'],
    ]);
  });

  test('always include intents and holds', async () => {
    await begin({ machines: [machineRow()] });
    await change({ holds: [hold('no-start')], intents: [intentRow({ slotId: 'rack-5' })] });
    expect(fresh()).toHaveLength(2);
    expect(mirror.facts().get(SLOT)?.holds).toHaveLength(1);
    await change({ holds: [hold('no-start')] });
    expect(fresh()).toHaveLength(2);
    expect([...mirror.facts().keys()]).toEqual([SLOT]);
  });

  test('explain a listing by rows that changed meanwhile', async () => {
    stand.listing = async () => ({ machines: [device()], complete: true });
    await advance(clock, 0);
    script.scans.shift()!.answer({ cursor: MARK });
    await advance(clock, GAP_MS);
    expect(fresh()).toEqual([]);
    script.changes.shift()!.answer({ cursor: MARK, machines: [machineRow()] });
    await settled();
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
  });
});

describe('sessions in the mirror', () => {
  const busy = (given: Partial<MachineRow> = {}) =>
    machineRow({ work: [liveWork('ShepherdAgentStart')], ...given });
  const rival = sessionId('bbbbbbbb-0000-4000-8000-000000000009');

  test('release their work when they die, although no row changed', async () => {
    await begin({ machines: [busy()], sessions: alive });
    expect(rowOf()?.work).toHaveLength(1);
    await change({ sessions: alive });
    expect(fresh()).toEqual([]);
    await change({ sessions: [{ sessionId: rival, component: 'shepherd' }] });
    expect(fresh()).toEqual([observed('Provisioned', 'waiting')]);
    expect(rowOf()?.work).toEqual([]);
    expect(mirror.sessions()).toEqual([rival]);
  });

  test('count as alive when they were opened after the read began', async () => {
    await begin({ machines: [machineRow()], sessions: alive });
    await ask();
    await advance(clock, 1_000);
    const work = [liveWork('ShepherdAgentStart', rival)];
    script.reading = { nowMs: clock.now(), version: clock.now(), row: busy({ work }) };
    await mirror.reread({ slot: SLOT, machineId: MACHINE }, new AbortController().signal);
    await tell({ sessions: alive });
    expect(rowOf()?.work).toEqual(work);
    await advance(clock, 1_000);
    await change({ sessions: alive });
    expect(rowOf()?.work).toEqual([]);
  });
});

describe('newer news', () => {
  const reread = (row: MachineRow | null) => {
    script.reading = { nowMs: clock.now(), version: clock.now(), row };
    return mirror.reread({ slot: SLOT, machineId: MACHINE }, new AbortController().signal);
  };

  test('survive changes that were read before a single read', async () => {
    await begin({ machines: [machineRow()] });
    await ask();
    await advance(clock, 1_000);
    expect(await reread(running())).toMatchObject({ state: 'Running' });
    expect(fresh(), 'told as any news').toHaveLength(1);
    await tell({ machines: [machineRow()] });
    expect(fresh()).toEqual([]);
    expect(rowOf()?.agentStarted).not.toBeNull();
  });

  test('yield to a replaced database, which counts anew', async () => {
    await begin({ machines: [machineRow()] });
    await advance(clock, 1_000);
    await ask();
    await tell({ version: 3, machines: [running()] });
    expect(rowOf()?.agentStarted).not.toBeNull();
  });

  test('keep a heartbeat through changes of its row', async () => {
    const row = running();
    await begin({ machines: [row] });
    await ask();
    await advance(clock, 20_000);
    const atMs = clock.now();
    heard$.next({ machineId: MACHINE, atMs, bootId: 'boot-1' });
    await tell({ machines: [{ ...row, permit: true }] });
    expect(rowOf()).toMatchObject({ permit: true, heartbeat: { atMs } });
    await advance(clock, 20_000);
  });
});

test('become due when the database’s clock leaps', async () => {
  await begin({ machines: [running()] });
  expect(mirror.facts().size).toBe(1);
  await change({ nowMs: clock.now() + DEFAULT_LOSS.heartbeatMs + 60_000 });
  expect(fresh()).toEqual([observed('Running', 'silent')]);
});

test('are all repeated after a restart', async () => {
  await begin({ machines: [machineRow(), otherRow()] });
  fleet.stop();
  await settled();
  script.scans.length = script.changes.length = 0;
  fleet = runService(mirror.service);
  await advance(clock, 0);
  script.scans.shift()!.answer({ cursor: MARK, machines: [machineRow(), otherRow()] });
  await settled();
  expect(fresh()).toHaveLength(2);
  await advance(clock, 1_000);
});

test('match all rows, and views match the facts, after random changes', async () => {
  const rows = fc.uniqueArray(
    fc.record({ id: fc.nat(3), rack: fc.nat(3), permit: fc.boolean(), broken: fc.boolean() }),
    { selector: ({ id }) => id, maxLength: 4 },
  );
  const steps = fc.array(
    fc.record({ rows, gone: fc.uniqueArray(fc.nat(3)), whole: fc.boolean(), held: fc.boolean() }),
    { minLength: 1, maxLength: 6 },
  );
  await begin();
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const there = new Map<string, MachineRow>();
      for (const row of [...mirror.facts().values()].map((each) => each.row)) {
        if (row) there.set(row.machineId, row);
      }
      await change({ gone: [...[0, 1, 2, 3].map((id) => machineId(`machine-${id}`))] });
      there.clear();
      for (const step of all) {
        const machines = step.rows.map(({ id, rack, permit, broken }) =>
          machineRow({
            machineId: machineId(`machine-${id}`),
            provided: provided({ providerId: `device-${id}`, reservationId: `rack-${rack}` }),
            permit,
            ...(broken && { unreadable: 'it is new' }),
          }),
        );
        const holds = step.held ? [{ ...hold('preserve'), slotId: 'rack-1' }] : [];
        if (step.whole) there.clear();
        const gone = step.gone.map((id) => machineId(`machine-${id}`));
        const left = gone.filter((id) => !machines.some((row) => row.machineId === id));
        for (const id of left) there.delete(id);
        for (const row of machines) there.set(row.machineId, row);
        await advance(clock, 1);
        script.wake(step.whole ? 'reconnected' : 'changed');
        await settled();
        const rest = { cursor: MARK, machines, holds };
        if (step.whole) script.scans.shift()!.answer(rest);
        else script.changes.shift()!.answer({ ...rest, gone: left });
        await advance(clock, GAP_MS);
        const facts = mirror.facts();
        const expected = assembleFacts(
          {
            machines: [...there.values()],
            ...{ intents: [], holds, penalties: [], conditions: [], requests: [] },
          },
          new Map([[PROVIDER, { machines: [], complete: true }]]),
        );
        const conflictsOf = (each: typeof facts) =>
          [...each.values()]
            .map(({ slot: name, conflict, holds: held, row }) => [
              ...[name, conflict?.split(' ').toSorted().join(' '), held.length],
              conflict ? null : row,
            ])
            .toSorted();
        expect(conflictsOf(facts)).toEqual(conflictsOf(expected));
        for (const known of facts.values()) {
          const told = views.findLast((view) => view.slot === known.slot)!;
          const { state, substate } = viewOf(known, { nowMs: clock.now(), loss: DEFAULT_LOSS });
          expect(told).toMatchObject({ state, substate });
        }
      }
    }),
    { numRuns: 40 },
  );
});
