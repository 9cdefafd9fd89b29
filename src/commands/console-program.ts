import type { Command } from 'commander';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { ROLES, TOKEN_MAX_MS, type Role } from '../domain/access.ts';
import { parseDuration } from '../settings/duration.ts';
import { durationOf, someOf, whenOf } from './options.ts';
import type { LoginFlags } from './remote/access.ts';
import {
  acting,
  byFlags,
  FORMATS,
  remote,
  type CommonFlags,
  type OutputFlags,
  type Through,
} from './remote/flags.ts';
import type { Told } from './remote/output.ts';

/** Adds the commands of the way to the console: contexts, login, access, and the API as it is. */
export function addConsoleCommands(cli: Command, through: Through = byFlags): void {
  const act = acting(through);
  cli
    .command('login <url>')
    .description('log in to a console: with a browser, or with a token from the standard input')
    .option('--name <name>', "of the context; else the console's host")
    .option(
      '--token-command <command>',
      'prints the token whenever it is needed; it is kept nowhere',
    )
    .option('--ca <file>', "authorities of the console's certificate, PEM; the context keeps them")
    .option('--allow-insecure-http', 'the token may go in clear to another machine', false)
    .option('--token-stdin', 'read a token from the standard input, also at a terminal', false)
    .addHelpText('after', LOGIN_HELP)
    .action((url: string, flags: LoginFlags) => say(({ login }) => login(url, flags)));
  cli
    .command('logout [context]')
    .description('forget a context and its token; else the one in use')
    .action((name?: string) => say(({ logout }) => logout(name)));
  remote(cli.command('whoami'))
    .description('who the console takes you for')
    .action(act(async () => (await access()).whoami));
  addContexts(cli);
  addTokens(cli, through);
  addEvents(cli, through);
  addLog(cli, through);
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
  remote(cli.command('api <method> <path>'))
    .description('one request of the API, below /api/v1')
    .option('--data <json>', 'body of the request')
    .option(
      '--header <line>',
      'name: value; may be given again',
      (line: string, before: readonly string[]) => [...before, line],
      [],
    )
    .action(
      acting((flags, task) => through({ ...flags, json: true }, task))(
        async () => (await import('./remote/api.ts')).callApi,
      ),
    );
}

const access = () => import('./remote/access.ts');

/** Runs what goes to no console, and says what it says. */
async function say(
  task: (commands: Awaited<ReturnType<typeof access>>) => Told | Promise<Told>,
  flags: Partial<OutputFlags> = {},
): Promise<void> {
  const { locally } = await import('./remote/session.ts');
  await locally(flags, async () => task(await access()));
}

const LOGIN_HELP = `
At a terminal the command prints a short code and the address of a page. Open that page in any browser
where you are logged in to the console, type the code, and confirm. The command then gets a token of its own,
which ends with that login of the page, within a day. Confirm only a login that you started yourself.

Where the standard input is no terminal, the command reads a token from it.`;

const COMPLETION_HELP = `
bash: source <(shepherd completion bash)
zsh:  source <(shepherd completion zsh)
fish: shepherd completion fish | source`;

function addContexts(cli: Command): void {
  const context = cli.command('context').description('the consoles that commands may go to');
  context
    .command('list')
    .description('all, with a star at the one in use')
    .addOption(
      new Option('-o, --output <format>', 'how it is written').choices(FORMATS).default('table'),
    )
    .action((flags: Pick<OutputFlags, 'output'>) =>
      say(({ listContexts }) => listContexts(), flags),
    );
  context
    .command('use <name>')
    .description('use this one from now on')
    .action((name: string) => say(({ useContext }) => useContext(name)));
  context
    .command('show [name]')
    .description('where it leads; its token is not shown')
    .action((name?: string) => say(({ showContext }) => showContext(name)));
  context
    .command('remove <name>')
    .description('forget it and its token')
    .action((name: string) => say(({ removeContext }) => removeContext(name)));
}

interface GrantFlags extends CommonFlags {
  readonly role: Role;
  readonly provider?: readonly string[];
  readonly config?: string;
  readonly databaseUrl?: string;
}
type TokenFlags = GrantFlags & { readonly for: number };

const lifetimeMs = (text: string): number => {
  const forMs = parseDuration(text, TOKEN_MAX_MS);
  if (forMs !== null) return forMs;
  throw new InvalidArgumentError('Give a duration of at most a year, such as 720h.');
};
/** Who may do what; and from which database, for a person whom no console knows yet. */
const granting = (command: Command, role: Role): Command =>
  remote(command)
    .addOption(new Option('--role <role>', 'what may be done').choices(ROLES).default(role))
    .option('--provider <name...>', 'only machines of these; else everywhere')
    .addOption(
      new Option(
        '--config <file>',
        'with no console: by the database of this configuration',
      ).conflicts(['url', 'context']),
    )
    .option('--database-url <url>', 'with --config, for another role; as database.url');

const UI_HELP = `
With --config, without a console, --role and --provider say what may be done by the link.`;

/** Adds `token` and `ui`. */
function addTokens(cli: Command, through: Through): void {
  const act = acting(through);
  const token = cli.command('token').description('tokens with which programs use the API');
  granting(token.command('create <name>'), 'viewer')
    .description('make a token, and print it this once; it is recorded as token:<name>')
    .addOption(
      new Option('--for <duration>', 'refused afterwards')
        .argParser(lifetimeMs)
        .default(TOKEN_MAX_MS, 'a year'),
    )
    .action(async (name: string, { for: forMs, ...flags }: TokenFlags) => {
      const wanted = { name, forMs, role: flags.role, providers: flags.provider ?? null };
      const database = databaseOf(flags);
      const { createToken } = await access();
      if (database === null) return through(flags, (session) => createToken(wanted, session));
      return say(async ({ tokenTold }) => {
        const { tokenByDatabase } = await import('./bootstrap.ts');
        return tokenTold(await tokenByDatabase({ ...database, ...wanted }), wanted);
      }, flags);
    });
  remote(token.command('list'))
    .description('the tokens, without what is secret of them; those of others only for an admin')
    .action(act(async () => (await access()).listTokens));
  remote(token.command('revoke <id>'))
    .description('refuse a token from now on')
    .action(act(async () => (await access()).revokeToken));
  granting(cli.command('ui'), 'admin')
    .description('print a link that logs in to the page as you, once and within ten minutes')
    .addHelpText('after', UI_HELP)
    .action(async (flags: GrantFlags) => {
      const database = databaseOf(flags);
      if (database === null) return through(flags, (await access()).makeLink);
      return say(async ({ linkTold }) => {
        const { linkByDatabase } = await import('./bootstrap.ts');
        const { role, provider: providers = null } = flags;
        return linkTold(await linkByDatabase({ ...database, role, providers }));
      }, flags);
    });
}

/** The database by which access is given; null: a console gives it. */
function databaseOf({ config, url, context, databaseUrl }: GrantFlags) {
  const isConsole = (url ?? context ?? process.env['SHEPHERD_URL']) !== undefined;
  const file = config ?? (isConsole ? undefined : process.env['SHEPHERD_CONFIG']);
  return file ? { file, url: databaseUrl } : null;
}

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
    .action(acting(through)(async () => (await import('./remote/events.ts')).showEvents));
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
    .action(acting(through)(async () => (await import('./remote/log.ts')).logLevel));
}
