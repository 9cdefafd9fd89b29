import { systemRandom } from '../../adapters/clock/system-clock.ts';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import type { Config } from '../../config.ts';
import { digestOf, makeSecret } from '../../console/access/secrets.ts';
import type { Grant } from '../../domain/access.ts';
import { withDatabase } from '../database.ts';
import type { DatabaseOptions } from '../db.ts';

/** `shepherd ui` past the console: a link into the page. */
export const linkByDatabase = (
  options: DatabaseOptions & Grant & { readonly by: string },
): Promise<string> =>
  withDatabase(options, (bmdb, config) =>
    loginLink(bmdb, consoleUrlOf(config), { ...options, name: options.by }),
  );

/** Makes a link that logs somebody in, once and within ten minutes. */
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

/** Where the page is, as far as the configuration tells. */
function consoleUrlOf({ console: { url, listen, tls } }: Config): string {
  if (url !== undefined) return url.endsWith('/') ? url : `${url}/`;
  const host = listen.host === '' ? 'localhost' : listen.host;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls ? 'https' : 'http'}://${name}:${listen.port}/`;
}
