import { hostname, userInfo } from 'node:os';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemRandom } from '../adapters/clock/system-clock.ts';
import type { Config } from '../config.ts';
import { digestOf, makeSecret, makeToken } from '../console/access/secrets.ts';
import { TOKEN_NAME, type Grant } from '../domain/access.ts';
import { UsageError } from '../domain/errors.ts';
import { withDatabase, type DatabaseOptions } from './database.ts';

/** Grants access through the database, for the first person, who cannot log in to a console yet. */

/** The name of this account. In a container an account may have no name. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? 'unknown';
  }
}

/** The user's name where a command opens the database itself. This computer states it, and nothing verifies it. */
export const claimedName = (): string => `db:${accountName()}@${hostname()}`;

/** `shepherd ui --config`: a link that logs in to the page. */
export const linkByDatabase = (options: DatabaseOptions & Grant): Promise<string> =>
  withDatabase(options, (bmdb, config) =>
    loginLink(bmdb, consoleUrlOf(config), { ...options, name: claimedName() }),
  );

/** Makes a link that logs a person in, once and within ten minutes. */
export async function loginLink(
  { access }: Pick<Bmdb, 'access'>,
  consoleUrl: string,
  { name, role, providers }: Grant & { readonly name: string },
): Promise<string> {
  const code = makeSecret(systemRandom);
  const login = { name, identity: name, role, providers, tokenId: null };
  await access.codes.add({ digest: digestOf(code), ...login });
  return `${new URL('login', consoleUrl).href}#${code}`;
}

/** The address of the console, as far as the configuration says it. */
function consoleUrlOf({ console: { url, listen, tls } }: Config): string {
  if (url !== undefined) return url.endsWith('/') ? url : `${url}/`;
  const host = listen.host === '' ? 'localhost' : listen.host;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${listen.port}/`;
}

/**
 * `shepherd token create --config`.
 * @throws {UsageError} the name is not valid, or another token has this name.
 */
export const tokenByDatabase = (
  options: DatabaseOptions & Grant & { readonly name: string; readonly forMs: number },
): Promise<{ readonly id: string; readonly token: string; readonly expiresAtMs: number }> =>
  withDatabase(options, async ({ access }) => {
    const { name, role, providers, forMs } = options;
    if (!TOKEN_NAME.test(name))
      throw new UsageError(
        'the name of a token has 1 to 64 letters, digits, dots and dashes; give another name',
      );
    const { id, token } = makeToken(systemRandom);
    const owner = claimedName();
    const expiresAtMs = await access.tokens.add({
      ...{ id, digest: digestOf(token), name, owner, ownerIdentity: owner, role, providers, forMs },
    });
    if (expiresAtMs !== null) return { id, token, expiresAtMs };
    throw new UsageError(`a token named ${name} exists; revoke it first, or give another name`);
  });
