import { expect, test } from 'vitest';
import { createDesiredMembers } from '../../../src/actors/balancing/desired-members.ts';
import type { ConditionEffect, ConditionRow } from '../../../src/domain/conditions.ts';
import { machineId, slot } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../../src/domain/recovery/guard-judgement.ts';
import { viewOf } from '../../../src/domain/view.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { conditionRow } from '../../support/conditions.ts';
import { agentStarted, hold, machineRow, provided, PROVIDER } from '../../support/facts.ts';
import { mirrorStand, type MirrorStand } from '../../support/mirror-stand.ts';

const POOL = pool();
const MACHINES = 12;
const all = Array.from({ length: MACHINES }, (_, at) => at);
const bad = (slots: readonly number[], change: Partial<ConditionRow> = {}): ConditionRow[] =>
  slots.map((at) => conditionRow({ slotId: `slot-${at}`, source: 'token:smart', ...change }));

/** Twelve healthy machines, which a pool selects. */
function healthy(nowMs: number): MachineRow[] {
  return all.map((at) =>
    machineRow({
      machineId: machineId(`aaaaaaaa-0000-4000-8000-${String(at).padStart(12, '0')}`),
      provided: provided({
        ...{ providerId: `device-${at}`, reservationId: `slot-${at}` },
        address: `192.0.2.${at + 1}`,
      }),
      agentStarted: agentStarted(nowMs - 3_600_000),
      heartbeat: { atMs: nowMs - 1_000, bootId: 'boot-1' },
    }),
  );
}

async function begun(effect: ConditionEffect): Promise<MirrorStand> {
  const effects = { 'disk-failing': effect };
  const stand = mirrorStand({ conditions: { effects, guard: DEFAULT_GUARD } });
  await stand.begin({ machines: healthy(stand.clock.now()) });
  return stand;
}

/** The slots that are wanted out of the pool, as the mirror has their facts now. */
function leaving({ mirror, clock }: MirrorStand): readonly string[] {
  const moment = () => ({ nowMs: mirror.nowMs(), loss: DEFAULT_LOSS });
  const facts = mirror.facts();
  const standings = [{ scope: 'fleet', state: 'watching', sinceMs: null, reason: null } as const];
  const wishes = createDesiredMembers({
    pools: [POOL],
    facts: () => facts,
    viewOf: (name) => (facts.has(name) ? viewOf(facts.get(name)!, moment()) : undefined),
    moment: () => ({ ...moment(), standings }),
    clock,
  });
  wishes.onFacts(facts);
  const wanted = [...wishes.of(POOL.pool).values()];
  wishes.stop();
  expect(wanted).toHaveLength(MACHINES);
  return wanted
    .filter(({ want }) => want === 'drain')
    .map((each) => each.slot)
    .toSorted();
}
const slots = (...at: readonly number[]) => at.map((each) => slot(PROVIDER, `slot-${each}`));

test('a machine with a true condition leaves its pool and returns when its source clears it', async () => {
  const stand = await begun('drain');
  expect(leaving(stand)).toEqual([]);
  await stand.change({ conditions: bad([3]) });
  expect(leaving(stand)).toEqual(slots(3));
  expect(stand.views.at(-1)).toMatchObject({
    ...{ slot: slots(3)[0], conditions: 'disk-failing', holds: ['no-allocate', 'no-serve'] },
  });
  await stand.change({ conditions: bad([3], { status: 'Unknown' }) });
  expect(leaving(stand)).toEqual([]);
  await stand.change({ conditions: [] });
  expect(stand.views.at(-1)).toMatchObject({ conditions: null, holds: [] });
  await stand.stop();
});

test('a false checker that marks half of a pool drains nobody', async () => {
  const stand = await begun('drain');
  await stand.change({ conditions: bad([0, 1, 2, 3, 4]) });
  expect(leaving(stand)).toEqual(slots(0, 1, 2, 3, 4));
  await stand.change({ conditions: bad([0, 1, 2, 3, 4, 5]) });
  expect(leaving(stand)).toEqual([]);
  expect([...stand.mirror.suspicious()]).toEqual([
    'fleet disk-failing',
    `${PROVIDER} disk-failing`,
  ]);
  await stand.change({ conditions: bad([4]) });
  expect(leaving(stand)).toEqual(slots(4));
  expect(stand.mirror.suspicious().size).toBe(0);
  await stand.stop();
});

test.each(['tell', 'no-new-work'] as const)(
  'a condition that says %s drains nobody',
  async (effect) => {
    const stand = await begun(effect);
    await stand.change({ conditions: bad([3]) });
    expect(leaving(stand)).toEqual([]);
    expect(stand.views.at(-1)).toMatchObject({ conditions: 'disk-failing' });
    const { holds = [] } = stand.mirror.facts().get(slots(3)[0]!) ?? {};
    expect(holds.map(({ kind }) => kind)).toEqual(effect === 'tell' ? [] : ['no-allocate']);
    await stand.stop();
  },
);

test('a hold that ends and a condition are both there, shown as one, and read again as the same', async () => {
  const stand = await begun('drain');
  const ends = { ...hold('no-serve', stand.clock.now() + 60_000), slotId: 'slot-3' };
  const both = { conditions: bad([3]), holds: [ends] };
  await stand.change(both);
  expect(stand.views.at(-1)).toMatchObject({ holds: ['no-allocate', 'no-serve'] });
  const before = stand.mirror.facts();
  await stand.change(structuredClone(both));
  expect(stand.mirror.facts()).toBe(before);
  await stand.stop();
});
