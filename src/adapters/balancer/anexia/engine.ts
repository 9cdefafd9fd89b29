import { z } from 'zod';
import type { ObjectKind } from '../../../domain/balancing/objects.ts';
import type { Api } from '../../driver-kit/api.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { ApiRequest } from '../../driver-kit/terms.ts';
import { isNotFound } from '../../driver-kit/errors.ts';
import { type EngineObject, engineObject, wholeIn } from './forms.ts';
import { pageSchema, readAll } from './lists.ts';
import type { Throttle } from './throttle.ts';

const RESOURCES = '/api/core/v1/resource.json';
const kindPath = (kind: string) => `/api/LBaaS/v1/${kind}.json`;
const inPath = (part: string) => encodeURIComponent(part);

/** In lists tags are texts, in one resource objects. */
const tags = z.array(
  z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]),
);
const row = z.object({ identifier: z.string().min(1), name: z.string().optional() });
const resource = row.extend({
  resource_type: z.object({ identifier: z.string() }).optional(),
  tags: tags.optional(),
});
/** A row of a list of one kind: there may be nothing more in it than this. */
const kindRow = (kind: ObjectKind) =>
  z
    .looseObject(row.shape)
    .transform((told) => ({ ...row.parse(told), object: wholeIn(kind, told) }));
export interface KindRow {
  readonly identifier: string;
  readonly name?: string | undefined;
  /** Null: the row does not hold all that is looked at. */
  readonly object: EngineObject | null;
}
export type Resource = z.output<typeof resource>;
const created = z.object({ identifier: z.string().min(1) });

/** The routes of the Engine, one function each. All reject with one `ApiError`. */
export interface Engine {
  /** False: there is no such load balancer. */
  hasLoadBalancer(id: string, signal: AbortSignal): Promise<boolean>;
  /** Everything of a tag; the Engine refuses the first page with 422 where nothing has it. */
  listTagged(tag: string, signal: AbortSignal): Promise<readonly Resource[]>;
  list(
    kind: ObjectKind,
    filters: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<readonly KindRow[]>;
  /** Null: it is gone. */
  get(kind: ObjectKind, id: string, signal: AbortSignal): Promise<EngineObject | null>;
  /** Null: it is gone. */
  getResource(id: string, signal: AbortSignal): Promise<Resource | null>;
  /** @throws {ApiError} `ambiguous`: it may be there. */
  post(kind: ObjectKind, body: object, signal: AbortSignal): Promise<string>;
  put(kind: ObjectKind, id: string, body: object, signal: AbortSignal): Promise<void>;
  /** One that is not there is deleted. */
  delete(kind: ObjectKind, id: string, signal: AbortSignal): Promise<void>;
  /** One attempt within an operation. */
  postTag(call: Call, id: string, tag: string): Promise<void>;
  call(op: string, signal: AbortSignal): Call;
}

export interface EngineDeps {
  readonly api: Api;
  readonly throttle: Throttle;
  readonly pageSize: number;
}

interface ListRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** With such an error of the first page the service says that there is nothing. */
  readonly isEmpty?: (error: unknown) => boolean;
}

const nothing = z.undefined().transform(() => undefined);

export function createEngine({ api, throttle, pageSize }: EngineDeps): Engine {
  /** While the account is held, nothing is sent; nor what waited for its turn meanwhile. */
  function send<T>(call: Call, request: ApiRequest<T>): Promise<T> {
    return call.send({
      ...request,
      beforeAttempt: async () => {
        const retryAt = throttle.heldUntilMs();
        if (retryAt === null) return;
        throw call.error('RateLimited', 'the account was asked too much', { retryAt });
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
        // A later page that is refused says nothing of those before it.
        if (page > 1 || !isEmpty(error)) throw error;
        return { rows: [], number: undefined, total: undefined };
      }),
    );
  }

  const read = <T>(op: string, path: string, schema: z.ZodType<T>, signal: AbortSignal) =>
    send(api.call(op, signal), { method: 'GET', path, schema }).catch((error: unknown) => {
      if (isNotFound(error)) return null;
      throw error;
    });

  return {
    call: (op, signal) => api.call(op, signal),
    async hasLoadBalancer(id, signal) {
      const path = `${kindPath('loadbalancer')}/${inPath(id)}`;
      return (await read('getLoadBalancer', path, row, signal)) !== null;
    },
    async listTagged(tag, signal) {
      const call = api.call('listTagged', signal);
      const query = { tag_name: tag };
      const found = await pages(call, { path: RESOURCES, query, isEmpty: isUnknownTag }, resource);
      const stranger = found.find((one) => one.tags && !one.tags.includes(tag));
      if (!stranger) return found;
      throw call.error('Protocol', `${stranger.identifier} is listed, and has not the tag`);
    },
    list(kind, filters, signal) {
      const query = { filters: new URLSearchParams(filters).toString() };
      const call = api.call(`list ${kind}s`, signal);
      return pages<KindRow>(call, { path: kindPath(kind), query }, kindRow(kind));
    },
    get: (kind, id, signal) =>
      read(`get ${kind}`, `${kindPath(kind)}/${inPath(id)}`, engineObject, signal),
    getResource: (id, signal) =>
      read('getResource', `${RESOURCES}/${inPath(id)}`, resource, signal),
    async post(kind, body, signal) {
      const call = api.call(`create ${kind}`, signal);
      const request = { method: 'POST', path: kindPath(kind), body, schema: created } as const;
      return (await send(call, request)).identifier;
    },
    async put(kind, id, body, signal) {
      const path = `${kindPath(kind)}/${inPath(id)}`;
      const request = { method: 'PUT', path, body, schema: nothing, ignoresReply: true } as const;
      await send(api.call(`update ${kind}`, signal), request);
    },
    async delete(kind, id, signal) {
      const path = `${kindPath(kind)}/${inPath(id)}`;
      const request = { method: 'DELETE', path, schema: nothing, ignoresReply: true } as const;
      await send(api.call(`destroy ${kind}`, signal), request).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    },
    async postTag(call, id, tag) {
      const path = `${RESOURCES}/${inPath(id)}/tags/${inPath(tag)}`;
      // An empty text as JSON: the Engine refuses null.
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

const isUnknownTag = (error: unknown): boolean =>
  error instanceof Error && 'status' in error && error.status === 422;
