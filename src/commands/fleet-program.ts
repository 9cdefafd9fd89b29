import type { Command } from 'commander';
import type { GuardVerb } from '../domain/verbs.ts';
import { asking, type AskFlags } from './remote/ask-flags.ts';
import { byFlags, remote, type CommonFlags, type Through } from './remote/flags.ts';

const FREEZE_HELP = `
While it is frozen, no machine is recovered that is not being recovered already, whoever asks for it.
What an operator froze only an operator thaws. After a thaw nothing old is replayed: each machine is
looked at as it is then.

Exit codes: 0 done; 1 refused; 2 wrong usage; 3 filed, but not settled within --wait; 4 not signed in
or not allowed; 5 no console answers.`;

/** Adds `status`, and `fleet` and its commands. */
export function addFleetCommands(cli: Command, through: Through = byFlags): void {
  remote(cli.command('status'))
    .description('what needs a person, what is being done, and when the next thing happens')
    .action(async (flags: CommonFlags) => {
      const { showStatus } = await import('./remote/fleet.ts');
      await through(flags, showStatus);
    });
  const fleet = cli.command('fleet').description('the guard over recovery: look, freeze, thaw');
  remote(fleet.command('status'))
    .description('whether machines are recovered now, and what stands in the way')
    .action(async (flags: CommonFlags) => {
      const { fleetStatus } = await import('./remote/fleet.ts');
      await through(flags, fleetStatus);
    });
  addGuardVerb(fleet, through, { verb: 'freeze', description: 'recover nothing, until a thaw' });
  addGuardVerb(fleet, through, { verb: 'thaw', description: 'recover again' });
}

function addGuardVerb(
  fleet: Command,
  through: Through,
  { verb, description }: { readonly verb: GuardVerb; readonly description: string },
): void {
  asking(fleet.command(verb), '30s')
    .description(description)
    .option('--provider <name>', 'only machines of this one')
    .addHelpText('after', FREEZE_HELP)
    .action(async (flags: AskFlags & { readonly provider?: string }) => {
      const { runGuardVerb } = await import('./remote/guard.ts');
      await through(flags, (session) => runGuardVerb(verb, flags, session));
    });
}
