import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Malformed, NotFound, UsageError } from '../../domain/errors.ts';
import { printable } from '../../lib/texts.ts';
import { programVersion } from '../version.ts';
import type { Whoami } from './answers.ts';
import { createClient } from './client.ts';
import { contextsFile, readContexts, requireContext, without, writeContexts } from './contexts.ts';
import { Interrupted } from './failures.ts';
import { openHttpDoor, requireSecret } from './http-door.ts';
import type { Format } from './flags.ts';
import { addressOf, tokenOf } from './open-door.ts';
import { columnLines, factLines, outputWidth } from '../machine/layout.ts';
import { documentText, isData } from './output.ts';
import { ok, type Session, type Told } from './session.ts';

/** `shepherd whoami`: who the console takes the caller for. */
export async function whoami(session: Session): Promise<Told> {
  const { client, format, width } = session;
  const who = await client.get<Whoami>('/whoami');
  if (isData(format)) return ok(await documentText({ ...who, console: client.door.where }, format));
  if (format === 'name') return ok(printable(who.name));
  const facts: (readonly [string, string])[] = [
    ['name', who.proven ? who.name : `${who.name} (a claim)`],
    ['role', who.role],
    ['providers', who.providers?.join(', ') ?? 'all'],
    ['by', who.via === 'none' ? 'nothing was shown' : who.via],
    ['console', client.door.where],
  ];
  return ok(factLines(facts, width));
}

/** `shepherd ui`: a link into the page, for whoever asks. */
export async function makeLink({ client, format }: Session): Promise<Told> {
  const { code } = await client.send<{ readonly code: string }>('POST', '/login-codes', {
    body: {},
  });
  const link = `${new URL('login', client.door.where).href}#${code}`;
  return linkTold(link, format);
}

export const linkTold = async (link: string, format: Format): Promise<Told> =>
  ok(isData(format) ? await documentText({ link }, format) : printable(link));

export interface LoginFlags {
  readonly name?: string;
  readonly tokenCommand?: string;
  /** File with the authorities of its certificate, PEM; they are kept in the context. */
  readonly ca?: string;
  /** It is kept in the context. */
  readonly allowInsecureHttp: boolean;
}

/**
 * `shepherd login URL`: makes a context of a console, with a token that is asked for, read from the
 * standard input, or printed by a command at each use; and uses it from now on.
 * @throws {Refused} the console does not take the token. @throws {NoConsole}
 */
export async function login(url: string, flags: LoginFlags): Promise<string> {
  const { name, tokenCommand, allowInsecureHttp } = flags;
  const address = addressOf(url);
  const ca = flags.ca === undefined ? {} : { ca: readAuthorities(flags.ca) };
  const where = { url: address, ...ca, ...(allowInsecureHttp && { allowInsecureHttp }) };
  requireSecret(where);
  const shown = tokenCommand === undefined ? { token: await askToken() } : { tokenCommand };
  const token = tokenOf({ ...where, ...shown });
  const version = programVersion();
  const door = openHttpDoor({ ...where, token, version, advice: 'look at its address' });
  const client = createClient(door, new AbortController().signal, () => undefined);
  const { name: person, role } = (await client.get<Partial<Whoami> | null>('/whoami')) ?? {};
  if (typeof person !== 'string' || typeof role !== 'string') {
    throw new Malformed(`${address} does not say who has logged in: it is no console of Shepherd`);
  }
  const { contexts } = readContexts();
  const own = name ?? new URL(address).host;
  writeContexts({ current: own, contexts: { ...contexts, [own]: { ...where, ...shown } } });
  const who = `${printable(person)} is logged in to ${address} as ${printable(role)}`;
  return `${who}; the context ${own} is used from now on`;
}

/** @throws {UsageError} the file cannot be read, or has no certificate in it. */
function readAuthorities(file: string): string {
  try {
    const pem = readFileSync(file, 'utf8');
    const found = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
    const [first, ...more] = found;
    for (const each of [first ?? pem, ...more]) new X509Certificate(each);
    return `${found.join('\n')}\n`;
  } catch (cause) {
    throw new UsageError(`--ca ${file} is no file of certificates in PEM`, { cause });
  }
}

/** The first line of the standard input, whenever it comes. */
async function askToken(): Promise<string> {
  const { createInterface } = await import('node:readline');
  const { Writable } = await import('node:stream');
  const { stdin: input } = process;
  const terminal = input.isTTY === true;
  // What is typed is shown to nobody, from before it is asked for.
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
    'no token was given; "shepherd token create" or an admin makes one, and it is read from the standard input',
  );
}

/** `shepherd logout`: forgets a context and its token, which stays good until it is revoked. */
export function logout(name: string | undefined): string {
  const all = readContexts();
  const own = name ?? all.current;
  if (own === null) throw new NotFound('nobody is logged in: no context is in use');
  requireContext(all, own);
  writeContexts(without(all, own));
  return `the context ${own} and its token are forgotten here; "shepherd token revoke" makes the token void`;
}

/** `shepherd context list`. Tokens are never shown. */
export async function listContexts(format: string): Promise<string> {
  const { current, contexts } = readContexts();
  const rows = Object.entries(contexts).map(([name, { url, token, tokenCommand, simulator }]) => ({
    ...{ name, current: name === current, url },
    token: tokenCommand === undefined ? (token === undefined ? 'none' : 'kept') : 'by a command',
    simulator: simulator ?? null,
  }));
  if (format === 'name') return rows.map(({ name }) => name).join('\n');
  if (format === 'json' || format === 'yaml') {
    return documentText({ file: contextsFile(), contexts: rows }, format);
  }
  if (rows.length === 0) return 'there is none; "shepherd login URL" makes one';
  return columnLines([
    ['', 'name', 'url', 'token'],
    ...rows.map((each) => [each.current ? '*' : '', each.name, each.url, each.token]),
  ]).join('\n');
}

export function useContext(name: string): string {
  const all = readContexts();
  requireContext(all, name);
  writeContexts({ ...all, current: name });
  return `${name} is used from now on`;
}

export function showContext(name: string | undefined): string {
  const all = readContexts();
  const own = name ?? all.current;
  if (own === null) throw new NotFound('no context is in use; "shepherd context list" has all');
  const { url, tokenCommand, simulator, ca } = requireContext(all, own);
  const facts: (readonly [string, string])[] = [
    ['name', own],
    ['url', url],
    ...(tokenCommand === undefined ? [] : [['tokenCommand', tokenCommand] as const]),
    ...(ca === undefined ? [] : [['ca', 'kept here; no other authority is believed'] as const]),
    ...(simulator === undefined ? [] : [['simulator', `process ${simulator}`] as const]),
    ['file', contextsFile()],
  ];
  return factLines(facts, outputWidth(process.stdout));
}

export function removeContext(name: string): string {
  const all = readContexts();
  requireContext(all, name);
  writeContexts(without(all, name));
  return `${name} is removed`;
}
