import { expect, test } from 'vitest';
import type { Door } from '../../../src/commands/remote/door.ts';
import { runThrough } from './both-doors.ts';

const ids = Array.from({ length: 650 }, (_, at) => `slot-${String(at).padStart(4, '0')}`);

/** A console with a full shelf, of which it tells 300 slots at once. */
async function clearing(isOld = false, total = ids.length) {
  const bodies: { readonly shelf: readonly string[] }[] = [];
  const door: Door = {
    ...{ kind: 'console', where: '', close: async () => undefined },
    async send({ method, query, body }) {
      if (method === 'POST') bodies.push(body as (typeof bodies)[number]);
      const after = isOld ? '' : String(query?.['shelfAfter'] ?? '');
      const slots = ids.filter((id) => id > after).slice(0, 300);
      const shelf = { total, slots: slots.map((id) => ({ slot: `metal/${id}` })) };
      const filed = { key: 'K', verb: 'clear-provider', provider: 'metal', state: 'done' };
      const text = JSON.stringify(method === 'POST' ? filed : { provider: 'metal', shelf });
      return { status: 200, headers: {}, text };
    },
  };
  const args = ['provider', 'clear', 'metal', '--all-slots', '--expect-count', String(total)];
  const means = { door, monotonic: () => 0, sleep: async () => undefined };
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
