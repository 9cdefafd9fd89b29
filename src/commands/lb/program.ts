import type { Command } from 'commander';
import type { ReportFormat } from '../../conformance/report.ts';
import type { PoolVerb } from '../../domain/verbs.ts';
import {
  configured,
  testing,
  untilMsOf,
  WHEN_HELP,
  whenOf,
  wholeNumber,
  type When,
} from '../options.ts';
import { examples } from '../help.ts';
import { asking, MACHINE, selecting, type VerbFlags } from '../remote/ask-flags.ts';
import { acting, byFlags, jsonOption, remote, type Through } from '../remote/flags.ts';
import type { Verb } from '../remote/verbs.ts';
import type { LetGo } from './drain-progress.ts';

/** Where a command is added, and how it reaches a console. */
interface Adding {
  readonly lb: Command;
  readonly through: Through;
}

/** Adds `lb` and its commands. */
export function addBalancerCommands(
  cli: Command,
  version: string,
  through: Through = byFlags,
): void {
  const lb = cli
    .command('lb')
    .description('Look at load balancer pools, drain machines, pause and tear down pools');
  const adding = { lb, through };
  addReading(adding);
  addDrain(adding);
  for (const each of POOL_COMMANDS) addPoolVerb(adding, each);
  addForget(lb);
  addTest(lb, version);
}

function addReading({ lb, through }: Adding): void {
  const act = acting(through);
  examples(
    remote(lb.command('status'))
      .argument('[pool]', 'Name of a pool. Default: all')
      .description('Show pools, their members, and their state at each load balancer')
      .action(act(async () => (await import('./status.ts')).poolStatus)),
    'shepherd lb status',
    'shepherd lb status web -o json',
  );
  examples(
    remote(lb.command('plan'))
      .argument('[pool]', 'Name of a pool. Default: all')
      .description(
        'Show what daemons would change next at load balancers, and why. Changes nothing',
      )
      .action(act(async () => (await import('../remote/plan.ts')).showPoolPlan)),
    'shepherd lb plan web',
  );
}

interface DrainFlags extends VerbFlags {
  readonly force: boolean;
  readonly for?: When;
}

const DRAIN_HELP = `
Load balancers send no new connections to a drained machine. Open connections may end within the grace
time of its pools. The machine stays out of its pools until "undrain", or until --for is over: the
command puts a hold no-serve on the machine.

"drain" waits until all pools have released the machines, "undrain" until the machines serve again. Both
report each pool and load balancer. --wait 0s only sends the request. After --wait the exit status is 3,
and the drain goes on.`;

const DRAIN_WAIT = { text: '10m', ms: 600_000 } as const;

function addDrain({ lb, through }: Adding): void {
  addHold(
    through,
    lb
      .command('drain')
      .argument('[machines...]', MACHINE)
      .description('Take machines out of their pools, and wait for their connections to end')
      .option('--force', 'Even if too few members of a pool stay active', false)
      .option('--for <when>', `End the drain by itself: ${WHEN_HELP}`, whenOf),
    [
      "shepherd lb drain rack/b4-07 --for 2h --reason 'disk swap'",
      "shepherd lb drain rack/b4-07 rack/b4-08 --wait 20m --reason 'kernel 6.12'",
    ],
    'drained',
    ({ force, for: when }, nowMs) => ({
      ...{ verb: 'hold', kind: 'no-serve' },
      untilMs: untilMsOf(when, nowMs),
      ...(force && { force }),
    }),
  );
  addHold(
    through,
    lb
      .command('undrain')
      .argument('[machines...]', MACHINE)
      .description('Let machines serve in their pools again'),
    ["shepherd lb undrain rack/b4-07 --reason 'disk swapped'"],
    'active',
    () => ({ verb: 'unhold', kind: 'no-serve' }),
  );
}

function addHold(
  through: Through,
  command: Command,
  lines: readonly string[],
  wanted: LetGo,
  verbOf: (flags: DrainFlags, nowMs: number) => Verb,
): void {
  examples(selecting(command, DRAIN_WAIT.text), ...lines)
    .addHelpText('after', DRAIN_HELP)
    .action(async (names: readonly string[], flags: DrainFlags) => {
      const { momentOf, runVerb } = await import('../remote/verbs.ts');
      const { untilLetGo } = await import('./drain-progress.ts');
      const { for: when } = flags;
      const manner = { waitMs: DRAIN_WAIT.ms, isRelative: when !== undefined && 'forMs' in when };
      // A list of names is a count, so that it needs no --expect-count.
      const counted = names.length > 1 && {
        expectCount: flags.expectCount ?? names.length + (flags.slots ?? []).length,
      };
      await through(flags, async (session) => {
        const nowMs = when === undefined ? 0 : await momentOf(session.client);
        const asked = { ...flags, ...counted, ...manner, follow: untilLetGo(wanted, session) };
        return runVerb(session, verbOf(flags, nowMs), names, asked);
      });
    });
}

interface PoolCommand {
  readonly name: string;
  readonly verb: PoolVerb;
  readonly description: string;
  readonly example: string;
}

const POOL_COMMANDS: readonly PoolCommand[] = [
  {
    name: 'pause',
    verb: 'pause-pool',
    description: 'Change nothing at the load balancers of a pool until it is resumed',
    example: "shepherd lb pause web --reason 'load balancer upgrade'",
  },
  {
    name: 'resume',
    verb: 'resume-pool',
    description: 'End a pause or a tear-down of a pool',
    example: "shepherd lb resume web --reason 'upgrade is done'",
  },
  {
    name: 'thaw',
    verb: 'thaw-pool',
    description: 'Accept the changes that the panic guard stopped, and go on',
    example: "shepherd lb thaw web --reason 'these machines are gone'",
  },
  {
    name: 'teardown',
    verb: 'teardown-pool',
    description: 'Remove everything of a pool from its load balancers',
    example: "shepherd lb teardown old-web --yes --reason 'replaced by web'",
  },
];

function addPoolVerb({ lb, through }: Adding, { name, verb, description, example }: PoolCommand) {
  const isTeardown = verb === 'teardown-pool';
  const command = asking(lb.command(name), isTeardown ? '2m' : '30s')
    .argument('<pool>', 'Name of the pool')
    .description(description)
    .option('--balancer <name>', 'Only at this load balancer');
  if (isTeardown) {
    const text = 'Really do it. Without this the command only shows what would happen';
    command.option('--yes', text, false);
  }
  examples(command, example).action(
    acting(through)(async () => (await import('./verbs.ts')).runPoolVerb(verb)),
  );
}

const FORGET_HELP = `
Use this for a pool, or for a load balancer of a pool, that no configuration has any more. Its recorded
members would block orders for their machines forever. The command touches nothing at the load balancer.
It refuses while a daemon manages the pool there. It does not notice daemons of earlier versions: stop
them first. The history of each machine that was a member records the removal.`;

interface ForgetFlags {
  readonly config: string;
  readonly databaseUrl?: string;
  readonly json: boolean;
  readonly by?: string;
  readonly reason: string;
  readonly balancer?: string;
  readonly yes: boolean;
}

function addForget(lb: Command): void {
  const command = configured(lb.command('forget'))
    .argument('<pool>', 'Name of the pool')
    .description('Delete the records of a pool that no configuration has any more')
    .option(
      '--database-url <url>',
      'Use this URL instead of database.url, for another database role',
    )
    .requiredOption('--reason <text>', 'Why you ask for this. The history shows it')
    .option('--by <name>', 'Your name, for the history (default: your account)')
    .option('--balancer <name>', 'Only at this load balancer')
    .option('--yes', 'Really do it. Without this the command only shows what would happen', false)
    .addOption(jsonOption());
  examples(
    command,
    "shepherd lb forget old-web --config /etc/shepherd/shepherd.yaml --yes --reason 'renamed'",
  )
    .addHelpText('after', FORGET_HELP)
    .action(async (pool: string, { config: file, databaseUrl, json, ...flags }: ForgetFlags) => {
      const { forgetPool } = await import('./forget.ts');
      const { withDatabase } = await import('../database.ts');
      const { accountName } = await import('../bootstrap.ts');
      const { locally } = await import('../remote/session.ts');
      await locally({ json }, () =>
        withDatabase({ file, url: databaseUrl }, (bmdb, config) =>
          forgetPool({ by: accountName(), ...flags, pool }, { bmdb, config }),
        ),
      );
    });
}

interface TestFlags {
  readonly config: string;
  readonly address: string;
  readonly port?: number;
  readonly only: readonly string[];
  readonly timeout: number;
  readonly format: ReportFormat;
}

const TEST_HELP = `
The test creates a pool of its own at the load balancer, looks at it, changes it and removes it, whatever
happens. All names end in ".own-<8 digits>.test"; the test touches no other pool. Nobody else may use
--address and --port. The only machine of the pool has an address for documentation, so no connection
goes anywhere. The first Ctrl-C stops the test and cleans up. The second ends at once and lists what may
be left behind.

Exit status: 0 passed, 1 failed, 2 wrong usage or configuration, 3 passed but something was left
behind, 130 interrupted.`;

function addTest(lb: Command, version: string): void {
  const test = lb
    .command('test')
    .argument('<driver>', 'A driver, or the name of a configured load balancer')
    .description('Test a load balancer driver with a pool that the test creates')
    .requiredOption('--config <file>', 'Configuration file. Only "balancers" is read')
    .option('--address <ip>', 'Address at which the test pool accepts clients', '127.0.0.1')
    .option(
      '--port <port>',
      'Port at which the test pool accepts clients (default: a free port)',
      wholeNumber(1, 65_535),
    );
  examples(test, 'shepherd lb test edge --config test.yaml --address 10.0.0.9 --port 18080');
  testing(test, { ms: 30 * 60_000, text: '30m' })
    .addHelpText('after', TEST_HELP)
    .action(async (balancer: string, { config, timeout, ...rest }: TestFlags) => {
      const { balancerTest } = await import('./test.ts');
      const options = { ...rest, balancer, configFile: config, timeoutMs: timeout, version };
      process.exitCode = await balancerTest(options);
    });
}
