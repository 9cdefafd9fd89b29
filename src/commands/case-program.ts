import { Option, type Command } from 'commander';
import { examples } from './help.ts';
import { MACHINE } from './remote/ask-flags.ts';
import { acting, byFlags, remote, type Through } from './remote/flags.ts';

const ID = 'Number of the case, as in "shepherd case list"';
const PART = 'The broken part. "" removes it';
const TICKET = 'Address of a ticket in another system. "" removes it';

/** Adds `case` and its commands. */
export function addCaseCommands(cli: Command, through: Through = byFlags): void {
  const act = acting(through);
  const cases = () => import('./remote/cases.ts');
  const group = cli.command('case').description('Repairs of machines, with evidence and notes');
  examples(
    remote(group.command('list'))
      .description('Show the cases, newest first')
      .addOption(
        new Option('--state <state>', 'Only cases in this state')
          .choices(['open', 'closed', 'all'])
          .default('open'),
      )
      .option('--machine <name>', 'Only cases of this machine')
      .action(act(async () => (await cases()).listCases)),
    'shepherd case list',
    'shepherd case list --state all --machine rack/b4-07 -o json',
  );
  examples(
    remote(group.command('show'))
      .argument('<id>', ID)
      .description('Show a case with its evidence, notes and conditions')
      .action(act(async () => (await cases()).showCase)),
    'shepherd case show 12',
  );
  examples(
    remote(group.command('open'))
      .argument('<machine>', MACHINE)
      .requiredOption('--title <title>', 'What is wrong with it, in one line')
      .option('--part <part>', PART)
      .option('--ticket <url>', TICKET)
      .description('Open a case for a machine')
      .action(act(async () => (await cases()).openCase)),
    "shepherd case open rack/b4-07 --title 'a fan is loud'",
  );
  examples(
    remote(group.command('note'))
      .argument('<id>', ID)
      .argument('<text>', 'The note')
      .description('Add a note to a case')
      .action(act(async () => (await cases()).noteCase)),
    "shepherd case note 12 'the new disk arrives on Monday'",
  );
  examples(
    remote(group.command('link'))
      .argument('<id>', ID)
      .option('--part <part>', PART)
      .option('--ticket <url>', TICKET)
      .description('Set the part or the ticket of a case')
      .action(act(async () => (await cases()).linkCase)),
    'shepherd case link 12 --ticket https://tickets.example.org/7',
  );
  examples(
    remote(group.command('close'))
      .argument('<id>', ID)
      .requiredOption('--outcome <text>', 'What came of it')
      .description('Close a case. A newer reason opens the next one')
      .action(act(async () => (await cases()).closeCase)),
    "shepherd case close 12 --outcome 'disk 2 was replaced'",
  );
}
