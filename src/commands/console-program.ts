import type { Command } from 'commander';
import { Argument, Option } from 'commander';
import { durationOf, someOf, whenOf } from './machine/options.ts';
import type { LoginFlags } from './remote/access.ts';
import type { ApiFlags } from './remote/api.ts';
import type { EventsFlags } from './remote/events.ts';
import type { LogLevelFlags } from './remote/log.ts';
import { byFlags, FORMATS, remote, type CommonFlags, type Through } from './remote/flags.ts';

/** Adds the commands of the way to the console: contexts, login, and the API as it is. */
export function addConsoleCommands(cli: Command, through: Through = byFlags): void {
  cli
    .command('login <url>')
    .description('make a context of a console, with a token read from the standard input')
    .option('--name <name>', "of the context; else the console's host")
    .option(
      '--token-command <command>',
      'prints the token whenever it is needed; it is kept nowhere',
    )
    .option('--ca <file>', "authorities of the console's certificate, PEM; the context keeps them")
    .option('--allow-insecure-http', 'the token may go in clear to another machine', false)
    .action(async (url: string, flags: LoginFlags) => {
      const { login } = await import('./remote/access.ts');
      await say(() => login(url, flags));
    });
  cli
    .command('logout [context]')
    .description('forget a context and its token; else the one in use')
    .action(async (name: string | undefined) => {
      const { logout } = await import('./remote/access.ts');
      await say(async () => logout(name));
    });
  remote(cli.command('whoami'))
    .description('who the console takes you for')
    .action(async (flags: CommonFlags) => {
      const { whoami } = await import('./remote/access.ts');
      await through(flags, whoami);
    });
  addContexts(cli);
  addEvents(cli, through);
  addLog(cli, through);
  addCompletion(cli);
  remote(cli.command('api <method> <path>'))
    .description('one request of the API, below /api/v1')
    .option('--data <json>', 'body of the request')
    .option(
      '--header <line>',
      'name: value; may be given again',
      (line: string, before: readonly string[]) => [...before, line],
      [],
    )
    .action(async (method: string, path: string, flags: CommonFlags & ApiFlags) => {
      const { callApi } = await import('./remote/api.ts');
      const asJson = { ...flags, json: true };
      await through(asJson, (session) => callApi([method, path], flags, session));
    });
}

function addCompletion(cli: Command): void {
  cli
    .command('completion')
    .description(
      'print what makes a shell complete commands, options, states and names of machines',
    )
    .addArgument(new Argument('<shell>', 'which one').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell: string) => {
      const { printCompletion } = await import('./remote/completion.ts');
      printCompletion(shell);
    });
}

const COMPLETION_HELP = `
bash: source <(shepherd completion bash)
zsh:  source <(shepherd completion zsh)
fish: shepherd completion fish | source`;

function addEvents(cli: Command, through: Through): void {
  remote(cli.command('events'))
    .description('show the latest events, oldest first; every daemon gives them the same numbers')
    .option('--follow', 'continue with new events, until Ctrl-C', false)
    .option(
      '--tail <n>',
      'the latest n (default: 100; 1000 with --since; none with --follow)',
      someOf,
    )
    .addOption(
      new Option(
        '--since <when>',
        'only later ones: 2h ago, or an instant with its zone',
      ).argParser(whenOf),
    )
    .option('--type <types>', 'only these: guard.frozen,machine.*')
    .option('--provider <name>', 'only of this provider')
    .option('--machine <id>', 'only of this machine')
    .addOption(
      new Option(
        '--after <number>',
        'the first ones after it; "now": what is yet to come',
      ).conflicts(['tail', 'since']),
    )
    .option('--limit <n>', 'with --after: at most this many (default: 100)', someOf)
    .action(async (flags: CommonFlags & EventsFlags) => {
      const { showEvents } = await import('./remote/events.ts');
      await through(flags, (session) => showEvents(flags, session));
    });
}

const LOG_FOR_MS = 15 * 60_000;

function addLog(cli: Command, through: Through): void {
  const log = cli.command('log').description('what daemons write into their logs');
  remote(log.command('level'))
    .argument('[level]', 'error, warn, info or debug; without one it is only told')
    .description(
      'have the daemon that answers write more, or less, for a while; then it is as before',
    )
    .option('--component <name>', 'only this part of it, such as recovery')
    .addOption(
      new Option('--for <duration>', 'ends by itself, after a day at most')
        .argParser(durationOf)
        .default(LOG_FOR_MS, '15m'),
    )
    .option('--all', 'every daemon that is alive', false)
    .action(
      async (
        level: string | undefined,
        { for: forMs, ...flags }: CommonFlags & Omit<LogLevelFlags, 'forMs'> & { for: number },
      ) => {
        const { logLevel } = await import('./remote/log.ts');
        await through(flags, (session) => logLevel(level, { ...flags, forMs }, session));
      },
    );
}

function addContexts(cli: Command): void {
  const context = cli.command('context').description('the consoles that commands may go to');
  context
    .command('list')
    .description('all, with a star at the one in use')
    .addOption(
      new Option('-o, --output <format>', 'how it is written').choices(FORMATS).default('table'),
    )
    .action(async ({ output }: { output: string }) => {
      const { listContexts } = await import('./remote/access.ts');
      await say(() => listContexts(output));
    });
  context
    .command('use <name>')
    .description('use this one from now on')
    .action(async (name: string) => {
      const { useContext } = await import('./remote/access.ts');
      await say(async () => useContext(name));
    });
  context
    .command('show [name]')
    .description('where it leads; its token is not shown')
    .action(async (name: string | undefined) => {
      const { showContext } = await import('./remote/access.ts');
      await say(async () => showContext(name));
    });
  context
    .command('remove <name>')
    .description('forget it and its token')
    .action(async (name: string) => {
      const { removeContext } = await import('./remote/access.ts');
      await say(async () => removeContext(name));
    });
}

async function say(task: () => Promise<string>): Promise<void> {
  const { reporting } = await import('./remote/session.ts');
  await reporting({ output: 'table', json: false }, async () => {
    process.stdout.write(`${await task()}\n`);
  });
}
