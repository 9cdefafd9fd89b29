import { expect, test } from 'vitest';
import { providerName } from '../../../src/domain/ids.ts';
import { playScenes } from '../../support/scenes.ts';
import { commandStand, type CommandStand } from '../shown.ts';
import { runThrough, scriptedTransport } from '../run-through.ts';

const ids = Array.from({ length: 650 }, (_, at) => `slot-${String(at).padStart(4, '0')}`);

/** A console with a full shelf, of which it tells 300 slots at once. */
async function clearing(isOld = false, total = ids.length) {
  const bodies: { readonly shelf: readonly string[] }[] = [];
  const transport = scriptedTransport(async ({ method, query, body }) => {
    if (method === 'POST') bodies.push(body as (typeof bodies)[number]);
    const after = isOld ? '' : String(query?.['shelfAfter'] ?? '');
    const slots = ids.filter((id) => id > after).slice(0, 300);
    const shelf = { total, slots: slots.map((id) => ({ slot: `metal/${id}` })) };
    const submitted = { key: 'K', verb: 'clear-provider', provider: 'metal', state: 'done' };
    const text = JSON.stringify(method === 'POST' ? submitted : { provider: 'metal', shelf });
    return { status: 200, headers: {}, text };
  });
  const args = ['provider', 'clear', 'metal', '--all-slots', '--expect-count', String(total)];
  const means = { transport, monotonic: () => 0, sleep: async () => undefined };
  const ran = await runThrough(means, [...args, '--reason', 'it is over', '-o', 'json']);
  return { ...ran, bodies };
}

test('provider clear --all-slots clears all that it counted, and not the first of them', async () => {
  const { code, bodies } = await clearing();
  expect({ code, shelves: bodies.map(({ shelf }) => shelf) }).toEqual({ code: 0, shelves: [ids] });
});

test('where a console does not tell all of them, nothing is done', async () => {
  for (const told of [await clearing(true), await clearing(false, 649)]) {
    expect(told).toMatchObject({ code: 2, bodies: [] });
    expect(told.stderr).toMatch(/nothing was done/);
  }
});

test('at a provider, slots leave the shelf by name, or all of them with their number', () =>
  playScenes<CommandStand>(import.meta.dirname, 'provider', {
    async open() {
      const s = await commandStand();
      const provider = providerName('metal');
      const hold = { provider, kind: 'throttle', key: 'create', forMs: 90_000, level: 2 } as const;
      await s.bmdb.providerHolds.impose({ ...hold, cause: 'too many requests' });
      const session = await s.bmdb.openSession({
        ...{ component: 'shepherd', runtimeInfo: 'host test', intervalMs: 86_400_000 },
      });
      await session.lease('provisioner/metal');
      await session.intents.open({ provider, slotId: 'slot-9', hostname: 'h' });
      for (const slotId of ['a', 'b', 'c']) {
        const { witness } = await session.intents.open({ provider, slotId, hostname: slotId });
        const how = { state: 'abandoned', penaltyMs: 3_600_000, cause: 'it was refused' } as const;
        await session.intents.end(witness, how);
      }
      const { sessionId } = session;
      await s.bmdb.listings.failed({ provider, sessionId, cause: 'connect ECONNREFUSED' });
      return s;
    },
    close: (s) => s.close(),
    run: (s, words) => s.run(words),
    steps: {
      async submitted(s) {
        const submitted = await s.bmdb.requests.list({ limit: 100 }, s.signal);
        return submitted
          .map(({ key, verb, by, provider }) => {
            const { parameters } = s.bmdb.tables.requests.get(key)!;
            return `${verb} ${provider} by ${by}: ${JSON.stringify(parameters)}`;
          })
          .join('\n');
      },
    },
  }));
