import type { Command } from 'commander';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { ROLES, TOKEN_MAX_MS, type Role } from '../domain/access.ts';
import { parseDuration } from '../settings/duration.ts';
import { examples } from './help.ts';
import type { LoginFlags } from './remote/access.ts';
import {
  acting,
  byFlags,
  formatted,
  remote,
  type CommonFlags,
  type OutputFlags,
  type Through,
} from './remote/flags.ts';
import type { Told } from './remote/output.ts';

/** Adds the commands about consoles: contexts, login, access, and plain API requests. */
export function addConsoleCommands(cli: Command, through: Through = byFlags): void {
  const act = acting(through);
  examples(
    cli
      .command('login')
      .argument('<url>', 'Address of the console')
      .description('Log in to a console with a browser or a token, and make a context of it')
      .option('--name <name>', "Name of the context. Default: the console's host")
      .option(
        '--token-command <command>',
        'Run this command for the token each time, and store no token',
      )
      .option('--ca <file>', "PEM file with the certificate authority of the console's certificate")
      .option(
        '--allow-insecure-http',
        'Send the token over plain HTTP, also to another machine',
        false,
      )
      .option('--token-stdin', 'Read a token from standard input, also at a terminal', false)
      .addHelpText('after', LOGIN_HELP)
      .action((url: string, flags: LoginFlags) => say(({ login }) => login(url, flags))),
    'shepherd login https://fleet.example.org/',
    'shepherd login https://fleet.example.org/ --name lab < token.txt',
    "shepherd login https://fleet.example.org/ --token-command 'pass show shepherd'",
  );
  examples(
    cli
      .command('logout')
      .argument('[context]', 'Default: the context in use')
      .description('Forget a context and its token')
      .action((name?: string) => say(({ logout }) => logout(name))),
    'shepherd logout lab',
  );
  examples(
    remote(cli.command('whoami'))
      .description('Show your name, your role and the console that you are logged in to')
      .action(act(async () => (await access()).whoami)),
    'shepherd whoami',
    'shepherd whoami --context lab',
  );
  addContexts(cli);
  addTokens(cli, through);
  examples(
    cli
      .command('completion')
      .description('Print the completion script of a shell')
      .addArgument(new Argument('<shell>', 'Your shell').choices(['bash', 'zsh', 'fish']))
      .action(async (shell: string) => {
        const { printCompletion } = await import('./remote/completion.ts');
        printCompletion(shell);
      }),
    '# In ~/.bashrc:',
    'source <(shepherd completion bash)',
    '# In ~/.zshrc, after compinit:',
    'source <(shepherd completion zsh)',
    '# In ~/.config/fish/config.fish:',
    'shepherd completion fish | source',
  );
  examples(
    remote(cli.command('api'))
      .argument('<method>', 'GET, POST, PUT, PATCH or DELETE')
      .argument('<path>', 'Path below /api/v1')
      .description('Send one request to the API of the console, and print the answer')
      .option('--data <json>', 'Body of the request')
      .option(
        '--header <line>',
        '"name: value". May be given several times',
        (line: string, before: readonly string[]) => [...before, line],
        [],
      )
      .action(
        acting((flags, task) => through({ ...flags, json: true }, task))(
          async () => (await import('./remote/api.ts')).callApi,
        ),
      ),
    'shepherd api GET version',
    "shepherd api GET 'machines?limit=2' | jq '.machines[].slot'",
  );
}

const access = () => import('./remote/access.ts');

/** Runs a command that asks no console, and prints its result. */
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

function addContexts(cli: Command): void {
  const context = cli
    .command('context')
    .description('List, choose and remove contexts: known consoles');
  examples(
    formatted(context.command('list'))
      .description('List all contexts. A star marks the context in use')
      .action((flags: Pick<OutputFlags, 'output'>) =>
        say(({ listContexts }) => listContexts(), flags),
      ),
    'shepherd context list',
  );
  examples(
    context
      .command('use')
      .argument('<name>', 'Name of a context')
      .description('Use this context from now on')
      .action((name: string) => say(({ useContext }) => useContext(name))),
    'shepherd context use lab',
  );
  examples(
    context
      .command('show')
      .argument('[name]', 'Default: the context in use')
      .description('Show a context without its token')
      .action((name?: string) => say(({ showContext }) => showContext(name))),
    'shepherd context show lab',
  );
  examples(
    context
      .command('remove')
      .argument('<name>', 'Name of a context')
      .description('Forget a context and its token')
      .action((name: string) => say(({ removeContext }) => removeContext(name))),
    'shepherd context remove lab',
  );
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
/** Adds the options that grant access, through a console or through the database of a configuration. */
const granting = (command: Command, role: Role): Command =>
  remote(command)
    .addOption(new Option('--role <role>', 'Role that is granted').choices(ROLES).default(role))
    .option('--provider <name...>', 'Limit the grant to these providers. Default: all')
    .addOption(
      new Option(
        '--config <file>',
        'Use no console but the database of this configuration, to let the first person in',
      ).conflicts(['url', 'context']),
    )
    .option('--database-url <url>', 'With --config: use this URL instead of database.url');

/** Adds `token` and `ui`. */
function addTokens(cli: Command, through: Through): void {
  const act = acting(through);
  const token = cli
    .command('token')
    .description('Create, list and revoke tokens, with which programs use the API');
  const create = granting(token.command('create'), 'viewer')
    .argument('<name>', 'Its name. The history shows token:NAME')
    .description('Create a token and print it. It is shown only once')
    .addOption(
      new Option('--for <duration>', 'Lifetime of the token')
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
  examples(
    create,
    'shepherd token create ci --role operator --provider rack --for 720h',
    '# The first token, on the host of the daemon:',
    'shepherd token create ann --role admin --config /etc/shepherd/shepherd.yaml',
  );
  examples(
    remote(token.command('list'))
      .description('List tokens without their secrets. Only an admin sees the tokens of others')
      .action(act(async () => (await access()).listTokens)),
    'shepherd token list -o wide',
  );
  examples(
    remote(token.command('revoke'))
      .argument('<id>', 'ID of the token, as "shepherd token list" shows it')
      .description('Revoke a token: consoles refuse it from now on')
      .action(act(async () => (await access()).revokeToken)),
    'shepherd token revoke 5f1c2a',
  );
  const ui = granting(cli.command('ui'), 'admin')
    .description('Print a link that logs you in to the page, once and within ten minutes')
    .action(async (flags: GrantFlags) => {
      const database = databaseOf(flags);
      if (database === null) return through(flags, (await access()).makeLink);
      return say(async ({ linkTold }) => {
        const { linkByDatabase } = await import('./bootstrap.ts');
        const { role, provider: providers = null } = flags;
        return linkTold(await linkByDatabase({ ...database, role, providers }));
      }, flags);
    });
  examples(
    ui,
    'shepherd ui',
    'shepherd ui --config /etc/shepherd/shepherd.yaml --role viewer',
  ).addHelpText('after', '\n--role and --provider have an effect only with --config.');
}

/** The database that grants access; null: a console grants it. */
function databaseOf({ config, url, context, databaseUrl }: GrantFlags) {
  const isConsole = (url ?? context ?? process.env['SHEPHERD_URL']) !== undefined;
  const file = config ?? (isConsole ? undefined : process.env['SHEPHERD_CONFIG']);
  return file ? { file, url: databaseUrl } : null;
}
