import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  LoginSchema,
  NewTokenSchema,
  TokenSchema,
} from '../../src/console/access/accounts-api.ts';
import type { AskingSchema, DecideSchema } from '../../src/console/access/device-login.ts';
import type { CaseInFullSchema, CasesSchema } from '../../src/console/api/cases.ts';
import type { LoopSchema, SessionSchema } from '../../src/console/api/daemons.ts';
import type { RequestAnswer } from '../../src/console/api/submit/answers.ts';
import type { GuardAnswer, SeriesAnswer } from '../../src/console/api/fleet-schema.ts';
import type { FailuresAnswer } from '../../src/console/api/stats.ts';
import type { PlanAnswer } from '../../src/console/api/plan-schema.ts';
import type { DeliverySchema, WebhookSchema } from '../../src/console/api/webhooks.ts';
import type { RollsSchema } from '../../src/console/api/rolls.ts';
import type { FailureKind } from '../../src/domain/failures.ts';
import { untilLook } from '../live/clock.ts';
import { addressOf, askFor, read, type Query } from './ask.ts';
import type {
  About,
  Caller,
  Explanation,
  MachineRow,
  PoolSummary,
  Provider,
  ProviderInFull,
  Slot,
} from './types.ts';

/** A resource outside the stream. The page polls it, so that a failure shows at once. */
const polled = <Result>(path: readonly string[], everyMs: number) =>
  queryOptions({
    queryKey: path,
    queryFn: ({ signal }) => read<Result>(addressOf(path), signal),
    refetchInterval: everyMs,
    retry: false,
  });

/** Takes the list with this name out of an answer. */
const listed = <Item, Name extends string>(name: Name, everyMs: number) =>
  queryOptions({
    ...polled<Readonly<Record<Name, readonly Item[]>>>([name], everyMs),
    select: (answer) => answer[name],
  });

/** A list in pages. Each page names the start of the next. */
const paged = <Page extends { readonly next: string | null }>(
  key: readonly unknown[],
  addressAfter: (next: string | undefined) => string,
  everyMs: number | false,
) =>
  infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read<Page>(addressAfter(pageParam), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: everyMs,
    retry: false,
  });

/** Resources of the API that the page reads outside the stream. */
export const about = queryOptions({
  queryKey: ['fleet'],
  queryFn: ({ signal }) => read<About>(addressOf(['fleet']), signal),
  staleTime: 60_000,
});

export const whoami = queryOptions({
  queryKey: ['whoami'],
  queryFn: ({ signal }) => read<Caller>(addressOf(['whoami']), signal),
  staleTime: 60_000,
});

export type GuardInFull = GuardAnswer;
export type GuardScopeInFull = GuardInFull['scopes'][number];
export type FleetPlan = PlanAnswer;
export type ProviderPlan = FleetPlan['providers'][number];
export type WorkPlan = FleetPlan['work'][number];
export type PoolPlan = FleetPlan['pools'][number];
export type Series = SeriesAnswer;
export type FailureGroup = FailuresAnswer['groups'][number];
export type SessionLine = z.output<typeof SessionSchema>;
export type LoopLine = z.output<typeof LoopSchema>;
export type Login = z.output<typeof LoginSchema>;
export type Token = z.output<typeof TokenSchema>;
export type NewToken = z.output<typeof NewTokenSchema>;
export type Webhook = z.output<typeof WebhookSchema>;
export type Delivery = z.output<typeof DeliverySchema>;
export type RequestState = RequestAnswer;
export type CaseInFull = z.output<typeof CaseInFullSchema>;
export type Roll = z.output<typeof RollsSchema>['rolls'][number];
export type RepairCase = z.output<typeof CasesSchema>['cases'][number];

export const pools = listed<PoolSummary, 'pools'>('pools', 3_000);
export const providers = listed<Provider, 'providers'>('providers', 3_000);
export const provider = (name: string) => polled<ProviderInFull>(['providers', name], 3_000);
/** The whole state of the guard. The stream contains only the names of its states. */
export const guardInFull = polled<GuardInFull>(['guard'], 3_000);
/** What Shepherd would do next, and why. */
export const plan = polled<FleetPlan>(['plan'], 5_000);
/** The last hour as seen by the daemon that serves the page. A new value comes every ten seconds. */
export const series = polled<Series>(['series'], 10_000);
/** Recoveries by kind of machine. A new kind keeps the old answer until the new one is there. */
export const failures = (by: FailureKind) =>
  queryOptions({
    queryKey: ['failures', by],
    queryFn: ({ signal }) =>
      read<FailuresAnswer>(addressOf(['stats', 'failures'], { by, since: '90d' }), signal),
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
    retry: false,
  });
export const sessions = polled<{ sessions: readonly SessionLine[] }>(['sessions'], 5_000);
/** Of the daemon that serves the page. */
export const loops = polled<{ loops: readonly LoopLine[] }>(['loops'], 5_000);
/** The logins of the caller. An admin gets all logins. */
export const logins = listed<Login, 'logins'>('logins', 5_000);
/** The tokens of the caller. An admin gets all tokens. */
export const tokens = listed<Token, 'tokens'>('tokens', 5_000);
/** Webhooks, and the state of their deliveries. */
export const webhooks = listed<Webhook, 'webhooks'>('webhooks', 5_000);

/** Open repairs of machines. */
export const cases = listed<RepairCase, 'cases'>('cases', 10_000);
export const caseInFull = (id: string) => polled<CaseInFull>(['cases', id], 5_000);

/** The newest rolling actions. */
export const rolls = queryOptions({
  queryKey: ['rolls'],
  queryFn: async ({ signal }) =>
    (await read<{ rolls: readonly Roll[] }>(addressOf(['rolls'], { limit: 20 }), signal)).rolls,
  refetchInterval: ({ state: { data } }) =>
    data?.some(({ state }) => state === 'running' || state === 'paused') ? 3_000 : 10_000,
  retry: false,
});

/** Slots of a provider, in pages. */
export const slotsOf = (name: string, limit: number) =>
  paged<{ total: number; slots: readonly Slot[]; next: string | null }>(
    ['providers', name, 'slots'],
    (next) => addressOf(['providers', name, 'slots'], { limit, next }),
    15_000,
  );

/** Failed deliveries, in pages, latest event first. */
export const failedDeliveries = (name: string) =>
  paged<{ deliveries: readonly Delivery[]; next: string | null }>(
    ['webhooks', name],
    (before) => addressOf(['webhooks', name, 'deliveries'], { before, limit: 20 }),
    5_000,
  );

/** Requests in pages, newest first. With `isFollowed` the page polls for new requests. */
export const requests = (filter: Query, isFollowed: boolean) =>
  paged<{ requests: readonly RequestState[]; next: string | null }>(
    ['requests', filter],
    (after) => addressOf(['requests'], { ...filter, after, limit: 100 }),
    isFollowed ? 2_000 : false,
  );

/** Creates a token and returns its secret, which the console shows only once. @throws {RequestRefusal} */
export const makeToken = async (token: NewToken): Promise<string> => {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(token),
  };
  return (await askFor<{ readonly token: string }>(addressOf(['tokens']), init)).answer.token;
};

/** Looks at, confirms or refuses the login of a command. @throws {RequestRefusal} */
export const decideDevice = async (decision: DeviceDecision): Promise<AskingCommand> => {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(decision) };
  return (await askFor<AskingCommand>(addressOf(['device-logins']), init)).answer;
};
type DeviceDecision = z.input<typeof DecideSchema>;
export type AskingCommand = z.output<typeof AskingSchema>;

/** Changes a case. @throws {RequestRefusal} */
const change = async (method: 'POST' | 'PATCH', body: object, ...path: readonly string[]) => {
  const headers = { 'content-type': 'application/json' };
  await askFor(addressOf(['cases', ...path]), { method, headers, body: JSON.stringify(body) });
};
export const noteCase = (id: string, text: string) => change('POST', { text }, id, 'notes');
export const linkCase = (id: string, ticketUrl: string) => change('PATCH', { ticketUrl }, id);
export const closeCase = (id: string, outcome: string) => change('POST', { outcome }, id, 'close');

/** Sends a request whose answer has no body. @throws {RequestRefusal} */
const send = async (method: 'POST' | 'DELETE', ...path: readonly string[]): Promise<void> => {
  await askFor(addressOf(path), { method });
};
export const revokeToken = (id: string) => send('DELETE', 'tokens', id);
export const endLogin = (id: string) => send('DELETE', 'logins', id);
export const controlRoll = (id: string, verb: Roll['controls'][number]) =>
  send('POST', 'rolls', id, verb);
export const testWebhook = (name: string) => send('POST', 'webhooks', name, 'test');
export const enableWebhook = (name: string) => send('POST', 'webhooks', name, 'enable');
export const replayDelivery = (name: string, id: string) =>
  send('POST', 'webhooks', name, 'deliveries', id, 'replay');

interface Resolved {
  readonly machines: readonly {
    readonly slot: string;
    readonly by: 'slot' | 'machine' | 'device' | 'address';
  }[];
}
/** Machines that match this name or its beginning. */
export const resolved = (name: string) =>
  queryOptions({
    queryKey: ['resolve', name],
    enabled: name.length > 2,
    queryFn: async ({ signal }) =>
      (await read<Resolved>(addressOf(['resolve'], { name }), signal)).machines,
  });

/** Machines that need a person, the longest waiting first. The key contains `count` of the frame, so a new count reads anew. */
export const needHuman = (count: number, limit: number) =>
  queryOptions({
    queryKey: ['need-human', count],
    enabled: count > 0,
    queryFn: async ({ signal }) => {
      const query = { filter: 'needs-human', sort: 'since', offset: 0, limit };
      const address = addressOf(['machines'], query);
      return (await read<{ machines: readonly MachineRow[] }>(address, signal)).machines;
    },
  });

/** Why a machine is in its state. */
export const explanation = (slot: readonly [string, string]) =>
  queryOptions({
    queryKey: ['explanation', ...slot],
    queryFn: ({ signal }) =>
      read<Explanation>(addressOf(['machines', ...slot, 'explanation']), signal),
    refetchInterval: ({ state: { data } }) =>
      untilLook(10_000, data && [data.next, ...data.blockedBy].map(endOf)),
  });

const endOf = (each: Explanation['next'] | Explanation['blockedBy'][number]): number | null =>
  'atMs' in each ? each.atMs : each.endsAtMs;
