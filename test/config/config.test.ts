import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { stringify } from 'yaml';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig, lossPolicyOf, parseConfig } from '../../src/config.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { Secret } from '../../src/config.ts';
import { TOKEN, complaint, env, minimal, withValue } from './examples.ts';
import { testRows } from '../support/rows.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-config-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const write = (name: string, content: string, mode = 0o600) => {
  const path = join(directory, name);
  writeFileSync(path, content, { mode });
  return path;
};

test('gives a minimal configuration every default', async () => {
  const config = parseConfig(minimal(), { env, baseDirectory: '/etc/shepherd' });
  expect((config.providers['equinix']!['token'] as Secret).read()).toBe(TOKEN);
  await expect(stringify(JSON.parse(JSON.stringify(config)))).toMatchFileSnapshot('defaults.txt');
  expect(lossPolicyOf(config)).toEqual({ ...DEFAULT_LOSS, readGapMs: 60_000 });
});

test('reports every mistake at once, with path, line and remedy', async () => {
  const text = `database: { url: 'mysql://x', embedded: { dataDir: d } }
session:
  interval: 5
providers:
  equinix:
    driver: equinix
    token: ${TOKEN}
    baseUrl: http://api
    projectId: 42
    instanceSetId: zzzzz
    devicePrefix: deleted-things-
    sshKeyLabel: Shepherd-FixMe
    parallelism: 0
    usrname: robot
agent:
  executablePath: missing.mjs
  sshExecTimeout: 0s
  heartbeatDeadline: 40s
agentServer: { listen: '8080', keyPath: k }
console: { listen: '0.0.0.0:4243' }
log: { level: loud }
colour: red
`;
  const message = complaint(() => loadConfig({ text, env }));
  const anywhere = message.replaceAll(process.cwd(), '/here');
  await expect(`${anywhere}\n`).toMatchFileSnapshot('mistakes.txt');
  expect(message, 'a secret is never repeated').not.toContain(TOKEN);
});

test('reads secrets from the environment or a private file, again each time', () => {
  const path = write('token', 'from-file\n');
  const input = withValue('providers.equinix.token', `file:token`);
  const config = parseConfig(input, { baseDirectory: directory });
  const token = config.providers['equinix']!['token'] as Secret;
  expect(token.read()).toBe('from-file');
  writeFileSync(path, 'rotated\n');
  expect(token.read()).toBe('rotated');
  rmSync(path);
  expect(complaint(() => token.read())).toContain('file:token, which cannot be read (ENOENT)');
});

test('reads a credential passed by the service manager, again each time', () => {
  const path = write('registry', 'from-systemd\n', 0o440);
  const env = { CREDENTIALS_DIRECTORY: directory };
  const input = withValue('providers.equinix.token', 'credential:registry');
  const token = parseConfig(input, { env }).providers['equinix']!['token'] as Secret;
  expect(token.read()).toBe('from-systemd');
  writeFileSync(path, 'rotated');
  expect(token.read()).toBe('rotated');
  expect(`${token}`).toBe('credential:registry');
});

test('accepts a socket held by the service manager as a listener', () => {
  const input = {
    ...minimal(),
    agentServer: { listen: 'systemd:agents', devCertificates: { dir: 'x' } },
  };
  const config = parseConfig(input, { env });
  expect(config.agentServer.listen).toEqual({ host: '', port: 0, socket: 'agents' });
});

test('B6: reads a secret only from a file of our own or of root', () => {
  const name = write('own', 'a-long-enough-value');
  const told = (reference: string) =>
    complaint(() =>
      parseConfig(withValue('providers.equinix.token', reference), { baseDirectory: directory }),
    );
  const { uid } = statSync(name);
  vi.spyOn(process, 'geteuid').mockReturnValue(uid + 1);
  const foreign = () => told('file:own');
  // Anybody may be the reader of root's files.
  if (uid === 0) chownSync(name, uid + 2, -1);
  expect(foreign()).toContain('which belongs to another user');
  vi.restoreAllMocks();
});

testRows(['db', 'db1:5432,db2:5433'])(
  'escapes a password in the database URL of %s as a URL needs it',
  (hosts) => {
    const url = `postgres://bmdb:\${PGPASSWORD}@${hosts}/bmdb`;
    const { database } = parseConfig({ ...minimal(), database: { url } }, { env });
    expect(database.url?.read()).toBe(`postgres://bmdb:p%40ss%2Fword@${hosts}/bmdb`);
    expect(database.url?.reference).toBe(url);
  },
);

test('shows no secret when the configuration is printed', () => {
  const config = parseConfig(minimal(), { env });
  const printed = [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })];
  for (const text of printed) expect(text).not.toContain(TOKEN);
  expect(String(config.providers['equinix']?.['token'])).toBe('${API_TOKEN}');
});

test('freezes the result deeply', () => {
  const seen: unknown[] = [];
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    expect(Object.isFrozen(value)).toBe(true);
    seen.push(value);
    Object.values(value).forEach(visit);
  };
  visit(parseConfig(minimal(), { env }));
  expect(seen.length).toBeGreaterThan(15);
});

test('lets flags override the file, reads them as YAML, and checks them alike', () => {
  const file = write('shepherd.yaml', stringify(minimal()));
  write('agent.mjs', 'program');
  const flags = { 'log.level': 'debug', 'inspect.port': '0', 'console.listen': undefined };
  const config = loadConfig({ file, env, flags });
  expect(config).toMatchObject({ log: { level: 'debug' }, inspect: { port: 0 } });
  expect(config.agent.executablePath).toBe(join(directory, 'agent.mjs'));
  expect(complaint(() => loadConfig({ file, env, flags: { 'log.level': 'loud' } }))).toContain(
    'log.level is "loud"; give one of debug, info, warn, error',
  );
});

testRows([
  ['a: [', 'is not valid YAML'],
  ['ssh: {}\nssh: {}\n', 'is not valid YAML'],
  ['a: 1\n---\nb: 2\n', 'is not valid YAML'],
  ['- list', 'the configuration is not a section'],
  ['', 'ssh.keyPath is missing'],
  ['__proto__: { polluted: true }', '__proto__ (line 1, column 1) is unknown'],
])('refuses %j', (text, expected) => {
  expect(complaint(() => loadConfig({ text, env }))).toContain(expected);
});

test('reports an unreadable or missing file as a usage error', () => {
  const file = join(directory, 'absent.yaml');
  expect(complaint(() => loadConfig({ file, env }))).toContain('cannot be read');
  expect(complaint(() => loadConfig({ env }))).toContain('--config');
});

test('refuses a certificate that is none', () => {
  const file = write(
    'shepherd.yaml',
    stringify(withValue('agent.endpointCaCertificatePath', 'agent.mjs')),
  );
  write('agent.mjs', 'program');
  expect(complaint(() => loadConfig({ file, env }))).toContain(
    'agent.endpointCaCertificatePath (line 16, column 3) is not a certificate',
  );
});
