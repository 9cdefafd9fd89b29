import { type Command, Option } from 'commander';
import { examples } from './help.ts';
import { durationOf, someOf, whenOf } from './options.ts';
import { acting, byFlags, remote, type Through } from './remote/flags.ts';

/** Adds the commands that show events and logs. */
export function addLogCommands(cli: Command, through: Through = byFlags): void {
  addEvents(cli, through);
  addLog(cli, through);
}

function addEvents(cli: Command, through: Through): void {
  const events = remote(cli.command('events'))
    .description('Show the latest events of the fleet, oldest first')
    .option('--follow', 'Continue with new events until Ctrl-C', false)
    .option(
      '--tail <n>',
      'Show the latest n (default: 100; 1000 with --since; none with --follow)',
      someOf,
    )
    .addOption(
      new Option(
        '--since <when>',
        'Show later events only: 2h (ago), or an instant with its time zone',
      ).argParser(whenOf),
    )
    .option('--type <types>', 'Only these types, such as guard.frozen,machine.*')
    .option('--provider <name>', 'Only events of this provider')
    .option('--machine <id>', 'Only events of this machine, by its machine ID')
    .addOption(
      new Option(
        '--after <number>',
        'Show the first events after this number. "now": only new events',
      ).conflicts(['tail', 'since']),
    )
    .option('--limit <n>', 'With --after: show at most this many (default: 100)', someOf)
    .action(acting(through)(async () => (await import('./remote/events.ts')).showEvents));
  examples(
    events,
    'shepherd events --since 2h --type "machine.*"',
    'shepherd events --follow -o ndjson | jq .type',
  ).addHelpText(
    'after',
    '\nEvents have the same numbers at every daemon, so --follow continues at another daemon.',
  );
}

const LOG_FOR_MS = 15 * 60_000;

function addLog(cli: Command, through: Through): void {
  const log = cli.command('log').description('Show and change the log level of daemons');
  const level = remote(log.command('level'))
    .argument(
      '[level]',
      'New level: error, warn, info or debug. Default: show the level and change nothing',
    )
    .description('Change the log level of the daemon that answers, for a limited time')
    .option('--component <name>', 'Only this component, such as recovery')
    .addOption(
      new Option('--for <duration>', 'Return to the usual level after this time, a day at most')
        .argParser(durationOf)
        .default(LOG_FOR_MS, '15m'),
    )
    .option('--all', 'Change every daemon that is alive', false)
    .action(acting(through)(async () => (await import('./remote/log.ts')).logLevel));
  examples(
    level,
    'shepherd log level',
    'shepherd log level debug --component recovery --for 30m --all',
  );
}
