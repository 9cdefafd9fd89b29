import type { Command } from 'commander';
import type { PoolVerb } from '../../domain/machine.ts';
import {
  askOptionsOf,
  asking,
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
  return lb;
}

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
