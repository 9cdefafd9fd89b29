import { afterEach, beforeEach, expect, test } from 'vitest';
import { hetznerRobotDriver } from '../../src/adapters/provider/hetzner-robot/driver.ts';
import { CLASS_NAMES } from '../../src/adapters/provider/hetzner-robot/client/api.ts';
import type { Driver } from '../../src/adapters/provider/port.ts';
import { startFakerobot } from '../../src/simulator/fakerobot/fakerobot.ts';
import type { Fakerobot } from '../../src/simulator/fakerobot/options.ts';
import { createScaledClock } from './scaled-clock.ts';
import { badIn, resultOf, runTest, skippedIn } from './stand.ts';

/** Each probe asks anew, for the hours of a test in seconds. */
const LIMITS = Object.fromEntries(CLASS_NAMES.map((name) => [name, 10_000]));

let fake: Fakerobot;
beforeEach(async () => {
  fake = await startFakerobot({
    listen: { host: '127.0.0.1', port: 0 },
    servers: [1, 2].map(() => ({ resetTypes: ['sw', 'hw', 'power', 'power_long', 'man'] })),
    profile: 'fast',
    limits: LIMITS,
    timings: { postMs: 50, rescueBootMs: 400, installMs: 200, diskBootMs: 300, gracefulMs: 50 },
  });
});
afterEach(() => fake.close());

/** What the driver waits for machines of minutes is short, as they are. */
const HASTY: Driver<never> = {
  ...(hetznerRobotDriver as unknown as Driver<never>),
  open: (settings, context) =>
    hetznerRobotDriver.open(settings, { ...context, clock: createScaledClock(30) }),
};

const PATIENCE = {
  bootMs: 30_000,
  rebootMs: 20_000,
  destroyMs: 30_000,
  cleanUpMs: 30_000,
  probeMs: 200,
  syncMs: 200,
  callMs: 30_000,
  stopMs: 10_000,
};

const sectionOf = ({ url, credentials, sshPort }: Fakerobot) => ({
  driver: 'hetzner-robot',
  baseUrl: url,
  user: credentials.user,
  password: '${PASSWORD}',
  namePrefix: 'conformance-',
  freePrefix: 'free-',
  sshKeyName: 'conformance',
  image: 'Debian-1301-trixie-amd64-base.tar.gz',
  sshPort,
  listCache: '0s',
  limits: LIMITS,
  callsPerSecond: 0,
});

test('passes every step against the emulator, with machines behind it', async () => {
  const drivers = new Map([['hetzner-robot', HASTY as unknown as Driver]]);
  const around = { env: { PASSWORD: fake.credentials.password }, patience: PATIENCE, drivers };
  const { exitCode, report } = await runTest(sectionOf(fake), { command: 'true' }, around);
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    pause: expect.stringContaining('no --pause was given'),
  });
  expect(resultOf(report, 'host-key').message).toBe('the machine showed its instance secret');
  const [used, other] = fake.servers();
  expect([used, other].map((server) => server?.name)).toEqual(['free-321', 'free-322']);
  expect(Object.values(used!.drives), 'it was wiped').toEqual(['nothing', 'nothing']);
  expect(other!.resets, 'nobody touched it').toEqual([]);
});
