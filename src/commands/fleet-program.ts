import { type Command, Option } from 'commander';
import { countOf, WHEN_HELP, whenOf } from './options.ts';
import { PROVIDER_HOLD_KINDS } from '../domain/verbs.ts';
import { asking } from './remote/ask-flags.ts';
import { acting, byFlags, remote, type Through } from './remote/flags.ts';
import type { ScopeFlags } from './remote/verbs.ts';

const FREEZE_HELP = `
While it is frozen, no machine is recovered that is not being recovered already, whoever asks for it.
A freeze by an operator lasts until an operator thaws it, or until --for is over. A second freeze
replaces the end. At the end the guard judges the fleet before anything is recovered. After a thaw nothing old is replayed: each machine is
looked at as it is then.

Exit codes: 0 done; 1 refused; 2 wrong usage; 3 filed, but not settled within --wait; 4 not signed in
or not allowed; 5 no console answers.`;

/** Adds `status`, `plan`, and `fleet` and its commands. */
export function addFleetCommands(cli: Command, through: Through = byFlags): void {
  const act = acting(through);
  const fleetCommands = () => import('./remote/fleet.ts');
  remote(cli.command('status'))
    .description('what needs a person, what is being done, and when the next thing happens')
    .action(act(async () => (await fleetCommands()).showStatus));
  remote(cli.command('plan [provider]'))
    .description('what would be done now and why; changes nothing')
    .action(act(async () => (await import('./remote/plan.ts')).showPlan));
  const fleet = cli.command('fleet').description('the guard over recovery: look, freeze, thaw');
  remote(fleet.command('status'))
    .description('whether machines are recovered now, and what stands in the way')
    .action(act(async () => (await fleetCommands()).fleetStatus));
  const verbs = {
    freeze: 'recover nothing, until a thaw or for a time',
    thaw: 'recover again',
  } as const;
  for (const verb of ['freeze', 'thaw'] as const) {
    const command = asking(fleet.command(verb), '30s')
      .description(verbs[verb])
      .option('--provider <name>', 'only machines of this one')
      .addHelpText('after', FREEZE_HELP)
      .action(
        act(async () => {
          const { askForScope } = await import('./remote/verbs.ts');
          return (session, flags: ScopeFlags) => askForScope(session, verb, flags);
        }),
      );
    if (verb === 'freeze') command.option('--for <when>', `ends by itself: ${WHEN_HELP}`, whenOf);
  }
}

/** Adds to `provider` what looks at providers, and ends their holds. */
export function addProviderReading(provider: Command, through: Through = byFlags): void {
  const act = acting(through);
  const providerCommands = () => import('./remote/providers.ts');
  remote(provider.command('status [provider]'))
    .description('what must not be asked of it for now, its shelf, its unfinished creations')
    .action(act(async () => (await providerCommands()).providerStatus));
  asking(provider.command('clear <provider> [slots...]'), '30s', 'it is over')
    .description('take slots off the shelf, or end holds, before their time')
    .option('--all-slots', 'every slot on the shelf; with --expect-count', false)
    .option('--expect-count <n>', 'how many slots that are', countOf)
    .addOption(
      new Option('--hold <kind>', 'end all holds of this kind instead').choices(
        PROVIDER_HOLD_KINDS,
      ),
    )
    .action(act(async () => (await providerCommands()).clearProvider));
}
