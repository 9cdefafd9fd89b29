import { type Command, Option } from 'commander';
import { examples } from './help.ts';
import { durationOf, someOf, whenOf } from './options.ts';
import { LOG_LEVELS } from '../adapters/log/quiet-log.ts';
import { MACHINE } from './remote/ask-flags.ts';
import { acting, byFlags, connecting, remote, type Through } from './remote/flags.ts';

/** Adds the commands that show events and logs. */
export function addLogCommands(cli: Command, through: Through = byFlags): void {
  addEvents(cli, through);
  addLog(cli, through);
  addSupportBundle(cli, through);
}

const BUNDLE_HELP = `
The archive has versions, status, machines, explanations, providers, pools, daemons, requests, events,
metrics and recent logs. Secrets are left out. manifest.json lists the files and the missing parts.`;

function addSupportBundle(cli: Command, through: Through): void {
  const bundle = connecting(cli.command('support-bundle'))
    .description('Write an archive without secrets, for somebody who helps you to find a fault')
    .option('-o, --output <file>', 'Archive to write. Default: shepherd-support-TIME.tar.gz')
    .option('--config <file>', 'Add this configuration file without its secrets')
    .action(
      acting((flags, task) => through({ ...flags, output: 'table', json: false }, task))(
        async () => (await import('./remote/support-bundle.ts')).makeSupportBundle,
      ),
    );
  examples(
    bundle,
    'shepherd support-bundle',
    'shepherd support-bundle -o fault.tar.gz --config /etc/shepherd/shepherd.yaml',
  ).addHelpText('after', BUNDLE_HELP);
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
    .option('--machine <name>', 'Only events of this machine')
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
  const logs = remote(cli.command('logs'))
    .argument('[machine]', MACHINE)
    .description('Show the latest log lines of daemons, or only lines about one machine')
    .option('--follow', 'Continue with new lines until Ctrl-C', false)
    .addOption(
      new Option('--level <level>', 'Show only lines of this severity or a higher one')
        .choices(LOG_LEVELS)
        .default('debug'),
    )
    .option('--tail <n>', 'Show the latest n lines (default: 200; 10 with --follow)', someOf)
    .addOption(
      new Option('--since <when>', 'Show later lines only: 2h (ago), or an instant').argParser(
        whenOf,
      ),
    )
    .option('--all', 'Ask every daemon that is alive, each at its own console', false)
    .action(acting(through)(async () => (await import('./remote/logs.ts')).showLogs));
  examples(
    logs,
    'shepherd logs rack/b4-07 --since 2h',
    'shepherd logs --follow --level warn --all',
  ).addHelpText(
    'after',
    `
A daemon keeps its latest lines in memory, and its console shows only these. Older lines are where the
daemon writes its log, such as the journal of its host. Needs the role operator.`,
  );
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
