import { z } from 'zod';
import type { EventBook, FailedDelivery, WebhookStanding } from '../../adapters/bmdb/port.ts';
import type { WebhooksView } from '../webhooks.ts';
import type { Api } from './kit.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named, wholeNumber } from './schemas.ts';

const text = z.string();

export const WebhookSchema = named(
  'Webhook',
  z.object({
    name: text,
    host: text
      .nullable()
      .describe('Where it is; null: the configuration of this daemon has it not.'),
    types: z.array(text).readonly().nullable().describe('Null: all, or not configured.'),
    toldTo: text
      .nullable()
      .describe('Number up to which events were delivered or failed; null: none was yet.'),
    deliveredAtMs: Milliseconds.nullable().describe('The last success.'),
    disabledAtMs: Milliseconds.nullable().describe('The receiver said that it is gone.'),
    disabledReason: text.nullable(),
    waiting: z.int().describe('Deliveries that failed, and are tried again.'),
    waitingSinceMs: Milliseconds.nullable().describe('The first of them failed first.'),
    dead: z.int().describe('Dead letters: not tried any more, kept for 30 days.'),
  }),
);
export const DeliverySchema = named(
  'Delivery',
  z.object({
    id: text.describe('Number of the event.'),
    type: text,
    attempts: z.int(),
    firstAtMs: Milliseconds,
    lastAtMs: Milliseconds,
    nextAtMs: Milliseconds.nullable().describe('Null: it is a dead letter.'),
    status: z.int().nullable().describe('HTTP status of the last answer; null: there was none.'),
    cause: text,
  }),
);
const Named = z.object({ name: z.string().min(1).max(64) });
const DELIVERIES_MAX = 1_000;
const neverAborted = () => new AbortController().signal;

export interface WebhooksDeps {
  readonly webhooks: WebhooksView;
  readonly events: Pick<EventBook, 'append'>;
}

/** `webhooks`: who is told of events, and what failed. */
export function addWebhooks(api: Api, deps: WebhooksDeps): void {
  addReads(api, deps);
  addActs(api, deps);
}

function addReads(api: Api, { webhooks }: WebhooksDeps): void {
  api.get(
    '/webhooks',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'Who is told of events, and how deliveries stand',
        response: { 200: z.object({ webhooks: z.array(WebhookSchema) }) },
      },
    },
    async () => {
      const standings = await webhooks.book.list(neverAborted());
      const names = [...webhooks.configured, ...standings].map(({ name }) => name);
      return {
        webhooks: [...new Set(names)].toSorted().map((name) => toldOf(webhooks, name, standings)),
      };
    },
  );
  api.get(
    '/webhooks/:name/deliveries',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'Deliveries that failed, the latest event first',
        params: Named,
        querystring: z.strictObject({
          state: z.enum(['waiting', 'dead']).optional(),
          before: z
            .string()
            .regex(/^\d{1,18}$/)
            .optional()
            .describe('Only events before this number.'),
          limit: wholeNumber(1, DELIVERIES_MAX).default(100),
        }),
        response: { 200: z.object({ deliveries: z.array(DeliverySchema), next: text.nullable() }) },
      },
    },
    async ({ params: { name: webhook }, query }) => {
      const found = await webhooks.book.deliveries({ webhook, ...query }, neverAborted());
      const next = found.length === query.limit ? found.at(-1)!.number : null;
      return { deliveries: found.map(toldDelivery), next };
    },
  );
}

function addActs(api: Api, { webhooks, events }: WebhooksDeps): void {
  const { book } = webhooks;
  api.post(
    '/webhooks/:name/deliveries/:id/replay',
    {
      config: { right: 'administer' },
      schema: {
        tags: ['console'],
        summary: 'Try a delivery again that failed, at once and from the beginning',
        params: Named.extend({ id: z.string().regex(/^\d{1,18}$/) }),
        response: { 204: z.null() },
      },
    },
    async ({ params: { name, id } }, reply) => {
      if (!(await book.replay(name, id))) {
        throw new Problem('not-found', `Webhook ${name} has no failed delivery ${id}`);
      }
      return reply.code(204).send(null);
    },
  );
  api.post(
    '/webhooks/:name/test',
    {
      config: { right: 'administer' },
      schema: {
        tags: ['console'],
        summary: 'Have an event delivered to this webhook alone',
        params: Named,
        response: { 204: z.null() },
      },
    },
    async ({ person, params: { name: webhook } }, reply) => {
      if (!webhooks.configured.some(({ name }) => name === webhook)) {
        throw new Problem('not-found', `No webhook ${webhook} is configured`);
      }
      const reason = 'a test of the webhook';
      await events.append({
        type: 'webhook.test',
        actor: person.name,
        reason,
        details: { webhook },
      });
      return reply.code(204).send(null);
    },
  );
  api.post(
    '/webhooks/:name/enable',
    {
      config: { right: 'administer' },
      schema: {
        tags: ['console'],
        summary: 'Deliver again where the receiver had said that it is gone',
        params: Named,
        response: { 204: z.null() },
      },
    },
    async ({ params: { name } }, reply) => {
      if (!(await book.enable(name)))
        throw new Problem('not-found', `Webhook ${name} is not disabled`);
      return reply.code(204).send(null);
    },
  );
}

function toldOf(
  { configured }: WebhooksView,
  name: string,
  standings: readonly WebhookStanding[],
): z.output<typeof WebhookSchema> {
  const known = configured.find((each) => each.name === name);
  const standing = standings.find((each) => each.name === name);
  return {
    ...{ name, host: known?.host ?? null, types: known?.types ?? null },
    toldTo: standing?.toldTo ?? null,
    deliveredAtMs: wholeOr(standing?.deliveredAtMs),
    disabledAtMs: wholeOr(standing?.disabledAtMs),
    disabledReason: standing?.disabledReason ?? null,
    waiting: standing?.waiting ?? 0,
    waitingSinceMs: wholeOr(standing?.waitingSinceMs),
    dead: standing?.dead ?? 0,
  };
}

const toldDelivery = ({ number: id, ...delivery }: FailedDelivery) => ({
  id,
  ...delivery,
  firstAtMs: Math.round(delivery.firstAtMs),
  lastAtMs: Math.round(delivery.lastAtMs),
  nextAtMs: wholeOr(delivery.nextAtMs),
});

const wholeOr = (atMs: number | null | undefined): number | null =>
  atMs === null || atMs === undefined ? null : Math.round(atMs);
