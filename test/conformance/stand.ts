import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { Driver, DriverContext, Provider } from '../../src/adapters/provider/port.ts';
import { createStubDriver } from '../../src/adapters/provider/stub/driver.ts';
import type { StubSettings } from '../../src/adapters/provider/stub/settings.ts';
import {
  providerTest,
  type ProviderTestAround,
  type ProviderTestOptions,
} from '../../src/commands/provider-test.ts';
import type { ConformanceReport, StepResult } from '../../src/conformance/step.ts';
import type { Patience } from '../../src/conformance/subject.ts';
import type { SimulatedHosts } from '../../emulators/hosts/options.ts';
import { createSimulatedHosts } from '../../emulators/hosts/simulated-hosts.ts';

export const TEST_SET = 'zzzzz-zzzzz-zzzzzzcloudtest';

/** Short enough for a test that has to see something never come. */
export const IMPATIENT: Partial<Patience> = {
  bootMs: 2_000,
  probeMs: 50,
  syncMs: 50,
  rebootMs: 1_500,
  destroyMs: 1_000,
  cleanUpMs: 1_000,
  callMs: 2_000,
  stopMs: 500,
};

/** What takes milliseconds at the stub takes seconds at an emulator. */
const AT_AN_EMULATOR: Partial<Patience> = {
  ...{ bootMs: 60_000, rebootMs: 40_000, destroyMs: 40_000, cleanUpMs: 40_000 },
  ...{ probeMs: 250, syncMs: 250, callMs: 60_000, stopMs: 10_000 },
};

export interface Ran {
  readonly exitCode: number;
  readonly report: ConformanceReport;
}

type RunOptions = Partial<ProviderTestOptions> & { readonly ssh?: object };

/** Runs the command in this process, on a configuration of its own. */
export async function runFor(
  section: Readonly<Record<string, unknown>>,
  options: RunOptions = {},
  around: ProviderTestAround = {},
): Promise<{ readonly exitCode: number; readonly text: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    const { ssh, ...given } = options;
    const configFile = join(dir, 'test.yaml');
    const config = { providers: { tested: section }, ssh: { keyPath: join(dir, 'key'), ...ssh } };
    writeFileSync(configFile, JSON.stringify(config));
    let text = '';
    const exitCode = await providerTest(
      { ...USUAL, configFile, ...given },
      {
        log: silentLog,
        signal: new AbortController().signal,
        write: (more) => void (text += more),
        warn: () => undefined,
        patience: IMPATIENT,
        ...around,
      },
    );
    return { exitCode, text };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A directory that goes with the test. */
export function takeDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Machines that answer SSH, until the test has ended. */
export function startHosts(
  change: Partial<Parameters<typeof createSimulatedHosts>[0]> = {},
): SimulatedHosts {
  const own = { dir: join(takeDirectory(), 'hosts'), log: silentLog, random: systemRandom };
  const hosts = createSimulatedHosts({ ...own, ...change });
  onTestFinished(() => hosts.close());
  return hosts;
}

/** Runs it with the patience for an emulator, and expects that no step fails. */
export async function runToPass(
  section: Readonly<Record<string, unknown>>,
  options: RunOptions,
  around: ProviderTestAround = {},
): Promise<ConformanceReport> {
  const patience = AT_AN_EMULATOR;
  const { exitCode, report } = await runTest(section, options, { patience, ...around });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  return report;
}

/** The same, and reads its JSON. */
export async function runTest(
  section: Readonly<Record<string, unknown>>,
  options: RunOptions = {},
  around: ProviderTestAround = {},
): Promise<Ran> {
  const { exitCode, text } = await runFor(section, options, around);
  return { exitCode, report: JSON.parse(text) as ConformanceReport };
}

export const USUAL: ProviderTestOptions = {
  provider: 'tested',
  setId: TEST_SET,
  destroyExisting: false,
  pause: false,
  only: [],
  allowDestructive: true,
  timeoutMs: 60_000,
  format: 'json',
  version: '0.0.0',
};

/** A stub with machines that answer SSH, as quick as it can be. */
export const STUB = {
  driver: 'stub',
  ssh: true,
  provisioningTime: '20ms',
  bootTime: '20ms',
  deprovisioningTime: '20ms',
  callsPerSecond: 0,
};

/** The stub, with whatever `change` does to it. */
export function stubWith(
  change: (provider: Provider, context: DriverContext) => Partial<Provider>,
): ReadonlyMap<string, Driver> {
  const driver = createStubDriver();
  const changed: Driver<StubSettings> = {
    ...driver,
    open(settings, context) {
      const provider = driver.open(settings, context);
      return { ...provider, ...change(provider, context) };
    },
  };
  return new Map<string, Driver>([['stub', changed]]);
}

export const outcomes = ({ steps }: ConformanceReport): Readonly<Record<string, string>> =>
  Object.fromEntries(steps.map(({ id, outcome }) => [id, outcome]));

export const resultOf = ({ steps }: ConformanceReport, id: string): StepResult =>
  steps.find((step) => step.id === id)!;

export const skippedIn = ({ steps }: ConformanceReport): Readonly<Record<string, string>> =>
  Object.fromEntries(
    steps
      .filter(({ outcome }) => outcome === 'skipped')
      .map(({ id, message }) => [id, message.replace(/ssh -p \d+/, 'ssh -p PORT')]),
  );

/** Names of the steps that did not come out well, for a readable failure. */
export const badIn = ({ steps }: ConformanceReport): string[] =>
  steps
    .filter(({ outcome }) => outcome === 'failed' || outcome === 'not-run')
    .map(({ id, outcome, message }) => `${id} ${outcome}: ${message}`);
