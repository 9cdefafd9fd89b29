import { z } from 'zod';
import { isUuid } from '../../../domain/ids.ts';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { ApiTimings } from '../../driver-kit/terms.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';

/** New name prefix of devices before their deletion. */
export const DELETED_PREFIX = 'deleted-';
/** Maximum length of a domain name label. */
export const HOSTNAME_LENGTH_MAX = 63;
/** Characters of a reservation's id in a hostname: three hyphenated groups. */
export const HOSTNAME_ID_LENGTH = 18;

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('URL of the API, without a trailing slash.')
      .prefault('https://api.equinix.com/metal/v1')
      .transform((text) => text.replace(/\/+$/, '')),
    token: leaf.secret('API key.', around),
    username: leaf.text('User of the API key, for the log.'),
    projectId: projectId(),
    devicePrefix: devicePrefix(),
    sshKeyLabel: leaf.text('Label of our SSH key at the provider; used by this instance set only.'),
    os: leaf.text('Operating system of new machines.').prefault('ubuntu_24_04'),
    parallelism: leaf.count('Maximum concurrent API calls.', 1, 64).prefault(3),
    apiRate: leaf.duration('Minimum time between the starts of two calls.', 0).prefault('2s'),
    reservationCacheTimeout: leaf
      .duration('How long a listing of reservations is cached.', 0)
      .prefault('15m'),
    pageSize: leaf.count('Entries per page of a listing.', 1, 1000).prefault(100),
    connectTimeout: leaf.duration('Time limit for a connection.').prefault('10s'),
    attemptTimeout: leaf
      .duration('Time limit for an API call; a page of a listing has three times as long.')
      .prefault('60s'),
    operationTimeout: leaf
      .duration('Time limit for an operation with all its calls and waits.')
      .prefault('15m'),
    backoffInitial: leaf
      .duration('Approximate wait before a call is repeated; grows each time.')
      .prefault('500ms'),
    backoffMaximum: leaf.duration('Approximate maximum of these waits.').prefault('60s'),
    probeGap: leaf
      .duration('Wait between two searches for a device whose creation was not answered.')
      .prefault('10s'),
    settle: leaf.duration('How long such a device may take to appear.').prefault('2m'),
    sshPortFromCustomdata: leaf
      .flag('Take the SSH port from the device’s custom data; for simulated machines.')
      .prefault(false),
    useProjectKeys: leaf
      .flag('INSECURE, for debugging: new machines accept every key of the project.')
      .prefault(false),
    allowInsecureHttp: leaf
      .flag('Allow an http:// address beyond loopback; the token is then sent unencrypted.')
      .prefault(false),
  });

/** Keys of a provider with driver `equinix`, as in the file. */
export const equinixSchema = (around: Surroundings) =>
  fields(around).refine(isSecure, {
    when: () => true,
    path: ['baseUrl'],
    error: 'would send the token unencrypted; give an https URL, or set allowInsecureHttp: true',
  });

/** Keys of a provider with driver `equinix`, as parsed. */
export type EquinixSettings = z.output<ReturnType<typeof equinixSchema>>;

function isSecure(provider: { baseUrl?: unknown; allowInsecureHttp?: unknown }): boolean {
  if (typeof provider?.baseUrl !== 'string' || provider.allowInsecureHttp === true) return true;
  return !/^http:/i.test(provider.baseUrl) || baseUrlFault(provider.baseUrl, false) === false;
}

const projectId = () =>
  leaf
    .text('Project that has the reservations.')
    .refine(isUuid, { error: 'is not a UUID; give the id of the project, in lower case' });

/** Prefix plus the reservation id's first characters; a hostname has at most 63. */
const PREFIX_MAX = HOSTNAME_LENGTH_MAX - HOSTNAME_ID_LENGTH;

const devicePrefix = () =>
  leaf
    .text('Prefix of the host names of our devices.', {
      matches: /^[a-z0-9][a-z0-9-]*-$/,
      type: 'a prefix of lower-case letters, digits and hyphens that ends in a hyphen',
    })
    .refine((prefix) => !prefix.startsWith(DELETED_PREFIX), {
      error: `starts with ${DELETED_PREFIX}, which marks devices being deleted; give another`,
    })
    .refine((prefix) => prefix.length <= PREFIX_MAX, {
      error: `is too long for a host name; give at most ${PREFIX_MAX} characters`,
    });

/** One configured account and project. */
export interface EquinixConfig extends Omit<EquinixSettings, 'token'> {
  /** Name of the provider in slots, BMDB and metrics. */
  readonly name: string;
  /** Called before each attempt, so that a rotated token is used. Never logged. */
  readonly token: () => string;
  /** OpenSSH line of the key that new machines let in. */
  readonly publicKeyLine: string;
  /** OpenSSH lines of our earlier keys. */
  readonly previousKeyLines?: readonly string[];
  /** `xxxxx-xxxxx-xxxxxxxxxxxxxxx`: marks our devices at the provider. */
  readonly instanceSetId: string;
  /** Limit for all replies of one listing together; 512 MiB if absent. */
  readonly listingBytesMax?: number;
}

/** Configured limits and waits, in milliseconds. */
export const timingsOf = (config: EquinixConfig): ApiTimings => ({
  connectTimeoutMs: config.connectTimeout,
  attemptTimeoutMs: config.attemptTimeout,
  listPageTimeoutMs: 3 * config.attemptTimeout,
  operationTimeoutMs: config.operationTimeout,
  backoffInitialMs: config.backoffInitial,
  backoffMaximumMs: config.backoffMaximum,
  pauseMaxMs: 60_000,
  authPauseMs: 60_000,
});
