import { describe, expect, test } from 'vitest';
import { engineObject, createReadings } from '../../../../src/adapters/balancer/anexia/forms.ts';
import type { Observed, Ref } from '../../../../src/domain/balancing/objects.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { createStand, desiredOf, live, OWNER, type EngineStand } from './stand.ts';
import { testRows } from '../../../support/rows.ts';

const signal = live;
const SERVER = 'server m1.http.api.eu';
const BACKEND = 'backend http.api.eu';

const glance = (stand: EngineStand): Promise<readonly Observed[]> =>
  stand.run(stand.balancer.observe(OWNER, { signal, mayRecall: true }));
/** Resources that were read individually since `forget`. */
const fetches = (stand: EngineStand): string[] =>
  stand.routes().filter((one) => one.startsWith('GET') && one.endsWith('{id}'));
const idsOf = (objects: readonly Observed[]) => objects.map(({ ref }) => ref.id).toSorted();

/** Every resource exists and was read in full. */
async function settled(options: Parameters<typeof createStand>[0] = {}) {
  const stand = await createStand(options);
  const refs = await stand.build();
  await stand.observe();
  stand.forget();
  return { stand, refs, server: refs.get(SERVER)!, backend: refs.get(BACKEND)! };
}
const specOf = (objects: readonly Observed[], { id }: Ref) =>
  objects.find(({ ref }) => ref.id === id)?.spec;

describe('remembered objects of the Engine', () => {
  test('are used by looks that allow it; others read everything and see foreign changes', async () => {
    const { stand, server } = await settled();
    stand.fake.setFields(server.id, { ip: '10.9.9.9' });
    expect(specOf(await glance(stand), server)).toMatchObject({ address: '10.0.0.1' });
    expect(fetches(stand)).toEqual([]);
    stand.forget();
    expect(specOf(await stand.observe(), server)).toMatchObject({ address: '10.9.9.9' });
    expect(fetches(stand)).toHaveLength(12);
    expect(specOf(await glance(stand), server)).toMatchObject({ address: '10.9.9.9' });
  });

  test('never prove existence, which only lists prove', async () => {
    const { stand, server, refs } = await settled();
    await stand.call('DELETE', `/api/LBaaS/v1/server.json/${server.id}`);
    const left = [...refs.values()].map(({ id }) => id).filter((id) => id !== server.id);
    expect(idsOf(await glance(stand))).toEqual(left.toSorted());
    // The driver reads recent creations individually, since lists may lag, and nothing else.
    expect(fetches(stand)).toHaveLength(1);
  });

  test('are not used for an object under another parent', async () => {
    const { stand, server, refs } = await settled();
    stand.fake.setFields(server.id, { backend: refs.get('backend https.api.eu')!.id });
    const moved = (await glance(stand)).find(({ ref }) => ref.id === server.id);
    expect(moved?.parentId).toBe(refs.get('backend https.api.eu')!.id);
    expect(fetches(stand)).toHaveLength(1);
  });

  testRows(['0', '2', '4', null])('are not used for an object in the state %s', async (state) => {
    const { stand, server } = await settled();
    stand.fake.setState(server.id, state);
    await stand.observe();
    stand.fake.setState(server.id, '3');
    stand.forget();
    const now = (await glance(stand)).find(({ ref }) => ref.id === server.id);
    expect(now?.phase).toBe('ready');
    expect(fetches(stand)).toHaveLength(1);
  });

  test('are not used when a change failed or was incomplete', async () => {
    const { stand, backend } = await settled();
    stand.fake.addFault({
      match: { method: 'PUT' },
      times: 1,
      effect: { type: 'drop', phase: 'after' },
    });
    const { desired } = desiredOf()[0]!;
    await stand.failureOf(stand.balancer.update!(backend, desired, null, OWNER, { signal }));
    stand.forget();
    await glance(stand);
    expect(fetches(stand)).toEqual(['GET /api/LBaaS/v1/backend.json/{id}']);
  });

  test('are not answers requested before a change, whenever they arrive', () => {
    const readings = createReadings(createSimulatedClock());
    const ref = { kind: 'backend', id: 'b' } as const;
    const answer = engineObject.parse({ identifier: 'b', name: 'http.api.eu', state: '3' });
    const since = readings.mark();
    readings.keep('uid-1', answer, since);
    expect(readings.recall('b')).toBe(answer);
    readings.changed(ref);
    readings.keep('uid-1', answer, since);
    expect(readings.recall('b')).toBeNull();
    readings.keep('uid-1', answer, readings.mark());
    expect(readings.recall('b')).toBe(answer);
  });
});

test('asks once for an object of another load balancer and sees it when it becomes ours', async () => {
  const { stand, backend } = await settled();
  stand.fake.setFields(backend.id, { load_balancer: stand.fake.loadBalancers[1]! });
  // The backend, its frontend's bind and servers depend on it: only its servers are no longer ours.
  const without = idsOf(await stand.observe());
  expect(without).not.toContain(backend.id);
  stand.forget();
  expect(idsOf(await stand.observe())).toEqual(without);
  expect(fetches(stand)).toHaveLength(without.length);
  stand.fake.setFields(backend.id, { load_balancer: stand.loadBalancer });
  expect(await glance(stand)).toHaveLength(12);
});

describe('complete rows of a list', () => {
  const rows = { knobs: { rows: 'full' } } as const;

  test('are used without asking for a single object', async () => {
    const { stand } = await settled(rows);
    const other = await stand.observe(stand.another());
    expect(other).toHaveLength(12);
    expect(fetches(stand)).toEqual(['GET /api/LBaaS/v1/loadbalancer.json/{id}']);
  });

  testRows([
    ['backend http.api.eu', 'health_check'],
    ['frontend http.api.eu', 'mode'],
    ['bind v4.http.api.eu', 'ssl'],
    [SERVER, 'check'],
  ])('of %s that lack %s lead to one request for that object', async (key, field) => {
    const { stand, refs } = await settled(rows);
    stand.fake.setFields(refs.get(key)!.id, { [field]: undefined });
    await stand.observe(stand.another());
    expect(fetches(stand)).toHaveLength(2);
  });

  test('are not believed for what was just changed here', async () => {
    const { stand, backend } = await settled(rows);
    const { desired } = desiredOf()[0]!;
    await stand.run(stand.balancer.update!(backend, desired, null, OWNER, { signal }));
    stand.forget();
    await stand.observe();
    expect(fetches(stand)).toEqual(['GET /api/LBaaS/v1/backend.json/{id}']);
    stand.clock.increment(10 * 60_000 + 1);
    stand.forget();
    await stand.observe();
    expect(fetches(stand)).toEqual([]);
  });

  test('are not believed for what was just created here and appears not ready', async () => {
    const stand = await createStand({ ...rows, stateDelayMs: 5_000 });
    await stand.build(desiredOf().slice(0, 1));
    stand.forget();
    await stand.observe();
    expect(fetches(stand)).toHaveLength(1);
    stand.clock.increment(5_000);
    stand.forget();
    await stand.observe();
    expect(fetches(stand)).toEqual([]);
  });
});
