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
  /** Name of a configured load balancer, or of a driver that only one load balancer has. */
  readonly balancer: string;
  readonly configFile: string;
  /** Address at which the test pool accepts clients. */
  readonly address: string;
  /** Absent: a free port of this computer. */
  readonly port?: number | undefined;
  readonly only: readonly string[];
  /** Limit for all steps together, and once more for the removal. */
  readonly timeoutMs: number;
  readonly format: ReportFormat;
  readonly version: string;
}

/** The surroundings of the test. Default: the real world. */
export interface BalancerTestAround extends TestAround {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly drivers?: ReadonlyMap<string, BalancerDriver>;
}

const READY_MS = 5 * 60_000;

/**
 * `shepherd lb test`: tests the driver of a configured load balancer with a pool of its own, removes the pool,
 * and prints a report. Returns the exit status: 0 passed, 1 failed, 3 passed but left something behind,
 * 130 interrupted.
 * @throws {UsageError} the options or the configuration have mistakes.
 */
export async function balancerTest(
  options: BalancerTestOptions,
  around: BalancerTestAround = {},
): Promise<number> {
  const { drivers = BALANCER_DRIVERS } = around;
  const steps = chooseSteps(BALANCER_STEPS, options.only);
  const address = canonicalAddress(options.address);
  if (address === null) throw new UsageError(`--address ${options.address} is not an IP address`);
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
      stopping: 'removing what the test created; press Ctrl-C again to end at once',
      abandoned: () =>
        [
          `these may be left at ${name}; remove everything named …${owner.suffix} by hand:`,
          ...left.map((each) => `  ${each}`),
        ].join('\n'),
    },
    around,
  );
}

/** Reads only `balancers` of the configuration. */
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
