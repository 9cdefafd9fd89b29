import { expect, test } from 'vitest';
import { PROVIDER } from '../../../support/facts.ts';
import { createProvisionStand } from '../../../support/provision-stand.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { fleetOf, startRack } from './stand.ts';

const MINUTE = 60_000;

test.each([
  ['answer nothing', { type: 'hang', phase: 'before' }],
  ['take 25 s for each request', { type: 'latency', ms: 25_000 }],
] as const)(
  'D9: of 171 BMCs 150 %s: the other 21 machines are taken in within two minutes',
  async (_, effect) => {
    const stand = createProvisionStand();
    const systems = Array.from({ length: 171 }, (_none, n) => `system-${n + 1}`);
    const good = systems.filter((_name, n) => n % 8 === 7);
    expect(good).toHaveLength(21);
    const rack = await startRack({
      ...{ virtual: stand.clock, systems: systems.length, context: { name: PROVIDER } },
      settings: { powerPoll: '5m' },
    });
    for (const system of systems) {
      if (!good.includes(system)) await rack.fault(effect, { match: { system } });
    }
    const life = await stand.life({ provider: fleetOf(rack), limits: { chunkSize: 20 } });
    const chart = life.chart();
    await advance(stand.clock, 2 * MINUTE);
    const taken = stand.machines().map(({ provided }) => provided?.providerId);
    expect(taken).toEqual(expect.arrayContaining(good));
    chart.stop();
  },
);
