import { afterEach, expect, test } from 'vitest';
import { createMemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { createFakeHost, createFakeShell, type FakeHost } from '../doubles/fake-shell.ts';
import { NothingToDo } from '../../src/domain/errors.ts';
import { slot, type SessionId, type Slot } from '../../src/domain/ids.ts';
import { rankOf } from '../../src/domain/preference.ts';
import { PROVIDER, provided } from '../support/facts.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { startHurriedDaemon } from './daemon.ts';
import { createListedProvider } from './listed-provider.ts';
import type { MachineInfo } from './messages.ts';
import { HURRY } from './pace.ts';

/** Three daemons over one database, in virtual time. */

const MACHINES = 12;
const PACE = { ...HURRY, headStartMs: 1_000, scanMs: 2_000 };

/** One daemon asked for one machine. */
interface Ask {
  readonly self: SessionId;
  readonly slot: Slot;
  readonly atMs: number;
  readonly result: string;
}
type Town = Awaited<ReturnType<typeof createTown>>;
let town: Town;
afterEach(() => town.end());

/** @param grants whether claims reach the database; else all are refused. */
async function createTown(options: {
  readonly grants: boolean;
  readonly hosts?: Partial<FakeHost>;
}) {
  const clock = createSimulatedClock();
  const random = createSeededRandom(7);
  const bmdb = createMemBmdb({
    clock,
    random,
    loss: PACE.loss,
    budget: PACE.budget,
    guard: PACE.guard,
  });
  const machines = Array.from({ length: MACHINES }, (_, at) => machineAt(at));
  const hosts = new Map(
    machines.map(({ address }) => [`${address}:22`, createFakeHost({ ...options.hosts })]),
  );
  const asks: Ask[] = [];
  const slots = new Map<string, Slot>();
  const watching = (inner: Bmdb): Bmdb => ({
    ...inner,
    async openSession(given) {
      const session = await inner.openSession(given);
      const { sessionId: self } = session;
      return {
        ...session,
        async claim(process, machineId) {
          const ask = { self, slot: slots.get(machineId)!, atMs: clock.monotonic() };
          if (!options.grants) {
            asks.push({ ...ask, result: 'refused' });
            throw new NothingToDo('the test gives no machine');
          }
          try {
            const work = await session.claim(process, machineId);
            asks.push({ ...ask, result: 'ok' });
            return work;
          } catch (error) {
            asks.push({ ...ask, result: String(error) });
            throw error;
          }
        },
      };
    },
  });
  const starts = [0, 1, 2].map((at) =>
    startHurriedDaemon({
      clock,
      random,
      bmdb: watching(bmdb),
      pace: PACE,
      name: `daemon ${at}`,
      log: silentLog,
      providers: new Map([[PROVIDER, createListedProvider(machines, async () => undefined)]]),
      shell: createFakeShell({ hosts, clock }),
    }),
  );
  const daemons = await Promise.all(starts);
  await advance(clock, 2 * PACE.scanMs);
  return {
    clock,
    bmdb,
    asks,
    daemons,
    hosts,
    sessions: () => daemons.map(({ parts }) => parts.keeper.require().sessionId),
    /** All machines become known at once. */
    async fill(): Promise<number> {
      const stranger = await bmdb.openSession({
        component: 'not a daemon',
        runtimeInfo: '',
        intervalMs: 3_600_000,
      });
      const atMs = clock.monotonic();
      for (const { reservationId, deviceId, address } of machines) {
        const place = { provider: PROVIDER, slotId: reservationId, hostname: 'machine' };
        const { witness } = await stranger.intents.open(place);
        const row = provided({ reservationId, providerId: deviceId, address });
        slots.set(await stranger.intents.adopt(witness, row), slot(PROVIDER, reservationId));
      }
      return atMs;
    },
    end: () => daemons.forEach((daemon) => die(daemon)),
  };
}

/** Ends it as a crash would: nothing is said to the database any more. */
const die = ({ supervisor }: Daemon) => supervisor.stop();

const machineAt = (at: number): MachineInfo => ({
  provider: PROVIDER,
  deviceId: `device-${at}`,
  reservationId: `rack-${at}`,
  machineId: '',
  address: `10.0.0.${at + 1}`,
  location: 'lab',
  bootId: 'boot-1',
  up: true,
});

test('rank 0 asks at once, and rank n after n head starts', async () => {
  town = await createTown({ grants: false });
  const sessions = town.sessions();
  const begunAtMs = await town.fill();
  await advance(town.clock, 2 * PACE.headStartMs + PACE.scanGapMs);

  const firsts = Map.groupBy(town.asks, (ask) => `${ask.self} ${ask.slot}`);
  expect(firsts.size).toBe(3 * MACHINES);
  for (const [ask] of firsts.values()) {
    const afterMs =
      ask!.atMs - begunAtMs - rankOf(ask!.self, sessions, ask!.slot) * PACE.headStartMs;
    expect(afterMs).toBeGreaterThanOrEqual(0);
    expect(afterMs).toBeLessThanOrEqual(PACE.scanGapMs);
  }
});

test('with everybody alive each machine is asked for once, by the best ranked', async () => {
  town = await createTown({ grants: true });
  const sessions = town.sessions();
  await town.fill();
  await advance(town.clock, 500);

  expect(town.asks.length).toBe(MACHINES);
  for (const ask of town.asks) {
    expect(ask.result).toBe('ok');
    expect(rankOf(ask.self, sessions, ask.slot)).toBe(0);
  }
});

test('when the best ranked dies, the next takes its machines within interval and head start', async () => {
  town = await createTown({ grants: true, hosts: { hangs: 'execute' } });
  const sessions = town.sessions();
  await town.fill();
  await advance(town.clock, 500);
  const [dead] = sessions;
  const left = town.asks.filter((ask) => ask.self === dead).map((ask) => ask.slot);
  expect(left.length).toBeGreaterThan(0);

  const diedAtMs = town.clock.monotonic();
  const before = town.asks.length;
  die(town.daemons[0]!);
  for (const host of town.hosts.values()) host.hangs = undefined;
  const limitMs = PACE.sessionIntervalMs + PACE.scanMs + PACE.headStartMs;
  await advance(town.clock, limitMs);

  const taken = town.asks.slice(before).filter((ask) => left.includes(ask.slot));
  const heirs = sessions.slice(1);
  expect(new Set(taken.map((ask) => ask.slot))).toEqual(new Set(left));
  for (const name of left) {
    const first = taken.find((ask) => ask.slot === name)!;
    expect(first.result).toBe('ok');
    expect(rankOf(first.self, heirs, name), `${name} goes to the next in rank`).toBe(0);
    expect(first.atMs - diedAtMs).toBeLessThanOrEqual(limitMs);
  }
});

test('while the best ranked is not yet known to be dead, the next asks after one head start', async () => {
  town = await createTown({ grants: true });
  const sessions = town.sessions();
  die(town.daemons[0]!);
  const begunAtMs = await town.fill();
  await advance(town.clock, 2 * PACE.headStartMs);

  const firsts = Map.groupBy(town.asks, (ask) => ask.slot);
  expect(firsts.size).toBe(MACHINES);
  for (const [ask] of firsts.values()) {
    expect(ask!.result).toBe('ok');
    const rank = rankOf(ask!.self, sessions, ask!.slot);
    expect(rank).toBe(rankOf(sessions[0]!, sessions, ask!.slot) === 0 ? 1 : 0);
    const waitedMs = ask!.atMs - begunAtMs - rank * PACE.headStartMs;
    expect(waitedMs).toBeLessThanOrEqual(PACE.scanGapMs);
  }
});
