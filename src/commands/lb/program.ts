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
import { asking, selecting, type VerbFlags } from '../remote/ask-flags.ts';
import { acting, byFlags, remote, type Through } from '../remote/flags.ts';
import type { Verb } from '../remote/verbs.ts';
import type { LetGo } from './let-go.ts';

/** What a command is added with. */
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
    .description('pools at load balancers: look, drain, pause, tear down');
  const adding = { lb, through };
  addReading(adding);
  addDrain(adding);
  addPoolVerb(
    adding,
    'pause',
    'pause-pool',
    'change nothing at the balancers, until it is resumed',
  );
  addPoolVerb(adding, 'resume', 'resume-pool', 'end a pause, or a tear-down');
  addPoolVerb(adding, 'thaw', 'thaw-pool', 'accept what the panic guard froze, and go on');
  addPoolVerb(adding, 'teardown', 'teardown-pool', 'remove all of it from the balancers');
  addForget(lb);
  addTest(lb, version);
}

function addReading({ lb, through }: Adding): void {
  const act = acting(through);
  remote(lb.command('status [pool]'))
    .description('how pools stand at their balancers, and their members')
    .action(act(async () => (await import('./status.ts')).poolStatus));
  remote(lb.command('plan [pool]'))
    .description('what a daemon would do next at the balancers and why; changes nothing')
    .action(act(async () => (await import('../remote/plan.ts')).showPoolPlan));
}

interface DrainFlags extends VerbFlags {
  readonly force: boolean;
  readonly for?: When;
}

const DRAIN_HELP = `
A drained machine gets no new connections from any balancer; those that it has may end, for as long
as the grace time of its pools. It stays out of them until "undrain", or until --for is over. It is a
hold no-serve, and nothing else is forbidden by it.

"drain" waits until all pools of the machines let them go, "undrain" until they serve there again, and
both tell each pool and balancer with its state, connections, and what is the matter. With --wait 0s
it is only asked for. When the time is over nothing is taken back: exit code 3.`;

const DRAIN_WAIT = { text: '10m', ms: 600_000 } as const;

function addDrain({ lb, through }: Adding): void {
  addHold(
    through,
    lb
      .command('drain [machines...]')
      .description('take machines out of their pools, with patience')
      .option('--force', 'though fewer members stay active than a pool is to have', false)
      .option('--for <when>', `ends by itself: ${WHEN_HELP}`, whenOf),
    'drained',
    ({ force, for: when }, nowMs) => ({
      ...{ verb: 'hold', kind: 'no-serve' },
      untilMs: untilMsOf(when, nowMs),
      ...(force && { force }),
    }),
  );
  addHold(
    through,
    lb.command('undrain [machines...]').description('let machines into their pools again'),
    'active',
    () => ({ verb: 'unhold', kind: 'no-serve' }),
  );
}

function addHold(
  through: Through,
  command: Command,
  wanted: LetGo,
  verbOf: (flags: DrainFlags, nowMs: number) => Verb,
): void {
  selecting(command, DRAIN_WAIT.text)
    .addHelpText('after', DRAIN_HELP)
    .action(async (names: readonly string[], flags: DrainFlags) => {
      const { momentOf, runVerb } = await import('../remote/verbs.ts');
      const { untilLetGo } = await import('./let-go.ts');
      const { for: when } = flags;
      const manner = {
        waitMs: DRAIN_WAIT.ms,
        isUntilRelative: when !== undefined && 'forMs' in when,
      };
      // Whoever names each of several has counted them.
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

const POOL_HELP = `
Exit codes: 0 done; 1 refused; 2 wrong usage, nothing was done; 3 filed, but not done within --wait;
4 not signed in or not allowed; 5 no console answers.`;

function addPoolVerb(
  { lb, through }: Adding,
  name: string,
  verb: PoolVerb,
  description: string,
): void {
  const isTeardown = verb === 'teardown-pool';
  const command = asking(lb.command(`${name} <pool>`), isTeardown ? '2m' : '30s')
    .description(description)
    .option('--balancer <name>', 'only at this one');
  if (isTeardown) command.option('--yes', 'do it, and do not only tell', false);
  command
    .addHelpText('after', POOL_HELP)
    .action(acting(through)(async () => (await import('./verbs.ts')).runPoolVerb(verb)));
}

const FORGET_HELP = `
For a pool, or a balancer of it, that no configuration has any more: what is recorded of its members
would keep orders for these machines waiting for ever. Refused while a daemon tends the pool there; one
that tends other pools at that balancer is no obstacle. What is at the balancer is not touched. A daemon
of an earlier version is not noticed: end those first. The history of each machine that was a member tells of it.

Exit codes: 0 done, or told without --yes; 1 refused; 2 wrong usage, nothing was done.`;

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
  configured(lb.command('forget <pool>'))
    .description('remove what is recorded of a pool that no configuration has')
    .option('--database-url <url>', 'for another role; as database.url')
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--by <name>', 'who asks (default: your account)')
    .option('--balancer <name>', 'only at this one')
    .option('--yes', 'do it, and do not only tell', false)
    .option('--json', 'print one line of JSON', false)
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
It makes a pool of its own at the balancer, looks at it, changes it and removes it, whatever happens:
a first Ctrl-C ends the steps and removes what they made, a second one ends at once and says what may be
left. All names end in ".own-<8 digits>.test". Nothing of other pools is touched. Clients are taken in at --address and --port, which nobody else may
use; no connection goes anywhere, since its only machine is at an address for documentation.

Exit codes: 0 passed; 1 failed; 2 wrong usage or configuration; 3 passed, but something was left
behind; 130 interrupted.`;

function addTest(lb: Command, version: string): void {
  const test = lb
    .command('test <driver>')
    .description('put a driver to the test; <driver> may be the name of a configured balancer')
    .requiredOption('--config <file>', 'configuration; only its balancers are read')
    .option('--address <ip>', 'where the test takes clients in', '127.0.0.1')
    .option(
      '--port <port>',
      'and its port (default: one that is free on this machine)',
      wholeNumber(1, 65_535),
    );
  testing(test, { ms: 30 * 60_000, text: '30m' })
    .addHelpText('after', TEST_HELP)
    .action(async (balancer: string, { config, timeout, ...rest }: TestFlags) => {
      const { balancerTest } = await import('./test.ts');
      const options = { ...rest, balancer, configFile: config, timeoutMs: timeout, version };
      process.exitCode = await balancerTest(options);
    });
}
