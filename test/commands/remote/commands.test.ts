import { afterAll, beforeAll, expect, test } from 'vitest';
import { startConsole } from '../../../src/console/console.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import { createHttpTransport, type Transport } from '../../../src/commands/remote/client.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';
import { playScenes } from '../../support/scenes.ts';
import { runThrough } from '../run-through.ts';

/** Every kind of command line at the console of a daemon whose fleet of five machines runs. */

const MINUTE = 60_000;
let world: PlayedWorld;
let played: PlayedDaemon;
let transport: Transport;
beforeAll(async () => {
  const locations = { hall: 3, rack: 2 };
  world = createPlayedWorld({
    ...{ seed: 11, locations, config: { console: { listen: '127.0.0.1:0' } } },
  });
  played = await world.start({ name: 'one', startConsole });
  await advance(world.clock, 12 * MINUTE);
  const { id, token } = makeToken(world.random);
  await world.bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 60 * MINUTE },
  });
  const url = played.daemon.consoleUrl;
  transport = createHttpTransport({ url, token, version: '0.0.0', advice: 'look' });
});
afterAll(async () => {
  await Promise.all([played.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

const run = (...args: string[]) => {
  const { clock } = world;
  const sleep = (ms: number) => advance(clock, ms);
  return runThrough({ transport, monotonic: () => clock.monotonic(), sleep }, args);
};

/** `@1` is the slot of the first machine, and `@1m` its id. */
function filled(word: string): string {
  const { entries } = played.daemon.board;
  const slots = [...entries.keys()].toSorted();
  return word.replaceAll(/@(\d)(m?)/g, (_, at: string, isId: string) => {
    const slot = slots[Number(at) - 1]!;
    return isId === '' ? slot : entries.get(slot)!.view.machineId!;
  });
}

test('commands say what they say', () =>
  playScenes(import.meta.dirname, 'commands', {
    open: async () => undefined,
    run: (_, words) => run(...words.map(filled)),
    plain: (_, text) => text.replaceAll(played.daemon.consoleUrl, 'http://console/'),
  }));

test('tokens are made, listed and revoked; what is printed alone is the token', async () => {
  const made = await run('token', 'create', 'ci', '--role', 'operator', '--for', '720h');
  expect(made.code).toBe(0);
  const [, id] = /^shp_([0-9a-f]{10})_\S+\n$/.exec(made.stdout) ?? [];
  const about = `token ci has the id ${id} and the role operator, and ends`;
  expect(made.stderr).toMatch(
    new RegExp(`^shepherd: ${about} \\S+ \\S+Z; it is shown only once\n$`),
  );
  const told = await run('token', 'list', '-o', 'wide');
  expect(told.stdout).toMatch(
    new RegExp(`^${id} +ci +operator +all +until \\S+ \\S+Z +never +token:ann$`, 'm'),
  );
  expect(told.stdout).not.toContain(made.stdout.trim());
  const again = await run('token', 'create', 'ci');
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('revoke it first') });
  expect(await run('token', 'revoke', id!)).toMatchObject({ code: 0 });
  const after = await run('token', 'list');
  expect(after.stdout).toMatch(new RegExp(`^${id} +ci +operator +all +revoked `, 'm'));
});
