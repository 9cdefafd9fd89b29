import { type Command, InvalidArgumentError, Option } from 'commander';
import type { PoolVerb } from '../../domain/machine.ts';
import { parseDuration } from '../../settings/duration.ts';
import {
  askOptionsOf,
  asking,
  because,
  reading,
  selecting,
  selectorOf,
  tell,
  type AskFlags,
  type ReadFlags,
  type VerbFlags,
} from '../machine/flags.ts';
import { untilMsOf, whenOf, type When } from '../machine/options.ts';
import type { Wish } from '../machine/verbs.ts';
import type { ReportFormat } from '../provider-test.ts';

/** Adds `lb` and its commands; answers it, so that others can be added. */
export function addBalancerCommands(cli: Command, version: string): Command {
  const lb = cli
    .command('lb')
    .description('pools at load balancers: look, drain, pause, tear down');
  reading(lb.command('status [pool]'))
    .description('how pools stand at their balancers, and their members')
    .option('--live', 'ask the balancers, too', false)
    .action(async (pool: string | undefined, flags: ReadFlags & { readonly live: boolean }) => {
      const { poolStatus } = await import('./status.ts');
      const { live, json } = flags;
      await tell(flags, (means) => poolStatus({ pool, live, json, version }, means));
    });
  reading(lb.command('plan [pool]'))
    .description('what a daemon would do next at the balancers and why; changes nothing')
    .action(async (pool: string | undefined, flags: ReadFlags) => {
      const { poolPlan } = await import('./plan.ts');
      await tell(flags, (means) => poolPlan({ pool, json: flags.json, version }, means));
    });
  addDrain(lb);
  addPoolVerb(lb, 'pause', 'pause-pool', 'change nothing at the balancers, until it is resumed');
  addPoolVerb(lb, 'resume', 'resume-pool', 'end a pause, or a tear-down');
  addPoolVerb(lb, 'thaw', 'thaw-pool', 'accept what the panic guard froze, and go on');
  addPoolVerb(lb, 'teardown', 'teardown-pool', 'remove all of it from the balancers');
  addForget(lb);
  addTest(lb, version);
  return lb;
}

interface TestFlags {
  readonly config: string;
  readonly address: string;
  readonly port: number;
  readonly only: readonly string[];
  readonly timeout: number;
  readonly format: ReportFormat;
}

const TEST_HELP = `
It makes a pool of its own at the balancer, looks at it, changes it and removes it, whatever happens.
Nothing of other pools is touched. Clients are taken in at --address and --port, which nobody else may
use; no connection goes anywhere, since its only machine is at an address for documentation.

Exit codes: 0 passed; 1 failed; 2 wrong usage or configuration; 3 passed, but something was left
behind; 130 interrupted.`;

function addTest(lb: Command, version: string): void {
  lb.command('test <driver>')
    .description('put a driver to the test; <driver> may be the name of a configured balancer')
    .requiredOption('--config <file>', 'configuration; only its balancers are read')
    .option('--address <ip>', 'where the test takes clients in', '127.0.0.1')
    .option('--port <port>', 'and its port', portOf, 42_037)
    .option('--only <ids>', 'only these steps, and what they build on; commas between', wordsOf, [])
    .addOption(
      new Option('--timeout <duration>', 'of all steps together')
        .argParser(durationOf)
        .default(30 * 60_000, '30m'),
    )
    .addOption(
      new Option('--format <format>', 'of the report')
        .choices(['text', 'json', 'junit'])
        .default('text'),
    )
    .addHelpText('after', TEST_HELP)
    .action(async (balancer: string, { config, timeout, ...rest }: TestFlags) => {
      const { balancerTest } = await import('./test.ts');
      const options = { ...rest, balancer, configFile: config, timeoutMs: timeout, version };
      process.exitCode = await balancerTest(options);
    });
}

const PORT_MAX = 65_535;
const portOf = (text: string): number => {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= PORT_MAX) return Number(text);
  throw new InvalidArgumentError('Give a port from 1 to 65535.');
};
const durationOf = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs !== null && durationMs > 0) return durationMs;
  throw new InvalidArgumentError('Give a duration such as 30m or 2h.');
};
const wordsOf = (text: string, before: readonly string[]): string[] => [
  ...before,
  ...text.split(',').map((word) => word.trim()),
];

interface DrainFlags extends VerbFlags {
  readonly force: boolean;
  readonly for?: When;
}

const DRAIN_HELP = `
A drained machine gets no new connections from any balancer; those that it has may end, for as long
as the grace time of its pools. It stays out of them until "undrain", or until --for is over. It is a
hold no-serve, and nothing else is forbidden by it. "shepherd lb status" tells how far it is.`;

function addDrain(lb: Command): void {
  addHold(
    lb
      .command('drain [machines...]')
      .description('take machines out of their pools, with patience')
      .option('--force', 'though fewer members stay active than a pool is to have', false)
      .option('--for <duration>', 'ends by itself: after 2h, or at 2025-12-01T10:00:00Z', whenOf),
    ({ force, for: when }, nowMs) => ({
      verb: 'hold',
      kind: 'no-serve',
      untilMs: untilMsOf(when, nowMs),
      ...(force && { force }),
    }),
  );
  addHold(
    lb.command('undrain [machines...]').description('let machines into their pools again'),
    () => ({ verb: 'unhold', kind: 'no-serve' }),
  );
}

function addHold(command: Command, wishOf: (flags: DrainFlags, nowMs: number) => Wish): void {
  selecting(command, '30s')
    .addHelpText('after', DRAIN_HELP)
    .action(async (names: readonly string[], flags: DrainFlags) => {
      const { runVerb } = await import('../machine/verb.ts');
      const [name, ...others] = names;
      const selector =
        others.length === 0
          ? selectorOf(name, flags)
          : { ...selectorOf(undefined, flags), slots: [...names, ...(flags.slots ?? [])] };
      const options = {
        ...askOptionsOf(flags),
        selector,
        // Who names each of them has counted them.
        expectCount: others.length === 0 ? flags.expectCount : (flags.expectCount ?? names.length),
        dryRun: flags.dryRun,
        yes: false,
        wish: (nowMs: number) => wishOf(flags, nowMs),
      };
      await tell(flags, (means) => runVerb(options, means));
    });
}

interface PoolFlags extends AskFlags {
  readonly balancer?: string;
  readonly yes?: boolean;
}

const POOL_HELP = `
Exit codes: 0 done; 1 refused; 2 wrong usage, nothing was done; 3 filed, but not done within --wait.`;

function addPoolVerb(lb: Command, name: string, verb: PoolVerb, description: string): void {
  const isTeardown = verb === 'teardown-pool';
  const command = asking(lb.command(`${name} <pool>`), isTeardown ? '2m' : '30s')
    .description(description)
    .option('--balancer <name>', 'only at this one');
  if (isTeardown) command.option('--yes', 'do it, and do not only tell', false);
  command
    .addHelpText('after', POOL_HELP)
    .action(async (pool: string, { balancer, yes = false, ...flags }: PoolFlags) => {
      const { runPoolVerb } = await import('./verbs.ts');
      const options = { ...askOptionsOf(flags), verb, pool, balancer, yes };
      await tell(flags, (means) => runPoolVerb(options, means));
    });
}

const FORGET_HELP = `
For a pool, or a balancer of it, that no configuration has any more: what is recorded of its members
would keep orders for these machines waiting for ever. Refused while a daemon writes to that balancer.
What is at the balancer is not touched.

Exit codes: 0 done, or told without --yes; 1 refused; 2 wrong usage, nothing was done.`;

type ForgetFlags = ReadFlags & PoolFlags;

function addForget(lb: Command): void {
  because(reading(lb.command('forget <pool>')))
    .description('remove what is recorded of a pool that no configuration has')
    .option('--balancer <name>', 'only at this one')
    .option('--yes', 'do it, and do not only tell', false)
    .addHelpText('after', FORGET_HELP)
    .action(async (pool: string, { yes = false, ...flags }: ForgetFlags) => {
      const { forgetPool } = await import('./forget.ts');
      const { balancer, by, reason, json } = flags;
      await tell(flags, (means) => forgetPool({ pool, balancer, by, reason, yes, json }, means));
    });
}
