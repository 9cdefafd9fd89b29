import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import {
  createEquinixProvider,
  equinixDriver,
} from '../../../src/adapters/provider/equinix/driver.ts';
import { ownerTag } from '../../../src/adapters/provider/equinix/device-view.ts';
import type { Driver } from '../../../src/adapters/provider/port.ts';
import { staticDriver } from '../../../src/adapters/provider/static/driver.ts';
import { equinixSection } from '../../conformance/sections.ts';
import { runInLab } from '../../conformance/lab.ts';
import { badIn, skippedIn } from '../../conformance/stand.ts';
import { inventoryContract, providerContract } from '../../contracts/provider.ts';
import { createFakeShell } from '../../doubles/fake-shell.ts';
import { createHookedMachines } from '../../doubles/hooked-machines.ts';
import { createMemProvider } from '../../doubles/mem-provider.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  driven,
  settled,
} from '../../doubles/simulated-clock.ts';
import { inFleet } from '../../support/in-fleet.ts';
import { driverContext, INSTANCE_SET_ID } from './driver-stand.ts';
import { configFor, recordingDeps, setTags, startEmulator } from './equinix/setup.ts';

providerContract('in memory', async () => {
  const clock = createSimulatedClock();
  const provider = createMemProvider(
    {
      ...{ devicePrefix: 'mem-', instanceSetId: INSTANCE_SET_ID },
      ...{ reservations: 4, provisioningMs: 20, latencyMs: 0 },
    },
    { clock, random: createSeededRandom(1) },
  );
  return {
    provider: driven(clock, provider),
    instanceSetId: INSTANCE_SET_ID,
    strangers: {
      snatch: (reservationId) => void provider.snatch(reservationId),
      setOwner: async (...to) => provider.setOwner(...to),
    },
    deviceCount: () => provider.devices().length,
    hang() {
      provider.inject({ fault: 'hangs' });
      return { reached: Promise.resolve() };
    },
    pass: () => advance(clock, 10),
    close: () => provider.stop(),
  };
});

providerContract('equinix', async () => {
  const deps = recordingDeps();
  const { clock } = deps;
  const fake = await startEmulator(deps, { reservations: 4 });
  const account = { token: () => fake.tokens.user, projectId: fake.projectId };
  const made = createEquinixProvider(configFor(fake.url, account), deps);
  const provider = inFleet(made, { type: 'equinix', instanceSetId: INSTANCE_SET_ID }, clock);
  return {
    provider: driven(clock, provider),
    instanceSetId: INSTANCE_SET_ID,
    strangers: {
      snatch: (reservationId) => void fake.snatch(reservationId),
      async setOwner(id, owner) {
        const { tags } = fake.devices().find((device) => device.id === id)!;
        const others = tags.filter((tag) => !tag.startsWith('shepherd-owner-'));
        await setTags({ fake, deps }, id, owner === null ? others : [...others, ownerTag(owner)]);
      },
    },
    deviceCount: () => fake.devices().length,
    hang() {
      fake.addFault({ effect: { type: 'hang', phase: 'before' } });
      const before = fake.requests().length;
      return { reached: pollUntil(() => fake.requests().length > before) };
    },
    pass: () => advance(clock, 10),
    async close() {
      await provider.stop();
      await fake.close();
    },
  };
});

/** The test's own time limit ends it. */
async function pollUntil(met: () => boolean): Promise<void> {
  while (!met()) await settled();
}

test('passes every step for equinix, with machines in memory behind its emulator', async () => {
  const deps = recordingDeps();
  const { clock, network, random } = deps;
  const { hosts, hooks } = createHookedMachines(random);
  const fake = await startEmulator(deps, { reservations: 4, hooks, log: silentLog });
  onTestFinished(() => fake.close());
  const overNetwork = (context: Parameters<Driver['open']>[1]) => ({ ...context, network });
  const driver: Driver<never> = {
    ...(equinixDriver as unknown as Driver<never>),
    open: (settings, context) => equinixDriver.open(settings, overNetwork(context)),
  };
  const drivers = new Map([[driver.name, driver as unknown as Driver]]);
  const around = { clock, random, drivers, env: { TOKEN: fake.tokens.project } };
  const shell = createFakeShell({ hosts, clock });
  const { report } = await runInLab(
    { clock, shell, around, section: equinixSection(fake) },
    { command: 'cat', timeoutMs: 24 * 3_600_000 },
    { patience: {} },
  );
  expect(badIn(report)).toEqual([]);
  const without = ['existing', 'pause', 'release', 'claims-dropped', 'claims'];
  expect(Object.keys(skippedIn(report))).toEqual(without);
  expect(hosts.size, 'no machine is left').toBe(0);
});

const resets = { pdu: { kind: 'program', command: ['/nonexistent/pdu'] } };
for (const [name, more] of [
  ['static', {}],
  ['static with resets', { resets }],
] as const) {
  inventoryContract(name, () => openList(more));
}

async function openList(more: object) {
  const dir = mkdtempSync(join(tmpdir(), 'contract-static-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const inventory = join(dir, 'machines.json');
  const machine = { Addr: '127.0.0.1', Location: 'rack 1' };
  const reset = 'resets' in more && { Reset: { By: 'pdu', Outlet: 1 } };
  const machines = [1, 2].map((port) => ({
    ...{ ID: `unit-${port}`, SshPort: port, ...machine, ...(port === 1 && reset) },
  }));
  writeFileSync(inventory, JSON.stringify(machines));
  const context = driverContext('static');
  const settings = staticDriver.settings({ env: {}, baseDirectory: dir, checkFiles: true });
  const opened = staticDriver.open(
    settings.parse({ inventory: `file:${inventory}`, ...more }) as never,
    context,
  );
  return inFleet(opened, { instanceSetId: INSTANCE_SET_ID, type: 'static' }, context.clock);
}
