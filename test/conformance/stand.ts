import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/adapters/log/port.ts';
import {
  providerTest,
  type ProviderTestAround,
  type ProviderTestOptions,
} from '../../src/commands/provider-test.ts';
import type { StepResult } from '../../src/conformance/course.ts';
import type { ConformanceReport } from '../../src/conformance/step.ts';
import type { Patience } from '../../src/conformance/subject.ts';

export const TEST_SET = 'zzzzz-zzzzz-zzzzzzcloudtest';

/** Short enough for a test that waits for something that never comes. */
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

export interface ConformanceRun {
  readonly exitCode: number;
  readonly report: ConformanceReport;
}

export type RunOptions = Partial<ProviderTestOptions> & { readonly ssh?: object };

/** Runs the command in this process, with its own configuration. */
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

/** The same, parsed from JSON. */
export async function runTest(
  section: Readonly<Record<string, unknown>>,
  options: RunOptions = {},
  around: ProviderTestAround = {},
): Promise<ConformanceRun> {
  const { exitCode, text } = await runFor(section, options, around);
  return { exitCode, report: JSON.parse(text) as ConformanceReport };
}

export const USUAL: Omit<ProviderTestOptions, 'configFile'> = {
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

/** Names of the steps that did not pass, for a readable failure. */
export const badIn = ({ steps }: ConformanceReport): string[] =>
  steps
    .filter(({ outcome }) => outcome === 'failed' || outcome === 'not-run')
    .map(({ id, outcome, message }) => `${id} ${outcome}: ${message}`);
