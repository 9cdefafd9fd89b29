import { beforeEach, expect, test } from 'vitest';
import { createMemoryBalancer, type MemoryBalancer } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';
import { M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drop, serve } from '../../support/balancing-stand.ts';
import type { BalancingStand, StandLife } from '../../support/balancing-stand.ts';
import { all, MINUTE } from './vector-world.ts';

/** A change that a balancer refuses for good delays only itself and its dependants. */

let clock: VirtualClock;
let memory: MemoryBalancer;
let stand: BalancingStand;
let life: StandLife;
const FOR_EVER = 1_000_000;

beforeEach(async () => {
  clock = createSimulatedClock();
  memory = createMemoryBalancer({ clock, readyAfterMs: 2_000 });
  stand = createBalancingStand({ clock, balancers: { edge: memory.balancer } });
  stand.wish(serve(M1), serve(M2));
  return () => life.stop();
});

const refuse = (operation: 'create' | 'destroy' | 'update', about: string, times = FOR_EVER) =>
  memory.inject({ operation, effect: 'failBefore', about, times });
/** A port of an earlier configuration. */
const putOldPort = () => {
  const owner = pool().uid;
  const check = { by: 'tcp' } as const;
  const backend = memory.put({ spec: { kind: 'backend', name: 'old.api.eu', check }, owner });
  const frontend = memory.put({
    spec: { kind: 'frontend', name: 'old.api.eu' },
    owner,
    parentId: backend.id,
  });
  const bind = {
    kind: 'bind',
    name: 'v4.old.api.eu',
    address: '192.0.2.10',
    number: 8_080,
  } as const;
  memory.put({ spec: bind, owner, parentId: frontend.id });
};
const calls = (operation: string, name: string) =>
  memory.calls.filter((each) => each.operation === operation && each.name.startsWith(name)).length;

test('creates everything else and removes unwanted objects after a final refusal', async () => {
  putOldPort();
  refuse('create', 'v6.http.');
  life = await stand.life();
  await advance(clock, 2 * MINUTE);
  expect(memory.names()).toEqual(all().filter((name) => name !== 'bind v6.http.api.eu'));
  expect(stand.states()).toEqual({ [M1]: 'active', [M2]: 'active' });
  expect(stand.standing()).toMatchObject({
    state: 'failed',
    settledAtMs: null,
    reason: expect.stringMatching(/bind v6\.http\.api\.eu.*scripted failure/),
  });
  stand.wish(serve(M3));
  await advance(clock, MINUTE);
  expect(stand.states()[M3]).toBe('active');
});

test('retries a refused creation ever more rarely and settles when it succeeds', async () => {
  refuse('create', 'v6.http.', 6);
  life = await stand.life();
  await advance(clock, MINUTE);
  const soon = calls('create', 'v6.http.');
  expect(soon).toBeGreaterThanOrEqual(2);
  expect(soon).toBeLessThanOrEqual(5);
  await advance(clock, 20 * MINUTE);
  expect(memory.names()).toEqual(all());
  expect(life.state()).toBe('settled');
  expect(stand.standing()).toMatchObject({ state: 'settled', reason: null, failures: 0 });
});

test('lets other changes go on after a refusal', async () => {
  life = await stand.life();
  await advance(clock, MINUTE);
  putOldPort();
  memory.find('bind', 'v4.http.').differs = 'its port is another';
  refuse('update', 'v4.http.');
  memory.held.delete(memory.find('bind', 'v6.http.').id);
  await advance(clock, 7 * MINUTE);
  expect(memory.names()).toEqual(all());
  expect(stand.standing()?.reason).toMatch(/bind v4\.http\.api\.eu/);
});

test('creates other servers while one cannot be destroyed', async () => {
  life = await stand.life();
  await advance(clock, MINUTE);
  refuse('destroy', M2);
  stand.wish(drop(M2), serve(M3));
  await advance(clock, 3 * MINUTE);
  expect(memory.servers(M3).map(({ mode }) => mode)).toEqual(['active', 'active']);
  expect(stand.states()).toMatchObject({ [M1]: 'active', [M3]: 'active' });
  expect(stand.standing()).toMatchObject({
    state: 'failed',
    reason: expect.stringMatching(new RegExp(`server ${M2}.*scripted failure`)),
  });
});

test('keeps the object at the place of a bind until the bind is created', async () => {
  const owner = pool().uid;
  putOldPort();
  const old = memory.find('bind', 'v4.old.');
  old.spec = { kind: 'bind', name: 'v4.old.api.eu', address: '192.0.2.10', number: 80 };
  memory.put({
    spec: { kind: 'bind', name: 'v6.old.api.eu', address: '2001:db8::10', number: 8_080 },
    owner,
    parentId: old.parentId,
  });
  // The replacement port cannot be created.
  refuse('create', 'http.api.eu');
  life = await stand.life();
  await advance(clock, 2 * MINUTE);
  const left = memory.names().filter((name) => name.includes('old.'));
  expect(left).toEqual(['backend old.api.eu', 'bind v4.old.api.eu', 'frontend old.api.eu']);
  expect(memory.names().filter((name) => /https/.test(name))).toHaveLength(6);
});
