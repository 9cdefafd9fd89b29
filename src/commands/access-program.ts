import { hostname } from 'node:os';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { ROLES, TOKEN_MAX_MS, type Role } from '../domain/access.ts';
import { parseDuration } from '../settings/duration.ts';
import {
  accountName,
  byFlags,
  formatOf,
  remote,
  type CommonFlags,
  type Through,
} from './remote/flags.ts';

/** Who reached the database by the configuration: a claim of this computer. */
export const claimedName = (): string => `db:${accountName()}@${hostname()}`;

const lifetimeMs = (text: string): number => {
  const forMs = parseDuration(text, TOKEN_MAX_MS);
  if (forMs !== null) return forMs;
  throw new InvalidArgumentError('Give a duration of at most a year, such as 720h.');
};
const roleOption = (role: Role) =>
  new Option('--role <role>', 'what may be done').choices(ROLES).default(role);
const providersOption = () =>
  new Option('--provider <name...>', 'only machines of these; else everywhere');

interface GrantFlags extends CommonFlags {
  readonly role: Role;
  readonly provider?: readonly string[];
}

/** Adds `token` and `ui`. */
export function addAccessCommands(cli: Command, through: Through = byFlags): void {
  addTokens(cli.command('token').description('tokens with which programs use the API'), through);
  remote(cli.command('ui'))
    .description('print a link that logs in to the page as you, once and within ten minutes')
    .addOption(roleOption('admin').hideHelp())
    .addOption(providersOption().hideHelp())
    .addHelpText('after', UI_HELP)
    .action(async (flags: GrantFlags) => {
      const { reporting } = await import('./remote/session.ts');
      await reporting(flags, () => printLink(flags, through));
    });
}

async function printLink(flags: GrantFlags, through: Through): Promise<void> {
  const { pastConsole } = await import('./remote/open-door.ts');
  const file = pastConsole(flags);
  const { linkTold, makeLink } = await import('./remote/access.ts');
  if (file === null) return through(flags, makeLink);
  const { linkByDatabase } = await import('./access/login-link.ts');
  const options = { file, url: flags.databaseUrl, ...grantOf(flags), by: claimedName() };
  const { text } = await linkTold(await linkByDatabase(options), formatOf(flags));
  process.stdout.write(`${text}\n`);
}

function addTokens(token: Command, through: Through): void {
  remote(token.command('create <name>'))
    .description('make a token, and print it this once; it is recorded as token:<name>')
    .addOption(roleOption('viewer'))
    .addOption(providersOption())
    .addOption(
      new Option('--for <duration>', 'refused afterwards')
        .argParser(lifetimeMs)
        .default(TOKEN_MAX_MS, 'a year'),
    )
    .action(async (name: string, { for: forMs, ...flags }: GrantFlags & { for: number }) => {
      const { createToken } = await import('./remote/tokens.ts');
      const wanted = { name, forMs, ...grantOf(flags) };
      await through(await claiming(flags), (session) => createToken(wanted, session));
    });
  remote(token.command('list'))
    .description('the tokens, without what is secret of them; those of others only for an admin')
    .action(async (flags: CommonFlags) => {
      const { listTokens } = await import('./remote/tokens.ts');
      await through(flags, listTokens);
    });
  remote(token.command('revoke <id>'))
    .description('refuse a token from now on')
    .action(async (id: string, flags: CommonFlags) => {
      const { revokeToken } = await import('./remote/tokens.ts');
      await through(await claiming(flags), (session) => revokeToken(id, session));
    });
}

/** Who goes past the console claims to be somebody, and that is seen in what they leave behind. */
async function claiming<Flags extends CommonFlags>(flags: Flags): Promise<Flags> {
  const { pastConsole } = await import('./remote/open-door.ts');
  return pastConsole(flags) === null ? flags : { ...flags, by: claimedName() };
}

const UI_HELP = `
With --config, past the console, --role and --provider say what may be done by the link.`;

const grantOf = ({ role, provider }: GrantFlags) => ({ role, providers: provider ?? null });
