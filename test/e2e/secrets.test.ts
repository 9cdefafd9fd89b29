import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { expect, test } from 'vitest';
import { runningDatabaseUrl } from '../../src/adapters/bmdb/embedded/running-database.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { agentInitCodec } from '../../src/wire/codec.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { becomesTrue, healthy, withFleet, type SimulatedFleet } from './simulated-fleet.ts';

type Secrets = Readonly<Record<string, Uint8Array>>;

/** The middle of what stands between the lines that begin and end a private key. */
function bodyOfKey(file: string): Buffer {
  const [, body = ''] = readFileSync(file, 'utf8').split(/-----(?:BEGIN|END)[^-]*PRIVATE KEY-----/);
  return Buffer.from(body.replaceAll('\n', ''), 'base64').subarray(-24);
}

/** What the daemon of the fleet was configured with, made for itself, and gave to its machines. */
function secretsOf({ world }: SimulatedFleet): Secrets {
  const { dir, hosts, fakequinix } = world;
  const text = (file: string) => Buffer.from(readFileSync(file, 'utf8').trim());
  const only = (pattern: string) => globSync(pattern, { cwd: dir }).map((file) => join(dir, file));
  const [certificate] = only('certificates/*').filter((file) =>
    readFileSync(file, 'utf8').includes('PRIVATE KEY'),
  );
  return {
    'API token': Buffer.from(fakequinix.tokens.project),
    'SSH key': bodyOfKey(join(dir, 'ssh-key')),
    'key of the agent server': bodyOfKey(certificate!),
    'password of the database': text(join(dir, 'postgres/password')),
    'password of its owner': text(join(dir, 'postgres/owner-password')),
    ...Object.fromEntries(
      hosts
        .list()
        .map(({ root }, at) => [`secret of machine ${at}`, text(join(root, INSTANCE_SECRET_PATH))]),
    ),
    ...Object.fromEntries(
      only('machines/**/agent-init').map((file, at) => {
        const { privateKey } = agentInitCodec.decode(readFileSync(file));
        return [`key of agent ${at}`, privateKey!.subarray(0, 32)];
      }),
    ),
  };
}

/** Which of them are in the text: as they are, in hexadecimal, or in base64 wherever it begins. */
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

/** All rows of all tables. */
async function databaseOf({ world }: SimulatedFleet): Promise<string> {
  const url = await runningDatabaseUrl(join(world.dir, 'postgres'));
  const client = new pg.Client({ connectionString: url! });
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
async function pagesOf({ daemon }: SimulatedFleet): Promise<string> {
  const ends = new AbortController();
  const get = async (path: string) =>
    fetch(new URL(path, daemon.consoleUrl), { signal: ends.signal });
  const slots = [...daemon.board.entries.keys()].map((slot) => `/api/v1/machines/${slot}`);
  const paths = ['/', '/api/v1/machines', '/api/v1/guard', '/metrics', '/readyz', ...slots];
  const pages = await Promise.all(paths.map(async (path) => (await get(path)).text()));
  const { body } = await get('/events');
  const { value } = await body!.getReader().read();
  ends.abort();
  return [...pages, Buffer.from(value).toString()].join('\n');
}

test('no secret of the daemon, a machine or an agent is in a log, a page or the database', async () => {
  const log = recordingLog();
  await withFleet({ machines: 2, log, embedded: true }, async (fleet) => {
    const { world, daemon } = fleet;
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run');
    // A reboot and a new start of the agent are in the logs and the histories, too.
    await world.hosts.loseAgent(world.hosts.list()[0]!.deviceId);
    await becomesTrue(() => daemon.board.recoveries() > 0, 'one is recovered');
    await becomesTrue(() => healthy(daemon) === 2, 'both machines run again');

    const secrets = secretsOf(fleet);
    expect(Object.keys(secrets)).toHaveLength(9);
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThanOrEqual(16);
      expect(found(`x${Buffer.from(secret).toString('base64')}`, { [name]: secret })).toEqual([
        name,
      ]);
    }
    const told = inspect(log.lines, {
      depth: Infinity,
      maxStringLength: Infinity,
      maxArrayLength: Infinity,
    });
    const places = { log: told, pages: await pagesOf(fleet), database: await databaseOf(fleet) };
    const { hostKey } = world.hosts.list()[0]!;
    expect(places.database, 'what is no secret is found').toContain(hostKey);
    expect(places.pages).toContain('shepherd_machines');
    expect(places.log).toContain('daemon started');
    for (const [place, text] of Object.entries(places)) {
      expect(found(text, secrets), place).toEqual([]);
    }
  });
});
