import { userInfo } from 'node:os';
import type { Command } from 'commander';

interface DeprovisionFlags {
  readonly config: string;
  readonly url?: string;
  readonly by: string;
  readonly reason: string;
  readonly yes: boolean;
}

const DEPROVISION_HELP = `
The device is deleted at its provider, with everything on its disks. Without --yes it is only told what
would be done. A hold "preserve" on the machine refuses it. The request is carried out by a daemon; its
progress is on the machine's page and in "shepherd db show <machine>".`;

/** Adds `machine` and its commands. */
export function addMachineCommands(cli: Command): void {
  const machine = cli.command('machine').description('ask for something to be done to a machine');
  machine
    .command('deprovision <machine>')
    .description('give a machine back to its provider')
    .requiredOption('--config <file>', 'configuration, YAML')
    .option('--url <url>', 'instead of database.url, in the same form: for another role')
    .requiredOption('--reason <text>', 'why, for the history')
    .option('--by <name>', 'who asks', userInfo().username)
    .option('--yes', 'ask for it, and do not only tell', false)
    .addHelpText('after', DEPROVISION_HELP)
    .action(async (id: string, { config, ...rest }: DeprovisionFlags) => {
      const { deprovision } = await import('./machine-deprovision.ts');
      process.stdout.write(`${await deprovision({ ...rest, file: config, machine: id })}\n`);
    });
}
