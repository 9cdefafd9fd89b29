import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { stringify } from 'yaml';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig, lossPolicyOf, parseConfig } from '../../src/config.ts';
import { AGENT_START_BACKOFF, RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { Secret } from '../../src/config.ts';
import { TOKEN, env, minimal, withValue } from './examples.ts';
import { testRows } from '../support/rows.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shepherd-config-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** What the program would print. */
function complaint(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}
const write = (name: string, content: string, mode = 0o600) => {
  const path = join(directory, name);
  writeFileSync(path, content, { mode });
  return path;
};

test('a minimal configuration gets every default', () => {
  const config = parseConfig(minimal(), { env, baseDirectory: '/etc/shepherd' });
  const { token, ...provider } = config.providers['equinix']!;
  expect((token as Secret).read()).toBe(TOKEN);
  expect({ ...config, providers: { equinix: provider } }).toMatchObject({
    database: { embedded: { dataDir: '/etc/shepherd/data' }, poolMax: 10, wakes: 'listen' },
    session: { interval: 5000 },
    providers: {
      equinix: {
        baseUrl: 'https://api.equinix.com/metal/v1',
        os: 'ubuntu_24_04',
        parallelism: 3,
        apiRate: 2000,
        reservationCacheTimeout: 900_000,
        probeGap: 10_000,
        settle: 120_000,
        sshPortFromCustomdata: false,
        allowInsecureHttp: false,
      },
    },
    provisioner: {
      maxMachines: 50,
      reconcilerRate: 60_000,
      deviceCreationRate: 5000,
      reservationChunkSize: 20,
      penalty: 3_600_000,
    },
    agent: {
      targetPath: '/root/agent',
      sshConnectTimeout: 2000,
      sshHandshakeTimeout: 10_000,
      sshExecTimeout: 60_000,
      heartbeatPeriod: 30_000,
      heartbeatDeadline: 600_000,
      firstHeartbeatDeadline: 1_800_000,
    },
    ssh: {
      keyPath: '/etc/shepherd/ssh.key',
      previousKeyPaths: [],
      port: 22,
      hostKeyPolicy: 'tofu',
      sudo: 'auto',
    },
    agentServer: { listen: { host: '', port: 8080 } },
    initializer: { loopParallelism: 10, backoff: AGENT_START_BACKOFF },
    recoverer: {
      loopParallelism: 10,
      backoff: RECOVERY_BACKOFF,
      ladder: {
        restartingAgent: { attempts: 2, patience: 60_000 },
        rebooting: { attempts: 3, patience: 900_000 },
        powerCycling: { attempts: 2, patience: 900_000 },
        reinstalling: { patience: 2_700_000 },
      },
      pollInterval: 5000,
    },
    guard: {
      ...DEFAULT_BUDGET,
      silentMin: 5,
      silentPercent: 20,
      newFor: 600_000,
      calmPercent: 10,
      calmFor: 600_000,
      unreachablePercent: 50,
    },
    mirror: { scanInterval: 60_000, pollInterval: 5_000, listInterval: 60_000 },
    console: { listen: { host: '127.0.0.1', port: 4243 } },
    log: { level: 'info', format: 'auto' },
    inspect: { console: false },
  });
  expect(lossPolicyOf(config)).toEqual({ ...DEFAULT_LOSS, readGapMs: 60_000 });
});

test('every mistake is reported at once, with path, line and what to do', () => {
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
  const lines = message.split('\n');
  expect(lines[0]).toBe(`the configuration has ${lines.length - 1} mistakes:`);
  const paths = lines.slice(1).map((line) => line.trim().split(' ')[0]);
  expect(new Set(paths)).toEqual(
    new Set([
      'agent.executablePath',
      'agent.heartbeatDeadline',
      'agent.sshExecTimeout',
      'agentServer',
      'agentServer.keyPath',
      'agentServer.listen',
      'colour',
      'console.tls',
      'console.token',
      'database',
      'database.url',
      'log.level',
      'providers.equinix.baseUrl',
      'providers.equinix.devicePrefix',
      'providers.equinix.instanceSetId',
      'providers.equinix.parallelism',
      'providers.equinix.projectId',
      'providers.equinix.sshKeyLabel',
      'providers.equinix.token',
      'providers.equinix.username',
      'providers.equinix.usrname',
      'session.interval',
      'ssh.keyPath',
    ]),
  );
  for (const line of lines.slice(1)) expect(line, 'says what to do').toMatch(/; \S/);
  expect(message).toContain('session.interval (line 3, column 3) is 5; give a duration');
  expect(message).toContain('providers.equinix.usrname (line 14, column 5) is not known');
  expect(message).toContain('ssh.keyPath is missing; give a path: Our private key');
  expect(message, 'a secret is never repeated').not.toContain(TOKEN);
});

testRows([
  ['providers.equinix.sshKeyLabel', 'x-FIXME'],
  ['providers.equinix.devicePrefix', 'shepherd-fixme-'],
  ['providers.equinix.username', 'FixMe'],
])('%s refuses the placeholder %s', (path, value) => {
  expect(complaint(() => parseConfig(withValue(path, value), { env }))).toContain(
    `${path} is "${value}"; replace the placeholder`,
  );
});

testRows([
  ['providers.equinix.driver', 'azure', 'names no driver that exists'],
  ['providers.equinix.projectId', 'zzz', 'is not a UUID'],
  ['providers.equinix.devicePrefix', 'under_score-', 'give a prefix'],
  ['providers.equinix.devicePrefix', 'no-hyphen-at-end', 'give a prefix'],
  ['providers.equinix.devicePrefix', `${'x'.repeat(45)}-`, 'too long'],
  ['providers.Equinix', {}, 'is no name for a provider'],
  ['providers', {}, 'give at least one provider'],
  ['database', undefined, 'names no database or two'],
  ['agentServer', undefined, 'needs one identity'],
  ['agent.endpoint', undefined, 'agent.endpoint is missing; give it, or name a host'],
  ['providers.equinix.baseUrl', 'http://127.0.0.1.example.net', 'sends the token in clear'],
  ['providers.equinix.baseUrl', 'https://user:pass@api', 'without credentials'],
  ['agent.endpoint', 'host:99999', 'give a port up to 65535'],
  ['agent.endpoint', ':8080', 'give a host:port'],
  ['agent.targetPath', 'agent', 'give an absolute path'],
  ['agentServer.listen', '[nonsense]:1', 'give an address'],
  ['recoverer.backoff.exponent', 0.5, 'give a number from 1 to 10'],
  ['provisioner.reservationChunkSize', 0, 'give a whole number'],
  ['provisioner.maxMachines', 1.5, 'give a whole number'],
  ['ssh', 'text', 'is not a section'],
  ['ssh.hostKeyPolicy', 'trusting', 'one of strict, tofu, insecure'],
  ['ssh.sudo', 'maybe', 'one of auto, never, always'],
  ['ssh.previousKeyPaths', 'old.key', 'a list of at most 4 paths'],
  ['ssh.previousKeyPaths', ['1', '2', '3', '4', '5'], 'a list of at most 4 paths'],
  ['ssh.keyPassphrase', 'open sesame', 'is written out'],
  ['guard.fleetMaximum', 3, 'is not known; known here: percent, perGroupMax, fleetMax'],
  ['database.url', 'postgres://bmdb:literal@db/bmdb', 'holds a password written out'],
  ['database.url', 'postgres://db/bmdb?password=literal', 'holds a password written out'],
])('%s: %j is refused', (path, value, expected) => {
  expect(complaint(() => parseConfig(withValue(path, value), { env }))).toContain(expected);
});

testRows([
  ['agentServer.listen', '127.0.0.1:0', 'agent.endpoint'],
  ['providers.equinix.baseUrl', 'http://127.0.0.1:8080/metal/v1', 'agent.executablePath'],
])('%s: %s is accepted, also without %s', (path, value, unset) => {
  const input = withValue(path, value, withValue(unset, undefined));
  expect(() => parseConfig(input, { env })).not.toThrow();
});

test('two providers of one project need prefixes that do not overlap', () => {
  const one = minimal().providers.equinix;
  const providers = { one, other: { ...one, devicePrefix: 'shepherd-test-two-' } };
  expect(complaint(() => parseConfig({ ...minimal(), providers }, { env }))).toContain(
    'providers.other.devicePrefix overlaps with that of provider one',
  );
});

test('secrets come from the environment or a private file, and are read again each time', () => {
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

testRows([
  ['${MISSING}', 'refers to ${MISSING}, which is not set'],
  ['file:absent', 'refers to file:absent, which cannot be read (ENOENT)'],
  ['file:empty', 'refers to file:empty, which is empty'],
  ['file:open', 'refers to file:open, which others may read'],
])('a reference that leads nowhere is named: %s', (reference, expected) => {
  write('empty', '\n');
  write('open', 'value', 0o644);
  const input = withValue('providers.equinix.token', reference);
  const message = complaint(() => parseConfig(input, { baseDirectory: directory }));
  expect(message).toContain(`providers.equinix.token ${expected}`);
});

test('a credential is what the service manager passed on, read again each time', () => {
  const path = write('registry', 'from-systemd\n', 0o440);
  const env = { CREDENTIALS_DIRECTORY: directory };
  const parse = (reference: string, around: object = { env }) =>
    parseConfig(withValue('providers.equinix.token', reference), around);
  const token = parse('credential:registry').providers['equinix']!['token'] as Secret;
  expect(token.read()).toBe('from-systemd');
  writeFileSync(path, 'rotated');
  expect(token.read()).toBe('rotated');
  expect(`${token}`).toBe('credential:registry');
  const told = (...asked: Parameters<typeof parse>) => complaint(() => parse(...asked));
  expect(told('credential:absent')).toContain('cannot be read (ENOENT)');
  expect(told('credential:registry', { env: {} })).toContain(
    'no credentials were passed; give the unit LoadCredential=registry:<path>',
  );
  for (const path of ['credential:../registry', 'credential:', 'credential:a/b']) {
    expect(told(path), path).toContain('give credential: and a name');
  }
});

test('a listener may be a socket that the service manager holds; then it counts as open to all', () => {
  const input = {
    ...minimal(),
    agentServer: { listen: 'systemd:agents', devCertificates: { dir: 'x' } },
  };
  const config = parseConfig(input, { env });
  expect(config.agentServer.listen).toEqual({ host: '', port: 0, socket: 'agents' });
  const open = { ...minimal(), console: { listen: 'systemd:console' } };
  expect(complaint(() => parseConfig(open, { env }))).toContain('open to other machines');
});

test('B6: a secret is read from a regular file of our own or of root', () => {
  const name = write('own', 'a-long-enough-value');
  const told = (reference: string) =>
    complaint(() =>
      parseConfig(withValue('providers.equinix.token', reference), { baseDirectory: directory }),
    );
  execFileSync('mkfifo', ['-m', '600', join(directory, 'pipe')]);
  expect(told('file:pipe')).toContain('refers to file:pipe, which is not a regular file');
  expect(told('file:.')).toContain('is not a regular file');
  expect(told('file:/dev/null')).toContain('is not a regular file');
  const { uid } = statSync(name);
  vi.spyOn(process, 'geteuid').mockReturnValue(uid + 1);
  const foreign = () => told('file:own');
  // Of root's files anybody may be the reader.
  if (uid === 0) chownSync(name, uid + 2, -1);
  expect(foreign()).toContain('which belongs to another user');
  vi.restoreAllMocks();
});

testRows([
  ['fifteen-letters', true],
  ['sixteen-letters-', false],
])('B6: the console token %s is too short: %s', (token, isShort) => {
  const input = { ...minimal(), console: { token: '${CONSOLE_TOKEN}' } };
  const parse = () => parseConfig(input, { env: { ...env, CONSOLE_TOKEN: token } });
  if (!isShort) return expect(parse).not.toThrow();
  return expect(complaint(parse)).toContain('console.token leads to a token of fewer than 16');
});

test('B6: the console has names of its own, and names only', () => {
  const withHosts = (allowedHosts: unknown) =>
    parseConfig({ ...minimal(), console: { allowedHosts } as never }, { env });
  expect(withHosts(['Fleet.example.org', 'fleet']).console.allowedHosts).toHaveLength(2);
  for (const wrong of ['https://fleet', 'fleet:4243', '*.example.org', '', '-a', 'a..b']) {
    expect(complaint(() => withHosts([wrong]))).toContain('console.allowedHosts');
  }
});

testRows(['db', 'db1:5432,db2:5433'])(
  'a password in the database URL of %s is a reference, escaped as a URL needs it',
  (hosts) => {
    const url = `postgres://bmdb:\${PGPASSWORD}@${hosts}/bmdb`;
    const { database } = parseConfig({ ...minimal(), database: { url } }, { env });
    expect(database.url?.read()).toBe(`postgres://bmdb:p%40ss%2Fword@${hosts}/bmdb`);
    expect(database.url?.reference).toBe(url);
  },
);

test('nothing that prints the configuration shows a secret', () => {
  const config = parseConfig(minimal(), { env });
  const printed = [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true })];
  for (const text of printed) expect(text).not.toContain(TOKEN);
  expect(String(config.providers['equinix']?.['token'])).toBe('${API_TOKEN}');
});

test('the result is frozen to the bottom', () => {
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

test('flags win over the file, are read as YAML would, and are checked alike', () => {
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
  ['__proto__: { polluted: true }', '__proto__ (line 1, column 1) is not known'],
])('%j is refused', (text, expected) => {
  expect(complaint(() => loadConfig({ text, env }))).toContain(expected);
});

test('a file that cannot be read, and no file at all, are mistakes of use', () => {
  const file = join(directory, 'absent.yaml');
  expect(complaint(() => loadConfig({ file, env }))).toContain('cannot be read');
  expect(complaint(() => loadConfig({ env }))).toContain('--config');
});

test('a certificate must be one', () => {
  const file = write(
    'shepherd.yaml',
    stringify(withValue('agent.endpointCaCertificatePath', 'agent.mjs')),
  );
  write('agent.mjs', 'program');
  expect(complaint(() => loadConfig({ file, env }))).toContain(
    'agent.endpointCaCertificatePath (line 16, column 3) is not a certificate',
  );
});
