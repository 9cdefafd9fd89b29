import { z } from 'zod';
import { isProviderError, type ProviderErrorKind } from '../../../domain/errors.ts';
import { lookup } from '../../../lib/data.ts';
import { createApi, type Api } from '../../driver-kit/api.ts';
import {
  formBody,
  type CallClassTerms,
  type BudgetTerms,
  type ApiDeps,
  type ApiTerms,
  type Exchange,
} from '../../driver-kit/terms.ts';
import type { AnswerForm, Meaning, RefusedCall, StayAway } from '../../driver-kit/outcome.ts';
import { entriesOf } from '../../driver-kit/pages.ts';
import type { RobotSettings } from './settings.ts';

/**
 * Robot's replies, as far as we read them. Nulls are removed before, so null equals missing. Unused
 * fields are not read, so they cannot make a reply invalid.
 */

const wrapped = <Key extends string, Inner extends z.ZodType>(key: Key, inner: Inner) =>
  z.object({ [key]: inner } as Record<Key, Inner>).transform((value) => {
    return (value as Record<Key, z.output<Inner>>)[key];
  });

const server = z
  .object({
    server_number: z.int().positive(),
    server_name: z.string().default(''),
    server_ip: z.string().optional(),
    server_ipv6_net: z.string().optional(),
    ip: z.array(z.string()).optional().catch(undefined),
    subnet: z
      .array(z.object({ ip: z.string(), mask: z.string() }))
      .optional()
      .catch(undefined),
    product: z.string().optional(),
    dc: z.string().optional(),
    status: z.string().default(''),
    cancelled: z.boolean().default(false),
    paid_until: z.string().optional(),
    reset: z.boolean().optional(),
    rescue: z.boolean().optional(),
  })
  .transform((raw) => ({
    number: raw.server_number,
    name: raw.server_name,
    ipv4: raw.server_ip || null,
    ipv6Net: raw.server_ipv6_net || null,
    /** Single addresses; not those of networks. */
    ips: raw.ip ?? [],
    /** Networks such as `192.0.2.8/29`. */
    nets: (raw.subnet ?? []).map(({ ip, mask }) => `${ip}/${mask}`),
    product: raw.product ?? '',
    location: raw.dc ?? null,
    isReady: raw.status === 'ready',
    isCancelled: raw.cancelled,
    paidUntil: raw.paid_until ?? null,
    /** Only a single server's reply has these; null: not stated. */
    canReset: raw.reset ?? null,
    canRescue: raw.rescue ?? null,
  }));
/** A server of the account. */
export type Server = z.output<typeof server>;
export const serverReply = wrapped('server', server);

const numberOf = z.object({ server: z.object({ server_number: z.int().positive() }) });

/** A listing: the readable entries, and the numbers of the unreadable ones. */
export const serverList = entriesOf(serverReply, (entry) => ({
  id: numberOf.safeParse(entry).data?.server.server_number.toString() ?? null,
  reservationId: null,
})).transform(({ items: servers, unread }) => {
  const unreadable = unread.flatMap(({ id }) => (id === null ? [] : Number(id)));
  return { servers, unreadable, nameless: unread.length - unreadable.length };
});
export type ServerList = z.output<typeof serverList>;

const resetOptions = z
  .object({ type: z.array(z.string()).default([]), operating_status: z.string().optional() })
  .transform(({ type, operating_status: status }) => ({
    types: type,
    operatingStatus: status ?? null,
  }));
/** Available resets of a server, and whether it runs, if Robot knows. */
export type ResetOptions = z.output<typeof resetOptions>;
export const resetReply = wrapped('reset', resetOptions);

const fingerprint = z
  .string()
  .regex(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/i)
  .transform((text) => text.toLowerCase());
/** Objects or texts; anything else is skipped. */
const hostKeys = z
  .array(z.unknown())
  .default([])
  .transform((entries) =>
    entries.flatMap((entry) => {
      const text =
        typeof entry === 'string' ? entry : hostKeyObject.safeParse(entry).data?.key.fingerprint;
      const read = fingerprint.safeParse(text);
      return read.success ? [read.data] : [];
    }),
  );
const hostKeyObject = z.object({ key: z.object({ fingerprint: z.string() }) });

const authorizedKeys = z
  .array(z.unknown())
  .default([])
  .transform((entries) =>
    entries.flatMap((entry) => hostKeyObject.safeParse(entry).data?.key.fingerprint ?? []),
  );

/**
 * The password in the reply is dropped unread: nobody needs it, and it must not be stored. The type
 * of `os` depends on the state: a list while not armed, a text while armed.
 */
const rescue = z
  .object({
    active: z.boolean(),
    os: z.union([z.string(), z.array(z.string())]).optional(),
    authorized_key: authorizedKeys,
    host_key: hostKeys,
  })
  .transform((raw) => ({
    isArmed: raw.active,
    /** Armed: the rescue system that will boot. Otherwise those available. */
    systems: raw.os === undefined ? [] : [raw.os].flat(),
    keys: raw.authorized_key as readonly string[],
    hostKeys: raw.host_key as readonly string[],
  }));
/** Whether the next boot starts the rescue system, and its keys. */
export type Rescue = z.output<typeof rescue>;
export const rescueReply = wrapped('rescue', rescue);

const OTHER_BOOTS = ['linux', 'vnc', 'windows', 'plesk', 'cpanel'] as const;
const active = z.object({ active: z.literal(true) });
const bootState = z.object({ rescue: rescue.optional() }).loose();
/** What the next boot of a server starts, among all options. */
export const bootReply = wrapped(
  'boot',
  bootState.transform((raw) => ({
    isRescueArmed: raw.rescue?.isArmed ?? false,
    /** Armed installations, which the next boot would begin. */
    others: OTHER_BOOTS.filter((kind) => active.safeParse(raw[kind]).success),
  })),
);
export type BootState = z.output<typeof bootReply>;

const key = z
  .object({ name: z.string().default(''), fingerprint, created_at: z.string().optional() })
  .transform(({ name, fingerprint: md5, created_at: at }) => ({
    name,
    md5,
    createdAt: at ?? null,
  }));
/** An SSH key of the account. */
export type AccountKey = z.output<typeof key>;
export const keyReply = wrapped('key', key);
export const keyList = z.array(keyReply);

export const nothing = z.unknown().transform(() => undefined);

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** Default waits for replies without one. */
const MAINTENANCE_MS = 5 * MINUTE_MS;
const MANUAL_RESET_MS = 30 * MINUTE_MS;

/** Error replies. Sources disagree about which of the two names of the rate limit appears. */
const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string().default(''),
    missing: z.array(z.string()).nullish(),
    invalid: z.array(z.string()).nullish(),
    max_request: z.number().nullish(),
    max_requests: z.number().nullish(),
    interval: z.number().nullish(),
  }),
});

/** The code, then the message, then the names of invalid fields, never their values. */
function errorsIn(json: unknown): readonly string[] | null {
  const read = errorBody.safeParse(json);
  if (!read.success) return null;
  const { code, message, missing, invalid } = read.data.error;
  const fields = [...(missing ?? []), ...(invalid ?? [])];
  return [code, message, ...fields.map((field) => `field ${field}`)].filter((text) => text !== '');
}

/**
 * A 403 is a rate limit if it says so or has no readable body. The wait grows with each consecutive
 * one, up to the limit's interval.
 */
function staysAway({
  status,
  json,
  waitAskedMs,
  inARow,
  mutates,
}: RefusedCall): StayAway | undefined {
  if (status === 503) {
    return { waitMs: waitAskedMs || MAINTENANCE_MS, ambiguous: mutates };
  }
  if (status !== 403) return undefined;
  const { data } = errorBody.safeParse(json);
  if (data && data.error.code !== 'RATE_LIMIT_EXCEEDED') return undefined;
  const { interval, max_request: one, max_requests: other } = data?.error ?? {};
  const intervalMs = interval && interval > 0 ? interval * 1000 : HOUR_MS;
  const max = other ?? one ?? 0;
  const shareMs = max > 0 ? (2 * intervalMs) / max : 0;
  const firstMs = Math.max(MINUTE_MS, shareMs);
  return {
    waitMs: Math.min(firstMs * 2 ** Math.min(inARow - 1, 12), Math.max(MINUTE_MS, intervalMs)),
  };
}

export const ANSWERS: AnswerForm = {
  errorsIn,
  // A 403 without a body is a rate limit here, and proves nothing about the object.
  tellsAbsence: new Set([404, 410]),
  staysAway,
  meaningOf,
};

/** Another boot option is already armed, whatever the status. */
const BLOCKED: ReadonlySet<string> = new Set(['BOOT_ALREADY_ENABLED', 'BOOT_BLOCKED']);

const KINDS: Readonly<Record<string, ProviderErrorKind>> = {
  SERVER_NOT_FOUND: 'not-found',
  NOT_FOUND: 'not-found',
  RESET_NOT_AVAILABLE: 'not-implemented',
  BOOT_NOT_AVAILABLE: 'not-implemented',
  WOL_NOT_AVAILABLE: 'not-implemented',
  INVALID_INPUT: 'invalid',
  KEY_ALREADY_EXISTS: 'conflict',
};

/** A technician was called to reset the server: until then, no other reset is requested. */
export const MANUAL_RESET = 'RESET_MANUAL_ACTIVE';

/** Meaning of Robot's error code. */
function meaningOf({ status, messages }: RefusedCall): Meaning | undefined {
  const [code = ''] = messages;
  if (BLOCKED.has(code)) return { kind: 'conflict' };
  if (status >= 500 || status === 401 || status === 403) return undefined;
  if (code === MANUAL_RESET) return { kind: 'transient', waitMs: MANUAL_RESET_MS };
  const told = lookup(KINDS, code) ?? (status === 409 ? 'conflict' : undefined);
  // The server does not support that type of reset.
  const isAboutType = told === 'invalid' && messages.includes('field type');
  return told && { kind: isAboutType ? 'not-implemented' : told };
}

/** Whether Robot answered with one of these codes. */
export function saysCode(error: unknown, ...codes: readonly string[]): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isProviderError(at) && at.answer) return codes.includes(at.answer.messages[0] ?? '');
  }
  return false;
}

/** Share of the vendor's limits that we use, because others may use the account too. */
const SHARE = 0.9;
/** Resets reserved for give-backs and forced reboots. */
const RESETS_KEPT = 10;

/**
 * Robot's hourly limits, by method and first part of the path. Everything below one path shares a
 * limit: a list and a single server were observed to share one count.
 */
const LIMITS: Readonly<Record<string, number>> = {
  'GET /server': 200,
  'POST /server': 200,
  'GET /reset': 500,
  'POST /reset': 50,
  'GET /boot': 500,
  'POST /boot': 500,
  'DELETE /boot': 500,
  'GET /key': 500,
  'POST /key': 200,
  'DELETE /key': 200,
};
export const CLASS_NAMES: readonly string[] = Object.keys(LIMITS);
export const RESET_CLASS = 'POST /reset';

/** Hourly budget of each class; `limits` overrides the documented values. */
export const budgetsOf = (
  limits: Readonly<Record<string, number>>,
): ReadonlyMap<string, BudgetTerms> =>
  new Map(
    Object.entries({ ...LIMITS, ...limits }).map(([name, limit]) => [
      name,
      {
        startsMax: Math.floor(limit * SHARE),
        withinMs: HOUR_MS,
        ...(name === RESET_CLASS && { keptForUrgent: RESETS_KEPT }),
      },
    ]),
  );

const classesOf = (
  limits: Readonly<Record<string, number>>,
): Readonly<Record<string, CallClassTerms>> =>
  Object.fromEntries([...budgetsOf(limits)].map(([name, terms]) => [name, { budgets: [terms] }]));

export const classOf = ({ method, path }: Pick<Exchange, 'method' | 'path'>): string =>
  `${method} ${/^\/[a-z]+/.exec(path)?.[0] ?? ''}`;

const ENDPOINTS: readonly (readonly [path: RegExp, name: string])[] = [
  [/^\/server$/, 'Servers'],
  [/^\/server\/\d+$/, 'Server'],
  [/^\/reset\/\d+$/, 'Reset'],
  [/^\/boot\/\d+$/, 'Boot'],
  [/^\/boot\/\d+\/rescue$/, 'Rescue'],
  [/^\/boot\/\d+\/linux$/, 'Linux'],
  [/^\/key$/, 'Keys'],
  [/^\/key\/[0-9a-f:]+$/, 'Key'],
];

/** Route name for metrics and logs. */
export function endpointName(method: string, path: string): string | null {
  const found = ENDPOINTS.find(([at]) => at.test(path));
  return found ? `${method}${found[1]}` : null;
}

export const ROBOT_TIMINGS: ApiTerms['timings'] = {
  connectTimeoutMs: 10_000,
  attemptTimeoutMs: 60_000,
  listPageTimeoutMs: 60_000,
  operationTimeoutMs: 180_000,
  backoffInitialMs: 500,
  backoffMaximumMs: 30_000,
  // A wait is reported to the caller instead of waited for, because it may last an hour.
  pauseMaxMs: 0,
  // Three failed logins block our address for ten minutes.
  authPauseMs: 600_000,
};

/** Robot's web service specifics. The password is read before each attempt. */
export const createRobotApi = (
  name: string,
  { baseUrl, user, password, limits }: RobotSettings,
  deps: ApiDeps,
): Api =>
  createApi(
    {
      name,
      baseUrl,
      token: () => password.read(),
      headersFor: (secret) => ({
        Authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`,
      }),
      endpointName,
      form: ANSWERS,
      encoding: formBody('brackets'),
      limits: { maxConcurrency: 8, gapMs: 0 },
      classes: classesOf(limits),
      classOf,
      timings: ROBOT_TIMINGS,
      attemptsMax: 4,
    },
    deps,
  );
