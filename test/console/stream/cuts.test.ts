import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ANONYMOUS } from '../../../src/console/access/port.ts';
import { machineRow } from '../../../src/console/api/machine.ts';
import { requireFilter } from '../../../src/console/api/machines.ts';
import { readPage } from '../../../src/console/index/walks.ts';
import { STREAM_LIMITS } from '../../../src/console/stream/hub.ts';
import { viewOf } from '../../../src/console/stream/stream.ts';
import { slot } from '../../../src/domain/ids.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { createPageModel, watched } from './page-model.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const name = fc.constantFrom(...NAMES);
const step = fc.oneof(
  fc.record({ do: fc.constant('put' as const), id: name, running: fc.boolean() }),
  fc.record({ do: fc.constant('heard' as const), id: name, atMs: fc.integer({ min: 1, max: 99 }) }),
  fc.record({ do: fc.constant('remove' as const), id: name }),
  fc.record({ do: fc.constant('wait' as const), forMs: fc.constantFrom(1, 300, 6_000, 70_000) }),
  fc.record({ do: fc.constant('cut' as const) }),
  fc.record({ do: fc.constant('come back' as const) }),
  fc.record({ do: fc.constant('restart' as const) }),
);
type StreamStep = typeof step extends fc.Arbitrary<infer Made> ? Made : never;
const query = fc.record({
  view: fc.constant('list' as const),
  filter: fc.constantFrom('', 'state:Running', 'da11'),
  sort: fc.constantFrom('slot', '-slot', 'state', '-heard'),
  offset: fc.integer({ min: 0, max: 3 }),
  limit: fc.integer({ min: 1, max: 5 }),
});

async function run(
  asked: typeof query extends fc.Arbitrary<infer Made> ? Made : never,
  steps: readonly StreamStep[],
) {
  const clock = createSimulatedClock();
  const fleet = scriptedFleet(...NAMES.slice(0, 5).map((id) => machine(id)));
  const begin = () => watched({ fleet, clock });
  let server = begin();
  const page = createPageModel();
  let connection: ReturnType<typeof page.connect> | null = null;
  const comeBack = async () => {
    if (connection) return;
    const view = await viewOf(asked, server, page.lastId());
    connection = page.connect();
    server.hub.attach({ response: connection, headers: {}, person: ANONYMOUS, view });
  };
  const cut = () => {
    connection?.destroy();
    connection = null;
  };
  await comeBack();
  for (const each of steps) {
    if (each.do === 'put') {
      const place = each.running
        ? ({ state: 'Running', substate: 'healthy', location: 'da11' } as const)
        : {};
      fleet.put(machine(each.id, place));
    } else if (each.do === 'heard') {
      const found = fleet.entries.get(slot('equinix', each.id));
      if (found) fleet.set(found.view.slot, { lastHeartbeatAtMs: each.atMs });
    } else if (each.do === 'remove') fleet.remove(slot('equinix', each.id));
    else if (each.do === 'wait') clock.increment(each.forMs);
    else if (each.do === 'cut') cut();
    else if (each.do === 'come back') await comeBack();
    else {
      server.close();
      connection = null;
      clock.increment(1);
      server = begin();
    }
  }
  await comeBack();
  clock.increment(2 * STREAM_LIMITS.heardMs);
  const sort = asked.sort.replace('-', '') as 'slot' | 'state' | 'heard';
  const listing = await server.index.listing(requireFilter(asked.filter), sort);
  const descending = asked.sort.startsWith('-');
  const rows = readPage(listing.rows, { ...asked, descending });
  expect(page.window()).toEqual({
    total: listing.rows.size,
    rows: rows.map(({ entry }) => machineRow(entry, fleet)),
  });
  cut();
  server.close();
}

test('V7: keeps the page’s window equal to the server’s, whatever is cut and whenever', async () => {
  await fc.assert(fc.asyncProperty(query, fc.array(step, { maxLength: 25 }), run), {
    numRuns: 200,
  });
});
