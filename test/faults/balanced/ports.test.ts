import { afterEach, describe, expect, test, vi } from 'vitest';
import { SIM_POOL, SIM_PORT } from '../../../src/commands/sim-pool.ts';
import type { ConfigInput } from '../../../src/config.ts';
import { takeFreePort } from '../../../src/simulator/hosts/free-port.ts';
import { callOnce } from '../../../src/simulator/traffic/call.ts';
import { hasHaproxyFor } from '../../support/haproxy.ts';
import { createDaemonProcess } from '../daemon-processes.ts';
import { allActive, openBalancedFleet, readPoolFile, WAIT, type BalancedFleet } from './fleet.ts';

let fleet: BalancedFleet | undefined;
afterEach(async () => {
  await fleet?.close();
  fleet = undefined;
}, 60_000);

const MORE = 'more';

function withMore(config: ConfigInput, external: number): ConfigInput {
  const pool = config.pools![SIM_POOL]!;
  const { internal } = pool.ports[SIM_PORT]!;
  const ports = { ...pool.ports, [MORE]: { external, internal } };
  return { ...config, pools: { [SIM_POOL]: { ...pool, ports } } };
}

/** What the file says of a port, without what stands between its sections. */
const sectionsOf = (text: string, port: string): string[] =>
  text
    .split(/\n(?=\S)/)
    .filter((section) => new RegExp(`^(frontend|backend) ${port}\\.`).test(section))
    .map((section) => section.trim());

describe.runIf(hasHaproxyFor('a port that comes and goes under traffic'))(
  'a pool whose ports change',
  () => {
    test('V15: clients of the port that stays notice nothing, and nothing of it is touched', async () => {
      fleet = await openBalancedFleet({ machines: 2, daemons: 1 });
      const { daemons, pool, world, configOf, env } = fleet;
      const [plain] = daemons as [(typeof daemons)[number]];
      const external = await takeFreePort(new Set([pool.clients.port]));
      const config = withMore(configOf(0), external);
      const more = createDaemonProcess(world.dir, 'with-more', config, env);
      const there = { host: pool.clients.host, port: external };
      try {
        plain.start();
        await allActive(fleet);
        const before = sectionsOf(readPoolFile(pool), SIM_PORT);
        expect(before).toHaveLength(2);
        const traffic = fleet.send();

        await plain.stop();
        more.start();
        await vi.waitFor(async () => expect(await callOnce(there)).toBeNull(), WAIT);
        expect(sectionsOf(readPoolFile(pool), SIM_PORT)).toEqual(before);
        expect(sectionsOf(readPoolFile(pool), MORE)).toHaveLength(2);

        await more.stop();
        plain.start();
        // Children first: clients find nobody a while before nothing is left.
        const left = () => sectionsOf(readPoolFile(pool), MORE);
        await vi.waitFor(() => expect(left()).toEqual([]), WAIT);
        expect(await callOnce(there)).toBe('ECONNREFUSED');
        expect(sectionsOf(readPoolFile(pool), SIM_PORT)).toEqual(before);

        const { refused, cut, answered, failures } = await traffic.stop();
        expect([...failures]).toEqual([]);
        expect({ refused, cut }).toEqual({ refused: 0, cut: 0 });
        expect(answered).toBeGreaterThan(100);
        expect([...plain.deaths(), ...more.deaths()]).toEqual([]);
      } finally {
        await more.stop();
      }
    }, 600_000);
  },
);
