import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { BALANCER_DRIVERS } from '../../adapters/balancer/drivers.ts';
import type { BalancerDriver } from '../../adapters/balancer/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { silentLog } from '../../adapters/log/port.ts';
import { silentMetrics } from '../../adapters/metrics/port.ts';
import { type BalancerSettings, balancersSchema } from '../../config/sections.ts';
import { checkedPart } from '../../config/faults.ts';
import { readSource, readYaml } from '../../config/source.ts';
import { runBalancerConformance } from '../../conformance/balancer/run.ts';
import { BALANCER_STEPS } from '../../conformance/balancer/steps.ts';
import { chooseSteps } from '../../conformance/course.ts';
import type { ReportFormat } from '../../conformance/report.ts';
import { openBalancer } from '../../daemon/balancers.ts';
import { canonicalAddress } from '../../domain/balancing/pools.ts';
import { UsageError } from '../../domain/errors.ts';
import { takeFreePort } from '../../adapters/network/free-port.ts';
import { byNameOrDriver, tellTest, type TestAround } from '../driver-test.ts';

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
export interface BalancerTestAround extends TestAround {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly drivers?: ReadonlyMap<string, BalancerDriver>;
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
  const steps = chooseSteps(BALANCER_STEPS, options.only);
  const address = canonicalAddress(options.address);
  if (address === null) throw new UsageError(`${options.address} is no IP address`);
  const [name, settings] = settingsOf(options, around.env ?? process.env, drivers);
  const [clock, random] = [systemClock, systemRandom];
  const mark = random.uuid().slice(0, 8);
  const poolOf = (pool: string) => ({
    pool,
    uid: `shepherd-lb-test-${pool}`,
    suffix: `${pool}.test`,
  });
  const [owner, stranger] = [poolOf(`own-${mark}`), poolOf(`other-${mark}`)];
  const means = { clock, random, log: silentLog, metrics: silentMetrics, drivers };
  const balancer = openBalancer(name, settings, { ...means, version: options.version });
  const { driver } = settings;
  const { format, timeoutMs, port } = options;
  let left: readonly string[] = [];
  const bind = { address, number: port ?? (await takeFreePort(new Set())) };
  const subject = { balancer, owner, stranger, clock, readyMs: READY_MS, bind };
  const run = {
    name,
    driver,
    steps,
    timeoutMs,
    onLeft: (names: readonly string[]) => (left = names),
  };
  return tellTest(
    {
      format,
      heading: `Testing balancer ${name} (driver ${driver}) with a pool of its own, ${owner.suffix}`,
      run: (means) => runBalancerConformance(subject, { ...run, ...means }),
      names: (form, { leftBehind }) => ({
        ...{ kind: 'balancer', name },
        left: leftBehind.map((each) => (form === 'junit' ? `left behind: ${each}` : each)),
      }),
      stopping: 'what the test made is removed; once more ends it at once',
      abandoned: () =>
        [
          `this may be left at ${name}; remove it by hand, by its name: …${owner.suffix}`,
          ...left.map((each) => `  ${each}`),
        ].join('\n'),
    },
    around,
  );
}

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
  const { balancers } = checkedPart(schema, whole, configFile);
  return byNameOrDriver('balancer', wanted, Object.entries(balancers));
}
