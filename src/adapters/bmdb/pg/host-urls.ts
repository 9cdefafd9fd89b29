import { UsageError } from '../../../domain/errors.ts';

/** A parsed URL, as in https://www.postgresql.org/docs/current/libpq-connect.html */
export interface HostUrls {
  /** One URL per host, in the order of attempts. Secret: may hold a password. */
  readonly urls: readonly [string, ...string[]];
  /** Required kind of server: `target_session_attrs`. */
  readonly session: SessionAttrs;
}

const SESSION_ATTRS = ['any', 'read-write', 'primary'] as const;
export type SessionAttrs = (typeof SESSION_ATTRS)[number];

const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?/;

/**
 * Parses `postgres://role@one:5432,two:5433/db`, and the same as `?host=one,two&port=5432,5433`; a
 * single port counts for all hosts. Any other URL is returned unchanged.
 * @throws {UsageError} hosts and ports do not match, or the session attributes exclude a writable
 *   server.
 */
export function hostUrlsOf(url: string): HostUrls {
  const [, start, authority = '', path = '', query = ''] = FORM.exec(url) ?? [];
  const { host, port, target_session_attrs: session = 'any', ...others } = parametersOf(query);
  const hosts = (host ?? authority).split(',');
  if (start === undefined || (hosts.length === 1 && session === 'any')) {
    return { urls: [url], session: 'any' };
  }
  if (!isSessionAttrs(session)) {
    throw new UsageError(
      `the database URL has target_session_attrs=${session}, but Shepherd writes; give ` +
        SESSION_ATTRS.join(', '),
    );
  }
  const ports = port?.split(',') ?? [];
  if (ports.length > 1 && ports.length !== hosts.length) {
    throw new UsageError(`the database URL has ${hosts.length} hosts and ${ports.length} ports`);
  }
  const urls = hosts.map((each, at) => {
    const parameters = new URLSearchParams(others as Record<string, string>);
    if (host !== undefined) parameters.set('host', each);
    const itsPort = ports[at] ?? ports[0];
    if (itsPort !== undefined) parameters.set('port', itsPort);
    const search = parameters.size === 0 ? '' : `?${parameters.toString()}`;
    return `${start}${host === undefined ? each : ''}${path}${search}`;
  });
  return { urls: urls as [string, ...string[]], session };
}

const parametersOf = (query: string): Partial<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(query));

const isSessionAttrs = (text: string): text is SessionAttrs =>
  (SESSION_ATTRS as readonly string[]).includes(text);
