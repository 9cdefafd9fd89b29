import { afterEach, expect, test } from 'vitest';
import { sleep } from '../../../src/adapters/clock/port.ts';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';
import { createMemoryBalancer, type MemoryBalancerOptions } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, drain, drop, serve } from '../../support/balancing-stand.ts';
import type { StandLife } from '../../support/balancing-stand.ts';

/** How many calls run together at a slow balancer. */

const CALL_MS = 1_000;
const AT_ONCE = 4;
const ids = [1, 2, 3, 4, 5].map((at) => machineId(`aaaaaaaa-0000-4000-8000-00000000000${at}`));
const [first, second, , , last] = ids as [MachineId, MachineId, MachineId, MachineId, MachineId];
const PORTS = 2;

let life: StandLife | null = null;
afterEach(async () => {
  await life?.stop();
  life = null;
});

async function stand(options: Partial<MemoryBalancerOptions> = {}) {
  const clock = createSimulatedClock();
  const memory = createMemoryBalancer({
    clock,
    ...options,
    capabilities: { atOnce: AT_ONCE, ...options.capabilities },
  });
  /** By moment: the changing calls that began then. */
  const turns = new Map<number, string[]>();
  const slow =
    (what: string, call: (...args: never[]) => Promise<unknown>) =>
    async (...args: never[]) => {
      const [about] = args as unknown as [
        { readonly kind?: string; readonly spec?: { kind: string } },
      ];
      const atMs = clock.monotonic();
      turns.set(atMs, [...(turns.get(atMs) ?? []), `${what} ${about.spec?.kind ?? about.kind}`]);
      await sleep(clock, CALL_MS);
      return call(...args);
    };
  const balancer = {
    ...memory.balancer,
    create: slow('create', memory.balancer.create),
    destroy: slow('destroy', memory.balancer.destroy),
    setMember: slow('mode', memory.balancer.setMember!),
  } as LoadBalancer;
  const balancing = createBalancingStand({
    clock,
    pools: [pool({ addresses: ['192.0.2.10'] })],
    balancers: { edge: balancer },
  });
  balancing.wish(...ids.map((id, at) => serve(id, `10.0.0.${at + 1}`)));
  life = await balancing.life();
  return { clock, memory, balancing, turns };
}
const names = (count: number, what: string) => Array<string>(count).fill(what);

test('starts changes of one kind together, as many as the balancer allows', async () => {
  const { clock, turns, balancing } = await stand();
  await advance(clock, 60_000);
  expect(Object.values(balancing.states())).toEqual(names(5, 'active'));
  const servers = 5 * PORTS;
  expect([...turns.values()]).toEqual([
    names(PORTS, 'create backend'),
    names(PORTS, 'create frontend'),
    ...[4, 4, 2].map((count) => names(count, 'create server')),
    names(PORTS, 'create bind'),
    ...[4, 4, servers - 8].map((count) => names(count, 'mode server')),
  ]);
  turns.clear();
  await balancing.ask('teardown-pool');
  balancing.wish(...ids.map(drop));
  await advance(clock, 120_000);
  const all = [...turns.values()];
  expect(all.filter((turn) => new Set(turn).size > 1)).toEqual([]);
  expect(all.filter((turn) => turn[0] === 'destroy server').map(({ length }) => length)).toEqual([
    ...[4, 4, 2],
  ]);
});

test('starts changes one after the other where the balancer requires it', async () => {
  const { clock, turns } = await stand({ capabilities: { atOnce: 1 } });
  await advance(clock, 60_000);
  expect([...turns.values()].map(({ length }) => length)).toEqual(names(26, '').map(() => 1));
});

test('handles members between two rounds and leaves out objects that are no longer wanted', async () => {
  const capabilities = { drain: 'remove', sessions: false, health: false } as const;
  const { clock, memory, turns, balancing } = await stand({ capabilities });
  while (![...turns.values()].flat().includes('create server')) await advance(clock, CALL_MS / 2);
  balancing.wish(drain(last, { leaves: true, askedAtMs: null }));
  await advance(clock, 60_000);
  const made = memory.writes().filter(({ operation }) => operation === 'create');
  expect(made.filter(({ name }) => name.startsWith(last))).toEqual([]);
  expect(memory.servers(first)).toHaveLength(PORTS);
});

test('continues after a refusal and stops the round at any other failure', async () => {
  const { clock, memory, turns, balancing } = await stand();
  memory.inject({ operation: 'create', effect: 'failBefore', about: first });
  memory.inject({
    ...{ operation: 'create', effect: 'failBefore', about: second },
    error: new Unreachable('it does not answer'),
  });
  while (!turns.has(clock.monotonic() - CALL_MS) || balancing.standing()?.state !== 'failed') {
    await advance(clock, CALL_MS / 2);
  }
  const servers = [...turns.values()].filter((turn) => turn[0] === 'create server');
  expect(servers.map(({ length }) => length)).toEqual([4]);
  expect(memory.servers(first)).toHaveLength(0);
  await advance(clock, 120_000);
  expect(Object.values(balancing.states())).toEqual(names(5, 'active'));
  expect(memory.servers(first)).toHaveLength(PORTS);
});
