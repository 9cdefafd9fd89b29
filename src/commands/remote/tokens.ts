import type { Grant } from '../../domain/access.ts';
import { timeText } from '../machine/layout.ts';
import type { MadeToken, Token, Tokens } from './answers.ts';
import { documentText, isData, listText, type Column } from './output.ts';
import { ok, type Session, type Told } from './session.ts';

export interface NewToken extends Grant {
  readonly name: string;
  readonly forMs: number;
}

/** `shepherd token create`: the token is told this once, and so it alone goes to the standard output. */
export async function createToken(wanted: NewToken, session: Session): Promise<Told> {
  const { client, format, say } = session;
  const made = await client.send<MadeToken>('POST', '/tokens', { body: wanted });
  if (isData(format)) return ok(await documentText(made, format));
  const about = `has the id ${made.id} and the role ${wanted.role}`;
  say(`token ${wanted.name} ${about}, and ends ${timeText(made.expiresAtMs)}; it is shown once`);
  return ok(made.token);
}

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

/** `shepherd token list`: of others only for an admin. What is secret of them nobody knows. */
export async function listTokens({ client, format }: Session): Promise<Told> {
  const document = await client.get<Tokens>('/tokens');
  const rows = document.tokens;
  const list = { rows, columns: COLUMNS, nameOf: ({ id }: Token) => id, document };
  if (rows.length === 0 && !isData(format) && format !== 'name') return ok('there is none');
  return ok(await listText(list, { format, headers: true }));
}

/** `shepherd token revoke`. @throws {Refused} there is no such token, or it is another's. */
export async function revokeToken(id: string, { client, format }: Session): Promise<Told> {
  await client.send('DELETE', `/tokens/${encodeURIComponent(id)}`, {});
  if (isData(format)) return ok(await documentText({ id }, format));
  return ok(format === 'name' ? id : `token ${id} is refused within five seconds`);
}
