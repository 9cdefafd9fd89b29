import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { forgetPool, type ForgetOptions } from '../../../src/commands/lb/forget.ts';
import { exitCodeFor } from '../../../src/commands/remote/failures.ts';
import { explain, FleetError } from '../../../src/domain/errors.ts';
import type { PoolVerb } from '../../../src/domain/verbs.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { playScenes } from '../../support/scenes.ts';
import { idOf } from '../machine-stand.ts';
import { written } from '../run-through.ts';
import { API_EDGE, poolStand, type PoolStand, type Tending } from './pool-stand.ts';

type TendedPoolStand = PoolStand & { tending: Tending | null };
const WEB_EDGE = { pool: 'web', balancer: 'edge' };
const SETTLED = { state: 'settled', settled: true } as const;

const scan = (s: TendedPoolStand) => s.bmdb.scan(s.signal);
/** Real time passes, and none of the stand’s, until it is so. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(setImmediate);
}
const writing = (at: 'edge' | 'cloud') => async (s: TendedPoolStand, about: string) => {
  const { machine, ...change } = parse(about) as {
    readonly machine?: number;
    readonly to: 'active';
  };
  await s.tending!.write(at, change, machine);
};
const noting = (at: 'edge' | 'cloud') => async (s: TendedPoolStand, about: string) =>
  s.tending!.note(at, parse(about) as object);

const steps: Record<string, (s: TendedPoolStand, about: string) => unknown> = {
  machine: (s, at) => void s.add(Number(at)),
  'a daemon tends both': async (s) => void (s.tending = await s.tend()),
  'nothing is the matter': async ({ tending }) => {
    for (const at of ['edge', 'cloud'] as const) await tending!.note(at, SETTLED);
  },
  'it serves at both': async ({ tending }) => {
    for (const at of ['edge', 'cloud'] as const) {
      for (const to of ['joining', 'active'] as const) await tending!.write(at, { to });
    }
  },
  'member at edge': writing('edge'),
  'member at cloud': writing('cloud'),
  edge: noting('edge'),
  cloud: noting('cloud'),
  pass: (s, seconds) => advance(s.clock, Number(seconds) * 1_000),
  'eva asks': (s, verb) => s.ask(verb as PoolVerb),
  'the hold is there': (s) => until(async () => (await scan(s)).holds.length > 0),
  'the hold is gone': (s) => until(async () => (await scan(s)).holds.length === 0),
  'a tear-down is recorded': (s) =>
    until(async () => (await scan(s)).pools.some(({ tornDown }) => tornDown !== null)),
  holds: async (s) => {
    const { holds } = await scan(s);
    return holds.map((h) => `${h.kind} ${h.slotId} by ${h.setBy}, force ${h.force}`).join('\n');
  },
  recorded: async (s) => {
    const { pools, machines } = await scan(s);
    const said = pools.map(({ pool, balancer, paused, accepted, tornDown }) => {
      const by = Object.entries({ paused, accepted, tornDown }).flatMap(([what, mark]) =>
        mark === null ? [] : `, ${what} by ${mark.by}`,
      );
      return `${pool} at ${balancer}${by.join('')}`;
    });
    const members = machines.flatMap((machine) =>
      machine.members.map(({ pool, balancer }) => `a member of ${pool} at ${balancer}`),
    );
    return [...said, ...members].join('\n');
  },
  // A machine that serves in a pool of which this configuration knows nothing, and in one that it has.
  'a pool of another configuration': async (s) => {
    s.add(1);
    s.tending = await s.tend();
    const { session, leases } = s.tending;
    for (const pool of [WEB_EDGE, API_EDGE]) {
      await session.balancing.note(leases.edge, pool, { state: 'settled' });
      await session.balancing.write(leases.edge, pool, [{ machineId: idOf(1), to: 'joining' }]);
    }
  },
  'the daemon ends': (s) => s.tending!.session.close(),
  lease: async (s, job) => void (await s.tending!.session.lease(job)),
  'another daemon takes': async (s, job) =>
    (await (await s.daemon()).lease(job)) === null ? 'it is not free' : 'it is free',
  forget: async (s, about) => {
    const change = parse(about || '{}') as Partial<ForgetOptions> & { readonly format?: 'json' };
    const options = { pool: 'web', by: 'ann', reason: 'it is gone', yes: false, ...change };
    try {
      const told = await forgetPool(options, { bmdb: s.bmdb, config: s.config });
      return `${await written(told, change.format)}\n(${told.exitCode})`;
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      return `${explain(error)}\n(${exitCodeFor(error)})`;
    }
  },
  events: async (s) => {
    const found = await s.bmdb.inspection.events({ machineId: idOf(1), limit: 9 }, s.signal);
    return found.map(({ actor, reason }) => `${actor}: ${reason}`).join('\n');
  },
};

test('pools are told, asked for, let go of and forgotten as it is written down', () =>
  playScenes<TendedPoolStand>(import.meta.dirname, 'pools', {
    open: async () => ({ ...(await poolStand()), tending: null }),
    close: (s) => s.close(),
    run: (s, words) => s.run(words),
    steps,
  }));

test('a drain is over when all balancers let the machine go, and not when the hold is set', async () => {
  const s = await poolStand();
  s.add(1);
  const tending = await s.tend();
  for (const at of ['edge', 'cloud'] as const) {
    for (const to of ['joining', 'active'] as const) await tending.write(at, { to });
  }
  const drained = { to: 'drained', how: 'no-sessions', note: null, sessions: 0 } as const;
  const draining = s.run(['lb', 'drain', 'metal/slot-1', '--reason', 'because', '--wait', '60s']);
  let isOver = false;
  void draining.then(() => (isOver = true));
  await until(async () => (await s.bmdb.scan(s.signal)).holds.length > 0);
  await tending.write('edge', drained);
  const from = s.clock.now();
  while (!isOver && s.clock.now() < from + 10_000) await new Promise(setImmediate);
  expect(isOver, 'the other balancer still sends it traffic').toBe(false);
  await tending.write('cloud', drained);
  expect(await draining).toMatchObject({ code: 0 });
  await s.close();
});

test('whoever gives up waiting is told how far it is, and that the hold stays', async () => {
  const s = await poolStand();
  s.add(1);
  await (await s.tend()).write('edge', { to: 'joining' });
  const givingUp = new AbortController();
  const { signal } = givingUp;
  // The hold itself is looked for more often than what comes of it.
  const sleep = async (ms: number) => (ms < 1_000 ? undefined : givingUp.abort());
  const drain = ['lb', 'drain', 'metal/slot-1', '--reason', 'because'];
  const told = await s.run(drain, { signal, sleep });
  expect(told.code).toBe(130);
  expect(told.stdout).toContain('NOT DRAINED YET: the hold stays');
  await s.close();
});
