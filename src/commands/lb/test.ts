import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { BALANCER_DRIVERS } from '../../adapters/balancer/drivers.ts';
import type { BalancerDriver } from '../../adapters/balancer/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { silentLog } from '../../adapters/log/port.ts';
import { silentMetrics } from '../../adapters/metrics/port.ts';
import { type BalancerSettings, balancersSchema } from '../../config/sections.ts';
import { describeFaults, faultsOf } from '../../config/faults.ts';
import { noSource, readSource, readYaml } from '../../config/source.ts';
import { runBalancerConformance } from '../../conformance/balancer/run.ts';
import { BALANCER_STEPS } from '../../conformance/balancer/steps.ts';
import { chooseSteps } from '../../conformance/course.ts';
import { exitCodeOf, printed, type ReportFormat, stepLine } from '../../conformance/report.ts';
import { openBalancer } from '../../daemon/balancers.ts';
import { canonicalAddress } from '../../domain/balancing/pools.ts';
import { UsageError } from '../../domain/errors.ts';
import { takeFreePort } from '../../adapters/network/free-port.ts';
import { watchForEnd } from '../signals.ts';

export interface BalancerTestOptions {
  /** A configured balancer's name; or a driver's, where one balancer has it. */
  readonly balancer: string;
  readonly configFile: string;
  /** Where the test's pool takes clients in. */
  readonly address: string;
  /** One that nobody listens on here, and that the system gives to nobody, when absent. */
  readonly port?: number | undefined;
  readonly only: readonly string[];
  /** Of all steps together, and then of the removal. */
  readonly timeoutMs: number;
  readonly format: ReportFormat;
  readonly version: string;
}

/** What it runs in; the real world where nothing else is given. */
export interface BalancerTestAround {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly drivers?: ReadonlyMap<string, BalancerDriver>;
  readonly write?: (text: string) => void;
  /** Ends the test before its time, as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

const READY_MS = 5 * 60_000;

/**
 * `shepherd lb test`: puts the driver of a configured balancer to the test, on a pool of the test's own
 * that is removed again, and prints a report. Answers the exit code: 0 passed, 1 failed, 3 passed and
 * left something behind, 130 interrupted.
 * @throws {UsageError} the options or the configuration have mistakes.
 */
export async function balancerTest(
  options: BalancerTestOptions,
  around: BalancerTestAround = {},
): Promise<number> {
  const { drivers = BALANCER_DRIVERS } = around;
  const write = around.write ?? ((text: string) => void process.stdout.write(text));
  const steps = chooseSteps(BALANCER_STEPS, options.only);
  const address = canonicalAddress(options.address);
  if (address === null) throw new UsageError(`${options.address} is no IP address`);
  const [name, settings] = settingsOf(options, around.env ?? process.env, drivers);
  const [clock, random] = [systemClock, systemRandom];
  const run = random.uuid().slice(0, 8);
  const poolOf = (pool: string) => ({
    pool,
    uid: `shepherd-lb-test-${pool}`,
    suffix: `${pool}.test`,
  });
  const [owner, stranger] = [poolOf(`own-${run}`), poolOf(`other-${run}`)];
  const means = { clock, random, log: silentLog, metrics: silentMetrics, drivers };
  const balancer = openBalancer(name, settings, { ...means, version: options.version });
  const isText = options.format === 'text';
  if (isText) {
    const { driver } = settings;
    write(`Testing balancer ${name} (driver ${driver}) with a pool of its own, ${owner.suffix}\n`);
  }
  const stopping = new AbortController();
  let left: readonly string[] = [];
  const release = around.signal
    ? () => undefined
    : watchForEnd(clock, {
        stop() {
          stopping.abort();
          process.stderr.write(
            'shepherd: what the test made is removed; once more ends it at once\n',
          );
        },
        abandon: () => void process.stderr.write(abandoned(name, owner.suffix, left)),
      });
  try {
    const report = await runBalancerConformance(
      {
        ...{ balancer, owner, stranger, clock, readyMs: READY_MS },
        bind: { address, number: options.port ?? (await takeFreePort(new Set())) },
      },
      {
        ...{ name, driver: settings.driver, steps, timeoutMs: options.timeoutMs },
        signal: around.signal ?? stopping.signal,
        onLeft: (names) => (left = names),
        ...(isText && { onResult: (result) => write(stepLine(result)) }),
      },
    );
    const { format } = options;
    const still = report.leftBehind.map((each) =>
      format === 'junit' ? `left behind: ${each}` : each,
    );
    write(printed(format, report, { kind: 'balancer', name, left: still }));
    return exitCodeOf(report);
  } finally {
    release();
  }
}

const abandoned = (balancer: string, suffix: string, left: readonly string[]): string =>
  [
    `shepherd: this may be left at ${balancer}; remove it by hand, by its name: …${suffix}`,
    ...left.map((each) => `  ${each}`),
    '',
  ].join('\n');

/** Reads `balancers` of the configuration, and nothing else of it. */
function settingsOf(
  { balancer: wanted, configFile }: BalancerTestOptions,
  env: Readonly<Record<string, string | undefined>>,
  drivers: ReadonlyMap<string, BalancerDriver>,
): readonly [name: string, settings: BalancerSettings] {
  const { value } = readYaml(readSource(configFile), configFile);
  const whole = { balancers: (value as { readonly balancers?: unknown }).balancers };
  const around = { env, baseDirectory: dirname(resolve(configFile)), checkFiles: true };
  const schema = z.object({ balancers: balancersSchema(around, drivers) });
  const read = schema.safeParse(whole);
  if (!read.success) {
    const faults = faultsOf(read.error, schema, whole);
    throw new UsageError(describeFaults(faults, { ...noSource, name: configFile }));
  }
  const entries = Object.entries(read.data.balancers);
  const byName = entries.find(([name]) => name === wanted);
  const byDriver = entries.filter(([, { driver }]) => driver === wanted);
  const found = byName ?? (byDriver.length === 1 ? byDriver[0] : undefined);
  if (found) return found;
  const known = entries.map(([name, { driver }]) => `${name} (${driver})`).join(', ') || 'none';
  const what =
    byDriver.length > 1
      ? `${byDriver.length} balancers have the driver ${wanted}: name one of them`
      : `no balancer in ${configFile} is named ${wanted}, or has that driver`;
  throw new UsageError(`${what}; configured: ${known}`);
}
