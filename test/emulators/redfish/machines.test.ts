import { expect, test } from 'vitest';
import { startBmcs } from './harness.ts';
import { startRack, startSeed } from './rack.ts';

const BOOT_MS = 62_000;
const INSTALL_MS = 240_000;

test('obeys its power; a hanging machine ignores a graceful restart, and obeys force', async () => {
  const { fake, hosts, host, reset } = await startRack({ installed: true });
  expect(host()).toMatchObject({ hostname: 'system-1', up: true });
  const bootIds = [host().bootId];
  await reset('ForceOff');
  await fake.advance(2_000);
  expect(host().up).toBe(false);
  await reset('On');
  await fake.advance(BOOT_MS - 1);
  expect(host().up).toBe(false);
  await fake.advance(1);
  expect(host().up).toBe(true);
  bootIds.push(host().bootId);
  await hosts.hang('system-1', true);
  await reset('GracefulRestart');
  await fake.advance(300_000);
  expect(host()).toMatchObject({ hanging: true, bootId: bootIds[1] });
  await reset('ForceRestart');
  await fake.advance(60_000);
  expect(host()).toMatchObject({ hanging: false, up: true });
  expect(new Set([...bootIds, host().bootId]).size).toBe(3);
});

test.each([
  { does: 'ends', ended: true, between: null, restarts: true },
  { does: 'does not end', ended: false, between: null, restarts: false },
  { does: 'ends after a reset', ended: true, between: 'ForceRestart', restarts: true },
])(
  'a machine that takes its own time for a graceful restart, and $does',
  async ({ ended, between, restarts }) => {
    const answer = Promise.withResolvers<boolean>();
    const told: string[] = [];
    const hooks = {
      down: async () => void told.push('down'),
      boot: async () => void told.push('boot'),
      heeds: () => answer.promise,
    };
    const { fake, reset } = await startBmcs({ hooks, startsOn: true });
    told.length = 0;
    await reset('GracefulRestart');
    await fake.advance(300_000);
    expect(told).toEqual([]);
    if (between !== null) await reset(between);
    answer.resolve(ended);
    await fake.advance(300_000);
    expect(told).toEqual(restarts ? ['down', 'boot'] : []);
  },
);

test('an installer fetches its seed once available, installs, reports and boots the disk', async () => {
  const { asked, server, installer } = await startSeed();
  const { fake, host, installs, installFrom, reset, system } = await startRack();
  server.status = 503;
  await reset('On');
  await fake.advance(BOOT_MS);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSBootStarted' } });
  await installFrom(installer);
  await reset('ForceRestart');
  await fake.advance(60_000);
  expect(asked.splice(0)).toEqual(['GET /s/*/meta-data']);
  server.status = 200;
  await fake.advance(10_000);
  expect(asked.splice(0)).toEqual(['GET /s/*/meta-data', 'GET /s/*/user-data']);
  await fake.advance(INSTALL_MS - 1);
  expect([asked, installs()]).toEqual([[], 0]);
  await fake.advance(1);
  expect([asked, installs(), host().up]).toEqual([['POST /s/*/done'], 1, false]);
  await fake.advance(60_000);
  expect(host()).toMatchObject({ up: true, hostname: 'a1' });
  expect(asked).toHaveLength(1);
});

test('an installer without power leaves no system behind, and a refused installer ends', async () => {
  const { asked, server, installer } = await startSeed();
  const { fake, host, installs, installFrom, reset } = await startRack({ installed: true });
  server.status = 404;
  await installFrom(installer);
  await reset('ForceRestart');
  await fake.advance(60_000 + INSTALL_MS);
  expect([asked, installs()]).toEqual([['GET /s/*/meta-data'], 1]);
  server.status = 200;
  await installFrom(installer);
  await reset('ForceRestart');
  await fake.advance(60_000 + INSTALL_MS - 1);
  await reset('ForceOff');
  await fake.advance(2_000);
  await reset('On');
  await fake.advance(BOOT_MS);
  expect([installs(), host().up]).toEqual([1, false]);
});
