import { expect, test } from 'vitest';
import { RemoteFailure, Throttled } from '../../../../src/domain/errors.ts';
import type { Observed, Ref } from '../../../../src/domain/balancing/objects.ts';
import { createStand, desiredOf, live, OWNER, TAG, type Stand } from './stand.ts';

/** The table of vectors by number, as far as a driver alone can show it. */

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

test('1: twelve objects are made, each is tagged straight after; a second look finds them all', async () => {
  const stand = await createStand();
  expect(await stand.observe()).toEqual([]);
  stand.forget();
  await stand.build();
  const writes = stand.writes();
  expect(stand.routes()).toEqual(writes);
  expect(writes).toHaveLength(24);
  expect(writes.filter((one) => one.includes('/tags/'))).toHaveLength(12);
  writes.forEach((one, n) => expect(one.includes('/tags/')).toBe(n % 2 === 1));
  expect(stand.fake.objects().every(({ tags }) => tags.join() === TAG)).toBe(true);
  expect(keysOf(await stand.observe())).toEqual(ALL);
  expect(stand.fake.complaints()).toEqual([]);
});

test('2: what exists is shown as it is desired, and reading writes nothing', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  stand.forget();
  const found = await stand.observe(stand.another());
  expect(stand.writes()).toEqual([]);
  for (const { desired, key, parent } of desiredOf()) {
    const one = found.find(({ ref }) => ref.id === refs.get(key)!.id);
    expect(one).toEqual({
      ref: refs.get(key),
      spec: desired.spec,
      parentId: parent === null ? null : refs.get(parent)!.id,
      phase: 'ready',
      detail: 'Deployed',
      tagged: true,
    });
  }
});

test('3: a server whose check is off differs, though its spec does not show it', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  stand.fake.setFields(refs.get('server m1.https.api.eu')!.id, { check: 'disabled' });
  const differing = (await stand.observe()).filter(({ differs }) => differs !== undefined);
  expect(differing.map(({ ref, differs }) => [ref.id, differs])).toEqual([
    [refs.get('server m1.https.api.eu')!.id, 'its check is disabled'],
  ]);
});

test('4: swapping one server for two ports is 2 creations, 2 tags, 2 destructions', async () => {
  const stand = await createStand();
  const refs = await stand.build();
  await stand.observe();
  stand.forget();
  for (const port of ['http', 'https']) {
    await stand.run(create(stand, `server m3.${port}.api.eu`, refs));
  }
  for (const port of ['http', 'https']) {
    await stand.run(destroy(stand, refs.get(`server m2.${port}.api.eu`)!));
  }
  const server = '/api/LBaaS/v1/server.json';
  expect(stand.routes()).toEqual([
    ...[`POST ${server}`, `POST ${TAGGING}`, `POST ${server}`, `POST ${TAGGING}`],
    ...[`DELETE ${server}/{id}`, `DELETE ${server}/{id}`],
  ]);
});

test('5: twelve are destroyed, children first; twice is as good as once, the balancer stays', async () => {
  const stand = await createStand();
  const refs = [...(await stand.build()).values()].toReversed();
  for (const ref of [...refs, ...refs]) await stand.run(destroy(stand, ref));
  expect(stand.fake.objects()).toEqual([]);
  expect(await stand.observe()).toEqual([]);
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

test('9: what was just created is progressing, and ready after its time', async () => {
  const stand = await createStand({ stateDelayMs: 5_000 });
  await stand.build(desiredOf().slice(0, 4));
  const phases = async () => (await stand.observe()).map(({ phase }) => phase);
  expect(await phases()).toEqual(Array.from({ length: 4 }, () => 'progressing'));
  stand.clock.increment(5_000);
  expect(await phases()).toEqual(Array.from({ length: 4 }, () => 'ready'));
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

test('11: a backend is not destroyed while a frontend refers to it, and is afterwards', async () => {
  const stand = await createStand();
  const refs = await stand.build(desiredOf().slice(0, 4));
  const [backend, frontend] = ['backend', 'frontend'].map((each) =>
    refs.get(`${each} http.api.eu`)!,
  );
  const failure = await stand.failureOf(destroy(stand, backend!));
  expect(failure).toBeInstanceOf(RemoteFailure);
  expect((failure.cause as Error).message).toContain('backend is in use');
  await stand.run(destroy(stand, frontend!));
  await stand.run(destroy(stand, backend!));
  expect(stand.fake.objects()).toHaveLength(2);
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

test('13: when the third creation fails, the first two are tagged, and only the rest is made', async () => {
  const stand = await createStand();
  await stand.observe();
  const refuse = { type: 'status', code: 400 } as const;
  stand.fake.addFault({
    id: 'third',
    match: { method: 'POST', kind: 'frontend', nth: 1 },
    effect: refuse,
  });
  await expect(stand.build()).rejects.toThrow('cannot create frontend http.api.eu');
  expect(stand.fake.objects().map(({ tags }) => tags)).toEqual([[TAG], [TAG]]);
  stand.fake.clearFaults();
  await stand.observe();
  await stand.build();
  expect(stand.fake.objects()).toHaveLength(12);
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

test('25: an object that never becomes ready is progressing for ever', async () => {
  const stand = await createStand({ stateDelayMs: 1_000 });
  stand.fake.addFault({ effect: { type: 'neverDeploys' } });
  const ref = await stand.run(create(stand, 'backend http.api.eu'));
  stand.clock.increment(3_600_000);
  expect(await stand.run(stand.balancer.refresh(ref, OWNER, { signal }))).toBe('progressing');
});

/** The API itself, for what somebody else does. */
function apiOf({ fake, network }: Stand) {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await network.fetch(`${fake.url}${path}`, {
      method,
      headers: {
        authorization: `Token ${fake.tokens.api}`,
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
