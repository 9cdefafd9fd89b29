import { z } from 'zod';
import type { ObjectKind, PoolRef } from '../../../domain/balancing/objects.ts';
import type { Api } from '../../driver-kit/api.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { ApiRequest } from '../../driver-kit/terms.ts';
import { isProviderError } from '../../../domain/errors.ts';
import { isLost, nullIfGone } from '../../driver-kit/errors.ts';
import { type EngineObject, engineObject, wholeIn } from './forms.ts';
import { createLocks } from '../../driver-kit/time-limit.ts';
import type { Clock } from '../../clock/port.ts';

const RESOURCES = '/api/core/v1/resource.json';
const kindPath = (kind: string) => `/api/LBaaS/v1/${kind}.json`;
const inPath = (part: string) => encodeURIComponent(part);

/** Lists contain tags as texts, single resources as objects. */
const tags = z.array(
  z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
);
const row = z.object({ identifier: z.string().min(1), name: z.string().optional() });
const resource = row.extend({
  resource_type: z.object({ identifier: z.string() }).optional(),
  tags: tags.optional(),
});
/** A row of a list of one kind; it may contain only these fields. */
const kindRow = (kind: ObjectKind) =>
  z
    .looseObject(row.shape)
    .transform((told) => ({ ...row.parse(told), object: wholeIn(kind, told) }));
export interface KindRow {
  readonly identifier: string;
  readonly name?: string | undefined;
  /** Null if the row lacks a field that we read. */
  readonly object: EngineObject | null;
}
export type Resource = z.output<typeof resource>;
const created = z.object({ identifier: z.string().min(1) });

export type Engine = ReturnType<typeof createEngine>;

export interface EngineDeps {
  readonly api: Api;
  readonly throttle: Throttle;
  readonly pageSize: number;
}

interface ListRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Errors of the first page by which the service reports an empty list. */
  readonly isEmpty?: (error: unknown) => boolean;
}

const nothing = z.undefined().transform(() => undefined);

/** Routes of the Engine, one function each. All reject with a `ProviderError`. */
export function createEngine({ api, throttle, pageSize }: EngineDeps) {
  /** Sends nothing while the account is paused, including requests that were waiting for a turn. */
  function send<T>(call: Call, request: ApiRequest<T>): Promise<T> {
    return call.send({
      ...request,
      beforeAttempt: async () => {
        const retryAtMs = throttle.heldUntilMs();
        if (retryAtMs === null) return;
        throw call.error('transient', 'the account got too many requests', { retryAtMs });
      },
    });
  }

  async function pages<T extends { readonly identifier: string }>(
    call: Call,
    { path, query, isEmpty = () => false }: ListRequest,
    rowSchema: z.ZodType<T>,
  ): Promise<readonly T[]> {
    const schema = pageSchema(rowSchema);
    return readAll(call, (page) =>
      send(call, {
        method: 'GET',
        path,
        query: { ...query, page: String(page), limit: String(pageSize) },
        schema,
      }).catch((error: unknown) => {
        // A refused later page does not mean an empty list.
        if (page > 1 || !isEmpty(error)) throw error;
        return { rows: [], number: undefined, total: undefined };
      }),
    );
  }

  const read = <T>(op: string, path: string, schema: z.ZodType<T>, signal: AbortSignal) =>
    send(api.call(op, signal), { method: 'GET', path, schema }).catch(nullIfGone);

  return {
    call: (op: string, signal: AbortSignal): Call => api.call(op, signal),
    /** False if there is no such load balancer. */
    async hasLoadBalancer(id: string, signal: AbortSignal): Promise<boolean> {
      const path = `${kindPath('loadbalancer')}/${inPath(id)}`;
      return (await read('getLoadBalancer', path, row, signal)) !== null;
    },
    /** Everything with a tag; if nothing has it, the Engine refuses the first page with 422. */
    async listTagged(tag: string, signal: AbortSignal): Promise<readonly Resource[]> {
      const call = api.call('listTagged', signal);
      const query = { tag_name: tag };
      const found = await pages(call, { path: RESOURCES, query, isEmpty: isUnknownTag }, resource);
      const stranger = found.find((one) => one.tags && !one.tags.includes(tag));
      if (!stranger) return found;
      throw call.error('permanent', `${stranger.identifier} is listed, but does not have the tag`);
    },
    list(
      kind: ObjectKind,
      filters: Readonly<Record<string, string>>,
      signal: AbortSignal,
    ): Promise<readonly KindRow[]> {
      const query = { filters: new URLSearchParams(filters).toString() };
      const call = api.call(`list ${kind}s`, signal);
      return pages<KindRow>(call, { path: kindPath(kind), query }, kindRow(kind));
    },
    /** Null if it is gone. */
    get: (kind: ObjectKind, id: string, signal: AbortSignal): Promise<EngineObject | null> =>
      read(`get ${kind}`, `${kindPath(kind)}/${inPath(id)}`, engineObject, signal),
    /** Null if it is gone. */
    getResource: (id: string, signal: AbortSignal): Promise<Resource | null> =>
      read('getResource', `${RESOURCES}/${inPath(id)}`, resource, signal),
    /** @throws {ProviderError} `outcome: 'unknown'`: the object may exist. */
    async post(kind: ObjectKind, body: object, signal: AbortSignal): Promise<string> {
      const call = api.call(`create ${kind}`, signal);
      const request = { method: 'POST', path: kindPath(kind), body, schema: created } as const;
      return (await send(call, request)).identifier;
    },
    async put(kind: ObjectKind, id: string, body: object, signal: AbortSignal): Promise<void> {
      const path = `${kindPath(kind)}/${inPath(id)}`;
      const request = { method: 'PUT', path, body, schema: nothing, ignoresReply: true } as const;
      await send(api.call(`update ${kind}`, signal), request);
    },
    /** A missing object counts as deleted. */
    async delete(kind: ObjectKind, id: string, signal: AbortSignal): Promise<void> {
      const path = `${kindPath(kind)}/${inPath(id)}`;
      const request = { method: 'DELETE', path, schema: nothing, ignoresReply: true } as const;
      await send(api.call(`destroy ${kind}`, signal), request).catch(nullIfGone);
    },
    /** One attempt within an operation. */
    async postTag(call: Call, id: string, tag: string): Promise<void> {
      const path = `${RESOURCES}/${inPath(id)}/tags/${inPath(tag)}`;
      // An empty string as JSON: the Engine refuses null.
      const request = {
        method: 'POST',
        path,
        body: '',
        schema: nothing,
        ignoresReply: true,
      } as const;
      await send(call, request);
    },
  };
}

const isUnknownTag = (error: unknown): boolean => isStatus(error, 422);

/** One page of a list, in any of its three forms. */
interface ListPage<T> {
  readonly rows: readonly T[];
  readonly number: number | undefined;
  readonly total: number | undefined;
}

export function pageSchema<T>(row: z.ZodType<T>): z.ZodType<ListPage<T>> {
  const rows = z.array(row);
  const paged = z
    .object({
      data: rows,
      page: z.coerce.number().optional(),
      total_items: z.coerce.number().optional(),
    })
    .transform(({ data, page, total_items }) => ({ rows: data, number: page, total: total_items }));
  return z.union([
    rows.transform((data) => ({ rows: data, number: undefined, total: undefined })),
    paged,
    z.object({ data: paged }).transform(({ data }) => data),
  ]);
}

const WALKS_MAX = 3;
const PAGES_MAX = 10_000;

/**
 * Reads a list until an empty page. If the list has a total, the number of rows must equal it. A
 * deletion meanwhile shifts rows across pages; then the list is read again, at most three times.
 * @throws {ProviderError} `permanent`: the list keeps changing, or its pages do not advance; or a
 *   page's own error. Rows read until then are discarded.
 */
export async function readAll<T extends { readonly identifier: string }>(
  call: Call,
  fetchPage: (page: number) => Promise<ListPage<T>>,
): Promise<readonly T[]> {
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    const { rows, totals } = await walk(call, fetchPage);
    if ([...totals].every((total) => total === rows.length)) return rows;
  }
  throw call.error('permanent', `the list changed during each of ${WALKS_MAX} reads`);
}

async function walk<T extends { readonly identifier: string }>(
  call: Call,
  fetchPage: (page: number) => Promise<ListPage<T>>,
) {
  const seen = new Map<string, T>();
  const totals = new Set<number>();
  for (let number = 1; number <= PAGES_MAX; number++) {
    const page = await fetchPage(number);
    if (page.number !== undefined && page.number !== number) {
      throw call.error('permanent', `page ${number} was requested, but page ${page.number} came`);
    }
    if (page.total !== undefined) totals.add(page.total);
    if (page.rows.length === 0) return { rows: [...seen.values()], totals };
    const sizeBefore = seen.size;
    for (const row of page.rows) seen.set(row.identifier, row);
    if (seen.size === sizeBefore) {
      throw call.error('permanent', `page ${number} has nothing new: the pages do not advance`);
    }
  }
  throw call.error('permanent', `the list has more than ${PAGES_MAX} pages`);
}

const OURS = 'shepherd-pool=';
/** Tags by which programs mark their objects; another program's tag means another owner. */
const OWNERS = [OURS, 'anxccm-svc-uid='];

export const tagOf = ({ uid }: PoolRef): string => `${OURS}${uid}`;

/** Owner of an object by its tags. Other tags, such as people's, do not matter. */
export function ownerIn(tags: readonly string[], tag: string): 'us' | 'nobody' | 'another' {
  if (tags.some((each) => each !== tag && OWNERS.some((owner) => each.startsWith(owner)))) {
    return 'another';
  }
  return tags.includes(tag) ? 'us' : 'nobody';
}

/** The Engine loses tags that are written concurrently, so this process writes them one by one. */
const LOCKS = createLocks();
const ATTEMPTS_MAX = 3;
const BETWEEN_MS = 1_000;

/**
 * Tags an object; a tag that already exists is fine. Waits while another object is being tagged.
 * @throws {ProviderError}
 */
export async function addTag(
  engine: Engine,
  { id, tag }: { readonly id: string; readonly tag: string },
  signal: AbortSignal,
): Promise<void> {
  const call = engine.call('tag', signal);
  const free = await LOCKS.take('tags', signal).catch(() => {
    throw call.error('aborted', 'aborted');
  });
  async function isTagged(attempts: number): Promise<boolean> {
    try {
      await engine.postTag(call, id, tag);
      return true;
    } catch (error) {
      if (isStatus(error, 422)) return true;
      // Adding a tag is idempotent.
      const isPassing =
        isStatus(error, 409) || (isLost(error) && isProviderError(error, 'transient'));
      if (!isPassing || attempts >= ATTEMPTS_MAX) throw error;
      return false;
    }
  }

  try {
    for (let attempts = 1; !(await isTagged(attempts)); attempts++) await call.wait(BETWEEN_MS);
  } finally {
    free();
  }
}

const isStatus = (error: unknown, status: number): boolean =>
  isProviderError(error) && error.answer?.status === status;

export type Throttle = ReturnType<typeof createThrottle>;

const UNASKED_MS = 60_000;
const UNASKED_MAX_MS = 30 * 60_000;

/** Pause of an account, shared by all its balancers. */
export function createThrottle(clock: Pick<Clock, 'now'>) {
  let untilMs = 0;
  let unasked = 0;
  const heldMs = () => Math.max(0, untilMs - clock.now());
  return {
    /** Epoch milliseconds; null: no pause. */
    heldUntilMs: (): number | null => (heldMs() > 0 ? untilMs : null),
    /**
     * The account asked us to stay away.
     * @param askedMs 0: no time given; then 60 s, doubled each time, at most 30 min.
     * @returns the pause in milliseconds.
     */
    hold(askedMs: number): number {
      // Answers to concurrent calls count as one.
      if (askedMs === 0 && heldMs() > 0) return heldMs();
      const waitMs = askedMs > 0 ? askedMs : Math.min(UNASKED_MAX_MS, UNASKED_MS * 2 ** unasked++);
      untilMs = Math.max(untilMs, clock.now() + waitMs);
      return heldMs();
    },
    /** The account answered normally. */
    answered(): void {
      if (heldMs() === 0) unasked = 0;
    },
  };
}

/** Throttles of all accounts that this process uses. */
export function createThrottles() {
  const accounts = new Map<string, Throttle>();
  return {
    of(baseUrl: string, tokenReference: string, clock: Pick<Clock, 'now'>): Throttle {
      const account = `${baseUrl} ${tokenReference}`;
      const known = accounts.get(account) ?? createThrottle(clock);
      accounts.set(account, known);
      return known;
    },
  };
}
