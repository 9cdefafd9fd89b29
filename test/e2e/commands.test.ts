import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import { issue } from '../support/certificates.ts';
import { processesUsing, shepherd } from './commands.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-commands-'));
/** Temporary files of the processes started here, to see what they leave behind. */
const scratch = join(dir, 'tmp');
let emulator: Awaited<ReturnType<typeof startEquinixEmulator>>;
beforeAll(async () => {
  emulator = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    reservations: 1,
  });
});
afterAll(async () => {
  await emulator.close();
  rmSync(dir, { recursive: true, force: true });
});

const configWith = (changes: object) => {
  const path = join(dir, 'shepherd.yaml');
  const config = {
    database: { embedded: { dataDir: join(dir, 'postgres') } },
    providers: {
      metal: {
        driver: 'equinix',
        baseUrl: emulator.url,
        token: '${METAL_TOKEN}',
        username: 'test',
        projectId: emulator.projectId,
        instanceSetId: 'tests-shell-000000000000001',
        devicePrefix: 'shepherd-commands-',
        sshKeyLabel: 'shepherd-commands',
      },
    },
    ssh: { keyPath: join(dir, 'ssh-key') },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
    console: { listen: '127.0.0.1:0' },
    ...changes,
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
};
const run = (changes: object, token = emulator.tokens.project) =>
  shepherd(['run', '--config', configWith(changes)], { METAL_TOKEN: token }).ended;

/** The one message, without the log lines before it. */
const messageOf = (stderr: string) =>
  stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n');

describe('a mistake ends in one clear message and a non-zero exit', () => {
  const mistakes: [string, () => ReturnType<typeof run>, RegExp][] = [
    [
      'wrong configuration',
      () => run({ provisioner: { maxMachin: 3 }, log: { level: 'loud' } }),
      /has 2 mistakes:\n.*provisioner\.maxMachin.*is unknown.*\n.*log\.level/s,
    ],
    [
      'no configuration file',
      () => shepherd(['run', '--config', join(dir, 'absent.yaml')]).ended,
      /cannot be read.*absent\.yaml/,
    ],
    [
      'unknown option',
      () => shepherd(['sim', '--machines', 'many']).ended,
      /--machines.*whole number/,
    ],
  ];
  test.each(mistakes)('%s', async (_, attempt, message) => {
    const { code, stderr } = await attempt();
    expect(messageOf(stderr)).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(code).toBeGreaterThan(0);
  });
});

test('--check-config accepts a good file, and starts nothing', async () => {
  const { ended } = shepherd(['run', '--config', configWith({}), '--check-config'], {
    METAL_TOKEN: emulator.tokens.project,
  });
  expect(await ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/is valid\n$/) });
});

describe('C6: mistakes reported before anything is started', () => {
  const made = () =>
    readdirSync(dir)
      .filter((name) => name !== 'shepherd.yaml')
      .toSorted();
  let bad: object;
  beforeAll(async () => {
    const [ca, other] = [await issue({ name: 'CN=right' }), await issue({ name: 'CN=wrong' })];
    const server = await issue({ names: ['fleet.example.org'], by: ca, toDays: -0.5 });
    const at = (name: string) => join(dir, `c6-${name}`);
    writeFileSync(at('server.key'), other.key, { mode: 0o644 });
    writeFileSync(at('server.pem'), server.cert);
    writeFileSync(at('ca.pem'), other.cert);
    bad = {
      agent: { endpoint: 'elsewhere:8080', endpointCaCertificatePath: at('ca.pem') },
      agentServer: { keyPath: at('server.key'), certificatePath: at('server.pem') },
      ssh: { keyPath: join(dir, 'c6-new', 'ssh-key') },
    };
  });

  test('are complete, in the same words by --check-config and by run', async () => {
    const before = made();
    const env = { METAL_TOKEN: emulator.tokens.project };
    const file = configWith(bad);
    const check = await shepherd(['run', '--config', file, '--check-config'], env).ended;
    expect(check).toMatchObject({ code: 2, stdout: '' });
    expect(check.stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/shepherd\.yaml has 5 mistakes:$/),
      expect.stringMatching(/agentServer\.keyPath \(line 1, .*others may read; run chmod 600/),
      expect.stringMatching(/agentServer\.keyPath .*does not match the first certificate/),
      expect.stringMatching(/agentServer\.certificatePath .*expired at 20/),
      expect.stringMatching(/agent\.endpoint .*does not match .*DNS:fleet\.example\.org/),
      expect.stringMatching(/agent\.endpointCaCertificatePath .*CN=wrong.*did not sign.*CN=right/),
    ]);
    expect(await shepherd(['run', '--config', file], env).ended).toEqual(check);
    expect(made()).toEqual(before);
  });
});

test('sim --exit-when-running --json prints one line and leaves nothing behind', async () => {
  mkdirSync(scratch);
  const { child, ended } = shepherd(
    ['sim', '--machines', '3', '--exit-when-running', '--json', '--console-port', '0'],
    { TMPDIR: scratch },
  );
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  const report = JSON.parse(stdout) as object;
  expect(report).toMatchObject({ machines: 3, running: 3, devicesCreated: 3, leaked: 0 });
  expect(readdirSync(scratch)).toEqual([]);
  expect(processesUsing(scratch), `left by ${child.pid}`).toEqual([]);
});

test('sim --chaos --json prints its one line when it is interrupted', async () => {
  const { child, ended, said } = shepherd(
    ['sim', '--light', '--machines', '2', '--chaos', '--json', '--console-port', '0'],
    { TMPDIR: dir },
  );
  await said((log) => log.includes('"component":"chaos"'));
  child.kill('SIGTERM');
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ machines: 2, devicesCreated: 2, leaked: 0 });
});
