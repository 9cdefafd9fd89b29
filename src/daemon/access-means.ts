import type { Config } from '../config.ts';
import { readTlsFiles } from '../console/access/tls.ts';
import type { Grant, Role } from '../domain/access.ts';
import type { Ports } from './ports.ts';

interface Granted {
  readonly role: Role;
  readonly providers?: readonly string[] | undefined;
}
const granted = ({ role, providers }: Granted): Grant => ({ role, providers: providers ?? null });
const grantsBy = (table: Readonly<Record<string, Granted>>): ReadonlyMap<string, Grant> =>
  new Map(Object.entries(table).map(([name, each]) => [name, granted(each)]));

type IdentityPorts = Pick<Ports, 'createIdentities' | 'clock'>;

/** Where people of an organisation log in; undefined: nowhere. */
function identityMeans({ console: { url, oidc } }: Config, ports: IdentityPorts) {
  if (!oidc || url === undefined) return undefined;
  const { groups, clientSecret, consent, ...rest } = oidc;
  const provider = ports.createIdentities({
    ...rest,
    clientSecret: clientSecret ? () => clientSecret.read() : null,
    asksConsent: consent,
    redirectUri: new URL('/login/oidc/callback', url).href,
    clock: ports.clock,
  });
  return { provider, groups: grantsBy(groups) };
}

/** Who may come in, as the configuration says. Secrets are read again at each use. */
export function accessMeans(config: Config, ports: IdentityPorts) {
  const { url, tls, proxy, token, tokens = {}, metricsToken } = config.console;
  return {
    identities: identityMeans(config, ports),
    publicUrl: url,
    tls: tls && (() => readTlsFiles(tls)),
    isProxied: proxy === 'trusted',
    token: token?.read(),
    tokens: Object.entries(tokens).map(([name, each]) => ({
      ...{ name, ...granted(each), read: () => each.token.read() },
    })),
    metricsToken: metricsToken && (() => metricsToken.read()),
    clients: grantsBy(tls?.clients ?? {}),
  };
}
