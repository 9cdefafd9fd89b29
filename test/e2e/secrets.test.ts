import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { expect, test } from 'vitest';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { hetznerRobotKind } from '../../emulators/sim/providers/hetzner-robot.ts';
import { latitudeKind } from '../../emulators/sim/providers/latitude.ts';
import type { SimKind } from '../../emulators/sim/providers/provider.ts';
import { redfishKind } from '../../emulators/sim/providers/redfish.ts';
import { SIM_TUNING } from '../../emulators/sim/sim.ts';
import { simInput } from '../../emulators/sim/world.ts';
import { parseConfig } from '../../src/config.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import type { SimulatedHosts } from '../../emulators/hosts/options.ts';
import { createSimulatedHosts } from '../../emulators/hosts/simulated-hosts.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { runningDatabaseUrl } from '../../src/adapters/bmdb/embedded/running-database.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { agentInitCodec } from '../../src/wire/codec.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { becomesTrue, healthy, withFleet, type SimulatedFleet } from './simulated-fleet.ts';

type Secrets = Readonly<Record<string, Uint8Array>>;

/** The middle of the text between the first and the last line of a private key. */
function bodyOfKey(file: string): Buffer {
  const [, body = ''] = readFileSync(file, 'utf8').split(/-----(?:BEGIN|END)[^-]*PRIVATE KEY-----/);
  return Buffer.from(body.replaceAll('\n', ''), 'base64').subarray(-24);
}

/** The instance secret of each machine, and the private key of each agent; below these directories. */
function secretsOfMachines(dir: string, hosts: Pick<SimulatedHosts, 'list'>): Secrets {
  const agents = globSync('**/agent-init', { cwd: dir }).map((file) => join(dir, file));
  const roots = hosts.list().map(({ root }) => join(root, INSTANCE_SECRET_PATH));
  return {
    ...Object.fromEntries(
      roots.map((file, at) => [
        `secret of machine ${at}`,
        Buffer.from(readFileSync(file, 'utf8').trim()),
      ]),
    ),
    ...Object.fromEntries(
      agents.map((file, at) => {
        const { privateKey } = agentInitCodec.decode(readFileSync(file));
        return [`key of agent ${at}`, privateKey!.subarray(0, 32)];
      }),
    ),
  };
}

/** Secrets that the fleet's daemon was configured with, made itself, and gave to its machines. */
function secretsOf({ world }: SimulatedFleet): Secrets {
  const { dir, hosts, emulator } = world;
  const text = (file: string) => Buffer.from(readFileSync(file, 'utf8').trim());
  const only = (pattern: string) => globSync(pattern, { cwd: dir }).map((file) => join(dir, file));
  const [certificate] = only('certificates/*').filter((file) =>
    readFileSync(file, 'utf8').includes('PRIVATE KEY'),
  );
  return {
    'API token': Buffer.from(emulator.tokens.project),
    'SSH key': bodyOfKey(join(dir, 'ssh-key')),
    'key of the agent server': bodyOfKey(certificate!),
    'password of the database': text(join(dir, 'postgres/password')),
    'password of its owner': text(join(dir, 'postgres/owner-password')),
    ...secretsOfMachines(join(dir, 'machines'), hosts),
  };
}

/** The secrets in the text: plain, in hexadecimal, or in base64 at any alignment. */
function found(text: string, secrets: Secrets): string[] {
  const forms = (secret: Uint8Array) => {
    const bytes = Buffer.from(secret);
    const shifted = [0, 1, 2].map((skipped) => {
      const whole = bytes.subarray(skipped);
      return whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
    });
    const spelled = [bytes.toString('utf8'), bytes.toString('hex')];
    return [
      ...spelled,
      ...shifted,
      ...shifted.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
    ];
  };
  return Object.entries(secrets).flatMap(([name, secret]) =>
    forms(secret).some((form) => form !== '' && text.includes(form)) ? [name] : [],
  );
}

function expectFindable(secrets: Secrets): void {
  for (const [name, secret] of Object.entries(secrets)) {
    expect(secret.length, name).toBeGreaterThanOrEqual(16);
    const text = `x${Buffer.from(secret).toString('base64')}`;
    expect(found(text, { [name]: secret })).toEqual([name]);
  }
}

const wholeOf = (told: unknown): string =>
  inspect(told, { depth: Infinity, maxStringLength: Infinity, maxArrayLength: Infinity });

/** All rows of all tables. */
async function databaseOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c
       WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY 1`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      texts.push(name, ...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

/** Everything that the console shows, and the beginning of its stream. */
async function pagesOf({ daemon }: Pick<SimulatedFleet, 'daemon'>): Promise<string> {
  const ends = new AbortController();
  const get = async (path: string) =>
    fetch(new URL(path, daemon.consoleUrl), { signal: ends.signal });
  const slots = [...daemon.board.entries.keys()].flatMap((slot) =>
    ['', '/explanation', '/live', '/history'].map((part) => `/api/v1/machines/${slot}${part}`),
  );
  const providers = [...daemon.board.entries.keys()].flatMap((slot) => {
    const provider = `/api/v1/providers/${slot.split('/')[0]}`;
    return [provider, `${provider}/slots`, `${provider}/holds`];
  });
  const lists = ['machines', 'guard', 'providers', 'history', 'events', 'sessions', 'loops'];
  const paths = [
    ...['/', '/metrics', '/readyz', ...lists.map((name) => `/api/v1/${name}`)],
    ...new Set([...slots, ...providers]),
  ];
  const pages = await Promise.all(paths.map(async (path) => (await get(path)).text()));
  const { body } = await get('/api/v1/stream?view=fleet');
  const { value } = await body!.getReader().read();
  ends.abort();
  return [...pages, Buffer.from(value).toString()].join('\n');
}

test('shows no secret of the daemon, a machine or an agent in a log, a page or the database', async () => {
  const log = recordingLog();
  await withFleet({ machines: 2, log, embedded: true }, async (fleet) => {
    const { world, daemon } = fleet;
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run');
    // Logs and histories also contain a reboot and a new agent start.
    await world.hosts.loseAgent(world.hosts.list()[0]!.deviceId);
    await becomesTrue(() => daemon.board.recoveries() > 0, 'one is recovered');
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run again');

    const secrets = secretsOf(fleet);
    expect(Object.keys(secrets)).toHaveLength(9);
    expectFindable(secrets);
    const told = wholeOf(log.lines);
    const database = await runningDatabaseUrl(join(world.dir, 'postgres'));
    const places = {
      log: told,
      pages: await pagesOf(fleet),
      database: await databaseOf(database!),
    };
    const { hostKey } = world.hosts.list()[0]!;
    expect(places.database, 'what is no secret is found').toContain(hostKey);
    expect(places.pages).toContain('shepherd_machines');
    expect(places.log).toContain('daemon started');
    for (const [place, text] of Object.entries(places)) {
      expect(found(text, secrets), place).toEqual([]);
    }
  });
});

/** One emulator with one machine, and its secrets, which may appear nowhere. */
async function openEmulator<Kind extends SimKind>(
  kind: Kind,
  at: {
    readonly dir: string;
    readonly publicLine: string;
    readonly taken: Set<number>;
    readonly light: boolean;
  },
) {
  const { dir, publicLine, taken, light } = at;
  const sshPort = kind.onePort ? await takeFreePort(taken) : 22;
  const machines = join(mkdtempSync(join(dir, 'emulator-')), 'machines');
  const provider: { found?: Awaited<ReturnType<Kind['start']>> } = {};
  const hosts = createSimulatedHosts({
    dir: machines,
    log: silentLog,
    random: systemRandom,
    light,
    ...(kind.onePort && { sshPort }),
    play: (deviceId, argv) => provider.found?.play?.(deviceId, argv),
    admitted: [publicLine],
  });
  const started = { dir, machines: 1, perLocation: 1, hosts, sshPort, publicLine, log: silentLog };
  const emulator = (await kind.start(started)) as Awaited<ReturnType<Kind['start']>>;
  provider.found = emulator;
  const prefix = `${emulator.name.toUpperCase().replaceAll('-', '_')}_`;
  return {
    sshPort,
    hosts,
    emulator,
    section: emulator.section((name) => `\${${prefix}${name}}`),
    env: Object.fromEntries(
      Object.entries(emulator.secrets).map(([name, value]) => [prefix + name, value]),
    ),
    secretsOfMachines: () =>
      Object.fromEntries(
        Object.entries(secretsOfMachines(machines, hosts)).map(([name, secret]) => [
          `${emulator.name}: ${name}`,
          secret,
        ]),
      ),
    async close() {
      await emulator.close();
      await hosts.close();
    },
  };
}

/** Adds the command lines of all processes, which anybody on this computer can read. */
function lookAtProcesses(seen: Set<string>): void {
  for (const file of globSync('/proc/[0-9]*/{cmdline,environ}')) {
    try {
      seen.add(readFileSync(file, 'latin1'));
    } catch (error) {
      // It has ended, or belongs to somebody else.
      const { code } = error as NodeJS.ErrnoException;
      expect(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']).toContain(code);
    }
  }
}

test('shows no secret of redfish, hetzner-robot and latitude, nor passes one on a command line', async () => {
  const log = recordingLog();
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-secrets-'));
  const { publicLine } = await loadOrCreateSshKey(join(dir, 'ssh-key'));
  const at = { dir, publicLine, taken: new Set<number>(), light: true };
  const redfish = await openEmulator(redfishKind, { ...at, light: false });
  const robot = await openEmulator(hetznerRobotKind, at);
  const latitude = await openEmulator(latitudeKind, at);
  const all = [redfish, robot, latitude];
  const database = await openTestDatabase();
  const env = Object.assign({ DATABASE: database.url }, ...all.map((each) => each.env)) as Record<
    string,
    string
  >;
  const input = simInput({
    dir,
    provider: latitude.emulator,
    machines: all.length,
    sshPort: latitude.sshPort,
  });
  const daemon = await startDaemon({
    config: parseConfig(
      {
        ...input,
        database: { url: '${DATABASE}' },
        providers: Object.fromEntries(all.map(({ emulator, section }) => [emulator.name, section])),
        console: { listen: '127.0.0.1:0' },
      },
      { env, baseDirectory: dir },
    ),
    ports: await realPorts({ version: 'test', log }),
    version: 'test',
    tuning: SIM_TUNING,
  });
  const processes = new Set<string>();
  try {
    let looks = 0;
    await becomesTrue(() => {
      // Each look reads all processes: ten a second would slow them down.
      if (looks++ % 5 === 0) lookAtProcesses(processes);
      return healthy(daemon) === all.length;
    }, 'the machine of each provider runs');

    const tokens = redfish.emulator.requests().flatMap(({ body }) => {
      const image = (body as { Image?: string } | null)?.Image;
      return image === undefined ? [] : [new URL(image).pathname.split('/')[1]!];
    });
    expect(tokens).toHaveLength(1);
    const secrets: Secrets = {
      ...Object.fromEntries(
        Object.entries(env)
          .filter(([name]) => name !== 'DATABASE')
          .map(([name, value]) => [name, Buffer.from(value)]),
      ),
      'token of the seed': Buffer.from(tokens[0]!),
      'SSH key': bodyOfKey(join(dir, 'ssh-key')),
      'password of the database': Buffer.from(new URL(database.url).password),
      ...Object.assign({}, ...all.map((each) => each.secretsOfMachines())),
    };
    expect(Object.keys(secrets)).toHaveLength(13);
    expectFindable(secrets);
    const places = {
      log: wholeOf(log.lines),
      pages: await pagesOf({ daemon }),
      database: await databaseOf(database.url),
      processes: [...processes].join('\n'),
    };
    const [pid] = redfish.hosts.list()[0]!.agentPids;
    expect(places.processes).toContain(readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
    for (const { emulator } of all) expect(places.pages).toContain(`"${emulator.name}"`);
    expect(places.database).toContain(redfish.hosts.list()[0]!.hostKey);
    expect(places.log).toContain('daemon started');
    for (const [place, text] of Object.entries(places)) {
      expect(found(text, secrets), place).toEqual([]);
    }
  } finally {
    await daemon.stop();
    for (const each of all) await each.close();
    await database.stop();
    rmSync(dir, { recursive: true, force: true });
  }
});
