import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startEquinixEmulator } from '../../emulators/equinix/emulator.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { providerTest, type ProviderTestOptions } from '../../src/commands/provider-test.ts';
import type { ConformanceReport } from '../../src/conformance/step.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { listOf } from '../conformance/emulated.ts';
import { createLab, labWith, runInLab, runLab, textInLab } from '../conformance/lab.ts';
import { equinixSection } from '../conformance/sections.ts';
import { TEST_SET, USUAL } from '../conformance/stand.ts';
import { shepherd } from '../e2e/commands.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'provider-test-'));
  writeFileSync(join(dir, 'rack.json'), '[]');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function configFile(config: object): string {
  const file = join(dir, 'shepherd.yaml');
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const RACK = { driver: 'static', inventory: 'file:rack.json' };
const OPTIONS = { ...USUAL, provider: 'static', only: ['open'], allowDestructive: false };

/** Which provider was tested. */
async function tested(
  config: object | string,
  options: Partial<ProviderTestOptions> = {},
): Promise<string> {
  let text = '';
  const write = (more: string) => void (text += more);
  const signal = new AbortController().signal;
  const file = typeof config === 'string' ? config : configFile(config);
  await providerTest(
    { ...OPTIONS, configFile: file, ...options },
    { write, log: silentLog, signal },
  );
  const { provider, driver } = JSON.parse(text) as ConformanceReport;
  return `${provider} (${driver})`;
}
const refused = (...asked: Parameters<typeof tested>) =>
  tested(...asked).then(
    (name) => `tested ${name}`,
    (error: unknown) => {
      expect(error).toBeInstanceOf(UsageError);
      return (error as Error).message;
    },
  );

describe('the provider is', () => {
  const TWO = { providers: { one: RACK, two: { ...RACK, sshUser: 'admin' } } };

  test('found by its name', async () => {
    expect(await tested(TWO, { provider: 'two' })).toBe('two (static)');
  });
  test('found by its driver, if it is the only one', async () => {
    expect(await tested({ providers: { one: RACK } })).toBe('one (static)');
  });
  test('named rather than guessed', async () => {
    expect(await refused(TWO)).toBe(
      'several providers have the driver static; give one of these names: one, two',
    );
    expect(await refused(TWO, { provider: 'three' })).toBe(
      'no provider is named three or has that driver; there is one, two',
    );
  });
});

describe('refused before anything is opened', () => {
  test.each([
    ['a file that is not there', '/nowhere/none.yaml', /cannot be read/],
    ['a file without providers', {}, /has no section providers/],
    [
      'a mistake in the section',
      { providers: { rack: { ...RACK, hurry: true } } },
      /providers\.rack\.hurry is unknown/,
    ],
    [
      'a driver that does not exist',
      { providers: { static: { driver: 'abacus' } } },
      /names an unknown driver/,
    ],
    ['a mistake in ssh', { providers: { rack: RACK }, ssh: { port: 0 } }, /ssh\.port/],
  ])('%s', async (_, config, says) => {
    expect(await refused(config)).toMatch(says);
  });
  test('the fleet’s own instance set, whichever provider has it, before any call', async () => {
    let opened = 0;
    const { around } = createLab(
      labWith(() => {
        opened += 1;
        return {};
      }),
    );
    const own = 'Fleet-fleet-000000000000001';
    const memory = { driver: 'memory' };
    const file = configFile({ providers: { one: memory, two: { ...memory, instanceSetId: own } } });
    const says = /^the instance set fleet-.* belongs to provider two, .*--set-id$/;
    const given = { provider: 'one', configFile: file, setId: own.toLowerCase() };
    const asked = { ...OPTIONS, ...given, destroyExisting: true };
    await expect(providerTest(asked, { ...around, log: silentLog })).rejects.toThrow(says);
    expect(opened).toBe(0);
  });
  test('a step that does not exist', async () => {
    expect(await refused({ providers: { rack: RACK } }, { only: ['open', 'dance'] })).toMatch(
      /^there is no step dance; there are config, open, list, /,
    );
  });
  test('what the rest of the file says does not matter', async () => {
    expect(await tested({ providers: { rack: RACK }, database: 'later' })).toBe('rack (static)');
  });
});

test('the instance set, the tags and the image of the fleet give way to the test’s own', async () => {
  const opened: unknown[] = [];
  const made: unknown[] = [];
  const lab = labWith((provider) => ({
    createMachine: async (request, o) => {
      made.push({ tags: request.tags, image: request.image });
      opened.push(request.publicKey);
      return provider.createMachine(request, o);
    },
  }));
  const fleet = { instanceSetId: 'fleet-fleet-000000000000001', image: 'debian' };
  const section = { ...fleet, sharedTags: { team: 'metal' } };
  const options = { only: ['listed'], image: 'ubuntu' };
  const { exitCode, report } = await runLab(lab, options, { section });
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
  const made: (string | null)[] = [];
  const own = labWith((provider) => ({
    createMachine: async (request, o) => {
      made.push(request.plan, request.unused.reservationId);
      return provider.createMachine(request, o);
    },
  }));
  const lab = createLab({ ...own, plans: ['small', 'large'], reservations: 2 });
  await runInLab(lab, { only: ['create'], plan: 'large' });
  expect(made[0]).toBe('large');
  const reservation = made[1]!;
  await runInLab(lab, { only: ['create'], reservation });
  expect(made.slice(2)).toEqual(['large', reservation]);
  const { report } = await runInLab(lab, { only: ['create'], plan: 'small', reservation });
  expect(report.steps.at(-1)!.message).toBe(
    `there is no free capacity of plan small named ${reservation}`,
  );
});

test('text: a heading, a line a step as it comes, a summary', async () => {
  const { text } = await textInLab(createLab(), { format: 'text', only: ['reboot'] });
  const lines = text.trimEnd().split('\n');
  expect(lines[0]).toBe(
    `Testing provider tested (driver memory) with the instance set ${TEST_SET}`,
  );
  const passed = lines.flatMap((line) => /^✓ (\S+) +\S.* \S+$/.exec(line)?.[1] ?? []);
  expect(passed).toEqual(['open', 'list', 'create', 'host-key', 'boot', 'reboot']);
  expect(lines.at(-1)).toMatch(/^Passed: 6 passed, 0 failed, 1 skipped, 0 not run, in /);
});

test('the log-in line is shown, and the tester waited for', async () => {
  const shown: string[] = [];
  const { report } = await runLab(
    {},
    { only: ['pause'], pause: true },
    { pause: async (line) => void shown.push(line) },
  );
  expect(shown).toEqual(['ssh -p 22 root@192.0.2.1']);
  expect(report.steps.at(-1)).toMatchObject({ id: 'pause', outcome: 'passed' });
});

describe('as a process', () => {
  test('it passes, and says so by its exit code', async () => {
    const { section, ssh } = await listOf('right');
    const file = configFile({ providers: { rack: section }, ssh });
    const args = ['provider', 'test', 'rack', '--config', file, '--format', 'json'];
    const { code, stdout, stderr } = await shepherd(args).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ provider: 'rack', passed: true, leftBehind: [] });
  });

  test.each([
    [['test', '--config', 'any.yaml'], /missing required argument/],
    [['test', 'rack'], /required option '--config <file>'/],
    [['test', 'rack', '--set-id', 'mine'], /5-5-15/],
    [['test', 'rack', '--timeout', 'soon'], /Give a duration/],
    [['test', 'rack', '--format', 'pdf'], /Allowed choices/],
  ])('%j is wrong usage', async (args, says) => {
    const { code, stdout, stderr } = await shepherd(['provider', ...args]).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
  });

  test('--only may be given several times', async () => {
    const file = configFile({ providers: { rack: RACK } });
    const only = ['--only', 'config', '--only', 'names, abort'];
    const args = ['provider', 'test', 'rack', '--config', file, ...only];
    const { code, stdout } = await shepherd(args).ended;
    expect(code).toBe(0);
    const passed = stdout.split('\n').flatMap((line) => /^✓ (\S+)/.exec(line)?.[1] ?? []);
    expect(passed).toEqual(['config', 'open', 'list', 'names', 'abort']);
  });

  test('Ctrl-C cleans up before it ends', async () => {
    // Nothing is behind the emulator, so that no machine ever answers.
    const fake = await startEquinixEmulator({
      ...{ listen: { host: '127.0.0.1', port: 0 }, profile: 'fast', reservations: 1 },
      log: silentLog,
    });
    onTestFinished(() => fake.close());
    const file = configFile({ providers: { lab: equinixSection(fake) } });
    const env = { TOKEN: fake.tokens.project };
    const { child, ended } = shepherd(['provider', 'test', 'lab', '--config', file], env);
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
