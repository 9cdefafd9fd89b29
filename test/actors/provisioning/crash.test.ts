import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import type { MemFault } from '../../doubles/mem-provider.ts';
import { createProvisionStand } from '../../support/provision-stand.ts';
import type { Life, ProvisionStand } from '../../support/provision-stand.ts';
import { advance, settled } from '../../doubles/simulated-clock.ts';

const MINUTE_MS = 60_000;

/** A process that dies at its nth call to the outside: before it is made, or when it was answered. */
interface Mortal {
  wrap<Target extends object>(target: Target, methods: readonly string[]): Target;
  readonly calls: number;
  readonly isDead: boolean;
}
function createMortal(diesAt: number, when: 'before' | 'after'): Mortal {
  let calls = 0;
  let isDead = false;
  const never = () => new Promise<never>(() => undefined);
  return {
    get calls() {
      return calls;
    },
    get isDead() {
      return isDead;
    },
    wrap: (target, methods) =>
      new Proxy(target, {
        get(from, name) {
          const value: unknown = Reflect.get(from, name);
          if (typeof value !== 'function' || !methods.includes(String(name))) return value;
          return async (...args: unknown[]) => {
            if (isDead) return never();
            calls += 1;
            const isLast = calls === diesAt;
            if (isLast && when === 'before') isDead = true;
            if (isDead) return never();
            try {
              const answer: unknown = await (value as (...all: unknown[]) => unknown)(...args);
              if (isLast) isDead = true;
              return isDead ? await never() : answer;
            } catch (error) {
              if (isLast) isDead = true;
              if (isDead) return never();
              throw error;
            }
          };
        },
      }),
  };
}

const ON_BMDB = ['scan'];
const ON_SESSION = ['lease', 'updateProvided'];
const ON_INTENTS = ['open', 'resume', 'progress', 'adopt', 'end'];
const ON_PROVIDER = ['listMachines', 'getMachine', 'createMachine', 'findByWitness', 'prepare'];

/** A life whose every call to BMDB and provider may be its last. */
async function mortalLife(stand: ProvisionStand, mortal: Mortal): Promise<Life> {
  const provider: FleetProvider = mortal.wrap(stand.provider, ON_PROVIDER);
  const bmdb = (real: MemBmdb): MemBmdb => ({
    ...mortal.wrap(real, ON_BMDB),
    scan: mortal.wrap(real, ON_BMDB).scan,
    openSession: async (options) => {
      const session = await real.openSession(options);
      const intents = mortal.wrap(session.intents, ON_INTENTS);
      const own = mortal.wrap(session, ON_SESSION);
      return new Proxy(own, {
        get: (from, name) => (name === 'intents' ? intents : (Reflect.get(from, name) as unknown)),
      });
    },
  });
  return stand.life({ provider, bmdb, limits: { chunkSize: 2, creationGapMs: 1_000 } });
}

/** Lets the life run its chart until it is dead, or for so long. */
async function live(stand: ProvisionStand, life: Life, mortal: Mortal, limitMs: number) {
  const chart = life.chart();
  const untilMs = stand.clock.monotonic() + limitMs;
  while (!mortal.isDead && stand.clock.monotonic() < untilMs) await advance(stand.clock, 1_000);
  chart.stop();
  life.die();
  await settled();
}

/** What must be true at any time, and in the end. */
function expectSafe(stand: ProvisionStand) {
  const ours = stand.provider.devices().filter(({ ownership }) => ownership === 'ours');
  const slots = ours.map(({ reservationId }) => reservationId);
  expect(new Set(slots).size, 'a slot never has two devices').toBe(slots.length);
  const known = new Set(stand.machines().map(({ provided }) => provided!.providerId));
  const open = new Set(
    stand
      .intents()
      .filter(({ state }) => state === 'open' || state === 'unresolved')
      .map(({ witness }) => witness),
  );
  for (const { id, tags } of ours) {
    expect(known.has(id!) || open.has(tags[WITNESS_TAG]!), `device ${id} is known`).toBe(true);
  }
  const ids = stand.machines().map(({ provided }) => provided!.providerId);
  expect(new Set(ids).size, 'a device never has two machines').toBe(ids.length);
}

async function expectWhole(stand: ProvisionStand, count: number) {
  const last = await stand.life({ limits: { chunkSize: 9, creationGapMs: 0 } });
  // A slot may be on the shelf for an hour, or an unfinished creation wait for its end.
  for (let at = 0; at < 200 && stand.machines().length < count; at += 1) {
    await last.round();
    await advance(stand.clock, MINUTE_MS);
  }
  expectSafe(stand);
  expect(stand.machines()).toHaveLength(count);
  const ours = stand.provider.devices().filter(({ ownership }) => ownership === 'ours');
  const known = stand.machines().map(({ provided }) => provided!.providerId);
  expect(known.toSorted()).toEqual(ours.map(({ id }) => id!).toSorted());
}

/** Calls of a life in which nothing goes wrong. */
async function callsOfLife(): Promise<number> {
  const stand = createProvisionStand({ reservations: 3 });
  const mortal = createMortal(Infinity, 'before');
  await live(stand, await mortalLife(stand, mortal), mortal, 3 * MINUTE_MS);
  expect(stand.machines()).toHaveLength(3);
  return mortal.calls;
}
const CALLS = await callsOfLife();

describe.each(['before', 'after'] as const)('the process dies %s any one of its calls', (when) => {
  test(`no device is leaked and no slot used twice (${CALLS} calls)`, async () => {
    expect(CALLS).toBeGreaterThan(20);
    for (let diesAt = 1; diesAt <= CALLS; diesAt += 1) {
      const stand = createProvisionStand({ reservations: 3 });
      const mortal = createMortal(diesAt, when);
      await live(stand, await mortalLife(stand, mortal), mortal, 5 * MINUTE_MS);
      expect(mortal.isDead).toBe(true);
      expectSafe(stand);
      await expectWhole(stand, 3);
    }
  });
});

test('lives and deaths at random, with a provider that fails at random', async () => {
  const faults = fc.constantFrom<MemFault[]>(
    ...(['failBefore', 'failAfter', 'loseReply', 'hang'] as const).flatMap((effect) =>
      (['create', 'find', 'list'] as const).map((operation) => ({ operation, effect })),
    ),
    { operation: 'list', effect: 'incomplete' },
  );
  const lives = fc.array(
    fc.record({
      diesAt: fc.integer({ min: 1, max: 60 }),
      when: fc.constantFrom('before' as const, 'after' as const),
      faults: fc.array(faults, { maxLength: 4 }),
      stranger: fc.boolean(),
    }),
    { maxLength: 4 },
  );
  await fc.assert(
    fc.asyncProperty(lives, async (all) => {
      const stand = createProvisionStand({ reservations: 4 });
      let strangers = 0;
      for (const one of all) {
        for (const fault of one.faults) stand.provider.inject(fault);
        const mortal = createMortal(one.diesAt, one.when);
        const life = await mortalLife(stand, mortal);
        if (one.stranger) strangers += snatchFree(stand);
        await live(stand, life, mortal, 20 * MINUTE_MS);
        expectSafe(stand);
      }
      stand.provider.account.faults.clear();
      await expectWhole(stand, 4 - strangers);
      const foreign = stand.provider.devices().filter(({ ownership }) => ownership !== 'ours');
      expect(foreign, 'devices of strangers are untouched').toHaveLength(strangers);
    }),
    { numRuns: 60 },
  );
});

/** A stranger takes the last free slot, if there is one. */
function snatchFree(stand: ProvisionStand): number {
  const taken = new Set(stand.provider.devices().map(({ reservationId }) => reservationId));
  const free = stand.provider
    .reservationIds()
    .filter((id) => !taken.has(id))
    .toSorted();
  const last = free.at(-1);
  if (last === undefined) return 0;
  stand.provider.snatch(last);
  return 1;
}
