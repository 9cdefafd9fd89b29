import { z } from 'zod';
import { ROLES, TOKEN_NAME } from '../domain/access.ts';
import * as leaf from '../settings/leaves.ts';
import type { Secret, Surroundings } from '../settings/secret.ts';

const TOKEN_MIN_LENGTH = 16;
const TOO_SHORT =
  `is a token of fewer than ${TOKEN_MIN_LENGTH} characters, which can be guessed; ` +
  'create one with openssl rand -hex 16';
const isHardToGuess = (token: Secret): boolean => token.read().length >= TOKEN_MIN_LENGTH;

const tokenSecret = (meaning: string, around: Surroundings) =>
  leaf.secret(meaning, around).refine(isHardToGuess, { error: TOO_SHORT });

const grant = {
  role: leaf.choice(ROLES, 'Role of the holder.'),
  providers: z
    .array(leaf.text('Name of a provider.'))
    .min(1)
    .meta({ type: 'list of names', description: 'Providers that the role covers. Default: all.' })
    .optional(),
};

/** Tokens go there; plain http is safe only on this host. */
const isSafeIssuer = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/(127\.[\d.]+|\[::1\]|localhost)(:|\/|$)/.test(url);

/** Page, API, metrics and health: their addresses and who may log in. */
export const consoleSettings = (around: Surroundings) => ({
  listen: leaf.listen('Address of page, API, metrics and health.').prefault('127.0.0.1:4243'),
  url: leaf.url('Address that browsers use, if it differs from listen.').optional(),
  tls: z
    .strictObject({
      certificatePath: leaf.file('Certificate with its chain (PEM).', around, leaf.isCertificate),
      keyPath: leaf.file('Private key of the certificate (PEM).', around),
      clientCaPath: leaf
        .file('Authority of client certificates (PEM).', around, leaf.isCertificate)
        .optional(),
      clients: z
        .record(z.string(), z.strictObject(grant))
        .meta({
          type: 'by common name: role, providers',
          description: 'Rights of the holder of a certificate with this name.',
        })
        .optional(),
    })
    .optional(),
  proxy: leaf
    .choice(
      ['none', 'trusted'],
      'trusted: a proxy ends TLS, and nobody else can reach this address.',
    )
    .prefault('none'),
  token: tokenSecret('Token that may only read.', around).optional(),
  tokens: z
    .record(
      z.string().regex(TOKEN_NAME, 'give 1 to 64 letters, digits, dots, dashes'),
      z.strictObject({ token: tokenSecret('The token.', around), ...grant }),
    )
    .meta({
      type: 'by name: token, role, providers',
      description: 'Tokens of programs, in addition to those of shepherd token.',
    })
    .optional(),
  metricsToken: tokenSecret('Token for /metrics only.', around).optional(),
  oidc: z
    .strictObject({
      issuer: leaf
        .url('Issuer of the OpenID Connect provider.')
        .refine(isSafeIssuer, { error: 'would be called without encryption; give an https URL' }),
      clientId: leaf.text('Client id of the console.'),
      clientSecret: leaf.secret('Client secret of the console.', around).optional(),
      scopes: z
        .array(leaf.text('Name of a scope.'))
        .meta({ type: 'list of names', description: 'Scopes to request.' })
        .prefault(['openid', 'email', 'offline_access']),
      consent: leaf
        .flag('Ask for consent at each login. Some providers give refresh tokens only then.')
        .prefault(false),
      nameClaim: leaf
        .text('Claim with the name of the person, shown as `oidc:NAME`.')
        .prefault('email'),
      groupsClaim: leaf.text('Claim with the groups.').prefault('groups'),
      groups: z
        .record(z.string(), z.strictObject(grant))
        .meta({
          type: 'by group: role, providers',
          description: 'Rights of members. People in no group are refused.',
        }),
    })
    .optional(),
  allowedHosts: leaf
    .hostNames('Host names of the console, in addition to localhost and the host of listen.', 100)
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
