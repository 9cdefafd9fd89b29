import { expect, test } from 'vitest';
import { RemoteFailure, Throttled } from '../../../../src/domain/errors.ts';
import type { Observed, Ref } from '../../../../src/domain/balancing/objects.ts';
import { createStand, desiredOf, live, OWNER, TAG, type Stand } from './stand.ts';

/** Vectors by number whose details only a driver shows; a running pool on the emulator shows the others. */

const BACKEND = '/api/LBaaS/v1/backend.json';
const RESOURCE = '/api/core/v1/resource.json';
const TAGGING = `${RESOURCE}/{id}/tags/{tag}`;
const signal = live;
const keysOf = (objects: readonly Observed[]) =>
  objects.map(({ ref, spec }) => `${ref.kind} ${spec.name}`).toSorted();
const ALL = desiredOf()
  .map(({ key }) => key)
  .toSorted();
const create = (
  { balancer }: Pick<Stand, 'balancer'>,
  key: string,
  refs: ReadonlyMap<string, Ref> = new Map(),
) => {
  const { desired, parent } = desiredOf(['m1', 'm2', 'm3']).find((each) => each.key === key)!;
  return balancer.create(desired, parent === null ? null : refs.get(parent)!, OWNER, { signal });
};
const destroy = (stand: Stand, ref: Ref) => stand.balancer.destroy(ref, OWNER, { signal });

test('3: a server whose check is off differs, though its spec does not show it', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  stand.fake.setFields(refs.get('server m1.https.api.eu')!.id, { check: 'disabled' });
  const differing = (await stand.observe()).filter(({ differs }) => differs !== undefined);
  expect(differing.map(({ ref, differs }) => [ref.id, differs])).toEqual([
    [refs.get('server m1.https.api.eu')!.id, 'its check is disabled'],
  ]);
});

test('6: what another owner tagged, what is of another balancer, and kinds nobody knows are ignored', async () => {
  const stand = await createStand();
  const api = apiOf(stand);
  const name = 'http.api.eu';
  const backend = { name, mode: 'tcp', health_check: '"adv_check": "tcp-check"' };
  const theirs = await api.post(BACKEND, { ...backend, load_balancer: stand.loadBalancer });
  await api.post(`${RESOURCE}/${theirs}/tags/shepherd-pool=another`, '');
  const upstreams = await api.post(BACKEND, { ...backend, load_balancer: stand.loadBalancer });
  await api.post(`${RESOURCE}/${upstreams}/tags/anxccm-svc-uid=1`, '');
  const elsewhere = stand.fake.loadBalancers[1];
  const far = await api.post(BACKEND, { ...backend, load_balancer: elsewhere });
  await api.post(`${RESOURCE}/${far}/tags/${TAG}`, '');
  const child = { name: `m1.${name}`, ip: '10.0.0.1', port: 1, check: 'enabled', backend: far };
  const orphan = await api.post('/api/LBaaS/v1/server.json', child);
  await api.post(`${RESOURCE}/${orphan}/tags/${TAG}`, '');
  stand.fake.addResource({ name: 'x', typeId: 'f'.repeat(32), tags: [TAG] });
  stand.forget();
  expect(await stand.observe()).toEqual([]);
  expect(stand.writes()).toEqual([]);
  expect(stand.lines.join()).toContain('a resource of another kind has our tag');
});

test('7: a tag that nothing has is no error, any other failure is one', async () => {
  const stand = await createStand();
  expect(await stand.observe()).toEqual([]);
  expect(stand.fake.requests().some(({ status }) => status === 422)).toBe(true);
  stand.fake.addFault({ match: { route: RESOURCE }, effect: { type: 'status', code: 500 } });
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toMatchObject({ code: 'unreachable' });
  expect(failure.message).toBe('balancer edge: cannot read what is of pool api');
});

test('8: a failed object is updated once, with state 0, and gets well', async () => {
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

test.each([
  ['bare', '3', 'ready'],
  ['text', '0', 'progressing'],
  ['title', '0', 'progressing'],
  ['title', '1', 'ready'],
  ['text', '2', 'failed'],
  ['title', '4', 'progressing'],
  ['title', '17', 'progressing'],
  ['title', null, 'progressing'],
] as const)('10: a state in the form %s with the id %s is %s', async (stateForm, id, phase) => {
  const stand = await createStand({ knobs: { stateForm } });
  const ref = await stand.run(create(stand, 'backend http.api.eu'));
  stand.fake.setState(ref.id, id);
  expect(await stand.run(stand.balancer.refresh(ref, OWNER, { signal }))).toBe(phase);
  expect(await stand.observe()).toMatchObject([{ phase }]);
});

test.each([
  ['seconds', 90_000],
  ['date', 90_000],
  ['none', 60_000],
] as const)(
  '12: 429 with its time in %s: nobody asks before it is over',
  async (retryAfter, ms) => {
    const stand = await createStand();
    const refs = await stand.build(desiredOf().slice(0, 1));
    const ref = refs.get('backend http.api.eu')!;
    // Dates of HTTP have whole seconds.
    stand.clock.increment(1_000 - (stand.clock.now() % 1_000));
    const effect = { type: 'rateLimit', limit: 0, windowMs: 90_000, retryAfter } as const;
    stand.fake.addFault({ id: 'limit', effect });
    const failure = await stand.failureOf(destroy(stand, ref));
    expect(failure).toBeInstanceOf(Throttled);
    expect((failure as Throttled).retryAtMs).toBe(stand.clock.now() + ms);
    stand.forget();
    stand.fake.clearFaults();
    stand.clock.increment(ms - 1);
    const again = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
    expect((again as Throttled).retryAtMs).toBe(stand.clock.now() + 1);
    expect(stand.routes()).toEqual([]);
    stand.clock.increment(1);
    expect(await stand.observe()).toHaveLength(1);
  },
);

test('12: without a time the waits double up to half an hour, and begin anew after an answer', async () => {
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

test('14: what was created and not tagged is shown, adopted, and not made again', async () => {
  const stand = await createStand();
  await stand.observe();
  stand.fake.addFault({ match: { route: TAGGING }, effect: { type: 'status', code: 503 } });
  for (const key of ['backend http.api.eu']) {
    expect(await stand.failureOf(create(stand, key))).toBeInstanceOf(RemoteFailure);
  }
  stand.fake.clearFaults();
  const other = stand.another();
  const [found, ...more] = await stand.observe(other);
  expect([found?.tagged, more]).toEqual([false, []]);
  stand.forget();
  await stand.run(other.adopt!(found!.ref, OWNER, { signal }));
  expect(stand.writes()).toEqual([`POST ${TAGGING}`]);
  expect(await stand.run(create({ balancer: other }, 'backend http.api.eu'))).toEqual(found!.ref);
  expect(await stand.observe(other)).toMatchObject([{ tagged: true }]);
  expect(stand.fake.objects()).toHaveLength(1);
});

test('14: below parents too: each of the twelve is found without its tag', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  const api = apiOf(stand);
  for (const { id } of refs.values()) await api.delete(`${RESOURCE}/${id}/tags/${TAG}`);
  const found = await stand.observe(stand.another());
  expect(keysOf(found)).toEqual(ALL);
  expect(found.every(({ tagged }) => !tagged)).toBe(true);
});

test.each([
  [RESOURCE, 500],
  [RESOURCE, 422],
  [BACKEND, 500],
  ['/api/LBaaS/v1/bind.json', 500],
])('16: when page 2 of %s fails with %d, so does all of it', async (route, code) => {
  const stand = await createStand({ knobs: { limitMax: 1 } });
  await stand.build();
  stand.forget();
  stand.fake.addFault({ match: { route, page: 2 }, effect: { type: 'status', code } });
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toMatchObject({ code: code === 422 ? 'remote-failure' : 'unreachable' });
  expect(stand.writes()).toEqual([]);
});

test('17: addresses are compared in one form; twins are both shown', async () => {
  const stand = await createStand();
  const refs = await stand.build(
    desiredOf().filter(({ desired }) => desired.spec.kind !== 'server'),
  );
  stand.fake.setFields(refs.get('bind v6.http.api.eu')!.id, { address: '2001:DB8:0::10' });
  stand.fake.addFault({ match: { kind: 'server' }, effect: { type: 'twin' } });
  const server = await stand.run(create(stand, 'server m1.http.api.eu', refs));
  const found = await stand.observe();
  const bind = found.find(({ ref }) => ref.id === refs.get('bind v6.http.api.eu')!.id);
  expect(bind?.spec).toMatchObject({ address: '2001:db8::10' });
  const twins = found.filter(({ ref }) => ref.kind === 'server');
  expect(twins.map(({ ref, tagged }) => [ref.id === server.id, tagged]).toSorted()).toEqual([
    [false, false],
    [true, true],
  ]);
});

test('18: a conflict of tags is tried three times a second apart, a tag that is there is fine', async () => {
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
  // The tagging itself takes a millisecond.
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

/** The API itself, for what somebody else does. */
function apiOf({ fake, network }: Stand) {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await network.fetch(`${fake.url}${path}`, {
      method,
      headers: {
        authorization: `Token ${fake.token}`,
        'content-type': 'application/json',
        'user-agent': 'test',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(response.status).toBeLessThan(300);
    const text = await response.text();
    return text === '' ? '' : String((JSON.parse(text) as { identifier?: string }).identifier);
  };
  return {
    post: (path: string, body: unknown) => call('POST', path, body),
    delete: (path: string) => call('DELETE', path),
  };
}
