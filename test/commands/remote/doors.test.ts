import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken, digestOf } from '../../../src/console/access/secrets.ts';
import { startConsole } from '../../../src/console/console.ts';
import { openDatabaseDoor } from '../../../src/commands/remote/database-door.ts';
import type { Door } from '../../../src/commands/remote/door.ts';
import { openHttpDoor } from '../../../src/commands/remote/http-door.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';
import { runThrough, type Ran } from './both-doors.ts';
import { testRows } from '../../support/rows.ts';

/**
 * One fleet whose time stands still, with a daemon and its console; and the same fleet again, in a
 * world of its own, through its database: what is done through one door changes nothing behind the
 * other.
 */

const MINUTE = 60_000;

interface Side {
  readonly world: PlayedWorld;
  readonly played: PlayedDaemon;
  readonly door: Door;
}

async function raise(kind: Door['kind']): Promise<Side> {
  const world = createPlayedWorld({
    seed: 11,
    locations: { hall: 3, rack: 2 },
    config: { console: { listen: '127.0.0.1:0' } },
  });
  const played = await world.start({ name: 'one', startConsole });
  await advance(world.clock, 12 * MINUTE);
  const { clock, random, bmdb, config } = world;
  const { id, token } = makeToken(random);
  await bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 60 * MINUTE },
  });
  const url = played.daemon.consoleUrl;
  const door =
    kind === 'console'
      ? openHttpDoor({ url, token, version: '0.0.0', advice: 'look' })
      : openDatabaseDoor({
          ...{ bmdb, config, clock, random, by: 'token:ann', version: '0.0.0', where: url },
        });
  return { world, played, door };
}

let byConsole: Side;
let byDatabase: Side;
beforeAll(async () => {
  byConsole = await raise('console');
  byDatabase = await raise('database');
});
afterAll(async () => {
  for (const { world, played, door } of [byConsole, byDatabase]) {
    await door.close();
    await Promise.all([played.daemon.stop(), advance(world.clock, MINUTE)]);
    world.end();
  }
});

const slots = () => [...byConsole.played.daemon.board.entries.keys()].toSorted();
const run = ({ door, world }: Side, args: readonly string[]): Promise<Ran> =>
  runThrough(
    { door, monotonic: () => world.clock.monotonic(), sleep: (ms) => advance(world.clock, ms) },
    args,
  );

/** `@1` is the slot of the first machine, and `@1m` its id. */
function filled(command: string): string[] {
  const { entries } = byConsole.played.daemon.board;
  return command
    .match(/"[^"]*"|\S+/g)!
    .map((word) => word.replaceAll('"', ''))
    .map((word) =>
      word.replaceAll(/@(\d)(m?)/g, (_, at: string, isId: string) => {
        const slot = slots()[Number(at) - 1]!;
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
] as const;

describe('V41: both doors write the same bytes', () => {
  testRows(COMMANDS)('writes the same for %s', async (command) => {
    const args = filled(command);
    const [console, database] = [await run(byConsole, args), await run(byDatabase, args)];
    expect(database).toEqual(console);
    expect(console.stdout + console.stderr).not.toBe('');
  });

  test('but the plan, which only a daemon knows by heart', async () => {
    const { stdout, code } = await run(byConsole, ['plan']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^stub: 5 bmdb, 5 used, [^]* as of /);
    expect(stdout).toMatch(/nothing would be created now/);
    const json = await run(byConsole, ['plan', 'stub', '-o', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ provider: 'stub', plan: { creationCount: 0 } });
    expect(await run(byConsole, ['plan', 'nobody'])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('no provider is named nobody; there is stub') },
    });
  });

  test('tokens are made, listed and revoked; what is printed alone is the token', async () => {
    for (const side of [byConsole, byDatabase]) {
      const made = await run(side, [
        'token',
        'create',
        'ci',
        '--role',
        'operator',
        '--for',
        '720h',
      ]);
      expect(made.code).toBe(0);
      const [, id] = /^shp_([0-9a-f]{10})_\S+\n$/.exec(made.stdout) ?? [];
      const about = `token ci has the id ${id} and the role operator, and ends`;
      expect(made.stderr).toMatch(
        new RegExp(`^shepherd: ${about} \\S+ \\S+Z; it is shown once\n$`),
      );
      const told = await run(side, ['token', 'list', '-o', 'wide']);
      expect(told.stdout).toMatch(
        new RegExp(`^${id} +ci +operator +all +until \\S+ \\S+Z +never +token:ann$`, 'm'),
      );
      expect(told.stdout).not.toContain(made.stdout.trim());
      const again = await run(side, ['token', 'create', 'ci']);
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('revoke it first') });
      expect(await run(side, ['token', 'revoke', id!])).toMatchObject({ code: 0 });
      expect((await run(side, ['token', 'list'])).stdout).toMatch(
        new RegExp(`^${id} +ci +operator +all +revoked `, 'm'),
      );
    }
  });

  test('but who is overdue, which only daemons know', async () => {
    const args = ['machines', '--filter', 'overdue'];
    expect(await run(byConsole, args)).toMatchObject({ code: 0 });
    expect(await run(byDatabase, args)).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining('ask a console') },
    });
  });

  test('but that who asks through the database is a claim, and that no daemon answers there', async () => {
    const commands = [
      'machine restart-agent @2 --reason leaks --key leak-2 -o json',
      'fleet status -o yaml',
    ];
    for (const args of commands.map(filled)) {
      const [console, database] = [await run(byConsole, args), await run(byDatabase, args)];
      expect(database.stdout).not.toBe(console.stdout);
      const alike = ({ stdout }: Ran) =>
        stdout
          .replaceAll(/("?proven"?: ?)(true|false)/g, '$1?')
          .replaceAll(/(isSelf: )(true|false)/g, '$1?')
          .replaceAll(/(consoleUrl: ).*/g, '$1?');
      expect(alike(database)).toBe(alike(console));
    }
  });
});
