import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Malformed, NotFound, UsageError } from '../../domain/errors.ts';
import { printable } from '../../lib/texts.ts';
import { programVersion } from '../version.ts';
import type { Whoami, MadeToken, Token, Tokens } from './answers.ts';
import { createClient, createHttpTransport, requireSecret } from './client.ts';
import {
  addressOf,
  contextsFile,
  readContexts,
  requireContext,
  tokenOf,
  without,
  writeContexts,
  type Contexts,
} from './contexts.ts';
import { Interrupted } from './failures.ts';
import { columnLines, factLines, timeText, type LabelledValue } from '../layout.ts';
import { loginByBrowser, systemMeans, type DeviceMeans } from './device-login.ts';
import { toldList, type Column } from './output.ts';
import { remark, type Session, type CommandOutput } from './session.ts';
import type { Grant } from '../../domain/access.ts';

/** `shepherd whoami`: the name and the rights of the caller. */
export async function whoami({ client }: Session): Promise<CommandOutput> {
  const who = await client.get<Whoami>('/whoami');
  const facts: LabelledValue[] = [
    ['name', who.proven ? who.name : `${who.name} (not verified)`],
    ['role', who.role],
    ['providers', who.providers?.join(', ') ?? 'all'],
    ['by', who.via === 'none' ? 'not logged in' : who.via],
    ['console', client.transport.where],
  ];
  return {
    document: { ...who, console: client.transport.where },
    names: [who.name],
    text: (width) => factLines(facts, width),
  };
}

/** `shepherd ui`: a link that logs the caller in to the page. */
export async function makeLink({ client }: Session): Promise<CommandOutput> {
  const { code } = await client.send<{ readonly code: string }>('POST', '/login-codes', {
    body: {},
  });
  return linkTold(`${new URL('login', client.transport.where).href}#${code}`);
}

export const linkTold = (link: string): CommandOutput => ({
  document: { link },
  text: printable(link),
});

export interface LoginFlags {
  readonly name?: string;
  readonly tokenCommand?: string;
  /** PEM file with certificate authorities. The context stores them. */
  readonly ca?: string;
  /** The context stores this choice. */
  readonly allowInsecureHttp: boolean;
  /** The token is read from the standard input, also where that is a terminal. */
  readonly tokenStdin?: boolean;
}

/**
 * `shepherd login URL`: makes a context of a console, and uses it from now on. At a terminal a
 * person confirms the login in a browser. Otherwise the token comes from standard input, or a
 * command prints it at each use.
 * @throws {Refused} the console refuses the token. @throws {NoConsole}
 */
export async function login(
  url: string,
  flags: LoginFlags,
  { isTerminal = process.stdin.isTTY === true, ...means }: Partial<LoginMeans> = {},
): Promise<CommandOutput> {
  const { name, tokenCommand, allowInsecureHttp, tokenStdin = false } = flags;
  const address = addressOf(url);
  const ca = flags.ca === undefined ? {} : { ca: readAuthorities(flags.ca) };
  const where = { url: address, ...ca, ...(allowInsecureHttp && { allowInsecureHttp }) };
  requireSecret(where);
  const version = programVersion();
  const isByBrowser = tokenCommand === undefined && isTerminal && !tokenStdin;
  const byBrowser = isByBrowser
    ? await loginByBrowser({ ...where, version }, { ...systemMeans, ...means })
    : null;
  const shown =
    tokenCommand === undefined ? { token: byBrowser ?? (await askToken()) } : { tokenCommand };
  const token = tokenOf({ ...where, ...shown });
  const transport = createHttpTransport({ ...where, token, version, advice: 'check the address' });
  const client = createClient(transport, new AbortController().signal);
  const { name: person, role } = (await client.get<Partial<Whoami> | null>('/whoami')) ?? {};
  if (typeof person !== 'string' || typeof role !== 'string') {
    throw new Malformed(
      `${address} is not a console of Shepherd: its reply has no user; check the address`,
    );
  }
  const { contexts } = readContexts();
  const own = name ?? new URL(address).host;
  writeContexts({ current: own, contexts: { ...contexts, [own]: { ...where, ...shown } } });
  const who = `${printable(person)} is logged in to ${address} as ${printable(role)}`;
  return { text: `${who}; the context ${own} is now in use` };
}

interface LoginMeans extends DeviceMeans {
  readonly isTerminal: boolean;
}

/** @throws {UsageError} the file cannot be read, or has no certificate. */
function readAuthorities(file: string): string {
  try {
    const pem = readFileSync(file, 'utf8');
    const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
    const [first, ...more] = found;
    for (const each of [first ?? pem, ...more]) new X509Certificate(each);
    return `${found.join('\n')}\n`;
  } catch (cause) {
    throw new UsageError(`--ca ${file} is not a PEM file of certificates`, { cause });
  }
}

/** Reads the first line of standard input. */
async function askToken(): Promise<string> {
  const { createInterface } = await import('node:readline');
  const { Writable } = await import('node:stream');
  const { stdin: input } = process;
  const terminal = input.isTTY === true;
  // Typed characters are never shown.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal });
  if (terminal) process.stderr.write('Token: ');
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => reject(new Interrupted()));
    lines.once('close', () => resolve(''));
  }).finally(() => {
    lines.close();
    if (terminal) process.stderr.write('\n');
  });
  if (line.trim() !== '') return line.trim();
  throw new UsageError(
    'standard input has no token; get a token from an admin, who runs "shepherd token create"',
  );
}

/** `shepherd logout`: forgets a context and its token. The token stays valid until it is revoked. */
export function logout(name: string | undefined): CommandOutput {
  const own = forget(name);
  const text = `the context ${own} and its token are removed from this computer; "shepherd token revoke" also ends the token`;
  return { text };
}

/** Forgets a context, by default the context in use. @throws {NotFound} */
function forget(name: string | undefined): string {
  const all = readContexts();
  const own = nameIn(all, name);
  requireContext(all, own);
  writeContexts(without(all, own));
  return own;
}

/** @throws {NotFound} no context is given, and none is in use. */
function nameIn({ current }: Contexts, name: string | undefined): string {
  const own = name ?? current;
  if (own === null)
    throw new NotFound('no context is in use; "shepherd context list" lists all contexts');
  return own;
}

/** `shepherd context list`. Tokens are never shown. */
export function listContexts(): CommandOutput {
  const { current, contexts } = readContexts();
  const rows = Object.entries(contexts).map(([name, { url, token, tokenCommand, simulator }]) => ({
    ...{ name, current: name === current, url },
    token: tokenCommand === undefined ? (token === undefined ? 'none' : 'kept') : 'by a command',
    simulator: simulator ?? null,
  }));
  const lines = rows.map((each) => [each.current ? '*' : '', each.name, each.url, each.token]);
  return {
    document: { file: contextsFile(), contexts: rows },
    ...{ rows, names: rows.map(({ name }) => name) },
    text:
      rows.length === 0
        ? 'no contexts; create one with "shepherd login URL"'
        : columnLines([['', 'name', 'url', 'token'], ...lines]).join('\n'),
  };
}

export function useContext(name: string): CommandOutput {
  const all = readContexts();
  requireContext(all, name);
  writeContexts({ ...all, current: name });
  return { text: `${name} is now in use` };
}

export function showContext(name: string | undefined): CommandOutput {
  const all = readContexts();
  const own = nameIn(all, name);
  const { url, tokenCommand = null, simulator, ca } = requireContext(all, own);
  const facts: LabelledValue[] = [
    ['name', own],
    ['url', url],
    ['tokenCommand', tokenCommand],
    ['ca', ca === undefined ? null : 'the stored authority only'],
    ['simulator', simulator === undefined ? null : `process ${simulator}`],
    ['file', contextsFile()],
  ];
  return { text: (width) => factLines(facts, width) };
}

export const removeContext = (name: string): CommandOutput => ({
  text: `${forget(name)} is removed`,
});

export interface NewToken extends Grant {
  readonly name: string;
  readonly forMs: number;
}

/** `shepherd token create`: prints only the token to standard output, because it is shown only once. */
export async function createToken(wanted: NewToken, session: Session): Promise<CommandOutput> {
  const made = await session.client.send<MadeToken>('POST', '/tokens', { body: wanted });
  return tokenTold(made, wanted, session.say);
}

/** @param say prints the facts about the token, for people. */
export const tokenTold = (
  made: MadeToken,
  { name, role }: Pick<NewToken, 'name' | 'role'>,
  say = remark,
): CommandOutput => ({
  document: made,
  text() {
    const about = `has the id ${made.id} and the role ${role}`;
    say(`token ${name} ${about}, and ends ${timeText(made.expiresAtMs)}; it is shown only once`);
    return made.token;
  },
});

const COLUMNS: readonly Column<Token>[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'name', of: ({ name }) => name },
  { name: 'role', of: ({ role }) => role },
  { name: 'providers', of: ({ providers }) => providers?.join(' ') ?? 'all' },
  {
    name: 'valid',
    of: ({ expiresAtMs, revokedAtMs, hasEnded }) => {
      if (revokedAtMs !== null) return `revoked ${timeText(revokedAtMs)}`;
      return hasEnded ? 'ended' : `until ${timeText(expiresAtMs)}`;
    },
  },
  {
    name: 'used',
    isWide: true,
    of: ({ lastUsedAtMs }) => (lastUsedAtMs === null ? 'never' : timeText(lastUsedAtMs)),
  },
  { name: 'owner', isWide: true, of: ({ owner }) => owner },
];

/** `shepherd token list`: tokens without their secrets. Only an admin sees the tokens of others. */
export async function listTokens({ client, format }: Session): Promise<CommandOutput> {
  const document = await client.get<Tokens>('/tokens');
  const rows = document.tokens;
  const list = { rows, columns: COLUMNS, nameOf: ({ id }: Token) => id, document };
  const told = toldList(list, { format, headers: true });
  return rows.length === 0 ? { ...told, text: 'no tokens' } : told;
}

/** `shepherd token revoke`. @throws {Refused} the token does not exist, or belongs to somebody else. */
export async function revokeToken(
  { client }: Session,
  _flags: object,
  id: string,
): Promise<CommandOutput> {
  await client.send('DELETE', `/tokens/${encodeURIComponent(id)}`, {});
  return {
    document: { id },
    names: [id],
    text: `token ${id} is revoked; all consoles refuse it within five seconds`,
  };
}
