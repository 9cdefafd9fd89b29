import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Clock, Random } from '../adapters/clock/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import type { Log } from '../adapters/log/port.ts';
import { createPinoLog } from '../adapters/log/pino-log.ts';
import type { Driver } from '../adapters/provider/port.ts';
import { openKeyRing } from '../adapters/ssh/key-ring.ts';
import type { RemoteShell } from '../adapters/ssh/port.ts';
import { createFleetDriverShell } from '../adapters/ssh/driver-shell.ts';
import { createSsh2Shell } from '../adapters/ssh/ssh2-shell.ts';
import { type ProvidersOnly, readProvidersOnly } from '../config/providers-only.ts';
import { readSource } from '../config/source.ts';
import { chooseSteps } from '../conformance/course.ts';
import { printed, type ReportFormat, type ReportNames } from '../conformance/report.ts';
import { runConformance } from '../conformance/run.ts';
import type { ConformanceReport, LeftBehind } from '../conformance/step.ts';
import { STEPS } from '../conformance/steps.ts';
import { PATIENCE, type Patience, type Wishes } from '../conformance/subject.ts';
import { openSshKeys } from '../daemon/ssh-keys.ts';
import { createSubject } from './provider-subject.ts';
import { tellTest, toStderr, type TestAround } from './driver-test.ts';

export interface ProviderTestOptions {
  /** Name of a configured provider, or of a driver that only one provider has. */
  readonly provider: string;
  readonly configFile: string;
  readonly setId: string;
  readonly plan?: string;
  readonly image?: string;
  readonly reservation?: string;
  readonly destroyExisting: boolean;
  readonly command?: string;
  readonly pause: boolean;
  readonly only: readonly string[];
  readonly allowDestructive: boolean;
  readonly timeoutMs: number;
  readonly format: ReportFormat;
  readonly version: string;
}

/** The surroundings of the test. Default: the real world. */
export interface ProviderTestAround extends TestAround {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly drivers?: ReadonlyMap<string, Driver>;
  readonly patience?: Partial<Patience>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Wraps the SSH connections of the steps. */
  readonly overShell?: (shell: RemoteShell) => RemoteShell;
  /** Waits for the tester. */
  readonly pause?: NonNullable<Wishes['pause']>;
}

/**
 * `shepherd provider test`: tests a driver and prints a report. Returns the exit status: 0 passed, 1 failed,
 * 3 passed but left something behind, 130 interrupted.
 * @throws {UsageError} the options or the configuration have mistakes.
 */
export async function providerTest(
  options: ProviderTestOptions,
  around: ProviderTestAround = {},
): Promise<number> {
  const { clock = systemClock, random = systemRandom, overShell = (shell) => shell } = around;
  const { warn = toStderr } = around;
  const log = around.log ?? createPinoLog({ level: 'warn', format: 'auto', ...TERMINAL });
  const steps = chooseSteps(STEPS, options.only);
  const config = readConfig(options, around);
  const ssh = config.ssh();
  const own = ssh === null ? mkdtempSync(join(tmpdir(), 'shepherd-provider-test-')) : null;
  try {
    const keys = await (ssh
      ? openSshKeys(ssh, log)
      : openKeyRing({ path: join(own!, 'key'), log }));
    const reach = { sudo: ssh?.sudo ?? 'auto', clock, log } as const;
    const subject = createSubject(
      {
        config,
        wanted: options.provider,
        setId: options.setId,
        image: options.image ?? null,
        tester: String(process.pid),
        publicKey: keys.publicLine,
        previousKeys: keys.previousLines,
        version: options.version,
        ...(around.drivers && { drivers: around.drivers }),
      },
      { clock, random, log, driverShell: createFleetDriverShell({ ...reach, signers: keys.keys }) },
    );
    const { name, driver, setId } = subject;
    const deps = {
      ...{ subject, clock, random, wishes: wishesOf(options, around.pause ?? askToGoOn) },
      patience: { ...PATIENCE, ...around.patience },
      shell: overShell(createSsh2Shell({ ...reach, signers: keys.keys() })),
      ssh: { port: ssh?.port ?? 22, policy: subject.hostKeyPolicy ?? ssh?.hostKeyPolicy ?? 'tofu' },
    } as const;
    const { timeoutMs, format } = options;
    const onWait = (text: string) => warn(`${text}\n`);
    return await tellTest(
      {
        ...{ format, names: namesOf },
        heading: `Testing provider ${name} (driver ${driver}) with the instance set ${setId}`,
        run: (means) => runConformance(deps, { steps, timeoutMs, onWait, ...means }),
        abandoned: () => 'not cleaned up; machines may be left',
      },
      around,
    );
  } finally {
    if (own !== null) rmSync(own, { recursive: true, force: true });
  }
}

const TERMINAL = { isTerminal: process.stderr.isTTY ?? false };

/** The report in a format. For terminals: the part after the last step. */
export const reportText = (format: ReportFormat, report: ConformanceReport): string =>
  printed(format, report, namesOf(format, report));

const namesOf = (
  format: ReportFormat,
  { provider: name, leftBehind }: ConformanceReport,
): ReportNames => ({
  ...{ kind: 'provider', name },
  left: leftBehind.map(format === 'junit' ? leftInXml : leftText),
});
const leftInXml = ({ id, reason }: LeftBehind): string => `machine ${id ?? 'unknown'}: ${reason}`;
function leftText({ id, reservationId, reason }: LeftBehind): string {
  if (id === null) return `perhaps a machine: ${reason}`;
  return `machine ${id}${reservationId === null ? '' : ` on ${reservationId}`}: ${reason}`;
}

function readConfig(
  { configFile: file }: ProviderTestOptions,
  around: ProviderTestAround,
): ProvidersOnly {
  return readProvidersOnly({
    text: readSource(file),
    name: file,
    around: {
      env: around.env ?? process.env,
      baseDirectory: dirname(resolve(file)),
      checkFiles: true,
    },
    ...(around.drivers && { drivers: around.drivers }),
  });
}

const wishesOf = (options: ProviderTestOptions, pause: NonNullable<Wishes['pause']>): Wishes => ({
  plan: options.plan ?? null,
  reservation: options.reservation ?? null,
  destroyExisting: options.destroyExisting,
  allowDestructive: options.allowDestructive,
  command: options.command ?? null,
  pause: options.pause ? pause : null,
});

/** Prompts on standard error, because standard output has the report. */
async function askToGoOn(line: string, signal: AbortSignal): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    await terminal.question(`Log in with: ${line}\nPress Enter to continue. `, { signal });
  } finally {
    terminal.close();
  }
}
