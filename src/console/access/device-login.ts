import { z } from 'zod';
import {
  DEVICE_INTERVAL_MS,
  DEVICE_LOGIN_MS,
  ROLES,
  SESSION_MAX_MS,
  USER_CODE_LENGTH,
  USER_CODE_LETTERS,
  type Role,
} from '../../domain/access.ts';
import type { DeviceLogin, DevicePoll } from '../../adapters/bmdb/port.ts';
import type { Random } from '../../adapters/clock/port.ts';
import { printable } from '../../lib/texts.ts';
import { described, type Api } from '../api/kit.ts';
import { Problem, PROBLEM_MEDIA_TYPE } from '../api/problem.ts';
import { Milliseconds, ProblemSchema, text } from '../api/schemas.ts';
import { createGuesses } from '../guesses.ts';
import { tooMany, type Access } from './access.ts';
import { requireWithin } from './accounts-api.ts';
import type { Person } from './port.ts';
import {
  digestOf,
  makeSecret,
  makeToken,
  publicKeyOf,
  seal,
  sealFor,
  unsealFor,
} from './secrets.ts';

/**
 * Login of a command with a code that a person confirms in a browser: RFC 8628, with the console as
 * authorization server. Bodies are JSON, because the console accepts nothing else from strangers.
 */

/** RFC 8628, 3.4. */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const BODY_BYTES_MAX = 4_096;
const WRONG_CODES_MAX = 5;

const BeginSchema = z.strictObject({
  client_id: z.literal('shepherd'),
  host: text
    .min(1)
    .max(64)
    .describe('Host name of the machine on which the command runs. The person sees it.'),
});
const BegunSchema = z.object({
  device_code: text.describe('Secret of the command, which never shows it.'),
  user_code: text.describe('Code that the person types at `verification_uri`.'),
  verification_uri: text,
  expires_in: z.int().describe('Lifetime in seconds.'),
  interval: z.int().describe('Minimum seconds between two calls of `device/token`.'),
});
const AskSchema = z.strictObject({
  grant_type: text.max(100),
  device_code: text.max(100).optional(),
  client_id: z.literal('shepherd').optional(),
});
const GrantedSchema = z.object({
  access_token: text,
  token_type: z.literal('Bearer'),
  expires_in: z.int().describe('Lifetime in seconds.'),
});
const ERRORS = [
  ...['authorization_pending', 'slow_down', 'access_denied', 'expired_token'],
  ...['invalid_request', 'invalid_grant', 'unsupported_grant_type'],
] as const;
const ErrorSchema = z.object({
  error: z
    .enum(ERRORS as unknown as readonly [string, ...string[]])
    .describe('Error code of RFC 8628, section 3.5, or RFC 6749.'),
  error_description: text,
});

const REFUSED = {
  description:
    'An error of RFC 8628 or RFC 6749 that says why there is no token (yet); or a problem.',
  content: {
    'application/json': { schema: ErrorSchema },
    [PROBLEM_MEDIA_TYPE]: { schema: ProblemSchema },
  },
};

/** RFC 8628, 3.5; `invalid_grant` is from RFC 6749, 5.2. */
const ERROR_OF: Readonly<
  Record<Exclude<DevicePoll['outcome'], 'granted'> | 'unknown', readonly [string, string]>
> = {
  waiting: ['authorization_pending', 'the code has not been confirmed yet'],
  soon: ['slow_down', 'ask less often: add five seconds to the interval'],
  refused: ['access_denied', 'the person refused the login'],
  expired: ['expired_token', 'nobody confirmed the code within ten minutes'],
  unknown: ['invalid_grant', 'the device code is wrong or was used already'],
};

/** A short code of letters that form no words, each letter equally likely. */
export function makeUserCode(random: Random): string {
  const letters: string[] = [];
  const limit = 256 - (256 % USER_CODE_LETTERS.length);
  while (letters.length < USER_CODE_LENGTH) {
    const bytes = digestOf(random.uuid() + random.uuid()).filter((byte) => byte < limit);
    letters.push(...[...bytes].map((byte) => USER_CODE_LETTERS[byte % USER_CODE_LETTERS.length]!));
  }
  return letters.slice(0, USER_CODE_LENGTH).join('');
}
/** `WDJB-MJHT`. */
const shownCode = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;
/** Reads a typed code: in any case, with or without separators. */
const readCode = (typed: string) => typed.toUpperCase().replaceAll(/[^A-Z]/g, '');

/**
 * `device/…` for commands.
 * @param publicUrl the configured address; absent: the address that the command asked.
 */
export function addDeviceLogin(api: Api, access: Access, publicUrl?: string): void {
  const { repository, clock, random, log } = access.options;
  const config = { bodyLimit: BODY_BYTES_MAX };
  api.post(
    '/device/authorization',
    {
      ...config,
      ...described(
        'open',
        ['console', 'Start the login of a command. A person confirms it at /device (RFC 8628)'],
        { 200: BegunSchema },
        { body: BeginSchema },
      ),
    },
    async (request) => {
      access.admitLogin(request);
      const [device, user] = [makeSecret(random), makeUserCode(random)];
      const isAdded = await repository.devices.add({
        ...{ deviceDigest: digestOf(device), userDigest: digestOf(user) },
        ...{ host: printable(request.body.host), address: request.ip },
        publicKey: publicKeyOf(device),
      });
      const what = 'commands wait for a person to confirm their login';
      if (!isAdded) throw tooMany(what, 60, 'log in again or with a token');
      return {
        ...{ device_code: device, user_code: shownCode(user) },
        // A caller may send any Host header, so the configured address comes first.
        verification_uri: new URL(
          'device',
          publicUrl ?? `${request.protocol}://${request.headers.host}/`,
        ).href,
        ...{ expires_in: DEVICE_LOGIN_MS / 1_000, interval: DEVICE_INTERVAL_MS / 1_000 },
      };
    },
  );
  api.post(
    '/device/token',
    {
      ...config,
      ...described(
        'open',
        ['console', 'Fetch the token of a started login (RFC 8628)'],
        { 200: GrantedSchema, 400: REFUSED },
        { body: AskSchema },
      ),
    },
    async ({ body, ip }, reply) => {
      const refuse = ([error, why]: readonly [string, string]) =>
        reply.code(400).send({ error, error_description: why });
      if (body.grant_type !== DEVICE_GRANT) {
        return refuse([
          'unsupported_grant_type',
          `the only supported grant type is ${DEVICE_GRANT}`,
        ]);
      }
      const { device_code: code } = body;
      if (code === undefined) return refuse(['invalid_request', 'device_code is missing']);
      const { outcome, sealed } = (await repository.devices.poll(digestOf(code))) ?? {
        ...({ outcome: 'unknown', sealed: null } as const),
      };
      if (outcome !== 'granted') return refuse(ERROR_OF[outcome]);
      const opened = sealed && unsealFor(sealed, code);
      if (!opened) return refuse(ERROR_OF.unknown);
      const { token, expiresAtMs } = JSON.parse(opened) as Granted;
      log.info({ address: ip }, 'a command received the token of its login');
      const seconds = Math.max(0, Math.floor((expiresAtMs - clock.now()) / 1_000));
      return { access_token: token, token_type: 'Bearer' as const, expires_in: seconds };
    },
  );
}

interface Granted {
  readonly token: string;
  readonly expiresAtMs: number;
}

export const DecideSchema = z.strictObject({
  code: text.min(1).max(40).describe('The code that the command printed.'),
  decision: z.enum(['look', 'confirm', 'refuse']).describe('`look` only shows which machine asks.'),
  role: z.enum(ROLES).optional().describe('Role of the token. Default: your own role.'),
});
export const AskingSchema = z.object({
  host: text.describe('Host name that the command reported. It is not verified.'),
  address: text.describe('Network address of the command.'),
  createdAtMs: Milliseconds,
});

/** `device-logins`: a person who is logged in to the page confirms or refuses a command's login. */
export function addDeviceDecision(api: Api, access: Access): void {
  const { repository, clock, log } = access.options;
  const guesses = createGuesses(clock, WRONG_CODES_MAX);
  api.post(
    '/device-logins',
    described(
      'operate',
      ['console', 'Show, confirm or refuse the login of a command, selected by its short code'],
      { 200: AskingSchema },
      { body: DecideSchema },
    ),
    async (request) => {
      const { person, body } = request;
      // A token could otherwise make tokens without a person looking.
      if (person.via !== 'cookie') {
        throw new Problem(
          'not-allowed',
          'Only a login in the page can confirm: open /device in a browser',
        );
      }
      const who = digestOf(person.identity).toString('hex');
      const seconds = guesses.waitSeconds(who);
      const remedy = 'type the code that the command shows';
      if (seconds > 0) throw tooMany('wrong codes from you', seconds, remedy);
      const digest = digestOf(readCode(body.code));
      const found = await repository.devices.find(digest, new AbortController().signal);
      const unknown = () => {
        guesses.wrong(who, digest.toString('hex'));
        return new Problem(
          'not-found',
          'No login with this code is waiting. Check the code; it is valid for ten minutes',
        );
      };
      if (!found) throw unknown();
      const { publicKey: _, ...asking } = found;
      if (body.decision === 'look') return asking;
      const isDone =
        body.decision === 'refuse'
          ? await repository.devices.decide(digest, null)
          : await grant(access, request, { digest, found, role: body.role ?? person.role });
      if (!isDone) throw unknown();
      const { host, address } = asking;
      const what = `the login of a command was ${body.decision === 'refuse' ? 'refused' : 'confirmed'}`;
      log.info({ person: person.name, host, address }, what);
      return asking;
    },
  );
}

interface Confirmed {
  readonly digest: Uint8Array;
  readonly found: DeviceLogin;
  readonly role: Role;
}

/** Makes the token. It has at most the person's rights, and ends with the login of the page. */
async function grant(
  access: Access,
  request: Parameters<Access['loginSecret']>[0] & { readonly person: Person },
  { digest, found, role }: Confirmed,
): Promise<boolean> {
  const { repository, random } = access.options;
  const { person } = request;
  requireWithin(person, { role, providers: person.providers });
  const { id, token } = makeToken(random);
  const secret = await access.loginSecret(request);
  const host = found.host.replaceAll(/[^a-z0-9.-]+/gi, '-').slice(0, 40);
  const expiresAtMs = await repository.tokens.add({
    ...{ id, digest: digestOf(token), name: `cli-${host}-${id}`, role },
    ...{ providers: person.providers, forMs: SESSION_MAX_MS },
    ...{ owner: person.name, ownerIdentity: person.identity },
    ...{ parentTokenId: person.tokenId ?? null, parentSessionId: person.sessionId ?? null },
    loginSeal: secret === null ? null : seal(secret, token, random),
  });
  if (expiresAtMs === null) return false;
  const sealed = sealFor(JSON.stringify({ token, expiresAtMs }), found.publicKey, random);
  if (await repository.devices.decide(digest, sealed)) return true;
  await repository.tokens.revoke(id, person.name);
  return false;
}
