import { Option, type Command } from 'commander';
import { CONDITION_STATUSES } from '../domain/conditions.ts';
import { examples } from './help.ts';
import { spanOf, WHEN_HELP, whenOf } from './options.ts';
import { EXACT, MACHINE } from './remote/ask-flags.ts';
import { acting, remote, type Through } from './remote/flags.ts';

const TYPE = 'Type of the condition, such as disk-failing';
const HELP = `
A condition never reboots or erases a machine. "conditions" in the daemon's configuration says what a type
does. Each source changes only its own conditions; the name of your login is your source.`;

/** Adds `machine condition` and its commands. */
export function addConditionCommands(machine: Command, through: Through): void {
  const act = acting(through);
  const load = () => import('./remote/conditions.ts');
  const condition = machine
    .command('condition')
    .description('Show or report what is wrong with a machine')
    .addHelpText('after', HELP);
  const about = (name: string) =>
    remote(condition.command(name))
      .argument('<type>', TYPE)
      .argument('<machine>', MACHINE)
      .option('--exact', EXACT, false);
  examples(
    about('set')
      .description('Report a condition, instead of your last report of its type')
      .requiredOption('--reason <text>', 'Reason, one line')
      .addOption(
        new Option('--status <status>', 'True: something is wrong')
          .choices(CONDITION_STATUSES)
          .default('True'),
      )
      .option('--detail <text>', 'More for people')
      .option('--for <duration>', 'After this time without a report, False is unknown', spanOf)
      .option('--from <when>', `It has its effect only from then: ${WHEN_HELP}`, whenOf)
      .action(act(async () => (await load()).setCondition)),
    "shepherd machine condition set disk-failing rack/b4-07 --reason 'sda: 12 media errors'",
    "shepherd machine condition set fan-broken rack/b4-07 --status False --for 2h --reason 'checked'",
    "shepherd machine condition set maintenance-announced rack/b4-07 --from 2026-03-01T22:00Z --reason 'new switch'",
  );
  examples(
    about('clear')
      .description('Clear a condition that you reported')
      .option('--reason <text>', 'Reason, one line')
      .action(act(async () => (await load()).clearCondition)),
    "shepherd machine condition clear disk-failing rack/b4-07 --reason 'disk replaced'",
  );
  const list = remote(condition.command('list'))
    .argument('<machine>', MACHINE)
    .option('--exact', EXACT, false)
    .description('List all conditions of a machine')
    .action(act(async () => (await load()).listConditions));
  examples(list, 'shepherd machine condition list rack/b4-07');
}
