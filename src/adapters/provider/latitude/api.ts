import { z } from 'zod';
import { isProviderError, type ProviderError } from '../../../domain/errors.ts';
import { createApi, type Api } from '../../driver-kit/api.ts';
import type { ApiDeps } from '../../driver-kit/terms.ts';
import { isRefused } from '../../driver-kit/errors.ts';
import type { AnswerForm } from '../../driver-kit/outcome.ts';
import { entriesOf, type Entries, type Unread } from '../../driver-kit/pages.ts';
import { timingsOf, type LatitudeConfig } from './settings.ts';

/**
 * Fields of the API's documents that we use; unknown ones are dropped, and all but the id may be
 * missing. Nulls are removed before.
 */
const ID = /^[a-z]+_[A-Za-z0-9]+$/;
export const isId = (text: string): boolean => ID.test(text) && text.length <= 128;
const id = z.string().refine(isId);
const text = z.string().optional();
const flag = z.boolean().optional();
const slugged = z.object({ slug: text }).optional();

/** One resource: its attributes with its id. */
const resource = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .object({ id, attributes: z.object(shape).prefault({} as never) })
    .transform((told) => ({ id: told.id, ...(told.attributes as z.output<z.ZodObject<Shape>>) }));

export const server = resource({
  hostname: text,
  label: text,
  status: text,
  site: text,
  locked: flag,
  primary_ipv4: text,
  primary_ipv6: text,
  created_at: text,
  scheduled_deletion_at: text,
  plan: z.object({ slug: text, name: text, billing: text }).optional(),
  operating_system: slugged,
  region: z.object({ site: slugged }).optional(),
  project: z.object({ id: text }).optional(),
});
export type Server = z.output<typeof server>;

/** The content is a secret, used only for records. */
export const userData = resource({
  description: text,
  content: text,
  created_at: text,
  project: z.object({ id: text }).optional(),
});
export type UserData = z.output<typeof userData>;

export const sshKey = resource({ name: text, public_key: text });
export type SshKey = z.output<typeof sshKey>;

export const project = resource({ name: text, provisioning_type: text, billing_type: text });
export type Project = z.output<typeof project>;

export const operatingSystem = z
  .object({
    id: z.string(),
    attributes: z.object({
      slug: text,
      user: text,
      features: z.object({ ssh_keys: flag, user_data: flag, raid: flag }).optional(),
    }),
  })
  .transform(({ id: named, attributes }) => ({ id: named, ...attributes }));
export type OperatingSystem = z.output<typeof operatingSystem>;

/** The server's installation; of its user data, only the record's id. */
export const deployConfig = z
  .object({
    attributes: z.object({
      user_data: z.union([z.string(), z.object({ id: z.string() })]).optional(),
    }),
  })
  .transform(({ attributes: { user_data: named } }) => ({
    userData: typeof named === 'object' ? named.id : (named ?? null),
  }));
export type DeployConfig = z.output<typeof deployConfig>;

/** A document about one object. */
export const documentOf = <T>(schema: z.ZodType<T>): z.ZodType<T> =>
  z.object({ data: schema }).transform(({ data }) => data);

/** Document about the object with the requested id; one about another object is rejected. */
export const documentOfId = <T extends { readonly id: string }>(
  schema: z.ZodType<T>,
  wanted: string,
): z.ZodType<T> =>
  documentOf(schema).refine((found) => found.id === wanted, { path: ['data', 'id'] });

/** A page of a list; the total appears only on request, and not in every version. */
export interface ListPage<T> extends Entries<T> {
  readonly total: number | null;
}

const totals = z
  .object({ stats: z.object({ total: z.object({ count: z.number() }) }) })
  .optional()
  .catch(undefined);

export const pageOf = <T>(schema: z.ZodType<T>): z.ZodType<ListPage<T>> =>
  z
    .object({ data: entriesOf(schema, namesOf), meta: totals })
    .transform(({ data, meta }) => ({ ...data, total: meta?.stats.total.count ?? null }));

/** Readable parts of an unreadable entry; the hostname replaces the reservation. */
const namesOf = (entry: unknown): Pick<Unread, 'id' | 'reservationId'> => {
  const { id: told = null, attributes } = entryNames.safeParse(entry).data ?? {};
  return { id: told, reservationId: attributes?.hostname ?? null };
};
const entryNames = z.object({
  id: id.optional().catch(undefined),
  attributes: z
    .object({ hostname: text.catch(undefined) })
    .optional()
    .catch(undefined),
});

/** Replies whose content does not matter. */
export const nothing = z.unknown().transform(() => undefined);

const told = z.string().optional().catch(undefined);
const errorBody = z.object({
  errors: z
    .array(
      z.object({
        code: told,
        title: told,
        detail: told,
        source: z.object({ pointer: told, parameter: told }).optional().catch(undefined),
      }),
    )
    .min(1),
});

/** The wait in seconds, in the body. */
const limited = z.object({
  errors: z.array(
    z.object({
      meta: z.object({ retry_after: z.number().nonnegative() }).optional().catch(undefined),
    }),
  ),
});
const USUAL_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

const STOCK = /stock|availab|capacity|sold out/i;
const LIMIT = /\b(limit|quota)/i;
const LOCKED = /\block(ed)?\b/i;
const PASSING =
  /deploying|in progress|erasing|reinstalling|\b(is|was|being) (powered )?off\b|powered off|not (powered )?on\b/i;

const LOCKED_HINT = { hint: 'the server is locked; only a person can unlock it' };
const NOT_NOW = {
  kind: 'transient',
  hint: 'not during an installation or while off; retry in a minute',
} as const;

/** Error replies: what is wrong and where in the request, never the value. */
export const ANSWERS: AnswerForm = {
  errorsIn(json) {
    const { data } = errorBody.safeParse(json);
    if (!data) return null;
    return data.errors.map(({ code, title, detail, source }) => {
      const at = source?.pointer ?? source?.parameter;
      const said = [title, detail].filter((part) => part !== undefined && part !== '');
      const what = [...new Set(said)].join(': ') || (code ?? 'no reason given');
      return [
        ...(at ? [`at ${at}`] : []),
        what,
        ...(code && code !== what ? [`(${code})`] : []),
      ].join(' ');
    });
  },
  tellsAbsence: new Set([404, 410]),
  /** Only the texts tell what a refusal concerns. */
  meaningOf({ endpoint, status, messages }) {
    const isLocked =
      status === 423 || ((status === 403 || status === 422) && says(messages, LOCKED));
    if (status === 409 || isLocked) return { kind: 'conflict', ...(isLocked && LOCKED_HINT) };
    // The key is refused, whichever of the two texts appears.
    if (status === 403) return { kind: 'auth' };
    if (status !== 422) return undefined;
    if (endpoint !== CREATE) return says(messages, PASSING) ? NOT_NOW : undefined;
    // A limit on machines, or on the team's share of them.
    if (says(messages, LIMIT)) return { kind: 'transient', quota: true };
    return says(messages, STOCK) ? { kind: 'transient', capacity: { scope: 'plan' } } : undefined;
  },
  staysAway({ status, json, waitAskedMs }) {
    if (status !== 429) return undefined;
    const inBody = limited
      .safeParse(json)
      .data?.errors.find(({ meta }) => meta !== undefined)?.meta;
    const waitMs = inBody ? inBody.retry_after * 1_000 : waitAskedMs || USUAL_WAIT_MS;
    return { waitMs: Math.min(waitMs, LONGEST_WAIT_MS) };
  },
};

export const CREATE = 'CreateServer';

const says = (messages: readonly string[], what: RegExp): boolean =>
  messages.some((message) => what.test(message));

/** Whether the page size of a list was too large. */
export const isAboutPage = (error: unknown): boolean =>
  isProviderError(error) &&
  [400, 422].includes(error.answer?.status ?? 0) &&
  says(error.answer!.messages, /\bpage\b/i);

/** A definite refusal: nothing was created, whatever the reason. */
export const isNo = (error: unknown): error is ProviderError =>
  isRefused(error) || (isProviderError(error, 'auth', 'not-found') && error.outcome === 'not-done');

/** Whether the missing object may be our key or our record. */
export const namesOurThings = ({ answer }: ProviderError): boolean =>
  answer?.status === 404 ||
  (answer?.status === 422 && says(answer.messages, /ssh.?key|user.?data/i));

const MINUTE_MS = 60_000;
const LIMITS = { maxConcurrency: 4, gapMs: 0 };

/**
 * The Latitude.sh API's specifics, including separate budgets for reads and writes. The core's
 * metrics of each call are the only ones.
 */
export function createLatitudeApi(config: LatitudeConfig, deps: ApiDeps): Api {
  const { name, baseUrl, token, readsPerMinute, writesPerMinute } = config;
  const inAMinute = (startsMax: number) => ({ budgets: [{ startsMax, withinMs: MINUTE_MS }] });
  return createApi(
    {
      name,
      baseUrl,
      token,
      headersFor: (key) => ({
        Authorization: `Bearer ${key}`,
        'Api-Version': '2023-06-01',
        Accept: 'application/vnd.api+json',
      }),
      endpointName,
      form: ANSWERS,
      limits: LIMITS,
      classes: { reads: inAMinute(readsPerMinute), writes: inAMinute(writesPerMinute) },
      classOf: ({ method }) => (method === 'GET' ? 'reads' : 'writes'),
      timings: timingsOf(config),
      attemptsMax: 4,
      secretsIn: rememberSecrets(),
    },
    deps,
  );
}

/** Number of scripts remembered: a reply may quote an earlier request. */
const SCRIPTS_KEPT = 8;

function rememberSecrets() {
  let sent: readonly (readonly string[])[] = [];
  return (body: unknown): string[] => {
    const found = secretsIn(body);
    if (found.length > 0) sent = [found, ...sent].slice(0, SCRIPTS_KEPT);
    return [...new Set(sent.flat())];
  };
}

const withContent = z.object({ data: z.object({ attributes: z.object({ content: z.string() }) }) });
const SCRIPT = /^ *content: ([A-Za-z0-9+/=]+)$/m;

/** A first-boot script, in all the forms in which it is sent. */
export function secretsIn(body: unknown): string[] {
  const content = withContent.safeParse(body).data?.data.attributes.content;
  if (content === undefined) return [];
  const text = decoded(content);
  const encoded = SCRIPT.exec(text)?.[1] ?? '';
  return [content, encoded, ...decoded(encoded).split('\n')].filter((part) => part.trim() !== '');
}
const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

const ENDPOINTS: readonly (readonly [method: string, path: RegExp, name: string])[] = [
  ['GET', /^\/servers$/, 'ListServers'],
  ['POST', /^\/servers$/, CREATE],
  ['GET', /^\/servers\/\w+$/, 'GetServer'],
  ['DELETE', /^\/servers\/\w+$/, 'DeleteServer'],
  ['POST', /^\/servers\/\w+\/actions$/, 'PostAction'],
  ['POST', /^\/servers\/\w+\/reinstall$/, 'ReinstallServer'],
  ['POST', /^\/servers\/\w+\/schedule_deletion$/, 'ScheduleDeletion'],
  ['GET', /^\/servers\/\w+\/deploy_config$/, 'GetDeployConfig'],
  ['GET', /^\/user_data$/, 'ListUserData'],
  ['POST', /^\/user_data$/, 'CreateUserData'],
  ['GET', /^\/user_data\/\w+$/, 'GetUserData'],
  ['PATCH', /^\/user_data\/\w+$/, 'UpdateUserData'],
  ['DELETE', /^\/user_data\/\w+$/, 'DeleteUserData'],
  ['GET', /^\/ssh_keys$/, 'ListSshKeys'],
  ['POST', /^\/ssh_keys$/, 'CreateSshKey'],
  ['GET', /^\/projects$/, 'ListProjects'],
  ['GET', /^\/plans\/operating_systems$/, 'ListOperatingSystems'],
];

/** Route name for metrics and logs; null if it has none. */
export const endpointName = (method: string, path: string): string | null =>
  ENDPOINTS.find(([of, at]) => of === method && at.test(path))?.[2] ?? null;
