import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { startEmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { openSimWorld, simInput, type EquinixWorld } from '../../emulators/sim/world.ts';
import type { ConfigInput } from '../../src/config.ts';
import { CONSOLE, runPromtool } from '../deploy/promtool.ts';
import { blocksOf, installShepherd, ROOT } from '../support/document-blocks.ts';
import { shepherd } from './commands.ts';
import { WAIT } from './simulated-fleet.ts';

const run = promisify(execFile);
/** The oldest PostgreSQL that the document accepts, in Debian's directory. */
const BIN = process.env['SHEPHERD_TEST_POSTGRES_BIN'] ?? '/usr/lib/postgresql/15/bin';
const MACHINES = 2;

const blocks = blocksOf('docs/install.md');
const of = (language: string) =>
  blocks.filter((each) => each.language === language).map(({ text }) => text);
const [sql] = of('sql');
const [inventory] = of('json');
const [configuration, prometheus] = of('yaml');
const shell = of('sh');
/** The block with such a command. */
const blockWith = (command: string) => {
  const found = shell.filter((each) => each.includes(command));
  expect(found, command).toHaveLength(1);
  return found[0]!;
};
const certificate = blocksOf('docs/static-machines.md').find(({ text }) => text.includes('x509'))!;

const directory = mkdtempSync(join(tmpdir(), 'install-document-'));
let server: EmbeddedPostgres;
let world: EquinixWorld;
beforeAll(async () => {
  server = await startEmbeddedPostgres({
    log: silentLog,
    installation: { bin: BIN, settings: ['fsync=off'] },
  });
  world = await openSimWorld({ machines: MACHINES, light: true, log: silentLog });
});
afterAll(async () => {
  await world.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Files are below a directory of the test and belong to its user; names are loopback's. */
const here = (text: string) =>
  text
    .replaceAll('/opt/shepherd/', `${ROOT}/`)
    .replaceAll(/(?<![\w.])\/(etc|root|var)\//g, `${directory}/$1/`)
    .replaceAll(/ -o root -g \w+/g, '')
    .replaceAll('PASSWORD@', 'of-the-test@')
    .replaceAll('db.example.net', new URL(server.url).host);
/** Tested elsewhere, or not at all: there is no systemd here, and no user is created. */
const isOfThisTest = (line: string) => !/^(npm|useradd|systemctl) /.test(line);

async function inShell(text: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const lines = here(text).split('\n').filter(isOfThisTest);
  const path = [directory, process.env['PATH']].join(delimiter);
  const around = { PATH: path, XDG_CONFIG_HOME: join(directory, 'config'), ...env };
  const options = { cwd: directory, env: { ...process.env, ...around } };
  const { stdout } = await run('bash', ['-euc', lines.join('\n')], options).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`${text}\n${error.stdout}${error.stderr}`, { cause: error });
    },
  );
  return stdout;
}
const write = (path: string, text: string) => writeFileSync(join(directory, path), text);

/** Times, provider and key of the simulated world; the rest as in the document. */
function configurationHere(text: string): ConfigInput {
  const written = parse(text) as Record<'database' | 'agentServer' | 'console' | 'log', object> & {
    readonly agent: { readonly endpointCaCertificatePath: string };
  };
  const simulated = simInput(world);
  const { endpointCaCertificatePath } = written.agent;
  return {
    ...simulated,
    ...written,
    ssh: simulated.ssh,
    providers: simulated.providers,
    agent: { ...simulated.agent, endpointCaCertificatePath },
    agentServer: { ...written.agentServer, listen: '127.0.0.1:0' },
    console: { ...written.console, listen: '127.0.0.1:0' },
  };
}

/** Starts the daemon like the unit. Returns the port of its page. */
async function startDaemon(): Promise<number> {
  const { child, ended, started } = shepherd(
    ['run', '--config', here('/etc/shepherd/shepherd.yaml')],
    {
      CREDENTIALS_DIRECTORY: here('/etc/shepherd/credentials'),
      SHEPHERD_SIM_TOKEN: world.provider.secrets['TOKEN'],
    },
  );
  onTestFinished(async () => {
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0 });
  });
  const { console: page } = await started();
  return Number(new URL(page!).port);
}

test('V68 the document, command by command: from nothing to TLS, a token and an alert when a machine is killed', async () => {
  for (const each of ['root', 'etc/prometheus', 'etc/systemd/system', 'var/lib/shepherd'])
    mkdirSync(join(directory, each), { recursive: true });
  installShepherd(directory);

  await inShell(blockWith('useradd'));
  const statements = sql!.replaceAll("'…'", "'of-the-test'").split('\n').filter(Boolean);
  const commands = statements.flatMap((statement) => ['-c', statement]);
  await run(join(BIN, 'psql'), ['-v', 'ON_ERROR_STOP=1', server.ownerUrl, ...commands]);
  await inShell(blockWith('/root/bmdb-owner-url\n'));
  await inShell(blockWith('openssl rand'));
  const named = certificate.text.replaceAll('fleet.example.net', 'shepherd.example.net');
  await inShell(named.replace('IP:192.0.2.1', 'IP:127.0.0.1'));
  await inShell(blockWith('server.key'));
  write('etc/shepherd/inventory.json', inventory!);
  const chosen = configuration!.replace('YOUR-OWN', 'zzzzz-zzzzz-zzzzzzzzzzzzzzz');
  write('etc/shepherd/shepherd.yaml', here(chosen));
  const checked = await inShell(blockWith('--check-config'));
  expect(checked).toMatch(/^the schema is at .*; bmdb has the rights of a daemon/);
  expect(checked).toContain('bmdb has exactly the rights that a daemon needs\n');
  expect(checked).toMatch(/shepherd\.yaml: the configuration is valid\n$/);
  await inShell(blockWith('deploy/systemd'));

  write('etc/shepherd/shepherd.yaml', stringify(configurationHere(here(chosen))));
  const port = await startDaemon();
  write(
    '.curlrc',
    `connect-to = shepherd.example.net:4243:127.0.0.1:${port}\nsilent\nshow-error\n`,
  );
  // The reader continues in the shell that made the schema.
  const CREDENTIALS_DIRECTORY = here('/etc/shepherd/credentials');
  const SHEPHERD_SIM_TOKEN = world.provider.secrets['TOKEN'];
  const asHere = { CURL_HOME: directory, CREDENTIALS_DIRECTORY, SHEPHERD_SIM_TOKEN };
  const looked = blockWith('/readyz').replace(
    'login https://shepherd.example.net:4243',
    `login https://127.0.0.1:${port}`,
  );
  expect(await inShell(looked, asHere)).toMatch(
    /"ready":true.*token:ann is logged in to https:[^]* as admin;[^]*\nrole +admin\n[^]* of 2\nrecovery /,
  );
  const [machine] = (await inShell('shepherd machines -o name', asHere)).split('\n');
  const operated = await inShell(
    blockWith('shepherd machine hold').replaceAll('srv-1', machine!),
    asHere,
  );
  expect(operated).toMatch(/^hold .*done[^]*\nunhold .*done[^]*\nhttps:.*\/login#\S+\n$/);

  await inShell(blockWith('shepherd.rules.yml'));
  write('etc/prometheus/prometheus.yml', here(prometheus!));
  await inShell(blockWith('promtool check config'));
  const scrape = scrapeOf(parse(here(prometheus!)) as Prometheus);
  const metrics = () => inShell(scrape, asHere);
  const isRunning = /^shepherd_machines\{.*state="Running",substate="healthy".*\} 2$/m;
  await vi.waitUntil(async () => isRunning.test(await metrics()), WAIT);
  expect(await isLost(await metrics()), 'all are well').toBe(false);
  await world.hosts.hang(world.hosts.list()[0]!.deviceId, true);
  await vi.waitUntil(async () => isLost(await metrics()), WAIT);
});

interface Prometheus {
  readonly scrape_configs: readonly [
    {
      readonly scheme: string;
      readonly authorization: { readonly credentials_file: string };
      readonly tls_config: { readonly ca_file: string };
      readonly static_configs: readonly [{ readonly targets: readonly [string] }];
    },
  ];
}

/** Prometheus' requests, as configured. */
function scrapeOf({ scrape_configs: [job] }: Prometheus): string {
  const { scheme, authorization, tls_config, static_configs } = job;
  const bearer = `Authorization: Bearer $(cat ${authorization.credentials_file})`;
  const url = `${scheme}://${static_configs[0].targets[0]}/metrics`;
  return `curl --fail --cacert ${tls_config.ca_file} -H "${bearer}" ${url}`;
}

/** Whether the shipped alert of the document would fire by promtool if this state lasted. */
async function isLost(metrics: string): Promise<boolean> {
  const lines = [
    ...metrics.matchAll(/^(shepherd_guard_(?:silent|started)_machines\{.*\}) (\d+)$/gm),
  ];
  const silent = lines.filter(([, name, value]) => name!.includes('silent') && value !== '0');
  const expected = silent.map(([, name]) => ({
    labels: { scope: /scope="([^"]*)"/.exec(name!)![1]!, severity: 'warning' },
    annotations: {
      summary: `50% of the machines of ${/scope="([^"]*)"/.exec(name!)![1]!} are lost.`,
      runbook_url: `${CONSOLE}/runbooks/machines-lost`,
    },
  }));
  const series = Object.fromEntries(lines.map(([, name, value]) => [name!, `${value}x11`]));
  const about = { name: 'scraped', alert: 'ShepherdMachinesLost', at: 11, step: '1m' } as const;
  expect(await runPromtool([{ ...about, series, expected }])).toBe('');
  return silent.length > 0;
}
