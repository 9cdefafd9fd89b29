import { type Command, Option } from 'commander';
import { CHOOSING, examples, inGroup } from './help.ts';
import { addRolls } from './roll-program.ts';
import { countOf, WHEN_HELP, wholeNumber, whenOf } from './options.ts';
import { FAILURE_KINDS } from '../domain/failures.ts';
import { PROVIDER_HOLD_KINDS } from '../domain/verbs.ts';
import { asking } from './remote/ask-flags.ts';
import { acting, byFlags, remote, type Through } from './remote/flags.ts';
import type { ScopeFlags } from './remote/verbs.ts';

const FREEZE_HELP = `
A freeze stops new recoveries, also those that an operator requests. Recoveries that are under way go on. A freeze by an
operator lasts until an operator thaws it, or until --for is over. A second freeze replaces the end. After
a freeze daemons look at each machine as it is then.`;

const FREEZE_EXAMPLES = {
  freeze: [
    "shepherd fleet freeze --reason 'network maintenance until 14:00'",
    "shepherd fleet freeze --provider rack --for 2h --reason 'power test'",
  ],
  thaw: ["shepherd fleet thaw --reason 'maintenance is over'"],
} as const;

/** Adds `status`, `plan`, `stats`, and `fleet` and its commands. */
export function addFleetCommands(cli: Command, through: Through = byFlags): void {
  const act = acting(through);
  const fleetCommands = () => import('./remote/fleet.ts');
  examples(
    remote(cli.command('status'))
      .description('Show what needs a person, what daemons do now, and when they act next')
      .action(act(async () => (await fleetCommands()).showStatus)),
    'shepherd status',
    'shepherd status -o json',
  );
  examples(
    remote(cli.command('plan'))
      .argument('[provider]', 'Name of a provider. Default: all')
      .description('Show what daemons would do next, and why. Changes nothing')
      .action(act(async () => (await import('./remote/plan.ts')).showPlan)),
    'shepherd plan',
    'shepherd plan hetzner',
  );
  examples(
    remote(cli.command('stats').description('Show statistics of the fleet').command('failures'))
      .description('Show which kinds of machines need recovery most often, and what heals them')
      .addOption(
        new Option('--by <kind>', 'Group the machines by this')
          .choices(FAILURE_KINDS)
          .default('plan'),
      )
      .option('--since <duration>', 'Count recoveries of this time, at most 400d', '90d')
      .action(act(async () => (await import('./remote/stats.ts')).showFailures)),
    'shepherd stats failures --by model',
    'shepherd stats failures --by location --since 30d -o json',
  );
  const fleet = cli
    .command('fleet')
    .description('Look at the guard over recovery, freeze, thaw; give machines back');
  examples(
    remote(fleet.command('status'))
      .description('Show whether daemons recover machines now, and what prevents it')
      .action(act(async () => (await fleetCommands()).fleetStatus)),
    'shepherd fleet status',
  );
  const verbs = {
    freeze: 'Stop recovery of the fleet or of one provider, until a thaw or for a time',
    thaw: 'End a freeze: recover machines again',
  } as const;
  for (const verb of ['freeze', 'thaw'] as const) {
    const command = asking(fleet.command(verb), '30s')
      .description(verbs[verb])
      .option('--provider <name>', 'Only machines of this provider')
      .action(
        act(async () => {
          const { askForScope } = await import('./remote/verbs.ts');
          return (session, flags: ScopeFlags) => askForScope(session, verb, flags);
        }),
      );
    if (verb === 'freeze') {
      command.option(
        '--for <when>',
        `End the freeze by itself after this time: ${WHEN_HELP}`,
        whenOf,
      );
    }
    examples(command, ...FREEZE_EXAMPLES[verb]).addHelpText('after', FREEZE_HELP);
  }
  addScale(fleet, act);
  addRolls(fleet, act);
}

const SCALE_HELP = `
Retired and quarantined machines go first, then those that do not run, then those in no pool, then the
youngest. Their load balancers drain them first. Their slots stay free until "shepherd machine unhold".`;

function addScale(fleet: Command, act: ReturnType<typeof acting>): void {
  const scale = asking(fleet.command('scale'), '30s')
    .argument('<provider>', 'Name of the provider')
    .argument('<machines>', 'Number of machines that stay', wholeNumber(0, 1_000_000))
    .description('Give back the least useful machines of a provider, until this number stays')
    .option('--yes', 'Really do it. Without this the command only shows what would happen', false)
    .action(act(async () => (await import('./remote/scale.ts')).scaleProvider));
  inGroup(CHOOSING, scale, (choosing) =>
    choosing.option('--dry-run', 'Show what would happen and ask for nothing', false),
  );
  examples(
    scale,
    "shepherd fleet scale hetzner 40 --dry-run --reason 'less load'",
    "shepherd fleet scale hetzner 40 --yes --reason 'less load'",
  ).addHelpText('after', SCALE_HELP);
}

/** Adds to `provider` the commands that show providers and end their holds. */
export function addProviderReading(provider: Command, through: Through = byFlags): void {
  const act = acting(through);
  const providerCommands = () => import('./remote/providers.ts');
  examples(
    remote(provider.command('status'))
      .argument('[provider]', 'Name of a provider. Default: all')
      .description('Show holds, failed slots and unfinished creations of providers')
      .action(act(async () => (await providerCommands()).providerStatus)),
    'shepherd provider status',
    'shepherd provider status hetzner -o json',
  );
  examples(
    asking(provider.command('clear'), '30s', 'capacity is back')
      .argument('<provider>', 'Name of the provider')
      .argument('[slots...]', 'Slots to try again, by their IDs')
      .description('Try failed slots again, or end holds of a provider, before their time')
      .option('--all-slots', 'Try every failed slot again. Needs --expect-count', false)
      .option('--expect-count <n>', 'Refuse unless exactly this many slots are selected', countOf)
      .addOption(
        new Option('--hold <kind>', 'End all holds of this kind instead').choices(
          PROVIDER_HOLD_KINDS,
        ),
      )
      .action(act(async () => (await providerCommands()).clearProvider)),
    'shepherd provider clear rack b4-09 b4-10',
    'shepherd provider clear hetzner --hold throttle',
    'shepherd provider clear rack --all-slots --expect-count 3',
  );
}
