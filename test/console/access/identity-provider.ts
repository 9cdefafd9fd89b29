import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { afterEach, vi } from 'vitest';

export const CLIENT = { id: 'shepherd', secret: 'known-to-console-and-provider' };

/** A person known to the provider. */
export interface Account {
  readonly email: string;
  groups: readonly string[];
  /** Absent: verified; null: the provider does not say. */
  emailVerified?: boolean | string | null;
}

/** A real identity provider on loopback that logs everybody in at once. */
export interface IdentityProvider {
  readonly issuer: string;
  /** By subject. */
  readonly accounts: Map<string, Account>;
  /** The next person to log in. */
  next: string;
  /** Number of tokens given for a refresh token. */
  readonly refreshes: () => number;
  /** Pads answers at such a path with this many bytes of white space. */
  padding: { readonly path: string; readonly bytes: number } | null;
  /** Number of these bytes that were read. */
  readonly padded: () => number;
  /** Answers nobody until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const started: Server[] = [];
const closed = async (server: Server) => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
};
afterEach(async () => {
  await Promise.all(started.splice(0).map(closed));
});

const listening = async (server: Server, port: number): Promise<number> => {
  started.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

export async function openIdentityProvider(redirectUri: string): Promise<IdentityProvider> {
  let handle: ReturnType<Provider['callback']> | null = null;
  const make = () =>
    createServer((request, response) => {
      const { padding } = own;
      if (padding === null || request.url?.startsWith(padding.path) !== true) {
        void handle!(request, response);
      } else blowUp(response, padding.bytes);
    });
  const blowUp = (response: ServerResponse, bytes: number) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const piece = Buffer.alloc(64 * 1024, ' ');
    const more = () => {
      while (padded < bytes && !response.destroyed) {
        padded += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
      return void response.end('{}');
    };
    more();
  };
  let server = make();
  const port = await listening(server, 0);
  const issuer = `http://127.0.0.1:${port}`;
  const accounts = new Map<string, Account>();
  // Hides the expected warning that everything is kept in memory; shows all others.
  const warned = vi.spyOn(console, 'warn').mockImplementationOnce(() => undefined);
  const provider = new Provider(issuer, settings(redirectUri, accounts));
  warned.mockRestore();
  let [refreshes, padded] = [0, 0];
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.['grant_type'] === 'refresh_token') refreshes += 1;
  });
  const own: IdentityProvider = {
    ...{ issuer, accounts, next: '', refreshes: () => refreshes },
    ...{ padding: null, padded: () => padded },
    async start() {
      server = make();
      await listening(server, port);
    },
    stop: () => closed(server),
  };
  const answer = provider.callback();
  handle = async (request, response) => {
    if (request.url?.startsWith('/interaction/') !== true) return answer(request, response);
    const { prompt, params } = await provider.interactionDetails(request, response);
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: own.next } });
    }
    const grant = new provider.Grant({ accountId: own.next, clientId: CLIENT.id });
    grant.addOIDCScope(String(params['scope']));
    const consent = { grantId: await grant.save() };
    return provider.interactionFinished(request, response, { consent });
  };
  return own;
}

const LASTING = ['Interaction', 'Session', 'Grant', 'AccessToken', 'RefreshToken'];

function settings(redirectUri: string, accounts: Map<string, Account>): Configuration {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ format: 'jwk' }) as Record<string, string>;
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig', kid: 'one' }] },
    ttl: { ...Object.fromEntries(LASTING.map((what) => [what, 86_400])), IdToken: 3_600 },
    cookies: { keys: ['of the test'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, subject) => {
      const account = accounts.get(subject);
      if (!account) return undefined;
      const { email, groups, emailVerified = true } = account;
      const about = emailVerified === null ? {} : { email_verified: emailVerified };
      const claims = { sub: subject, email, groups: [...groups] };
      return { accountId: subject, claims: () => ({ ...claims, ...about }) };
    },
  };
}
