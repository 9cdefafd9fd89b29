import { createServer } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { EmulatorClock } from '../../emulators/kit/clock.ts';
import { createManualClock } from '../../emulators/kit/clock.ts';
import { startAnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import { testRows } from '../support/rows.ts';
import { startBmcs } from './redfish/harness.ts';
import { startLatitude } from './latitude/harness.ts';
import { createOn, clientOf as quinixOf, start as startQuinix } from './equinix/harness.ts';
import { nameOf, rename } from './hetzner-robot/fault-steps.ts';
import { SERVER, startRobot } from './hetzner-robot/harness.ts';

/** What all emulators have in common, for the tests. */
interface Emulator {
  readonly fake: {
    addFault(rule: never): unknown;
    requests(): readonly {
      readonly status: number | null;
      readonly fate: string;
      readonly executed: boolean;
    }[];
    faults(): readonly unknown[];
    advance(ms: number): Promise<void>;
    readonly adminUrl: string;
    readonly adminToken: string;
    close(): Promise<void>;
  };
  readonly url: string;
  /** A read, and the change that `isChanged` reports; each returns the status. */
  read(signal?: AbortSignal): Promise<{ readonly status: number }>;
  change(): Promise<{ readonly status: number }>;
  isChanged(): boolean | Promise<boolean>;
  /** Ids of its world, determined by the seed. */
  readonly ids: unknown;
  /** Credentials of a client. */
  readonly secrets: readonly string[];
  /** The method of the change, as rules name it. */
  readonly method: string;
}
interface Options {
  readonly clock: EmulatorClock;
  readonly seed?: number;
}

const EMULATORS: Readonly<Record<string, (options: Options) => Promise<Emulator>>> = {
  equinix: async (options) => {
    const fake = await startQuinix(options);
    const call = quinixOf(fake);
    const path = `/projects/${fake.projectId}/devices`;
    const onDemand = { hardware_reservation_id: '', metro: 'fr' };
    return {
      ...{ fake, url: fake.url, method: 'POST', ids: [fake.projectId, fake.reservations()] },
      secrets: Object.values(fake.tokens),
      read: (signal) => call('GET', '/projects', undefined, signal ? { signal } : {}),
      change: () => call('POST', path, createOn(fake, 0, onDemand)),
      isChanged: () => fake.devices().length > 0,
    };
  },
  latitude: async (options) => {
    const { fake, ask, create } = await startLatitude(options);
    return {
      ...{ fake, url: fake.url, method: 'POST', ids: fake.project },
      secrets: [fake.token],
      read: (signal) => ask('GET', '/servers', signal && { signal }),
      change: () => create('a', {}),
      isChanged: () => fake.servers().length > 0,
    };
  },
  redfish: async (options) => {
    const { fake, ask, path } = await startBmcs(options);
    const [bmc] = fake.bmcs();
    return {
      ...{ fake, url: bmc!.url, method: 'PATCH' },
      ids: bmc!.systems.map(({ serial, mac }) => [serial, mac]),
      secrets: [],
      read: (signal) => ask('GET', path, signal ? { signal } : {}),
      change: () => ask('PATCH', path, { body: { AssetTag: 'rack-7' } }),
      isChanged: async () => (await ask('GET', path)).body['AssetTag'] === 'rack-7',
    };
  },
  'hetzner-robot': async (options) => {
    const robot = await startRobot(options);
    const { fake, ask } = robot;
    return {
      ...{ fake, url: fake.url, method: 'POST', ids: robot.machine().wwns },
      secrets: [],
      read: (signal) => ask('GET', `/server/${SERVER}`, signal ? { signal } : {}),
      change: () => rename(robot),
      isChanged: async () => (await nameOf(robot)) === 'shep-a',
    };
  },
  anexia: async (options) => {
    const fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 }, ...options });
    onTestFinished(() => fake.close());
    const headers = { authorization: `Token ${fake.token}`, 'content-type': 'application/json' };
    const ask = async (init: RequestInit) => {
      const reply = await fetch(`${fake.url}/api/LBaaS/v1/backend.json`, { headers, ...init });
      return { status: reply.status, text: await reply.text() };
    };
    const body = JSON.stringify({ name: 'a', mode: 'tcp', load_balancer: fake.loadBalancers[0] });
    return {
      ...{ fake, url: fake.url, method: 'POST', ids: fake.loadBalancers },
      secrets: [fake.token],
      read: (signal) => ask(signal ? { signal } : {}),
      change: () => ask({ method: 'POST', body }),
      isChanged: () => fake.objects().length > 0,
    };
  },
};

/** An effect on a change: the answer's status (null: none), and whether the change was made. */
const SPOILT: readonly (readonly [effect: object, status: number | null, isChanged: boolean])[] = [
  [{ type: 'status', code: 503 }, 503, false],
  [{ type: 'status', code: 502, executed: true }, 502, true],
  [{ type: 'drop', phase: 'before' }, null, false],
  [{ type: 'drop', phase: 'after' }, null, true],
];

const rows = Object.entries(EMULATORS);
type Start = (typeof rows)[number][1];
const started = (start: Start, seed?: number) =>
  start({ clock: createManualClock(Date.UTC(2026, 0, 1)), ...(seed && { seed }) });

testRows(
  rows.flatMap(([name, start]) => SPOILT.map((spoilt) => [name, ...spoilt, start] as const)),
)(
  '%s: spoils a change by %j, with %j; made: %j',
  async (_name, effect, status, isChanged, start) => {
    const { fake, method, change, isChanged: look } = await started(start);
    await fake.addFault({ match: { method }, times: 1, effect } as never);
    const reply = await change().catch(() => ({ status: null }));
    expect(reply.status).toBe(status);
    const fate = status === null ? 'dropped' : 'replied';
    expect(fake.requests().at(-1)).toMatchObject({ status, fate, executed: isChanged });
    expect(await look()).toBe(isChanged);
    expect((await change()).status).toBeLessThan(300);
  },
);

testRows(rows)('%s: sends a body that is not JSON', async (_name, start) => {
  const { fake, read } = await started(start);
  for (const kind of ['truncated', 'html'] as const) {
    await fake.addFault({ times: 1, effect: { type: 'garbage', kind } } as never);
    const parsed = read().then((reply) => ('text' in reply ? JSON.parse(String(reply.text)) : 0));
    await expect(parsed).rejects.toThrow(SyntaxError);
    expect(fake.requests().at(-1)).toMatchObject({ status: 200 });
  }
  expect((await read()).status).toBe(200);
});

testRows(rows)('%s: delays an answer on its own clock', async (_name, start) => {
  const clock = createManualClock(0);
  const { fake, read } = await start({ clock });
  await fake.addFault({ times: 1, effect: { type: 'latency', ms: 500 } } as never);
  let isOver = false;
  const reply = read().finally(() => (isOver = true));
  await expect.poll(() => fake.requests().some(({ status }) => status === null)).toBe(true);
  clock.stepTowards(499);
  expect(await Promise.race([read().then(() => isOver), reply.then(() => true)])).toBe(false);
  clock.stepTowards(500);
  expect((await reply).status).toBe(200);
});

testRows(rows)(
  '%s: performs a delayed request when its clock is advanced',
  async (_name, start) => {
    const { fake, change, method } = await started(start);
    const effect = { type: 'latency', ms: 500 };
    await fake.addFault({ match: { method }, times: 1, effect } as never);
    const reply = change();
    await expect.poll(() => fake.requests().some(({ fate }) => fate === 'open')).toBe(true);
    await fake.advance(60_000);
    expect(fake.requests().at(-1)).toMatchObject({ executed: true, fate: 'replied' });
    expect((await reply).status).toBeLessThan(300);
  },
);

testRows(rows)('%s: shows its world only to its owner', async (_name, start) => {
  const { fake } = await started(start);
  const ask = (headers: Record<string, string>) => fetch(`${fake.adminUrl}/state`, { headers });
  expect((await ask({})).status).toBe(401);
  expect((await ask({ 'x-fake-admin': fake.adminToken })).status).toBe(200);
});

testRows(rows)('%s: hangs until the client leaves', async (_name, start) => {
  const { fake, read } = await started(start);
  await fake.addFault({ times: 1, effect: { type: 'hang', phase: 'before' } } as never);
  const patience = new AbortController();
  const asked = expect(read(patience.signal)).rejects.toThrow(/abort/);
  await expect.poll(() => fake.requests().at(-1)?.fate).toBe('hung');
  patience.abort();
  await asked;
  expect((await read()).status).toBe(200);
});

testRows(rows)('%s: closes while one request hangs and another waits', async (_name, start) => {
  const { fake, read, change, method, url } = await started(start);
  await fake.addFault({
    match: { method: 'GET' },
    effect: { type: 'hang', phase: 'before' },
  } as never);
  await fake.addFault({ match: { method }, effect: { type: 'latency', ms: 1_000 } } as never);
  const ends = Promise.allSettled([read(), change()]);
  await expect.poll(() => fake.requests().length).toBe(2);
  await Promise.all([fake.close(), fake.close()]);
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = createServer();
  await new Promise<void>((resolve) => {
    next.listen(Number(new URL(url).port), '127.0.0.1', resolve);
  });
  await new Promise((resolve) => next.close(resolve));
});

testRows(rows)('%s: refuses rules that could never match', async (_name, start) => {
  const { fake } = await started(start);
  for (const [rule, message] of [
    [{ effect: { type: 'unheard' } }, /effect/],
    [{ match: { route: '/nowhere' }, effect: { type: 'status', code: 500 } }, /no route \/nowhere/],
    [{ match: { method: 'FOO' }, effect: { type: 'status', code: 500 } }, /method/],
    [{ match: { nth: 2, every: 3 }, effect: { type: 'status', code: 500 } }, /nth or every/],
    [{ effect: { type: 'status', code: 100 } }, /code/],
    [{ effect: { type: 'headers', headers: { 'a b': 'x' } } }, /headers/],
  ] as const) {
    await expect((async () => fake.addFault(rule as never))()).rejects.toThrow(message);
  }
  expect(fake.faults()).toEqual([]);
});

testRows(rows)(
  '%s: makes the same ids from the same seed, and never the same secrets',
  async (_name, start) => {
    const [one, again, other] = [
      await started(start, 7),
      await started(start, 7),
      await started(start, 8),
    ];
    expect(again.ids).toEqual(one.ids);
    expect(other.ids).not.toEqual(one.ids);
    const secrets = [...one.secrets, ...again.secrets];
    expect(new Set(secrets).size).toBe(secrets.length);
  },
);
