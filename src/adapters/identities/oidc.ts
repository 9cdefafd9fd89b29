import * as client from 'openid-client';
import type { IDToken, UserInfoResponse } from 'openid-client';
import { Denied, explain, FleetError, Unreachable } from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import type { Identities, Identity } from './port.ts';

export interface OidcOptions {
  /** `/.well-known/openid-configuration` gives the rest. Plain HTTP is for tests on one host. */
  readonly issuer: string;
  readonly clientId: string;
  /** Read again at each use; null for a public client. */
  readonly clientSecret: (() => string) | null;
  /** Where the provider redirects the browser; registered there. */
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** Claims with the name and the groups. */
  readonly nameClaim: string;
  readonly groupsClaim: string;
  /** The provider asks for consent at each login; some issue refresh tokens only then. */
  readonly asksConsent: boolean;
  readonly clock: Clock;
}

type Claims = Readonly<Partial<IDToken & UserInfoResponse>>;
type Tokens = Awaited<ReturnType<typeof client.refreshTokenGrant>>;

const TIMEOUT_SECONDS = 10;
/** Metadata of the provider are read again after this time. */
const DISCOVERED_MS = 3_600_000;
/** Permitted difference between clocks. */
const TOLERANCE_SECONDS = 60;
const NAME_MAX = 200;
/** Maximum size of an unpacked answer, far above keys and claims with thousands of groups. */
const REPLY_BYTES_MAX = 256 * 1024;

/**
 * OpenID Connect: authorization code with PKCE, by a library. The provider is discovered at a
 * login, so that a provider that is down does not stop a daemon from starting.
 */
export function createOidc(options: OidcOptions): Identities {
  const { redirectUri, scopes } = options;
  const configuration = discovering(options);
  const identityOf = identifying(options);
  return {
    begin: ({ state, nonce, verifier }) =>
      translated('redirect to the provider of identities', async () =>
        client.buildAuthorizationUrl(await configuration(), {
          ...{ redirect_uri: redirectUri, scope: scopes.join(' '), state, nonce },
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(options.asksConsent && { prompt: 'consent' }),
        }),
      ),
    complete: (query, { state, nonce, verifier }) =>
      translated('log in with the provider of identities', async () => {
        const back = new URL(redirectUri);
        back.search = query.toString();
        const config = await configuration();
        const tokens = await client.authorizationCodeGrant(config, back, {
          ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
          idTokenExpected: true,
        });
        return identityOf(config, tokens, null);
      }),
    renew: ({ refreshToken, subject }) =>
      translated('ask the provider of identities again', async () => {
        try {
          const config = await configuration();
          const tokens = await client.refreshTokenGrant(config, refreshToken);
          return await identityOf(config, { refresh_token: refreshToken, ...tokens }, subject);
        } catch (error) {
          if (error instanceof client.ResponseBodyError && error.error === 'invalid_grant')
            return null;
          throw error;
        }
      }),
  };
}

/** Reads the provider's metadata once an hour. */
function discovering({ issuer, clientId, clientSecret, clock }: OidcOptions) {
  let found: { readonly atMs: number; readonly config: client.Configuration } | null = null;
  return async (): Promise<client.Configuration> => {
    if (found && clock.monotonic() - found.atMs < DISCOVERED_MS) return found.config;
    const server = new URL(issuer);
    const metadata = {
      // The library has its own clock.
      [client.clockSkew]: Math.round((clock.now() - Date.now()) / 1_000),
      [client.clockTolerance]: TOLERANCE_SECONDS,
    };
    const config = await client.discovery(server, clientId, metadata, authOf(clientSecret), {
      timeout: TIMEOUT_SECONDS,
      [client.customFetch]: fetchLimited,
      execute: [
        client.enableNonRepudiationChecks,
        ...(server.protocol === 'http:' ? [client.allowInsecureRequests] : []),
      ],
    });
    found = { atMs: clock.monotonic(), config };
    return config;
  };
}

/** Fetches, and fails on an answer that is too long: a browser's login waits for it. */
const fetchLimited: client.CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  let size = 0;
  const limit = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, out) {
      size += chunk.byteLength;
      if (size > REPLY_BYTES_MAX) {
        throw new Denied(`its answer is longer than ${REPLY_BYTES_MAX} bytes`);
      }
      out.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body?.pipeThrough(limit) ?? null, { status, statusText, headers });
};

/** Client authentication, by a method that the provider supports. */
function authOf(clientSecret: OidcOptions['clientSecret']): client.ClientAuth {
  if (clientSecret === null) return client.None();
  return (server, about, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic');
    const auth = isBasic ? client.ClientSecretBasic : client.ClientSecretPost;
    auth(clientSecret())(server, about, body, headers);
  };
}

/** Reads the claims of the ID token, and requests missing ones. */
function identifying({ nameClaim, groupsClaim, clock }: OidcOptions) {
  return async (
    config: client.Configuration,
    tokens: Pick<Tokens, 'access_token' | 'refresh_token'> & { claims?: Tokens['claims'] },
    known: string | null,
  ): Promise<Identity> => {
    const told: Claims = tokens.claims?.() ?? {};
    if (typeof told.iat === 'number' && told.iat > clock.now() / 1_000 + TOLERANCE_SECONDS) {
      throw new Denied('its ID token is dated in the future; check both clocks');
    }
    const subject = known ?? told.sub;
    if (subject === undefined || (told.sub ?? subject) !== subject) {
      throw new Denied('it answered about another person than before');
    }
    const needed = [nameClaim, groupsClaim, ...(nameClaim === 'email' ? ['email_verified'] : [])];
    const isWhole = needed.every((claim) => told[claim] !== undefined);
    const canAsk = config.serverMetadata().userinfo_endpoint !== undefined;
    const more: Claims =
      isWhole || !canAsk ? {} : await client.fetchUserInfo(config, tokens.access_token, subject);
    const claims = { ...more, ...told };
    return {
      subject,
      name: nameOf([told, more], nameClaim),
      groups: [claims[groupsClaim] ?? []].flat().filter((group) => typeof group === 'string'),
      refreshToken: tokens.refresh_token ?? null,
    };
  };
}

/** @throws {Denied} the name goes into the audit log, so the provider must have verified it. */
function nameOf(sources: readonly Claims[], nameClaim: string): string {
  const name: unknown = sources
    .map((claims) => claims[nameClaim])
    .find((each) => each !== undefined);
  if (typeof name !== 'string' || !/^[\P{C}]+$/u.test(name) || name.length > NAME_MAX) {
    throw new Denied(`it sent no name in the claim ${nameClaim}; see console.oidc.nameClaim`);
  }
  // Some providers let people enter any address, and send no claim, or a text instead of the
  // boolean.
  const isChecked = sources.some(
    (claims) => claims.email === name && (claims.email_verified as unknown) === true,
  );
  if (nameClaim === 'email' && !isChecked) {
    throw new Denied(
      `it does not confirm the address ${name}: email_verified is not true; ` +
        'see console.oidc.nameClaim',
    );
  }
  return name;
}

/** Translates the library's errors. @throws {Unreachable} {Denied} */
async function translated<T>(doing: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof Unreachable) throw error;
    const message = `could not ${doing}: ${messageOf(error)}`;
    if (isAway(error)) throw new Unreachable(message, { cause: error });
    throw new Denied(message, { cause: error });
  }
}

/** Only the code of the provider's answer: the rest may come from anybody. */
function messageOf(error: unknown): string {
  const isCoded =
    error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError;
  if (isCoded) return /^[\w-]{1,60}$/.test(error.error) ? error.error : 'it refused';
  return explain(error);
}

function isAway(error: unknown): boolean {
  if (error instanceof FleetError) return false;
  if (error instanceof client.ResponseBodyError) return error.status >= 500;
  if (!(error instanceof client.ClientError))
    return error instanceof TypeError && !('code' in error);
  const { code, cause } = error;
  const isBusy = cause instanceof Response && (cause.status >= 500 || cause.status === 429);
  return code === 'OAUTH_TIMEOUT' || isBusy;
}
