import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { providerTest, type ProviderTestOptions } from '../../src/commands/provider-test.ts';
import type { ConformanceReport } from '../../src/conformance/step.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { runFor, runTest, STUB, stubWith, TEST_SET, USUAL } from '../conformance/stand.ts';
import { shepherd } from '../e2e/commands.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'provider-test-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function configFile(config: object): string {
  const file = join(dir, 'shepherd.yaml');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const OPTIONS: ProviderTestOptions = {
  ...USUAL,
  ...{ provider: 'stub', only: ['open'], allowDestructive: false },
};

/** Which provider was tested. */
async function tested(options: Partial<ProviderTestOptions>): Promise<string> {
  let text = '';
  const write = (more: string) => void (text += more);
  const signal = new AbortController().signal;
  await providerTest({ ...OPTIONS, ...options }, { write, log: silentLog, signal });
  const { provider, driver } = JSON.parse(text) as ConformanceReport;
  return `${provider} (${driver})`;
}
const refused = (options: Partial<ProviderTestOptions>) =>
  tested(options).then(
    (name) => `tested ${name}`,
    (error: unknown) => {
      expect(error).toBeInstanceOf(UsageError);
      return (error as Error).message;
    },
  );

describe('the provider is', () => {
  const TWO = { providers: { one: { driver: 'stub' }, two: { driver: 'stub', seed: 2 } } };

  test('found by its name', async () => {
    expect(await tested({ configFile: configFile(TWO), provider: 'two' })).toBe('two (stub)');
  });
  test('found by its driver, if it is the only one', async () => {
    const file = configFile({ providers: { one: { driver: 'stub' } } });
    expect(await tested({ configFile: file })).toBe('one (stub)');
  });
  test('a driver alone, without a configuration', async () => {
    expect(await tested({})).toBe('stub (stub)');
  });
  test('a stub alone has machines that answer', async () => {
    let text = '';
    const options = { ...OPTIONS, only: ['boot'] };
    const signal = new AbortController().signal;
    const write = (more: string) => void (text += more);
    expect(await providerTest(options, { write, log: silentLog, signal })).toBe(0);
    expect((JSON.parse(text) as ConformanceReport).steps.at(-1)).toMatchObject({
      id: 'boot',
      outcome: 'passed',
    });
  });
  test('named rather than guessed', async () => {
    expect(await refused({ configFile: configFile(TWO) })).toBe(
      'several providers have the driver stub; give one of one, two',
    );
    expect(await refused({ configFile: configFile(TWO), provider: 'three' })).toBe(
      'no provider is named three or has that driver; there is one, two',
    );
  });
});

describe('refused before anything is opened', () => {
  test.each([
    ['a file that is not there', () => join(dir, 'none.yaml'), /cannot be read/],
    ['a file without providers', () => configFile({}), /has no section providers/],
    [
      'a mistake in the section',
      () => configFile({ providers: { stub: { driver: 'stub', hurry: true } } }),
      /providers\.stub\.hurry is not known/,
    ],
    [
      'a driver that does not exist',
      () => configFile({ providers: { stub: { driver: 'abacus' } } }),
      /names no driver that exists/,
    ],
    [
      'a mistake in ssh',
      () => configFile({ providers: { stub: { driver: 'stub' } }, ssh: { port: 0 } }),
      /ssh\.port/,
    ],
  ])('%s', async (_, file, says) => {
    expect(await refused({ configFile: file() })).toMatch(says);
  });
  test('the fleet’s own instance set, whichever provider has it, before any call', async () => {
    let opened = 0;
    const drivers = stubWith(() => {
      opened += 1;
      return {};
    });
    const own = 'Fleet-fleet-000000000000001';
    const providers = { one: { driver: 'stub' }, two: { driver: 'stub', instanceSetId: own } };
    const options = { configFile: configFile({ providers }), provider: 'one' };
    const says = /^the instance set fleet-.* is the one of provider two: .*--set-id$/;
    const setId = own.toLowerCase();
    const asked = { ...OPTIONS, ...options, setId, destroyExisting: true };
    await expect(providerTest(asked, { drivers, log: silentLog })).rejects.toThrow(says);
    expect(opened).toBe(0);
  });
  test('a driver that needs settings and gets none: they are asked for', async () => {
    expect(await refused({ provider: 'static' })).toMatch(
      /inventory is missing;[^]*\ngive the settings of static in a file, with --config$/,
    );
    const file = configFile({ providers: { static: { driver: 'static' } } });
    expect(await refused({ provider: 'static', configFile: file })).not.toMatch(/--config/);
  });
  test('a step that does not exist', async () => {
    expect(await refused({ only: ['open', 'dance'] })).toMatch(
      /^there is no step dance; there are config, open, list, /,
    );
  });
  test('what the rest of the file says does not matter', async () => {
    const providers = { stub: { driver: 'stub' } };
    expect(await tested({ configFile: configFile({ providers, database: 'later' }) })).toBe(
      'stub (stub)',
    );
  });
});

test('the instance set, the tags and the image of the fleet give way to the test’s own', async () => {
  const opened: unknown[] = [];
  const made: unknown[] = [];
  const drivers = stubWith((provider) => ({
    createMachine: async (request, o) => {
      made.push({ tags: request.tags, image: request.image });
      opened.push(request.publicKey);
      return provider.createMachine(request, o);
    },
  }));
  const fleet = { instanceSetId: 'fleet-fleet-000000000000001', image: 'debian' };
  const section = { ...STUB, ...fleet, ssh: false, sharedTags: { team: 'metal' } };
  const options = { only: ['listed'], image: 'ubuntu' };
  const { exitCode, report } = await runTest(section, options, { drivers });
  expect(exitCode).toBe(0);
  expect(report.setId).toBe(TEST_SET);
  expect(made).toEqual([
    {
      image: 'ubuntu',
      tags: expect.objectContaining({
        'shepherd-InstanceSetID': TEST_SET,
        'conformance-test': String(process.pid),
        team: 'metal',
      }),
    },
  ]);
  expect(opened[0]).toMatch(/^ssh-ed25519 /);
});

test('the machine is made of the plan and the reservation that were asked for', async () => {
  const plans = [
    { name: 'small', reservations: 2 },
    { name: 'large', reservations: 2 },
  ];
  const section = { ...STUB, plans, ssh: false };
  const made: (string | null)[] = [];
  const drivers = stubWith((provider) => ({
    createMachine: async (request, o) => {
      made.push(request.plan, request.unused.reservationId);
      return provider.createMachine(request, o);
    },
  }));
  await runTest(section, { only: ['create'], plan: 'large' }, { drivers });
  expect(made[0]).toBe('large');
  const reservation = made[1]!;
  await runTest(section, { only: ['create'], reservation }, { drivers });
  expect(made.slice(2)).toEqual(['large', reservation]);
  const options = { only: ['create'], plan: 'small', reservation };
  const { report } = await runTest(section, options, { drivers });
  expect(report.steps.at(-1)!.message).toBe(
    `there is no free capacity of plan small named ${reservation}`,
  );
});

test('text: a heading, a line a step as it comes, a summary', async () => {
  const { text } = await runFor(STUB, { format: 'text', only: ['reboot'] });
  const lines = text.trimEnd().split('\n');
  expect(lines[0]).toBe(`Testing provider tested (driver stub) with the instance set ${TEST_SET}`);
  const passed = lines.flatMap((line) => /^✓ (\S+) +\S.* \S+$/.exec(line)?.[1] ?? []);
  expect(passed).toEqual(['open', 'list', 'create', 'host-key', 'boot', 'reboot']);
  expect(lines.at(-1)).toMatch(/^Passed: 6 passed, 0 failed, 1 skipped, 0 not run, in /);
});

test('the log-in line is shown, and the tester waited for', async () => {
  const shown: string[] = [];
  const drivers = stubWith(() => ({}));
  const { report } = await runTest(
    STUB,
    { only: ['pause'], pause: true },
    { drivers, pause: async (line) => void shown.push(line) },
  );
  expect(shown).toEqual([expect.stringMatching(/^ssh -p \d+ root@127\.0\.0\.1$/)]);
  expect(report.steps.at(-1)).toMatchObject({ id: 'pause', outcome: 'passed' });
});

describe('as a process', () => {
  test('it passes, and says so by its exit code', async () => {
    const file = configFile({
      providers: { lab: { ...STUB } },
      ssh: { keyPath: join(dir, 'key') },
    });
    const args = ['provider', 'test', 'lab', '--config', file, '--format', 'json'];
    const { code, stdout, stderr } = await shepherd(args).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ provider: 'lab', passed: true, leftBehind: [] });
    expect(readFileSync(join(dir, 'key'), 'utf8'), 'the key of the file is used').toMatch(
      /^-----BEGIN OPENSSH PRIVATE KEY-----/,
    );
  });

  test.each([
    [['test'], /missing required argument/],
    [['test', 'stub', '--set-id', 'mine'], /5-5-15/],
    [['test', 'stub', '--timeout', 'soon'], /Give a duration/],
    [['test', 'stub', '--format', 'pdf'], /Allowed choices/],
    [['test', 'abacus'], /names no driver that exists/],
  ])('%j is wrong usage', async (args, says) => {
    const { code, stdout, stderr } = await shepherd(['provider', ...args]).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });

  test('--only may be given several times', async () => {
    const args = ['provider', 'test', 'stub', '--only', 'config', '--only', 'names, abort'];
    const { code, stdout } = await shepherd(args).ended;
    expect(code).toBe(0);
    const passed = stdout.split('\n').flatMap((line) => /^✓ (\S+)/.exec(line)?.[1] ?? []);
    expect(passed).toEqual(['config', 'open', 'list', 'names', 'abort']);
  });

  test('Ctrl-C cleans up before it ends', async () => {
    const section = { ...STUB, provisioningTime: '1h' };
    const file = configFile({ providers: { lab: section }, ssh: { keyPath: join(dir, 'key') } });
    const { child, ended } = shepherd(['provider', 'test', 'lab', '--config', file]);
    let seen = '';
    while (!/\n– existing/.test(seen)) {
      const [more] = (await once(child.stdout!, 'data')) as [Buffer];
      seen += more.toString();
    }
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/✓ create/);
    expect(stdout).toMatch(/\nInterrupted: [^\n]*\n$/);
    expect(stdout).not.toMatch(/Left behind/);
  });
});
