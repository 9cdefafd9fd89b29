import { expect, test } from 'vitest';
import { callOf, createStand, orderOf, type Stand } from './setup.ts';

/** Requests by method and path, without those of the listing that each minute costs anyway. */
function costOf({ world }: Stand): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const what of world.asked.splice(0)) {
    const [, method, path] = /^(GET|POST|DELETE) (\/[a-z]+)\/?/.exec(what) ?? [];
    if (method === undefined || /^GET \/server$|\/key/.test(what)) continue;
    counts[`${method} ${path}`] = (counts[`${method} ${path}`] ?? 0) + 1;
  }
  return counts;
}

test('what each order costs is what the documents say', async () => {
  const stand = createStand();
  const { provider, run, pass, world } = stand;
  const { id } = await run(stand.create());
  await pass(400_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 2,
    'POST /server': 1,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
  await run(provider.rebootMachine(id!, 'graceful', callOf()));
  expect(costOf(stand)).toEqual({ 'GET /reset': 1, 'GET /boot': 1, 'POST /reset': 1 });
  await pass(100_000);
  world.machine(321).disk = { ...world.machine(321).disk!, isClosed: true };
  await run(provider.reinstallMachine(id!, orderOf('s9'), callOf()));
  await pass(900_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 1,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
  await run(provider.deprovisionMachine(id!, callOf()));
  const isFree = () => run(provider.isReusable!('321', callOf()));
  while (!(await isFree())) await pass(10_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 2,
    'POST /server': 2,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
});
