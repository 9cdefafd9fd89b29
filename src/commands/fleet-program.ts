import type { Command } from 'commander';
import type { GuardVerb } from '../domain/machine.ts';
import { askOptionsOf, asking, reading, tell } from './machine/flags.ts';
import type { AskFlags, ReadFlags } from './machine/flags.ts';

const FREEZE_HELP = `
While it is frozen, no machine is recovered that is not being recovered already, whoever asks for it.
What an operator froze only an operator thaws. After a thaw nothing old is replayed: each machine is
looked at as it is then.

Exit codes: 0 done; 1 refused; 2 wrong usage; 3 filed, but not settled within --wait.`;

/** Adds `fleet` and its commands. */
export function addFleetCommands(cli: Command): void {
  const fleet = cli.command('fleet').description('the guard over recovery: look, freeze, thaw');
  reading(fleet.command('status'))
    .description('whether machines are recovered now, and what stands in the way')
    .action(async (flags: ReadFlags) => {
      const { fleetStatus } = await import('./machine/fleet.ts');
      await tell(flags, (means) => fleetStatus(flags.json, means));
    });
  addGuardVerb(fleet, 'freeze', 'recover nothing, until a thaw');
  addGuardVerb(fleet, 'thaw', 'recover again');
}

function addGuardVerb(fleet: Command, verb: GuardVerb, description: string): void {
  asking(fleet.command(verb), '30s')
    .description(description)
    .option('--provider <name>', 'only machines of this one')
    .addHelpText('after', FREEZE_HELP)
    .action(async ({ provider, ...flags }: AskFlags & { readonly provider?: string }) => {
      const { runGuardVerb } = await import('./machine/fleet.ts');
      const options = { ...askOptionsOf(flags), verb, provider };
      await tell(flags, (means) => runGuardVerb(options, means));
    });
}
