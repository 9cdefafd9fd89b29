import { afterAll, beforeAll, expect, test } from 'vitest';
import { startConsole } from '../../../src/console/console.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import { openHttpDoor, type Door } from '../../../src/commands/remote/client.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';
import { runThrough } from '../run-through.ts';

/** Every kind of command line at the console of a daemon whose fleet of five machines runs. */

const MINUTE = 60_000;
let world: PlayedWorld;
let played: PlayedDaemon;
let door: Door;
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
  door = openHttpDoor({ url, token, version: '0.0.0', advice: 'look' });
});
afterAll(async () => {
  await Promise.all([played.daemon.stop(), advance(world.clock, MINUTE)]);
  world.end();
});

const run = (...args: string[]) => {
  const { clock } = world;
  const sleep = (ms: number) => advance(clock, ms);
  return runThrough({ door, monotonic: () => clock.monotonic(), sleep }, args);
};

/** `@1` is the slot of the first machine, and `@1m` its id. */
function filled(command: string): string[] {
  const { entries } = played.daemon.board;
  const slots = [...entries.keys()].toSorted();
  return command
    .match(/"[^"]*"|\S+/g)!
    .map((word) => word.replaceAll('"', ''))
    .map((word) =>
      word.replaceAll(/@(\d)(m?)/g, (_, at: string, isId: string) => {
        const slot = slots[Number(at) - 1]!;
        return isId === '' ? slot : entries.get(slot)!.view.machineId!;
      }),
    );
}

const COMMANDS = [
  'machines',
  'machines -o wide --columns slot,state,heard,address,machine,holds',
  'machines --columns slot,machineId,lastHeartbeatAtMs --sort -slot',
  'machines --location rack --no-headers',
  'machines --state Running --limit 2',
  'machines --state Quarantined/needsHuman',
  'machines --needs-human',
  'machines --filter "rack"',
  'machines --filter "state:Running heard<5m" -o name',
  'machines --filter overdue',
  'machines -o name',
  'machines --provider nobody',
  'machines --filter "state:Odd"',
  'machines --filter "state:Odd" -o json',
  'machine show @1',
  'machine show @2m',
  'machine show nothing-like-it',
  'machine explain @1',
  'machine explain @1 -o json',
  'machine explain @3 -o yaml',
  'machine history @1',
  'machine history @1m --limit 3',
  'machine history @2 -o json',
  'machine history @2 -o ndjson',
  'machine wait @1 --for state=Running',
  'machine wait @1 --for state=Quarantined --timeout 1s',
  'machine reboot @1 --reason "new kernel" --dry-run',
  'machine reinstall @1 --reason "new kernel"',
  'machine deprovision @4 --reason "end of it" -o json',
  'machine hold --location rack --kind preserve --reason works --dry-run',
  'machine hold --all --kind preserve --reason works',
  'machine hold --all --kind preserve --reason works --expect-count 4',
  'machine hold @5 --kind preserve --reason works --wait 0s --key hold-5',
  'machine restart-agent @2 --reason leaks --key leak-2',
  'machine restart-agent @3 --reason other --key leak-2',
  'machine reboot --slots @1,@4 --reason both --expect-count 2 --key both',
  'machine reboot @1 --reason again --key again',
  'events --limit 3',
  'events --type machine.* --limit 2 -o ndjson',
  'events --type odd -o json',
  'plan',
  'plan stub -o json',
  'plan nobody',
  'provider status',
  'provider status nobody',
  'status',
  'fleet status',
  'fleet freeze --reason storm --wait 0s --key storm',
  'lb status',
  'lb status api',
  'lb drain @3 --reason move --for 2h --wait 0s --key drain-3',
  'lb drain @4 @5 --reason move --dry-run',
  'lb pause api --reason move',
  'token list',
  'token list -o name',
  'token revoke none -o json',
  'whoami',
] as const;

test('commands say what they say', async () => {
  const told: string[] = [];
  for (const command of COMMANDS) {
    const { stdout, stderr, code } = await run(...filled(command));
    expect(stdout + stderr, command).not.toBe('');
    told.push(`$ shepherd ${command}\n${stdout}${stderr}exit code ${code}\n`);
  }
  const text = told.join('\n').replaceAll(played.daemon.consoleUrl, 'http://console/');
  await expect(text).toMatchFileSnapshot('golden/commands.txt');
});

test('tokens are made, listed and revoked; what is printed alone is the token', async () => {
  const made = await run('token', 'create', 'ci', '--role', 'operator', '--for', '720h');
  expect(made.code).toBe(0);
  const [, id] = /^shp_([0-9a-f]{10})_\S+\n$/.exec(made.stdout) ?? [];
  const about = `token ci has the id ${id} and the role operator, and ends`;
  expect(made.stderr).toMatch(new RegExp(`^shepherd: ${about} \\S+ \\S+Z; it is shown once\n$`));
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
