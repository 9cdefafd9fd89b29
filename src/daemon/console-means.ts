import type { Config } from '../config.ts';
import { readTlsFiles } from '../console/access/tls.ts';
import type { Grant, Role } from '../domain/access.ts';
import type { Ports } from './ports.ts';
import type { EventBook } from '../adapters/bmdb/events-port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Levels } from '../adapters/log/quiet-log.ts';
import type { Log } from '../adapters/log/port.ts';
import type { LogControl } from '../console/views.ts';
import { explain } from '../domain/errors.ts';
import { spanText } from '../lib/texts.ts';

interface Granted {
  readonly role: Role;
  readonly providers?: readonly string[] | undefined;
}
const granted = ({ role, providers }: Granted): Grant => ({ role, providers: providers ?? null });
const grantsBy = (table: Readonly<Record<string, Granted>>): ReadonlyMap<string, Grant> =>
  new Map(Object.entries(table).map(([name, each]) => [name, granted(each)]));

type IdentityPorts = Pick<Ports, 'createIdentities' | 'clock'>;

/** Login of an organisation's people; undefined: none. */
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

/** Logins that the configuration allows. Secrets are read again at each use. */
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

export interface LogControlDeps {
  readonly recent: LogControl['recent'];
  readonly levels: Levels;
  readonly events: Pick<EventBook, 'append'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** Name of this computer. */
  readonly host: string;
}

/** Controls this daemon's log levels for operators. */
export const createLogControl = ({
  recent,
  levels,
  events,
  clock,
  log,
  host,
}: LogControlDeps): LogControl => ({
  host,
  recent,
  usual: levels.usual,
  changes: () => levels.changes(),
  async set({ level, component, forMs, by }) {
    const fields = { level, ...(component !== null && { of: component }), by, forMs };
    // Before the change, because a level of errors only would hide this line.
    log.warn(fields, 'the log level is changed for a while');
    levels.set({ level, component, untilMs: clock.now() + forMs });
    const reason = `${level} of ${component ?? 'everything'} on ${host} for ${spanText(forMs)}`;
    const details = { level, component, forMs, host };
    try {
      await events.append({ type: 'log.level_set', actor: by, reason, details });
    } catch (error) {
      log.warn(
        { cause: explain(error), by },
        'the change of the log level could not be written to the audit',
      );
    }
  },
});
