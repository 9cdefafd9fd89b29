import { expect, test } from 'vitest';
import { createQuietLog } from '../../../src/adapters/log/quiet-log.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import { createLogControl } from '../../../src/daemon/console-means.ts';
import type { Role } from '../../../src/domain/access.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import type { NewEvent } from '../../../src/domain/events/fleet-event.ts';
import { createHttpTransport } from '../../../src/commands/remote/client.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { runThrough } from '../../commands/run-through.ts';
import { machineStand } from '../../commands/machine-stand.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { openConsole } from './console-stand.ts';

const MINUTE = 60_000;

async function stand(
  append: (event: NewEvent) => Promise<void>,
  providers: readonly string[] | null = null,
) {
  const clock = createSimulatedClock();
  const lines = recordingLog();
  const log = createQuietLog(lines, 'info', clock);
  const logControl = createLogControl({
    ...{ levels: log.levels, events: { append }, clock, log: log.child({ component: 'console' }) },
    ...{ host: 'rack7', recent: null },
  });
  const { bmdb } = machineStand();
  const random = createSeededRandom(3);
  const known = new Map<Role, string>();
  const tokenOf = async (role: Role) => {
    const before = known.get(role);
    if (before !== undefined) return before;
    const { id, token } = makeToken(random);
    const about = { role, providers, forMs: MINUTE, owner: 'test' };
    await bmdb.access.tokens.add({ id, digest: digestOf(token), name: role, ...about });
    known.set(role, token);
    return token;
  };
  const web = await openConsole({
    logControl,
    accounts: { repository: bmdb.access, random, events: bmdb.events },
  });
  const run = async (role: Role, ...args: string[]) => {
    const about = { url: web.url, version: '0.0.0', advice: '' };
    const transport = createHttpTransport({ ...about, token: await tokenOf(role) });
    const still = { monotonic: systemClock.monotonic, sleep: async () => undefined };
    return runThrough({ transport, ...still }, ['log', 'level', ...args]);
  };
  const recovery = log.child({ component: 'recovery' });
  const other = log.child({ component: 'mirror' });
  const written = () => {
    const before = lines.lines.length;
    recovery.debug({}, 'a step');
    other.debug({}, 'a step');
    return lines.lines.length - before;
  };
  return { run, written, clock, lines };
}

test('V51: a level for one component ends by itself, and is in the audit', async () => {
  const events: NewEvent[] = [];
  const { run, written, clock } = await stand(async (event) => void events.push(event));
  expect(written()).toBe(0);
  const asked = ['debug', '--component', 'recovery', '--for', '15m'];
  const { code, stdout } = await run('admin', ...asked);
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/recovery +debug +until /),
  });
  expect(written(), 'of that component alone').toBe(1);
  clock.increment(15 * MINUTE - 1);
  expect(written()).toBe(1);
  clock.increment(1);
  expect(written()).toBe(0);
  const after = await run('viewer', '-o', 'json');
  expect(JSON.parse(after.stdout)).toEqual({ usual: 'info', changes: [] });
  expect(events).toEqual([
    {
      ...{ type: 'log.level_set', actor: 'token:admin' },
      reason: 'debug of recovery on rack7 for 15m',
      details: { level: 'debug', component: 'recovery', forMs: 15 * MINUTE, host: 'rack7' },
    },
  ]);
});

test('lets only an admin change the level, and only for a limited time', async () => {
  const { run, written } = await stand(async () => undefined);
  expect(await run('operator', 'debug', '--for', '1m')).toMatchObject({ code: 4 });
  expect(await run('admin', 'debug', '--for', '25h')).toMatchObject({ code: 2 });
  expect(await run('admin', 'debug', '--component', 'No Name', '--for', '1m')).toMatchObject({
    code: 2,
  });
  expect(written()).toBe(0);
});

test('changes the level though the audit cannot be written, and logs that', async () => {
  const { run, written, lines } = await stand(() => Promise.reject(new Unreachable('away')));
  expect(await run('admin', 'debug', '--for', '1m')).toMatchObject({ code: 0 });
  expect(written()).toBe(2);
  expect(JSON.stringify(lines.lines)).toContain(
    'the change of the log level could not be written to the audit',
  );
});

test('refuses to change a daemon’s log for an admin of some providers', async () => {
  const { run, written } = await stand(async () => undefined, ['equinix']);
  const { code, stderr } = await run('admin', 'debug');
  expect([code, stderr]).toEqual([4, expect.stringContaining('this concerns the whole fleet')]);
  expect(written()).toBe(0);
});

test('writes the line that reports a less verbose level', async () => {
  const { run, lines } = await stand(async () => undefined);
  await run('admin', 'error');
  const told = lines.lines.filter(({ message }) => message.startsWith('the log level is changed'));
  expect(told).toMatchObject([{ level: 'warn' }]);
});
