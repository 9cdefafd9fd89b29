import { z } from 'zod';
import { type EmulatedApi, jsonOf, type Occasion, type Route } from '../kit/api.ts';
import { type FaultEffectOf, faultForm, type FaultOf, type FaultRuleOf } from '../kit/faults.ts';
import { maskSecrets } from '../kit/journal.ts';
import { isSameSecret } from '../kit/same-secret.ts';
import { errorBody, refusal } from './errors.ts';
import { createLimiter, type Limits } from './limits.ts';
import type { LatitudeServer, LatitudeWorld } from './world.ts';

const ms = z.number().min(0);
/** Match fields of rules about a server's life. */
const OF_SERVERS = ['server', 'nth', 'every', 'probability'];

export const FAULTS = faultForm({
  match: {
    /** Id of a server. */
    server: z.string().optional(),
    /** Page of a list. */
    page: z.int().min(1).optional(),
  },
  effects: [
    /** A create finds no stock. */
    z.strictObject({ type: z.literal('stockOut') }),
    /** A list shows the state of this long ago. */
    z.strictObject({ type: z.literal('listLag'), ms }),
    /** A page lacks its last entry, or the total changes with every request. */
    z.strictObject({ type: z.literal('pages'), does: z.enum(['omitted', 'drifting']) }),
    /** Larger pages are refused. */
    z.strictObject({
      type: z.literal('pageSize'),
      max: z.int().min(1),
      code: z.literal([400, 422]),
    }),
    /** The host name filter matches every name with this prefix. */
    z.strictObject({ type: z.literal('hostnameFilter') }),
    /** Host names come back in capitals. */
    z.strictObject({ type: z.literal('upperCaseNames') }),
    /** A deployment ends as `failed_deployment`. */
    z.strictObject({ type: z.literal('deployFails') }),
    /** A deleted server stays readable for this long. */
    z.strictObject({ type: z.literal('tombstone'), ms }),
    /** A server shows this status, whatever its state. */
    z.strictObject({ type: z.literal('statusText'), shows: z.string() }),
    /** A server is locked. */
    z.strictObject({ type: z.literal('locked') }),
    /** User data are stored truncated. */
    z.strictObject({
      type: z.literal('cut'),
      field: z.enum(['description', 'content']),
      length: z.int().min(0),
    }),
  ],
  matchedBy: { deployFails: OF_SERVERS, tombstone: OF_SERVERS },
});
export type LatitudeFaultRule = FaultRuleOf<typeof FAULTS>;
export type LatitudeFault = FaultOf<typeof FAULTS>;
export type LatitudeFaultEffect = FaultEffectOf<typeof FAULTS>;
type LatitudeEffectOf<T extends LatitudeFaultEffect['type']> = Extract<
  LatitudeFaultEffect,
  { type: T }
>;

/** One request as a handler sees it. */
export interface LatitudeCall extends Pick<
  Occasion<LatitudeFaultEffect>,
  'params' | 'query' | 'strike'
> {
  /** Number in the journal. */
  readonly seq: number;
  /** Parsed; undefined for an empty body. */
  readonly body: unknown;
  /** Like `strike`, for one of the request's servers. */
  strikeServer<T extends LatitudeFaultEffect['type']>(
    server: LatitudeServer,
    type: T,
  ): LatitudeEffectOf<T> | undefined;
}

export interface ApiParts {
  readonly routes: readonly Route<LatitudeCall>[];
  readonly world: LatitudeWorld;
  readonly token: string;
  readonly limits: Limits;
}

/** Latitude.sh's request handling. */
export function apiOf({
  routes,
  world,
  token,
  limits,
}: ApiParts): EmulatedApi<LatitudeCall, LatitudeFaultEffect> {
  const limiter = createLimiter(limits, world.now);
  return {
    name: 'The emulator of Latitude.sh',
    ...{ routes, errorBody },
    headers: { 'content-type': 'application/vnd.api+json; charset=utf-8' },
    masked: withoutContent,
    subject: ({ params: { id = '' }, query }) => ({
      server: world.servers.has(id) ? id : undefined,
      page: Number(query.get('page[number]') ?? 1),
    }),
    admit({ method, headers }) {
      // The official SDKs send the bare key; the documentation shows `Bearer` before the key.
      const shown = /^(?:Bearer )?(\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
      if (!isSameSecret(token, shown)) {
        throw refusal(401, { code: 'unauthorized', detail: 'Invalid or missing API key' });
      }
      const waitMs = limiter.waitMs(method === 'GET' ? 'reads' : 'writes');
      if (waitMs === undefined) return;
      const meta = { retry_after: Math.max(1, Math.ceil(waitMs / 1_000)) };
      const detail = 'Too many requests for this API key';
      throw refusal(429, { code: 'RATE_LIMIT_EXCEEDED', detail, meta });
    },
    call(occasion) {
      const { params, query, strike, subject, entry } = occasion;
      return {
        ...{ params, query, strike, seq: entry.seq },
        body: jsonOf(occasion, errorBody, /^application\/(vnd\.api\+)?json\s*(;|$)/),
        strikeServer: ({ id: server }, type) => strike(type, undefined, { ...subject, server }),
      };
    },
  };
}

/** For the journal: the content of user data may hold secrets. */
function withoutContent(body: unknown): unknown {
  const hide = (key: string, value: unknown) => (key === 'content' ? '***' : value);
  return JSON.parse(JSON.stringify(maskSecrets(body)), hide) as unknown;
}
