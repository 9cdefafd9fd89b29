import fc from 'fast-check';
import { expect, test } from 'vitest';
import { codeOf } from '../../../../src/domain/errors.ts';
import { providerName, slot } from '../../../../src/domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../../../src/domain/machine.ts';
import { countPermits } from '../../../../src/domain/recovery/permits.ts';
import type { RecoveryBudget } from '../../../../src/domain/policy.ts';
import { ASKED, machineRow, MINUTE, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import { openOn } from './claim-stand.ts';
import { insertMachine, openPgBmdb, usePgServer } from './pg-harness.ts';

const server = usePgServer();

const machine = fc.record({
  provider: fc.constantFrom('metal', 'iron'),
  location: fc.constantFrom('ny', 'la', null),
  state: fc.constantFrom('lost', 'lost', 'healthy', 'healthy', 'recovering', 'unstarted'),
});
type PermitMachine = typeof machine extends fc.Arbitrary<infer T> ? T : never;

const fleets = fc.record({
  machines: fc.array(machine, { minLength: 1, maxLength: 40 }),
  budget: fc.record({
    percent: fc.constantFrom(0, 5, 10, 30, 100),
    perGroupMax: fc.integer({ min: 1, max: 4 }),
    fleetMax: fc.integer({ min: 1, max: 6 }),
  }),
});

function rowOf({ provider, location, state }: PermitMachine, at: number): MachineRow {
  const nowMs = Date.now();
  const agoMs = state === 'healthy' ? MINUTE : 40 * MINUTE;
  return machineRow(nowMs, {
    provided: { ...providedOf(`${at}`, { location }), provider: providerName(provider) },
    ...(state === 'unstarted' ? {} : startedAt(nowMs - agoMs)),
    permit: state === 'recovering',
  });
}
const factsOf = (row: MachineRow) =>
  ({ row, slot: slot('stub', row.machineId) }) as unknown as SlotFacts;

async function askedFor(rows: readonly MachineRow[], budget: RecoveryBudget) {
  const bmdb = openPgBmdb({ url: server.url, budget });
  try {
    const session = await openOn(bmdb);
    const answers: string[] = [];
    for (const row of rows) {
      const work = await session.claim('ShepherdRecovery', row.machineId);
      const asked = work.note(ASKED);
      answers.push(await asked.then(() => 'granted', codeOf));
    }
    await session.close();
    return answers;
  } finally {
    await bmdb.close();
  }
}

test('grants permits to machines in the order that the domain computes', async () => {
  await fc.assert(
    fc.asyncProperty(fleets, async ({ machines, budget }) => {
      await server.clear();
      const rows = machines.map(rowOf);
      for (const row of rows) await insertMachine(server.sql, row);
      const lost = rows.filter((_, at) => machines[at]!.state === 'lost');
      const counts = countPermits(rows.map(factsOf), budget);
      const expected = lost.map(({ provided }) => {
        const place = { provider: provided!.provider, location: provided!.location };
        if (!counts.hasRoom(place, false)) return 'no-permit';
        counts.take(place);
        return 'granted';
      });
      expect(await askedFor(lost, budget)).toEqual(expected);
    }),
    { numRuns: 25 },
  );
});
