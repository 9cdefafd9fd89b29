import { silentMetrics } from '../../../../src/adapters/metrics/port.ts';
import { describe, expect, test } from 'vitest';
import { anexiaDriver } from '../../../../src/adapters/balancer/anexia/driver.ts';
import { Cancelled, Denied, RemoteFailure, Throttled } from '../../../../src/domain/errors.ts';
import type { BalancerContext } from '../../../../src/adapters/balancer/port.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
} from '../../../doubles/simulated-clock.ts';
import { createStand, desiredOf, live, OWNER, type EngineStand } from './stand.ts';
import { testRows } from '../../../support/rows.ts';

const signal = live;
const backend = desiredOf()[0]!.desired;
const create = ({ balancer }: Pick<EngineStand, 'balancer'>) =>
  balancer.create(backend, null, OWNER, { signal });
const POST = 'POST /api/LBaaS/v1/backend.json';
const posts = (stand: EngineStand) => stand.routes().filter((one) => one === POST).length;

describe('a lost reply of the Engine', () => {
  testRows(['after', 'midBody'] as const)(
    '%s: finds what was created and creates it once',
    async (phase) => {
      const stand = await createStand();
      await stand.observe();
      stand.fake.addFault({
        match: { method: 'POST', kind: 'backend' },
        times: 1,
        effect: { type: 'drop', phase },
      });
      const ref = await stand.run(create(stand));
      expect(stand.fake.objects().map(({ id, tags }) => [id, tags.length])).toEqual([[ref.id, 1]]);
      expect(posts(stand)).toBe(1);
    },
  );

  test('waits with a second request until a lagging list would show the object', async () => {
    const stand = await createStand();
    await stand.observe();
    const { clock, fake } = stand;
    fake.addFault({
      match: { method: 'POST', kind: 'backend' },
      times: 1,
      effect: { type: 'drop', phase: 'after' },
    });
    fake.addFault({ id: 'behind', effect: { type: 'lag', lagMs: 20_000 } });
    expect(await stand.failureOf(create(stand))).toMatchObject({ code: 'unreachable' });
    clock.increment(5_000);
    expect(await stand.observe()).toEqual([]);
    const failure = await stand.failureOf(create(stand));
    expect((failure.cause as Error).message).toContain('may still appear');
    clock.increment(20_000);
    const ref = await stand.run(create(stand));
    expect(fake.objects().map(({ id }) => id)).toEqual([ref.id]);
    expect(posts(stand)).toBe(1);
  });

  test('creates once when the request never arrived', async () => {
    const stand = await createStand();
    await stand.observe();
    const match = { method: 'POST', kind: 'backend' } as const;
    stand.fake.addFault({ match, times: 1, effect: { type: 'drop', phase: 'before' } });
    expect(await stand.failureOf(create(stand))).toMatchObject({ code: 'unreachable' });
    stand.clock.increment(30_000);
    await stand.run(create(stand));
    expect(stand.fake.objects()).toHaveLength(1);
  });
});

test('shows what it just created, however far lists lag', async () => {
  const stand = await createStand();
  stand.fake.addFault({ effect: { type: 'lag', lagMs: 60_000 } });
  const refs = await stand.build();
  const found = await stand.observe();
  expect(found.map(({ ref }) => ref.id).toSorted()).toEqual(
    [...refs.values()].map(({ id }) => id).toSorted(),
  );
  expect(found.every(({ tagged }) => tagged)).toBe(true);
  stand.forget();
  await stand.run(create(stand));
  expect(stand.writes()).toEqual([]);
});

test('does not report an object that is gone as created', async () => {
  const stand = await createStand();
  const ref = await stand.run(create(stand));
  await stand.run(stand.balancer.destroy(ref, OWNER, { signal }));
  expect(await stand.run(stand.balancer.refresh(ref, OWNER, { signal }))).toBe('failed');
});

test('takes no object with our name that another owner tagged', async () => {
  const stand = await createStand();
  const other = { ...OWNER, uid: 'uid-2' };
  const theirs = await stand.run(stand.balancer.create(backend, null, other, { signal }));
  const ours = await stand.run(create({ balancer: stand.another() }));
  expect(ours.id).not.toBe(theirs.id);
  const failure = await stand.failureOf(stand.balancer.adopt!(theirs, OWNER, { signal }));
  expect(failure).toBeInstanceOf(RemoteFailure);
  expect(failure.message).toContain('another owner');
  expect(stand.fake.objects().map(({ tags }) => tags.length)).toEqual([1, 1]);
});

test('writes tags one by one, whoever writes them', async () => {
  const stand = await createStand();
  const refs = await stand.build(desiredOf().slice(0, 2));
  const both = [stand.balancer, stand.another()];
  const servers = desiredOf().filter(({ desired }) => desired.spec.kind === 'server');
  await stand.run(
    Promise.all(
      servers.map(({ desired, parent }, n) =>
        both[n % 2]!.create(desired, refs.get(parent!)!, OWNER, { signal }),
      ),
    ),
  );
  expect(stand.fake.complaints()).toEqual([]);
  expect(stand.fake.requests().some(({ status }) => status === 409)).toBe(false);
});

describe.each(['paged', 'wrapped', 'array'] as const)(
  'lists of the Engine in the form %s',
  (listForm) => {
    testRows(['short', 'full'] as const)('are read to the end with rows %s', async (rows) => {
      const stand = await createStand({ knobs: { listForm, rows, limitMax: 2 } });
      await stand.build();
      expect(await stand.observe(stand.another())).toHaveLength(12);
      const pages = stand.fake.requests().filter(({ query }) => query['tag_name'] !== undefined);
      expect(pages.at(-1)?.query['page']).toBe('7');
    });
  },
);

test('escape filters twice and send the rest as the service wants it', async () => {
  const stand = await createStand();
  await stand.observe();
  const list = stand.fake.requests().find(({ route }) => route.endsWith('/backend.json'))!;
  expect(list.query).toEqual({
    filters: `load_balancer=${stand.loadBalancer}`,
    page: '1',
    limit: '5',
  });
  expect(stand.fake.complaints()).toEqual([]);
});

test('does nothing without its load balancer and names the missing one', async () => {
  const stand = await createStand();
  const { fake } = stand;
  fake.addFault({ match: { route: '/api/LBaaS/v1/loadbalancer.json/{id}' }, effect: notFound });
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toBeInstanceOf(RemoteFailure);
  expect(failure.message).toContain(
    `there is no load balancer ${stand.loadBalancer} at ${fake.url}`,
  );
  expect(stand.routes()).toHaveLength(1);
  fake.clearFaults();
  await stand.observe();
  stand.forget();
  await stand.observe();
  expect(stand.routes().some((one) => one.includes('loadbalancer'))).toBe(false);
});
const notFound = {
  type: 'status',
  code: 404,
  body: { error: { code: 404, message: 'Not Found' } },
} as const;

test('believes that an object is gone between list and look, but not from a proxy', async () => {
  const stand = await createStand();
  await stand.build();
  const match = { method: 'GET', route: '/api/LBaaS/v1/server.json/{id}' };
  stand.fake.addFault({
    id: 'gone',
    match: { ...match, name: 'm1.http.api.eu' },
    effect: notFound,
  });
  expect(await stand.observe(stand.another())).toHaveLength(11);
  stand.fake.addFault({
    id: 'gone',
    match,
    effect: { type: 'status', code: 404, body: '<h1>404</h1>' },
  });
  expect(await stand.failureOf(stand.balancer.observe(OWNER, { signal }))).toMatchObject({
    code: 'unreachable',
  });
});

test('reports a refused token at once and shows it nowhere', async () => {
  const stand = await createStand();
  const { fake } = stand;
  const body = {
    error: { message: `denied for ${fake.token}`, validation: { token: fake.token } },
  };
  fake.addFault({ effect: { type: 'status', code: 403, body } });
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toBeInstanceOf(Denied);
  const told = `${failure.message} ${(failure.cause as Error).message} ${stand.lines.join()}`;
  expect(told).toContain('denied for [redacted]');
  expect(told).not.toContain(fake.token.slice(6));
});

test('reports the fields of a refusal by the service', async () => {
  const stand = await createStand();
  const desired = { ...backend, spec: { ...backend.spec, name: '' } };
  const failure = await stand.failureOf(stand.balancer.create(desired, null, OWNER, { signal }));
  expect((failure.cause as Error).message).toMatch(/Validation failed; name: .*\(status 422\)/);
});

test('ends a call with its signal and starts none after the stop', async () => {
  const stand = await createStand();
  const leaving = new AbortController();
  stand.fake.addFault({ effect: { type: 'hang', phase: 'before' } });
  const call = stand.balancer.observe(OWNER, { signal: leaving.signal });
  leaving.abort();
  expect(await stand.failureOf(call)).toBeInstanceOf(Cancelled);
  stand.forget();
  await stand.balancer.close();
  const failure = await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(failure).toBeInstanceOf(Cancelled);
  expect(stand.routes()).toEqual([]);
});

test('counts every request by resource and leaves none open', async () => {
  const stand = await createStand();
  await stand.run(create(stand));
  stand.fake.addFault({ effect: { type: 'drop', phase: 'before' } });
  await stand.failureOf(stand.balancer.observe(OWNER, { signal }));
  expect(new Set(stand.metered)).toEqual(
    new Set([
      'GET LBaaS/v1/loadbalancer.json 200',
      'GET LBaaS/v1/backend.json 200',
      'POST LBaaS/v1/backend.json 200',
      'POST core/v1/resource.json/tags 200',
      'GET core/v1/resource.json -1',
    ]),
  );
  expect(stand.inFlight()).toBe(0);
});

describe('the driver of Anexia', () => {
  const around = { env: { ANEXIA_TOKEN: 'secret-token' }, baseDirectory: '/', checkFiles: false };
  const settings = (changes: object = {}) =>
    anexiaDriver
      .settings(around)
      .parse({ loadBalancer: 'lb-1', ...changes }) as never as Parameters<
      typeof anexiaDriver.open
    >[0];
  const clock = createSimulatedClock();
  const context: BalancerContext = {
    name: 'edge',
    clock,
    random: createSeededRandom(1),
    log: silentLog,
    metrics: silentMetrics,
    userAgent: 'shepherd/test',
  };

  test('takes its token from the environment unless configured', () => {
    const { baseUrl, token } = settings();
    expect([baseUrl, token.read()]).toEqual(['https://engine.anexia-it.com', 'secret-token']);
    expect(settings({ baseUrl: 'https://e.test/x/' }).baseUrl).toBe('https://e.test/x');
  });

  testRows([
    [{ baseUrl: 'http://engine.test' }, /would send the token unencrypted/],
    [{ baseUrl: 'ftp://engine.test' }, /give an http or https URL/],
    [
      { baseUrl: 'https://ann:pass/wo@rd@engine.test' },
      /is .{1,3}https:\/\/…@engine\.test.{1,3}; give an http or https URL without credentials/,
    ],
    [{ token: 'written-out' }, /in plain text/],
    [{ loadBalancer: 'a/b' }, /an id of letters/],
    [{ weight: 1 }, /weight/],
  ])('refuses %j', (changes, message) => {
    expect(() => settings(changes)).toThrow(message);
  });

  test('treats two balancers with one base and load balancer as the same', () => {
    const at = (loadBalancer: string, baseUrl = 'https://e.test') =>
      settings({ baseUrl, loadBalancer });
    expect(anexiaDriver.overlaps!(at('a'), at('a', 'https://e.test/'))).toBe('loadBalancer');
    expect(anexiaDriver.overlaps!(at('a'), at('b'))).toBeNull();
    expect(anexiaDriver.overlaps!(at('a'), at('a', 'https://other.test'))).toBeNull();
  });

  test('shares a pause among all balancers of an account and no other', async () => {
    const stand = await createStand();
    const { network } = stand;
    const env = { ANEXIA_TOKEN: stand.fake.token, OTHER: stand.fake.token };
    const [one, other, stranger] = [
      { loadBalancer: stand.fake.loadBalancers[0]! },
      { loadBalancer: stand.fake.loadBalancers[1]! },
      { loadBalancer: stand.fake.loadBalancers[1]!, token: '${OTHER}' },
    ].map((own) => {
      const schema = anexiaDriver.settings({ ...around, env });
      const read = schema.parse({ baseUrl: stand.fake.url, ...own });
      const opened = anexiaDriver.open(read as never, { ...context, clock: stand.clock, network });
      return driven(stand.clock, opened);
    });
    stand.fake.addFault({ times: 1, effect: { type: 'status', code: 429 } });
    await expect(one!.observe(OWNER, { signal })).rejects.toThrow(Throttled);
    await expect(other!.observe(OWNER, { signal })).rejects.toThrow(Throttled);
    expect(stand.fake.requests()).toHaveLength(1);
    expect(await stranger!.observe(OWNER, { signal })).toEqual([]);
    await Promise.all([one, other, stranger].map((each) => each!.close()));
  });
});
