import { z } from 'zod';
import type { EventRepository } from '../../adapters/bmdb/port.ts';
import type { WebhooksView } from '../views.ts';
import { act, read, type Api } from './kit.ts';
import { Problem } from './problem.ts';
import { listOf, Milliseconds, named, text, wholeNumber } from './schemas.ts';

export const WebhookSchema = named(
  'Webhook',
  z.object({
    name: text,
    host: text
      .nullable()
      .describe('Address of the receiver. Null: this daemon does not configure the webhook.'),
    types: listOf(text).nullable().describe('Types of events. Null: all types, or not configured.'),
    toldTo: text
      .nullable()
      .describe(
        'Events up to this number were delivered, have failed, or are not wanted. Null: none yet.',
      ),
    deliveredAtMs: Milliseconds.nullable().describe('Time of the last success.'),
    disabledAtMs: Milliseconds.nullable().describe('When the receiver answered that it is gone.'),
    disabledReason: text.nullable(),
    waiting: z.int().describe('Number of failed deliveries that will be tried again.'),
    waitingSinceMs: Milliseconds.nullable().describe(
      'First failure of the oldest waiting delivery.',
    ),
    dead: z.int().describe('Number of dead letters: no longer tried, kept for 30 days.'),
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
    nextAtMs: Milliseconds.nullable().describe(
      'Next attempt. Null: the delivery is a dead letter.',
    ),
    status: z.int().nullable().describe('HTTP status of the last response. Null: no response.'),
    cause: text,
  }),
);
const Named = z.object({ name: text.min(1).max(64) });
const DELIVERIES_MAX = 1_000;
const neverAborted = () => new AbortController().signal;

export interface WebhooksDeps {
  readonly webhooks: WebhooksView;
  readonly events: Pick<EventRepository, 'append'>;
}

/** `webhooks`: receivers of events, and failed deliveries. */
export function addWebhooks(api: Api, { webhooks, events }: WebhooksDeps): void {
  const { repository, configured } = webhooks;
  api.get(
    '/webhooks',
    read(
      'console',
      'Webhooks, with the state of their deliveries',
      z.object({ webhooks: z.array(WebhookSchema) }),
    ),
    async () => {
      const standings = await repository.list(neverAborted());
      const names = new Set([...configured, ...standings].map(({ name }) => name));
      return {
        webhooks: [...names]
          .toSorted()
          .map((name) => ({
            ...{ ...UNTOLD, ...standings.find((each) => each.name === name) },
            ...{ host: null, types: null, ...configured.find((each) => each.name === name) },
            name,
          })),
      };
    },
  );
  api.get(
    '/webhooks/:name/deliveries',
    read(
      'console',
      'Failed deliveries, latest event first',
      z.object({ deliveries: z.array(DeliverySchema), next: text.nullable() }),
      {
        params: Named,
        querystring: z.strictObject({
          state: z.enum(['waiting', 'dead']).optional(),
          before: text
            .regex(/^\d{1,18}$/)
            .optional()
            .describe('Only events before this number.'),
          limit: wholeNumber(1, DELIVERIES_MAX).default(100),
        }),
      },
    ),
    async ({ params: { name: webhook }, query }) => {
      const found = await repository.deliveries({ webhook, ...query }, neverAborted());
      const next = found.length === query.limit ? found.at(-1)!.number : null;
      return { deliveries: found.map((each) => ({ ...each, id: each.number })), next };
    },
  );
  api.post(
    '/webhooks/:name/deliveries/:id/replay',
    act('administer', 'console', 'Repeat a failed delivery at once, with all its attempts', {
      params: Named.extend({ id: text.regex(/^\d{1,18}$/) }),
    }),
    async ({ params: { name, id } }, reply) => {
      if (!(await repository.replay(name, id))) {
        throw new Problem('not-found', `Webhook ${name} has no failed delivery ${id}`);
      }
      return reply.code(204).send(null);
    },
  );
  api.post(
    '/webhooks/:name/test',
    act('administer', 'console', 'Send a test event to this webhook only', { params: Named }),
    async ({ person, params: { name: webhook } }, reply) => {
      if (!configured.some(({ name }) => name === webhook)) {
        throw new Problem('not-found', `No webhook ${webhook} is configured`);
      }
      const reason = 'a test of the webhook';
      const details = { webhook };
      await events.append({ type: 'webhook.test', actor: person.name, reason, details });
      return reply.code(204).send(null);
    },
  );
  api.post(
    '/webhooks/:name/enable',
    act('administer', 'console', 'Enable a webhook whose receiver said that it is gone', {
      params: Named,
    }),
    async ({ params: { name } }, reply) => {
      if (await repository.enable(name)) return reply.code(204).send(null);
      throw new Problem('not-found', `Webhook ${name} is not disabled`);
    },
  );
}

/** A webhook without a record. */
const UNTOLD = {
  ...{ toldTo: null, deliveredAtMs: null, disabledAtMs: null, disabledReason: null },
  ...{ waiting: 0, waitingSinceMs: null, dead: 0 },
};
