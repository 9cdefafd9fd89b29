import { type Command, Option } from 'commander';
import { ORDER_VERBS } from '../domain/verbs.ts';
import { CHOOSING, examples, inGroup, REQUEST } from './help.ts';
import { countOf, durationOf, wholeNumber } from './options.ts';
import { remote, type acting } from './remote/flags.ts';

const HELP = `
Any daemon carries the action on: the command may end, and daemons may restart. Machines get their orders
in batches. A batch is over when each machine is healthy again. Freezes, maintenance windows, load
balancers and the recovery budget hold, as for a single order. The first failure stops it.

A terminal shows a bar; other outputs get a line for each change. Exit status: 0 the action is done,
1 it stopped, was aborted, or failed on a machine.`;

/** Adds `fleet roll`, its commands, and `fleet rolls`. */
export function addRolls(fleet: Command, act: ReturnType<typeof acting>): void {
  const commands = () => import('./remote/rolls.ts');
  const roll = fleet
    .command('roll')
    .description('Restart agents, reboot or reinstall many machines in batches');
  const start = inGroup(CHOOSING, remote(roll.command('start', { isDefault: true })), (choosing) =>
    choosing.option('--dry-run', 'Show what would happen and ask for nothing', false),
  );
  inGroup(REQUEST, start, (request) =>
    request.requiredOption('--reason <text>', 'Why you ask for this. The history shows it'),
  );
  examples(
    start
      .description('Begin a rolling action, and show how it goes on')
      .addOption(
        new Option('--action <verb>', 'What happens to each machine')
          .choices(ORDER_VERBS)
          .makeOptionMandatory(),
      )
      .requiredOption('--filter <text>', 'Only machines that match, as in "shepherd machines"')
      .option('--canary <n>', 'Machines in the first batch', wholeNumber(0, 10_000), 1)
      .option('--batch <n>', 'Machines in each other batch: a number, or a share such as 5%', '5%')
      .addOption(
        new Option('--pause <duration>', 'Pause after each batch')
          .argParser(durationOf)
          .default(600_000, '10m'),
      )
      .option('--no-stop-on-failure', 'Go on after a failure, with the next machines')
      .option('--no-drain', 'Do not wait for load balancers. Open connections are cut')
      .option('--expect-count <n>', 'Refuse unless exactly this many machines match', countOf)
      .option('--yes', 'Really reinstall. Without this the command only shows the batches', false)
      .option('--no-wait', 'Do not wait for the end')
      .action(act(async () => (await commands()).startRoll)),
    "shepherd fleet roll --action reboot --filter 'provider:hetzner' --dry-run --reason 'new kernel'",
    "shepherd fleet roll --action reboot --filter 'label:rack=b4' --expect-count 12 --batch 2 --reason 'new kernel'",
  ).addHelpText('after', HELP);
  const verbs = {
    pause: 'Let no further machine of a rolling action get its order',
    resume: 'Go on with a paused rolling action',
    abort: 'End a rolling action. Orders that exist go on',
  } as const;
  for (const verb of ['pause', 'resume', 'abort'] as const) {
    examples(
      remote(roll.command(verb))
        .argument('<id>', 'Id of the rolling action')
        .description(verbs[verb])
        .action(act(async () => (await commands()).controlRoll(verb))),
      `shepherd fleet roll ${verb} 6f1c3c62-5b7e-4a53-9d8f-0d3a0c6f2a11`,
    );
  }
  examples(
    remote(fleet.command('rolls'))
      .description('Show the last rolling actions')
      .action(act(async () => (await commands()).listRolls)),
    'shepherd fleet rolls',
  );
}
