import { beforeEach, describe, expect, test } from 'vitest';
import { poolPlan } from '../../../src/commands/lb/plan.ts';
import { poolStatus } from '../../../src/commands/lb/status.ts';
import type { Observed } from '../../../src/domain/balancing/objects.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import { idOf } from '../machine-stand.ts';
import { API_CLOUD, API_EDGE, object, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(() => {
  s = poolStand();
});
const MINUTE = 60_000;
const status = async (options: { live?: boolean; json?: boolean; pool?: string } = {}) => {
  const { drivers } = s;
  const asked = { live: false, json: false, version: '0', drivers, ...options };
  const { text, exitCode } = await poolStatus(asked, s.means);
  expect(exitCode).toBe(0);
  return text;
};
const plan = (options: { json?: boolean; pool?: string } = {}) =>
  poolPlan({ json: false, version: '0', drivers: s.drivers, ...options }, s.means);
const fitting = (text: string) =>
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);

/** Two machines that serve at `edge`, one of which is drained just now. */
async function addMembers() {
  for (const at of [1, 2]) s.add(at);
  const { session, leases } = await s.tend();
  await session.balancing.note(leases.edge, API_EDGE, { state: 'settled', settled: true });
  const to = (state: 'joining' | 'active') =>
    session.balancing.write(
      leases.edge,
      API_EDGE,
      [1, 2].map((at) => ({ machineId: idOf(at), to: state })),
    );
  await to('joining');
  await to('active');
  const note = 'a reboot was asked for by eva';
  await session.balancing.write(leases.edge, API_EDGE, [
    { machineId: idOf(2), to: 'draining', graceMs: 30_000, sessions: 7, note },
  ]);
  s.clock.increment(5 * MINUTE);
  return { session, leases };
}

describe('status', () => {
  test('tells a pool that nobody tended yet', async () => {
    expect(await status()).toBe(
      [
        'api at cloud (shelf): nothing was done yet',
        '    settled: never yet; no daemon tends cloud now',
        '    0 active of 0 members; at least 1',
        'api at edge (shelf): nothing was done yet',
        '    settled: never yet; no daemon tends edge now',
        '    0 active of 0 members; at least 1',
      ].join('\n'),
    );
    expect(s.asked, 'no balancer is asked').toEqual([]);
  });

  test('tells members with state and note, from rows alone', async () => {
    await addMembers();
    const text = await status();
    expect(text).toMatch(/^api at edge \(shelf\): settled$/m);
    expect(text).toMatch(/^ {4}settled: \S+ \S+ \(5m ago\)$/m);
    expect(text).toContain('    1 active of 2 members; at least 1');
    expect(text).toMatch(/^ {4}member +state +for +health +sessions$/m);
    expect(text).toMatch(/^ {4}metal\/slot-1 +active +5m +- +-$/m);
    expect(text).toMatch(
      /^ {4}metal\/slot-2 +draining +5m +- +7\n {6}a reboot was asked for by eva$/m,
    );
    fitting(text);
    expect(s.asked).toEqual([]);
  });

  test('says what is frozen, paused, torn down or tried later, and why', async () => {
    const { session, leases } = await s.tend();
    const frozen = { reason: '2 of 3 active members would be dropped', snapshot: 'a b' };
    await session.balancing.note(leases.edge, API_EDGE, {
      state: 'failed',
      reason: 'edge refused it: configuration is broken',
      retryInMs: 3 * MINUTE,
      frozen,
    });
    await s.ask('pause-pool');
    await s.ask('teardown-pool');
    const text = await status({ pool: 'api' });
    for (const said of [
      /^ {4}edge refused it: configuration is broken$/m,
      /^ {4}tried again .*\(in 3m\)$/m,
      /^ {4}FROZEN since .*: 2 of 3 active members would be\s+dropped$/m,
      /^ {4}PAUSED by eva since .*: it moves$/m,
      /^ {4}TORN DOWN by eva since .*: it moves$/m,
    ]) {
      expect(text).toMatch(said);
    }
    fitting(text);
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
    const text = await status({ live: true });
    expect(text).toMatch(/^ {4}metal\/slot-1 +active +5m +up +7$/m);
    expect(text).toMatch(/^ {4}metal\/slot-2 +draining +5m +down +5$/m);
    expect(text).toMatch(/^api is found at 192\.0\.2\.10 \(80\)$/m);
    const json = JSON.parse(await status({ live: true, json: true }));
    expect(json.served).toEqual({ api: { '192.0.2.10': [80] } });
    expect(json.pools[1].addresses).toEqual([
      { address: '192.0.2.10', ports: [80, 443] },
      { address: '2001:db8::10', ports: [80] },
    ]);
    s.show('cloud', null);
    const without = await status({ live: true });
    expect(without).toMatch(/^ {4}CANNOT BE READ: cloud does not answer$/m);
    expect(without).toMatch(/^api is found at no address that all of its balancers have$/m);
    expect(s.asked.filter((what) => !/ (observe|close)$/.test(what))).toEqual([]);
  });

  test('a pool that is not configured any more is told as long as something is recorded', async () => {
    const { session, leases } = await s.tend();
    await session.balancing.note(
      leases.edge,
      { pool: 'old', balancer: 'edge' },
      { state: 'failed' },
    );
    expect(await status({ pool: 'old' })).toMatch(/^old at edge \(not configured here\): failed$/m);
    await expect(status({ pool: 'none' })).rejects.toThrow(
      new UsageError('no pool is named none; there is api, old'),
    );
  });
});

describe('plan', () => {
  test('of an empty balancer: what is made first, and how much follows', async () => {
    await addMembers();
    s.show('edge', []);
    s.show('cloud', null);
    const { text, exitCode } = await plan();
    expect(exitCode).toBe(1);
    expect(text).toMatch(
      /^api at edge: make what is missing\n {4}create +backend +http\.api\.eu$/m,
    );
    expect(text).toMatch(/^ {4}create +backend +https\.api\.eu$/m);
    expect(text).toMatch(/^api at cloud: cannot be read: cloud does not answer$/m);
    fitting(text);
    const json = JSON.parse((await plan({ json: true })).text);
    expect(json.pools[0]).toMatchObject({
      ...API_EDGE,
      stage: 'creating',
      isComplete: false,
      actions: [
        { act: 'create', kind: 'backend', name: 'http.api.eu', id: null, why: null },
        { act: 'create', kind: 'backend', name: 'https.api.eu', id: null, why: null },
      ],
    });
    expect(json.pools[1]).toMatchObject({ ...API_CLOUD, failure: 'cloud does not answer' });
    expect(s.asked.filter((what) => !/ (observe|close)$/.test(what))).toEqual([]);
    expect(s.asked.filter((what) => what.endsWith(' close'))).toHaveLength(4);
  });

  test('a server of a machine that is no member goes, and who asked that nothing is changed is named', async () => {
    const { session, leases } = await s.tend();
    await session.balancing.note(leases.edge, API_EDGE, { state: 'settled' });
    const backend = object({ kind: 'backend', name: 'http.api.eu', check: { by: 'tcp' } });
    const gone = object(
      { kind: 'server', name: `${idOf(9)}.http.api.eu`, address: '10.0.0.9', number: 42037 },
      { parentId: backend.ref.id },
    );
    const observed: readonly Observed[] = [backend, gone];
    s.show('edge', observed);
    s.show('cloud', []);
    expect((await plan()).text).toMatch(
      /^api at edge: take out servers of machines that are no members\n {4}destroy +server +\S+9\.http\.api\.eu/m,
    );
    await s.ask('pause-pool');
    expect((await plan()).text).toMatch(
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
    await s.verb({ verb: 'hold', kind: 'no-serve', untilMs: null }, 'metal/slot-1');
    s.show('edge', []);
    s.show('cloud', []);
    const { text } = await plan();
    expect(text).toMatch(/^ {4}metal\/slot-3: not a member → joining$/m);
    expect(text).toMatch(
      /^ {4}metal\/slot-1: stays active\n {6}ann: because; not before another is active/m,
    );
    const json = JSON.parse((await plan({ json: true })).text);
    expect(json.pools[0].members).toEqual(
      expect.arrayContaining([{ member: 'metal/slot-3', from: null, to: 'joining', why: null }]),
    );
    expect(s.asked.filter((what) => !/ (observe|close)$/.test(what))).toEqual([]);
  });

  test('of a pool that there is not is a mistake', async () => {
    await expect(plan({ pool: 'web' })).rejects.toThrow('no pool is named web; there is api');
  });
});
