import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createTar } from 'nanotar';
import { parse, stringify } from 'yaml';
import { explain, FleetError, UsageError } from '../../domain/errors.ts';
import { isReference } from '../../settings/secret.ts';
import { jsonLine } from '../layout.ts';
import { withoutSecrets } from '../../lib/secret-texts.ts';
import { programVersion } from '../version.ts';
import type { Explanation, Fleet, Provider, Providers } from './answers.ts';
import { requireSuccess } from './client.ts';
import { interruptOf, EXIT_FAILED } from './failures.ts';
import { readLogs } from './logs.ts';
import { readMachines } from './machines.ts';
import { pathOf } from './names.ts';
import type { Session, CommandOutput } from './session.ts';

export interface SupportBundleFlags {
  /** File of the archive. */
  readonly output?: string;
  /** Configuration file that is added without its secrets. */
  readonly config?: string;
}

/** A file of the archive. `read` throws a FleetError if there is nothing to put into the file. */
interface BundlePart {
  readonly name: string;
  readonly about: string;
  read(session: Session): Promise<string>;
}

const EXPLAINED_MAX = 100;
const LATEST = 1_000;

const answered = (name: string, about: string, path: string, query = {}): BundlePart => ({
  ...{ name, about },
  read: async ({ client }) => pretty(await client.get(path, query)),
});
const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const lines = (values: readonly object[]): string =>
  values.map((each) => `${jsonLine(each)}\n`).join('');

const PARTS: readonly BundlePart[] = [
  answered('version.json', 'Version of the daemon that answers', '/version'),
  answered('whoami.json', 'User who created this archive', '/whoami'),
  answered('fleet.json', 'Status of the fleet, guard and budget', '/fleet'),
  answered('guard.json', 'The guard over recovery', '/guard'),
  {
    ...{ name: 'machines.ndjson', about: 'All machines' },
    read: async (session) => lines((await readMachines({}, session)).machines),
  },
  {
    ...{ name: 'explanations.ndjson', about: 'Why machines need a person' },
    async read(session) {
      const flags = { needsHuman: true, limit: EXPLAINED_MAX };
      const { machines } = await readMachines(flags, session);
      const explained: object[] = [];
      for (const { slot } of machines) {
        const path = `${pathOf(slot)}/explanation`;
        explained.push({ slot, ...(await session.client.get<Explanation>(path)) });
      }
      return lines(explained);
    },
  },
  {
    ...{ name: 'providers.ndjson', about: 'Providers, their holds and failed slots' },
    async read({ client }) {
      const { providers } = await client.get<Providers>('/providers');
      const paths = providers.map(({ provider }) => `/providers/${encodeURIComponent(provider)}`);
      return lines(await Promise.all(paths.map((path) => client.get<Provider>(path))));
    },
  },
  answered('pools.json', 'Pools at load balancers', '/pools'),
  answered('plan.json', 'What daemons would do next', '/plan'),
  answered('daemons.json', 'Sessions of daemons and commands', '/sessions'),
  answered('loops.json', 'Loops of the daemon that answers', '/loops'),
  answered('requests.json', 'Latest requests of operators', '/requests', { limit: LATEST }),
  answered('events.json', 'Latest events', '/events', { tail: LATEST }),
  answered('statistics.json', 'Counts of the database', '/statistics'),
  answered('log-level.json', 'Log level of the daemon that answers', '/log/level'),
  {
    ...{ name: 'metrics.txt', about: 'Metrics of the daemon that answers' },
    async read({ client, signal }) {
      const question = { method: 'GET', path: '/metrics', signal } as const;
      const reply = await client.transport.send(question);
      requireSuccess(reply, question);
      return reply.text;
    },
  },
];

/**
 * `shepherd support-bundle`: one archive of what somebody else needs to find a fault, without secrets. Its
 * manifest names what could not be read, and why.
 * @throws {UsageError} the file cannot be written.
 */
export async function makeSupportBundle(
  session: Session,
  { output, config }: SupportBundleFlags,
): Promise<CommandOutput> {
  const { client, signal, say } = session;
  const files: { name: string; about: string; text: string }[] = [];
  const missing: { name: string; why: string }[] = [];
  const add = async ({ name, about, read }: BundlePart) => {
    try {
      files.push({ name, about, text: withoutSecrets(await read(session)) });
    } catch (error) {
      if (signal.aborted) throw interruptOf(signal);
      if (!(error instanceof FleetError)) throw error;
      missing.push({ name, why: explain(error) });
    }
  };
  for (const part of PARTS) await add(part);
  const name = 'logs.ndjson';
  await add({
    ...{ name, about: 'Latest log lines' },
    async read() {
      const logs = await readLogs(session, LATEST);
      missing.push(
        ...logs.failures.map((each) => ({ name, why: `${each.where}: ${each.failure}` })),
      );
      return lines(logs.lines);
    },
  });
  if (config !== undefined) {
    const about = 'Configuration without secrets';
    await add({ name: 'config.yaml', about, read: async () => configText(config) });
  }
  const fleet = files.find((each) => each.name === 'fleet.json');
  const atMs = fleet ? (JSON.parse(fleet.text) as Fleet).atMs : null;
  const manifest = {
    ...{ atMs, console: client.transport.where, version: programVersion(), node: process.version },
    files: files.map(({ name, about, text }) => ({ name, about, bytes: Buffer.byteLength(text) })),
    missing,
  };
  const stamp = new Date(atMs ?? 0).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const folder = `shepherd-support-${stamp}`;
  const file = output ?? `${folder}.tar.gz`;
  const archive = createTar(
    [{ name: 'manifest.json', text: withoutSecrets(pretty(manifest)) }, ...files].map(
      ({ name, text }) => ({
        name: `${folder}/${name}`,
        data: text,
        attrs: { mode: '600', mtime: atMs ?? 0, uid: 0, gid: 0 },
      }),
    ),
  );
  try {
    writeFileSync(file, await promisify(gzip)(archive), { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new UsageError(`${file} cannot be written (${explain(cause)}); give another -o`, {
      cause,
    });
  }
  say(
    'the archive has names, addresses and reasons of your fleet; look through it before you send it',
  );
  const left = missing.map(({ name, why }) => `missing: ${name}: ${why}`);
  const wasHeard = PARTS.some(({ name }) => files.some((each) => each.name === name));
  return {
    ...(wasHeard ? {} : { exitCode: EXIT_FAILED }),
    document: { file, ...manifest },
    names: [file],
    text: [`${file}: ${files.length + 1} files`, ...left].join('\n'),
  };
}

/** Keys whose values are secrets wherever they stand. */
const SECRET_KEY =
  /token|password|passphrase|secret|credential|authorization|cookie|userdata|customdata|(api|seed|private|access)_?key$|^key$/i;
const TEXT_MAX = 200;

/**
 * The configuration as it is written, with references to secrets. Leaves out comments, long texts,
 * paths of URLs and texts under a key that sounds secret, because they may contain a secret.
 * @throws {UsageError} the file cannot be read.
 */
function configText(file: string): string {
  try {
    return stringify(shown('', parse(readFileSync(file, 'utf8'))));
  } catch (cause) {
    throw new UsageError(`${file} cannot be read as YAML`, { cause });
  }
}

function shown(key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => shown(key, each));
  if (typeof value === 'object' && value !== null) {
    const isSecret = SECRET_KEY.test(key);
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, shown(isSecret ? key : name, each)]),
    );
  }
  if (typeof value !== 'string' || isReference(value)) {
    return SECRET_KEY.test(key) && typeof value === 'number' ? '[secret]' : value;
  }
  if (SECRET_KEY.test(key)) return '[secret]';
  if (value.length > TEXT_MAX || value.includes('\n')) return `[${value.length} characters]`;
  return value.replace(/^(https?:\/\/)(?:[^/@]*@)?([^/?#]+)[/?#].+$/, '$1$2/[path]');
}
