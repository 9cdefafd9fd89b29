import { z } from 'zod';
import { ROLES, TOKEN_NAME } from '../domain/access.ts';
import * as leaf from '../settings/leaves.ts';
import type { Secret, Surroundings } from '../settings/secret.ts';

const TOKEN_MIN_LENGTH = 16;
const TOO_SHORT =
  `leads to a token of fewer than ${TOKEN_MIN_LENGTH} characters, which can be guessed; ` +
  'make one with openssl rand -hex 16';
const isHardToGuess = (token: Secret): boolean => token.read().length >= TOKEN_MIN_LENGTH;

const tokenSecret = (meaning: string, around: Surroundings) =>
  leaf.secret(meaning, around).refine(isHardToGuess, { error: TOO_SHORT });

const grant = {
  role: leaf.choice(ROLES, 'What may be done.'),
  providers: z
    .array(leaf.text('Name of a provider.'))
    .min(1)
    .meta({ type: 'list of names', description: 'Where it may be done; absent: everywhere.' })
    .optional(),
};

/** Tokens go there; plain http is safe only on this host. */
const isSafeIssuer = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/(127\.[\d.]+|\[::1\]|localhost)(:|\/|$)/.test(url);

/** Page, API, metrics and health: their addresses and who may log in. */
export const consoleSettings = (around: Surroundings) => ({
  listen: leaf.listen('Web page, API, metrics and health.').prefault('127.0.0.1:4243'),
  url: leaf.url('Where browsers find it, if not as they ask for it.').optional(),
  tls: z
    .strictObject({
      certificatePath: leaf.file('PEM, with its chain.', around, leaf.isCertificate),
      keyPath: leaf.file('Its key, PEM.', around),
      clientCaPath: leaf
        .file('Authority of the certificates of clients, PEM.', around, leaf.isCertificate)
        .optional(),
      clients: z
        .record(z.string(), z.strictObject(grant))
        .meta({
          type: 'by common name: role, providers',
          description: 'What who shows a certificate with this name may do.',
        })
        .optional(),
    })
    .optional(),
  proxy: leaf
    .choice(['none', 'trusted'], 'trusted: a proxy ends TLS, and nobody else comes here.')
    .prefault('none'),
  token: tokenSecret('A token with which everything is seen and nothing done.', around).optional(),
  tokens: z
    .record(
      z.string().regex(TOKEN_NAME, 'give 1 to 64 letters, digits, dots, dashes'),
      z.strictObject({ token: tokenSecret('The token.', around), ...grant }),
    )
    .meta({
      type: 'by name: token, role, providers',
      description: 'Tokens of programs, besides those that shepherd token makes.',
    })
    .optional(),
  metricsToken: tokenSecret('A token for /metrics alone.', around).optional(),
  oidc: z
    .strictObject({
      issuer: leaf
        .url('The provider of identities, as it calls itself.')
        .refine(isSafeIssuer, { error: 'would be called without encryption; give an https URL' }),
      clientId: leaf.text('Name of the console there.'),
      clientSecret: leaf.secret('What the console proves this by.', around).optional(),
      scopes: z
        .array(leaf.text('Name of a scope.'))
        .meta({ type: 'list of names', description: 'What it is asked for.' })
        .prefault(['openid', 'email', 'offline_access']),
      consent: leaf
        .flag('Has it ask at each login; some hand out refresh tokens only then.')
        .prefault(false),
      nameClaim: leaf.text('Claim that stands in the audit, behind `oidc:`.').prefault('email'),
      groupsClaim: leaf.text('Claim with the groups.').prefault('groups'),
      groups: z
        .record(z.string(), z.strictObject(grant))
        .meta({
          type: 'by group: role, providers',
          description: 'What members may do; who is in none of them is not let in.',
        }),
    })
    .optional(),
  allowedHosts: leaf
    .hostNames('Names that browsers find it under, beside localhost and that of listen.', 100)
    .prefault([]),
});

/** The parts of the section that decide who can reach the console, valid or not. */
interface Written {
  readonly listen?: unknown;
  readonly token?: unknown;
  readonly tokens?: unknown;
  readonly tls?: { readonly clients?: unknown } | undefined;
  readonly oidc?: unknown;
  readonly proxy?: unknown;
  readonly url?: unknown;
}

const isLocal = ({ listen }: Written): boolean => {
  const address = listen as leaf.ListenAddress | undefined;
  return typeof address?.host !== 'string' || /^(127\.|::1$|localhost$)/.test(address.host);
};

/** A console reachable from other hosts or behind a proxy needs a way to log in. */
export const hasWayIn = (value: Written): boolean =>
  (isLocal(value) && value.proxy !== 'trusted') ||
  [value.token, value.tokens, value.oidc, value.tls?.clients].some((way) => way !== undefined);

/** Traffic to other hosts is encrypted. */
export const isEncrypted = (value: Written): boolean =>
  isLocal(value) || value.tls !== undefined || value.proxy === 'trusted';

/** Behind a proxy, and for redirects from a login service, the console must know its address. */
export const hasAddress = ({ url, oidc, proxy }: Written): boolean =>
  url !== undefined || (oidc === undefined && proxy !== 'trusted');
