import { isLoopback } from '../gate.ts';
import { UsageError } from '../../domain/errors.ts';
import type { Grant } from '../../domain/access.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { createAccess, type Access, type AccessOptions, type ConfiguredToken } from './access.ts';
import type { IdentityMeans } from './renewal.ts';

/** Who may come in, and how, according to the configuration. */
export interface AccessMeans {
  /** Tokens and sessions. */
  readonly accounts: Pick<AccessOptions, 'repository' | 'random' | 'events'>;
  /** `console.token`: shows everything, and permits no action. */
  readonly token?: string | undefined;
  readonly tokens?: readonly ConfiguredToken[] | undefined;
  readonly metricsToken?: (() => string) | undefined;
  /** Grants by the common name of a client certificate. */
  readonly clients?: ReadonlyMap<string, Grant> | undefined;
  /** Identity provider of the organisation. */
  readonly identities?: IdentityMeans | undefined;
  /** TLS ends at a trusted proxy, and nobody else reaches the console. */
  readonly isProxied?: boolean | undefined;
}

interface Around {
  readonly host: string;
  readonly hasTls: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** `console.token`, under its name in the log. */
const VIEWER = { name: 'console.token', role: 'viewer', providers: null } as const;

/**
 * Opens the console beyond this host only with TLS, here or at a proxy, and with a way to log in.
 * @throws {UsageError} saying what is missing.
 */
export function openAccess(means: AccessMeans, around: Around): Access {
  const { host, hasTls, clock, log } = around;
  const { token, isProxied = false } = means;
  const tokens = [
    ...(token === undefined ? [] : [{ ...VIEWER, read: () => token }]),
    ...(means.tokens ?? []),
  ];
  const clients = means.clients ?? new Map<string, Grant>();
  const hasLogin = tokens.length > 0 || clients.size > 0 || means.identities !== undefined;
  const isLocal = isLoopback(host) && !isProxied;
  if (!isLoopback(host)) requireSafe(host, { hasTls: hasTls || isProxied, hasLogin });
  return createAccess({
    ...means.accounts,
    tokens,
    metricsToken: means.metricsToken ?? null,
    isOpen: isLocal && !hasLogin,
    cookies: { isSecure: hasTls || isProxied },
    clients,
    identities: means.identities ?? null,
    ...{ clock, log },
  });
}

function requireSafe(
  host: string,
  { hasTls, hasLogin }: { readonly hasTls: boolean; readonly hasLogin: boolean },
): void {
  const where = `console: listening on ${host || 'every address'} would`;
  if (!hasLogin) {
    throw new UsageError(
      `${where} show the fleet to the network: set a token for the console ` +
        '(console.token, console.tokens), console.oidc or console.tls.clients, or listen on 127.0.0.1',
    );
  }
  if (hasTls) return;
  throw new UsageError(
    `${where} send tokens unencrypted: set console.tls, or console.proxy: trusted if a proxy ` +
      'terminates TLS and nobody else reaches this address, or listen on 127.0.0.1',
  );
}
