import { expect, test } from 'vitest';
import { sleep } from '../../../../src/adapters/clock/port.ts';
import { createTurnGroups } from '../../../../src/adapters/kit/turn-groups.ts';
import { createFleetProvider } from '../../../../src/adapters/provider/core/fleet-provider.ts';
import type { Bmc, Wire } from '../../../../src/adapters/provider/redfish/client/bmc.ts';
import { createStanding } from '../../../../src/adapters/provider/redfish/client/standing.ts';
import type { BmcEntry } from '../../../../src/adapters/provider/redfish/entries.ts';
import { createPowerPoll } from '../../../../src/adapters/provider/redfish/power-poll.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { PROVIDER } from '../../../support/facts.ts';
import { createProvisionStand, type ProvisionStand } from '../../../support/provision-stand.ts';
import { advance, createSeededRandom, settled } from '../../../doubles/simulated-clock.ts';
import { EVERYTHING, machine, scripted, SET_ID } from '../../../doubles/scripted-driver.ts';
import { driverContext } from '../driver-stand.ts';

const REQUEST_MOST_MS = 60_000;
const REQUESTS = 3;
const PARALLELISM = 64;
const MINUTE = 60_000;

/** BMCs that take so long for each request, in a rack where so many are spoken to at once. */
function startRack({ clock, log }: ProvisionStand, tookMs: readonly number[]) {
  const turns = createTurnGroups(
    {
      each: { maxConcurrency: 1, gapMs: 0, bulkLast: true },
      together: { maxConcurrency: PARALLELISM, gapMs: 0, bulkLast: true },
    },
    { clock },
  );
  const read = new Set<string>();
  const bmcs = new Map<Bmc, readonly BmcEntry[]>();
  const bmcOf = new Map<string, Bmc>();
  for (const [n, ms] of tookMs.entries()) {
    const url = `https://bmc-${n}`;
    const standing = createStanding(clock);
    async function request(signal: AbortSignal): Promise<never> {
      await sleep(clock, Math.min(ms, REQUEST_MOST_MS), signal);
      standing.replied(200);
      if (ms <= REQUEST_MOST_MS) return {} as never;
      standing.failed({ silent: true });
      throw new ProviderError('transient', 'no answer');
    }
    const bmc = {
      url,
      standing,
      async inTurn(how, work) {
        const end = await turns.take(url, { signal: how.signal, bulk: how.beside === true });
        const ask = () => request(how.signal);
        return work({ root: ask, get: ask } as unknown as Wire).finally(end);
      },
    } as Pick<Bmc, 'url' | 'standing' | 'inTurn'> as Bmc;
    bmcOf.set(`m-${n}`, bmc);
    bmcs.set(bmc, [{ id: `m-${n}` } as BmcEntry]);
  }
  const look = (id: string, signal: AbortSignal, beside: boolean) =>
    bmcOf.get(id)!.inTurn({ signal, beside }, async (wire) => {
      for (let nth = 1; nth <= REQUESTS; nth++) await wire.get('/');
      read.add(id);
    });
  const poll = createPowerPoll(
    {
      periodMs: 5 * MINUTE,
      asideMax: PARALLELISM / 4,
      look: ({ id }, signal) => look(id, signal, true),
      onRound: async () => undefined,
    },
    driverContext('rack', { clock, log, random: createSeededRandom(3) }),
  );
  const entry = (id: string) =>
    machine(id, {
      reservationId: null,
      availability: 'PossiblyUsed',
      power: read.has(id) ? 'on' : 'unknown',
    });
  const driver = scripted({
    capabilities: { ...EVERYTHING, create: false, deprovision: false, tags: false },
    async listMachines() {
      poll.keep(bmcs);
      return { machines: [...bmcOf.keys()].map(entry), complete: true };
    },
    async getMachine(id, { signal }) {
      await look(id, signal, false).catch(() => undefined);
      return entry(id);
    },
    stop: () => poll.stop(),
  });
  const own = { name: PROVIDER, type: 'scripted', instanceSetId: SET_ID, sharedTags: {} };
  return createFleetProvider(
    driver,
    { ...own, image: null, initCommand: '', publicKey: '', secrets: [] },
    {
      clock,
      log,
      metrics: driverContext('rack').metrics,
      random: createSeededRandom(4),
      daemons: () => 1,
    },
  );
}

test.each([
  ['answer nothing', Infinity],
  ['take 25 s for each request', 25_000],
])(
  'D9: of 171 BMCs 150 %s: the other 21 machines are taken in within two minutes',
  async (_, slowMs) => {
    const stand = createProvisionStand();
    const isGood = (n: number) => n % 8 === 7;
    const rack = startRack(
      stand,
      Array.from({ length: 171 }, (_none, n) => (isGood(n) ? 50 : slowMs)),
    );
    const chart = (await stand.life({ provider: rack, limits: { chunkSize: 20 } })).chart();
    await advance(stand.clock, 2 * MINUTE);
    const taken = stand.machines().map(({ provided }) => provided?.providerId);
    const good = Array.from({ length: 171 }, (_none, n) => n).filter(isGood);
    expect(good).toHaveLength(21);
    expect(taken).toEqual(expect.arrayContaining(good.map((n) => `m-${n}`)));
    chart.stop();
    const stopped = rack.stop();
    await advance(stand.clock, MINUTE);
    await stopped;
    await settled();
  },
);
