import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { openSimWorld, parseSimConfig, simInput } from '../../emulators/sim/world.ts';
import { SIM_TUNING } from '../../emulators/sim/sim.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { becomesTrue, healthy } from '../e2e/simulated-fleet.ts';

/** The dump and the server must come from the same version, so both are Debian's. */
const BIN = process.env['SHEPHERD_TEST_POSTGRES_BIN'] ?? '/usr/lib/postgresql/15/bin';
const OLD = 10;
const ALL = 60;

const program = (name: string, ...args: string[]) =>
  execFileSync(join(BIN, name), args, { stdio: ['ignore', 'ignore', 'inherit'] });
const inDatabase = (url: string, name: string) => {
  const there = new URL(url);
  there.pathname = name;
  return there.href;
};

test('V65 creates, deletes and reboots no device after the restore of a dump that is fifty creations old, and shows the fifty', async () => {
  if (!existsSync(join(BIN, 'pg_dump')))
    throw new Error(`${BIN}/pg_dump is missing: install postgresql-15`);
  const server = await startEmbeddedPostgres({
    log: silentLog,
    installation: { bin: BIN, settings: ['fsync=off'] },
  });
  const world = await openSimWorld({ machines: ALL, light: true, log: silentLog });
  let agents = '127.0.0.1:0';
  const start = async (url: string, maxMachines: number) => {
    const known = simInput(world);
    const input = {
      ...known,
      database: { url: '${TEST_DATABASE}' },
      provisioner: { ...known.provisioner, maxMachines },
      agentServer: { ...known.agentServer, listen: agents },
      console: { listen: '127.0.0.1:0' },
    };
    const daemon = await startDaemon({
      config: parseSimConfig(world, input, { TEST_DATABASE: url }),
      ports: await realPorts({ version: '0.0.0', log: silentLog }),
      version: '0.0.0',
      tuning: SIM_TUNING,
    });
    agents = daemon.parts.server.address;
    return daemon;
  };
  const devices = () =>
    world.emulator
      .devices()
      .map(({ id }) => id)
      .toSorted();
  const boots = () =>
    Object.fromEntries(world.hosts.list().map(({ deviceId, bootId }) => [deviceId, bootId]));
  try {
    await migrate(server.ownerUrl, silentLog, { grantTo: server.role });
    const first = await start(server.url, OLD);
    await becomesTrue(() => healthy(first) === OLD, 'ten run');
    await first.stop();
    const dump = join(world.dir, 'bmdb.dump');
    program(
      'pg_dump',
      '--format=custom',
      '--no-owner',
      '--no-privileges',
      `--file=${dump}`,
      server.ownerUrl,
    );
    const second = await start(server.url, ALL);
    await becomesTrue(() => healthy(second) === ALL, 'sixty run');
    await second.stop();
    const seen = { devices: devices(), boots: boots() };
    const seq = world.emulator.requests().at(-1)!.seq;

    const owner = inDatabase(server.ownerUrl, 'restored');
    const client = new pg.Client({ connectionString: server.ownerUrl });
    await client.connect();
    await client.query('CREATE DATABASE restored');
    await client.end();
    program(
      'pg_restore',
      '--no-owner',
      '--no-privileges',
      '--exit-on-error',
      `--dbname=${owner}`,
      dump,
    );
    await migrate(owner, silentLog, { grantTo: server.role });

    const third = await start(inDatabase(server.url, 'restored'), ALL);
    const conflicts = () =>
      [...third.board.entries.values()].filter(
        ({ state, substate }) => state === 'Quarantined' && substate === 'conflict',
      ).length;
    await becomesTrue(() => conflicts() === ALL - OLD, 'the fifty are shown');
    await becomesTrue(() => healthy(third) === OLD, 'the ten are heard again');
    // Silence counts again, and rounds of the provisioner have followed.
    await becomesTrue(() => third.guard().state === 'watching', 'the grace is over');
    const sinceMs = third.parts.mirror.nowMs();
    const rounds = () => third.parts.loops.all().find(({ name }) => name === 'provisioner equinix');
    await becomesTrue(() => (rounds()?.lastSuccessAtMs ?? 0) > sinceMs + 3_000, 'rounds go on');
    expect({ devices: devices(), boots: boots() }).toEqual(seen);
    const reservations = world.emulator.devices().map((each) => each.reservationId);
    expect(new Set(reservations).size, 'none has two devices').toBe(ALL);
    expect(conflicts()).toBe(ALL - OLD);
    expect(world.emulator.violations()).toEqual([]);
    const changes = world.emulator.requests(seq).filter(({ method }) => method !== 'GET');
    expect(changes, 'nothing was even asked of the provider').toEqual([]);
    await third.stop();
  } finally {
    await world.close();
    await server.stop();
  }
});
