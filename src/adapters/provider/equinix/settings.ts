import { isUuid } from '../../../domain/ids.ts';
import { baseUrlFault } from './client/base-url.ts';
import { DELETED_PREFIX, HOSTNAME_ID_LENGTH, HOSTNAME_LENGTH_MAX } from './ownership.ts';

/** One configured account and project at an API that speaks Equinix Metal. */
export interface EquinixConfig {
  /** Name of the provider, as slots, BMDB and metrics show it. */
  readonly name: string;
  /** With any path prefix; a trailing slash is fine. */
  readonly baseUrl: string;
  /** Plain http to something that is not loopback. */
  readonly allowInsecureHttp: boolean;
  readonly username: string;
  /** Asked before each attempt, so that a rotated token is picked up. Never logged. */
  readonly token: () => string;
  readonly projectId: string;
  /** Hostnames of our devices start so; see `checkEquinixConfig`. */
  readonly devicePrefix: string;
  readonly sshKeyLabel: string;
  /** OpenSSH line of the key that new machines let in. */
  readonly publicKeyLine: string;
  /** `xxxxx-xxxxx-xxxxxxxxxxxxxxx`: marks what is ours at the provider. */
  readonly instanceSetId: string;
  /** Slug of the operating system of new devices. */
  readonly os: string;
  /** HTTP attempts in flight. */
  readonly parallelism: number;
  /** Least distance between the starts of two attempts; 0 = none. */
  readonly apiRateMs: number;
  readonly reservationCacheTimeoutMs: number;
  /**
   * `customdata.ssh_port` of a device is appended to its address: for machines behind port
   * forwarding. The address counts as unknown until that port is.
   */
  readonly sshPortFromCustomdata: boolean;
  /**
   * For debugging: new machines let in every key of the project and its members, not only ours.
   */
  readonly useProjectKeys?: boolean;
  /** Entries per page of a listing; 100 if absent. */
  readonly pageSize?: number;
  /** Of all replies of one listing together; 512 MiB if absent. */
  readonly listingBytesMax?: number;
  readonly timings?: Partial<EquinixTimings>;
}

/** Limits and waits, milliseconds. */
export interface EquinixTimings {
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly listPageTimeoutMs: number;
  /** A whole operation with all its attempts and waits. */
  readonly operationTimeoutMs: number;
  readonly backoffInitialMs: number;
  readonly backoffMaximumMs: number;
  /**
   * The server may hold up all calls for so long. A longer wait is the caller's: the call is refused,
   * and nothing is remembered of it here.
   */
  readonly pauseMaxMs: number;
  /** Operations fail fast this long after the token was refused. */
  readonly authPauseMs: number;
  /** From a lost creation to the first look for its device; half of `probeGapMs` if absent. */
  readonly probeDelayMs: number;
  /** Between two looks. */
  readonly probeGapMs: number;
  /** Empty looks for this long before a refused repetition is believed. */
  readonly settleMs: number;
}

export const EQUINIX_TIMINGS: EquinixTimings = {
  connectTimeoutMs: 10_000,
  attemptTimeoutMs: 60_000,
  listPageTimeoutMs: 180_000,
  operationTimeoutMs: 15 * 60_000,
  backoffInitialMs: 500,
  backoffMaximumMs: 60_000,
  pauseMaxMs: 60_000,
  authPauseMs: 60_000,
  probeDelayMs: 5_000,
  probeGapMs: 10_000,
  settleMs: 120_000,
};

/** The configured limits and waits, defaults filled in. */
export function timingsOf({ timings = {} }: Pick<EquinixConfig, 'timings'>): EquinixTimings {
  const all = { ...EQUINIX_TIMINGS, ...timings };
  return { ...all, probeDelayMs: timings.probeDelayMs ?? all.probeGapMs / 2 };
}

export const EQUINIX_DEFAULTS = {
  baseUrl: 'https://api.equinix.com/metal/v1',
  allowInsecureHttp: false,
  sshKeyLabel: 'shepherd-FIXME',
  devicePrefix: 'shepherd-FIXME-',
  os: 'ubuntu_24_04',
  parallelism: 3,
  apiRateMs: 2_000,
  reservationCacheTimeoutMs: 15 * 60_000,
  sshPortFromCustomdata: false,
} as const;

/** A fault of the configuration; `path` is a key of `EquinixConfig`. */
export interface ConfigFault {
  readonly path: string;
  readonly message: string;
}

/** Everything that is wrong with a configuration, without any call; empty when it can be used. */
export function checkEquinixConfig(config: EquinixConfig): ConfigFault[] {
  return [
    ...checkPresence(config),
    ...fault('baseUrl', baseUrlFault(config.baseUrl, config.allowInsecureHttp)),
    ...fault('projectId', config.projectId && !isUuid(config.projectId) && 'is not a UUID'),
    ...fault('sshKeyLabel', placeholderFault(config.sshKeyLabel)),
    ...fault('devicePrefix', placeholderFault(config.devicePrefix) || prefixFault(config)),
    ...fault('instanceSetId', !INSTANCE_SET_ID.test(config.instanceSetId) && INSTANCE_SET_FORM),
    ...fault('publicKeyLine', !PUBLIC_KEY.test(config.publicKeyLine) && 'is no OpenSSH public key'),
    ...fault('parallelism', config.parallelism < 1 && 'must be at least 1'),
    ...fault('apiRateMs', config.apiRateMs < 0 && 'must not be negative'),
    ...fault('pageSize', pageSizeFault(config.pageSize)),
  ];
}

const INSTANCE_SET_ID = /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i;
const INSTANCE_SET_FORM = 'must have the form xxxxx-xxxxx-xxxxxxxxxxxxxxx (letters and digits)';
const PUBLIC_KEY = /^(ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( |$)/;

const fault = (path: string, message: string | false): ConfigFault[] =>
  message ? [{ path, message }] : [];

function checkPresence(config: EquinixConfig): ConfigFault[] {
  const texts = ['username', 'projectId', 'sshKeyLabel', 'devicePrefix', 'os'] as const;
  const missing = texts
    .filter((path) => config[path] === '')
    .map((path) => ({ path, message: EMPTY }));
  return config.token() === '' ? [...missing, { path: 'token', message: EMPTY }] : missing;
}
const EMPTY = 'must not be empty';

const placeholderFault = (text: string): string | false =>
  /fixme/i.test(text) && 'still holds the placeholder FIXME';

function prefixFault({ devicePrefix: prefix }: EquinixConfig): string | false {
  if (prefix === '') return false;
  if (!/^[a-z0-9][a-z0-9-]*-$/.test(prefix)) {
    return 'must be lower-case letters, digits and hyphens, and end with a hyphen';
  }
  if (prefix.startsWith(DELETED_PREFIX)) return `must not start with ${DELETED_PREFIX}`;
  return (
    prefix.length + HOSTNAME_ID_LENGTH > HOSTNAME_LENGTH_MAX &&
    `must not be longer than ${HOSTNAME_LENGTH_MAX - HOSTNAME_ID_LENGTH} characters`
  );
}

const pageSizeFault = (size: number | undefined): string | false =>
  size !== undefined &&
  !(Number.isInteger(size) && size >= 1 && size <= 1000) &&
  'must be a whole number from 1 to 1000';
