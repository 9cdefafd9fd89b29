import { expect, test } from 'vitest';
import { RemoteFailure, type Throttled } from '../../../../src/domain/errors.ts';
import type { Observed, Ref } from '../../../../src/domain/balancing/objects.ts';
import { testRows } from '../../../support/rows.ts';
import { createStand, desiredOf, live, OWNER, TAG, type EngineStand } from './stand.ts';

/**
 * Vectors by number whose details only a driver shows. A running pool on the emulator shows the
 * others.
 */

const BACKEND = '/api/LBaaS/v1/backend.json';
const RESOURCE = '/api/core/v1/resource.json';
const TAGGING = `${RESOURCE}/{id}/tags/{tag}`;
const signal = live;
const keysOf = (objects: readonly Observed[]) =>
  objects.map(({ ref, spec }) => `${ref.kind} ${spec.name}`).toSorted();
const BACKEND_KEY = 'backend http.api.eu';
const create = (
  { balancer }: Pick<EngineStand, 'balancer'>,
  key: string,
  refs: ReadonlyMap<string, Ref> = new Map(),
) => {
  const { desired, parent } = desiredOf(['m1', 'm2', 'm3']).find((each) => each.key === key)!;
  return balancer.create(desired, parent === null ? null : refs.get(parent)!, OWNER, { signal });
};
test('3: detects a server whose check is off although its spec hides it', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  stand.fake.setFields(refs.get('server m1.https.api.eu')!.id, { check: 'disabled' });
  const differing = (await stand.observe()).filter(({ differs }) => differs !== undefined);
  expect(differing.map(({ ref, differs }) => [ref.id, differs])).toEqual([
    [refs.get('server m1.https.api.eu')!.id, 'its check is disabled'],
  ]);
});

test('6: ignores objects of other owners and balancers, and unknown kinds', async () => {
  const stand = await createStand();
  const name = 'http.api.eu';
  const backend = { name, mode: 'tcp', health_check: '"adv_check": "tcp-check"' };
  const theirs = await stand.call('POST', BACKEND, {
    ...backend,
    load_balancer: stand.loadBalancer,
  });
  await stand.call('POST', `${RESOURCE}/${theirs}/tags/shepherd-pool=another`, '');
  const upstreams = await stand.call('POST', BACKEND, {
    ...backend,
    load_balancer: stand.loadBalancer,
  });
  await stand.call('POST', `${RESOURCE}/${upstreams}/tags/anxccm-svc-uid=1`, '');
  const elsewhere = stand.fake.loadBalancers[1];
  const far = await stand.call('POST', BACKEND, { ...backend, load_balancer: elsewhere });
  await stand.call('POST', `${RESOURCE}/${far}/tags/${TAG}`, '');
  const child = { name: `m1.${name}`, ip: '10.0.0.1', port: 1, check: 'enabled', backend: far };
  const orphan = await stand.call('POST', '/api/LBaaS/v1/server.json', child);
  await stand.call('POST', `${RESOURCE}/${orphan}/tags/${TAG}`, '');
  stand.fake.addResource({ name: 'x', typeId: 'f'.repeat(32), tags: [TAG] });
  stand.forget();
  expect(await stand.observe()).toEqual([]);
  expect(stand.writes()).toEqual([]);
  expect(stand.lines.join()).toContain('a resource of another kind has our tag');
});

test('8: updates a failed object once, with state 0, and it recovers', async () => {
  const stand = await createStand({ stateDelayMs: 5_000 });
  stand.fake.addFault({ match: { kind: 'backend' }, effect: { type: 'deploymentError' } });
  const ref = await stand.run(create(stand, 'backend http.api.eu'));
  expect(await stand.observe()).toMatchObject([{ phase: 'progressing', detail: 'NewlyCreated' }]);
  stand.clock.increment(5_000);
  expect(await stand.observe()).toMatchObject([{ phase: 'failed', detail: 'DeploymentError' }]);
  stand.forget();
  const { desired } = desiredOf()[0]!;
  await stand.run(stand.balancer.update!(ref, desired, null, OWNER, { signal }));
  expect(stand.routes()).toEqual([`PUT ${BACKEND}/{id}`]);
  expect(stand.fake.requests().at(-1)?.body).toEqual({
    identifier: ref.id,
    state: '0',
    name: 'http.api.eu',
    mode: 'tcp',
    health_check: '"adv_check": "tcp-check"',
    load_balancer: stand.loadBalancer,
  });
  const refresh = () => stand.run(stand.balancer.refresh(ref, OWNER, { signal }));
  expect(await refresh()).toBe('progressing');
  stand.clock.increment(5_000);
  expect(await refresh()).toBe('ready');
});

testRows([
  ['bare', '3', 'ready'],
  ['text', '0', 'progressing'],
  ['title', '0', 'progressing'],
  ['title', '1', 'ready'],
  ['text', '2', 'failed'],
  ['title', '4', 'progressing'],
  ['title', '17', 'progressing'],
  ['title', null, 'progressing'],
] as const)(
  '10: reads a state in the form %s with the id %s as %s',
  async (stateForm, id, phase) => {
    const stand = await createStand({ knobs: { stateForm } });
    const ref = await stand.run(create(stand, 'backend http.api.eu'));
    stand.fake.setState(ref.id, id);
    expect(await stand.run(stand.balancer.refresh(ref, OWNER, { signal }))).toBe(phase);
    expect(await stand.observe()).toMatchObject([{ phase }]);
  },
);

test('12: doubles waits up to half an hour without a given time, and starts anew after an answer', async () => {
  const stand = await createStand();
  const waits: number[] = [];
  const limit = { id: 'limit', effect: { type: 'status', code: 429 } } as const;
  stand.fake.addFault(limit);
  for (let n = 0; n < 7; n++) {
    const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
    waits.push((failure as Throttled).retryAtMs - stand.clock.now());
    stand.clock.increment(waits.at(-1)!);
  }
  expect(waits.map((ms) => ms / 60_000)).toEqual([1, 2, 4, 8, 16, 30, 30]);
  stand.fake.clearFaults();
  await stand.observe();
  stand.fake.addFault(limit);
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect((failure as Throttled).retryAtMs - stand.clock.now()).toBe(60_000);
});

test('14: finds each of the twelve without its tag, adopts it, and creates no second one', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  for (const { id } of refs.values()) {
    await stand.call('DELETE', `${RESOURCE}/${id}/tags/${TAG}`);
  }
  const other = stand.another();
  const found = await stand.observe(other);
  expect(keysOf(found)).toEqual([...refs.keys()].toSorted());
  expect(found.every(({ tagged }) => !tagged)).toBe(true);
  stand.forget();
  for (const { ref } of found) await stand.run(other.adopt!(ref, OWNER, { signal }));
  expect(await stand.run(create({ balancer: other }, BACKEND_KEY))).toEqual(refs.get(BACKEND_KEY));
  expect(stand.writes()).toEqual(Array(12).fill(`POST ${TAGGING}`));
  expect((await stand.observe(other)).every(({ tagged }) => tagged)).toBe(true);
});

testRows([
  [RESOURCE, 500],
  [RESOURCE, 422],
  [BACKEND, 500],
  ['/api/LBaaS/v1/bind.json', 500],
])('16: fails the whole reading when page 2 of %s fails with %d', async (route, code) => {
  const stand = await createStand({ knobs: { limitMax: 1 } });
  await stand.build();
  stand.forget();
  stand.fake.addFault({ match: { route, page: 2 }, effect: { type: 'status', code } });
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toMatchObject({ code: code === 422 ? 'remote-failure' : 'unreachable' });
  expect(stand.writes()).toEqual([]);
});

test('17: compares addresses in one form', async () => {
  const stand = await createStand();
  const refs = await stand.build(desiredOf([]));
  const { id } = refs.get('bind v6.http.api.eu')!;
  stand.fake.setFields(id, { address: '2001:DB8:0::10' });
  const bind = (await stand.observe()).find(({ ref }) => ref.id === id);
  expect(bind?.spec).toMatchObject({ address: '2001:db8::10' });
});

test('18: retries a tag conflict three times a second apart; an existing tag is fine', async () => {
  const stand = await createStand();
  const conflict = (times: number) =>
    stand.fake.addFault({
      id: 'conflict',
      match: { route: TAGGING },
      times,
      effect: { type: 'status', code: 409 },
    });
  conflict(2);
  const beforeMs = stand.clock.now();
  await stand.run(create(stand, 'backend http.api.eu'));
  // The tagging request itself takes a millisecond.
  expect(stand.clock.now() - beforeMs).toBe(2_001);
  stand.fake.addFault({
    id: 'conflict',
    match: { route: TAGGING },
    times: 1,
    effect: { type: 'status', code: 422 },
  });
  await stand.run(create(stand, 'backend https.api.eu'));
  conflict(3);
  stand.forget();
  const refs = new Map(
    (await stand.observe()).map(({ ref, spec }) => [`${ref.kind} ${spec.name}`, ref]),
  );
  const failure = await stand.failureOf(create(stand, 'frontend http.api.eu', refs));
  expect(failure).toBeInstanceOf(RemoteFailure);
  expect(stand.writes().filter((one) => one.includes('/tags/'))).toHaveLength(3);
});
