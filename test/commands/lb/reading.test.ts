import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { poolPlan } from '../../../src/commands/lb/plan.ts';
import { poolStatusLive } from '../../../src/commands/lb/live.ts';
import { openHttpDoor } from '../../../src/commands/remote/http-door.ts';
import { openConsole } from '../../console/api/console-stand.ts';
import { member, pool, scriptedFleet } from '../../console/scripted-fleet.ts';
import { idOf } from '../machine-stand.ts';
import { API_CLOUD, API_EDGE, object, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(() => {
  s = poolStand();
});
afterEach(() => {
  const changing = s.asked.filter((what) => !/ (observe|close)$/.test(what));
  expect(changing, 'balancers are only looked at').toEqual([]);
});
const MINUTE = 60_000;
const status = async (...args: string[]) => {
  const { stdout, ...rest } = await s.run(['lb', 'status', ...args]);
  expect(rest).toEqual({ code: 0, stderr: '' });
  return stdout;
};
const live = async (format: 'table' | 'json' = 'table') => {
  const { text, exitCode } = await poolStatusLive(
    { format, version: '0', drivers: s.drivers },
    s.means,
  );
  expect(exitCode).toBe(0);
  return text;
};
const planOf = (options: { format?: 'json'; pool?: string } = {}) =>
  poolPlan({ format: 'table', version: '0', drivers: s.drivers, ...options }, s.means);
/** The text is what the file of this name holds, and fits into 80 columns. */
async function golden(name: string, text: string) {
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  await expect(`${text.trimEnd()}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
}

/** Two machines that serve at `edge`, one of which is drained just now. */
async function addMembers() {
  for (const at of [1, 2]) s.add(at);
  const tending = await s.tend();
  await tending.note('edge', { state: 'settled', settled: true });
  for (const to of ['joining', 'active'] as const) {
    for (const at of [1, 2]) await tending.write('edge', { to }, at);
  }
  const note = 'a reboot was asked for by eva';
  await tending.write('edge', { to: 'draining', graceMs: 30_000, sessions: 7, note }, 2);
  s.clock.increment(5 * MINUTE);
}

describe('status', () => {
  test('tells a pool that nobody tended yet', async () => {
    await golden('status-untended', await status());
    expect(s.asked, 'no balancer is asked').toEqual([]);
  });

  test('tells members with state and note, from rows alone', async () => {
    await addMembers();
    await golden('status', await status());
    expect(s.asked).toEqual([]);
  });

  test('says what is frozen, paused, torn down or tried later, and why', async () => {
    const { note } = await s.tend();
    const frozen = { reason: '2 of 3 active members would be dropped', snapshot: 'a b' };
    await note('edge', {
      state: 'failed',
      reason: 'edge refused it: configuration is broken',
      retryInMs: 3 * MINUTE,
      frozen,
    });
    await s.ask('pause-pool');
    await s.ask('teardown-pool');
    await golden('status-held', await status('api'));
  });

  test('through the console it has the health that the daemon sees', async () => {
    const fleet = scriptedFleet();
    fleet.pool(pool({ members: [member('a')] }), pool({ pool: 'old', isConfigured: false }));
    const web = await openConsole({ fleet });
    const door = openHttpDoor({ url: web.url, token: null, version: '0.0.0', advice: '' });
    const told = await s.run(['lb', 'status', 'api'], { door });
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(told.stdout).toMatch(/^ {4}equinix\/a +active +\S+ +up +3$/m);
    expect(told.stdout).not.toContain('old');
    const json = JSON.parse((await s.run(['lb', 'status', '--json'], { door })).stdout);
    expect(json.pools).toMatchObject([{ pool: 'api' }, { pool: 'old', isConfigured: false }]);
    await door.close();
  });

  test('a console that does not know all machines yet is asked again, and not believed', async () => {
    const web = await openConsole({ fleet: { ...scriptedFleet(), isWhole: () => false } });
    for (const path of ['pools', 'pools/api']) {
      const answer = await fetch(`${web.url}api/v1/${path}`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    }
  });

  test('vector 26: live, it tells health, and where all of its balancers have it', async () => {
    await addMembers();
    const bind = (address: string, number: number) =>
      object({ kind: 'bind', name: `b-${address}-${number}`, address, number });
    const server = (at: number, port: string, sessions: number, health: 'up' | 'down') =>
      object(
        { kind: 'server', name: `${idOf(at)}.${port}.api.eu`, address: '10.0.0.1', number: 1 },
        { server: { health, sessions } },
      );
    s.show('edge', [
      bind('192.0.2.10', 443),
      bind('192.0.2.10', 80),
      bind('2001:db8::10', 80),
      server(1, 'http', 3, 'up'),
      server(1, 'https', 4, 'up'),
      server(2, 'http', 5, 'up'),
      server(2, 'https', 0, 'down'),
    ]);
    s.show('cloud', [bind('192.0.2.10', 80)]);
    await golden('live', await live());
    const json = JSON.parse(await live('json'));
    expect(json.served).toEqual({ api: { '192.0.2.10': [80] } });
    expect(json.pools[1].addresses).toEqual([
      { address: '192.0.2.10', ports: [80, 443] },
      { address: '2001:db8::10', ports: [80] },
    ]);
    s.show('cloud', null);
    await golden('live-unread', await live());
  });

  test('live, it tells what of an object is not as it should be', async () => {
    await addMembers();
    const binds = [80, 443].map((number) => ({
      ...({ kind: 'bind', name: `v4.${number}.api.eu`, address: '192.0.2.10', number } as const),
    }));
    s.show('edge', [
      object(binds[0]!),
      object(binds[1]!, { phase: 'failed', detail: 'DeploymentError', tagged: false }),
      object(
        { kind: 'backend', name: 'http.api.eu', check: { by: 'tcp' } },
        { differs: 'its mode is http' },
      ),
    ]);
    s.show('cloud', []);
    await golden('live-amiss', await live());
    const { pools } = JSON.parse(await live('json'));
    expect((pools as { amiss: unknown }[]).map(({ amiss }) => amiss)).toEqual([
      [],
      [
        expect.objectContaining({ name: 'v4.443.api.eu' }),
        { kind: 'backend', name: 'http.api.eu', what: 'differs: its mode is http' },
      ],
    ]);
  });

  test('of a pool that there is not is a mistake', async () => {
    expect(await s.run(['lb', 'status', 'none'])).toMatchObject({
      ...{ code: 1, stdout: '', stderr: 'shepherd: no pool is named none; there is api\n' },
    });
    await expect(planOf({ pool: 'web' })).rejects.toThrow('no pool is named web; there is api');
  });
});

describe('plan', () => {
  test('of an empty balancer: what is made first, and how much follows', async () => {
    await addMembers();
    s.show('edge', []);
    s.show('cloud', null);
    const { text, exitCode } = await planOf();
    expect(exitCode).toBe(1);
    await golden('plan', text);
    const json = JSON.parse((await planOf({ format: 'json' })).text);
    expect(json.pools[0]).toMatchObject({
      ...API_EDGE,
      plan: {
        stage: 'creating',
        isComplete: false,
        actions: [
          { act: 'create', kind: 'backend', name: 'http.api.eu', id: null, why: null },
          { act: 'create', kind: 'backend', name: 'https.api.eu', id: null, why: null },
        ],
      },
    });
    expect(json.pools[1]).toMatchObject({
      ...API_CLOUD,
      plan: { stage: null, failure: 'cloud does not answer' },
    });
    expect(s.asked.filter((what) => what.endsWith(' close'))).toHaveLength(4);
  });

  test('a server of a machine that is no member goes, and who asked that nothing is changed is named', async () => {
    const { note } = await s.tend();
    await note('edge', { state: 'settled' });
    const backend = object({ kind: 'backend', name: 'http.api.eu', check: { by: 'tcp' } });
    const gone = object(
      { kind: 'server', name: `${idOf(9)}.http.api.eu`, address: '10.0.0.9', number: 42037 },
      { parentId: backend.ref.id },
    );
    s.show('edge', [backend, gone]);
    s.show('cloud', []);
    expect((await planOf()).text).toMatch(
      /^api at edge: take out servers of machines that are no members\n {4}destroy +server +\S+9\.http\.api\.eu/m,
    );
    await s.ask('pause-pool');
    expect((await planOf()).text).toMatch(
      /^api at edge: nothing, since it is paused by eva: it moves$/m,
    );
  });

  test('tells who would join, who would be let go and why, and who waits for whom', async () => {
    await addMembers();
    const nowMs = s.clock.now();
    for (const at of [1, 2]) {
      const { row } = s.bmdb.tables.machines.get(idOf(at))!;
      Object.assign(row, { heartbeat: { atMs: nowMs, bootId: 'boot-1' } });
    }
    s.add(3);
    await s.file({ verb: 'hold', kind: 'no-serve', untilMs: null }, 'metal/slot-1');
    s.show('edge', []);
    s.show('cloud', []);
    const { text } = await planOf();
    await golden('plan-moves', text);
    const json = JSON.parse((await planOf({ format: 'json' })).text);
    expect(json.pools[0].plan.moves).toEqual(
      expect.arrayContaining([{ member: 'metal/slot-3', from: null, to: 'joining', why: null }]),
    );
  });

  test('through the console it says as much, in the same words and form', async () => {
    const plan = {
      ...{ failure: null, held: null, stage: 'frozen', actions: [], moves: [], unready: 2 },
      pending: { create: 3, update: 0, destroy: 0 },
      ...{ shelved: ['x.api.eu'], isComplete: false, dropping: ['m-7'], panic: ['metal/slot-1'] },
      leftOut: [{ machineId: 'm-9', why: 'it has no address' }],
    };
    const about = { heldBy: null, isSelf: false, seenAtMs: 1 };
    const pools = [
      { ...API_EDGE, ...about, plan },
      { ...API_CLOUD, ...about, plan: null },
    ];
    const text = JSON.stringify({ atMs: 1, pools });
    const send = async () => ({ status: 200, headers: {}, text });
    const close = async () => undefined;
    const door = { kind: 'console', where: 'https://a/', close, send } as const;
    const { code, stdout } = await s.run(['lb', 'plan'], { door });
    expect(code).toBe(0);
    await golden('plan-of-console', stdout);
    const json = JSON.parse((await s.run(['lb', 'plan', '--json'], { door })).stdout);
    s.show('edge', []);
    s.show('cloud', []);
    const own = JSON.parse((await planOf({ format: 'json' })).text);
    expect(Object.keys(own.pools[0].plan).toSorted()).toEqual(
      Object.keys(json.pools[0].plan).toSorted(),
    );
  });
});
