import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { DeliverySchema, WebhookSchema } from '../../src/console/api/webhooks.ts';
import { addressOf, askFor, read } from './ask.ts';

export type Webhook = z.output<typeof WebhookSchema>;
export type Delivery = z.output<typeof DeliverySchema>;

/** Who is told of events, and how deliveries stand. */
export const webhooks = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async ({ signal }) =>
    (await read<{ webhooks: readonly Webhook[] }>(addressOf(['webhooks']), signal)).webhooks,
  refetchInterval: 5_000,
  retry: false,
});

interface DeliveriesPage {
  readonly deliveries: readonly Delivery[];
  readonly next: string | null;
}
/** What could not be delivered, the latest event first, page after page. */
export const failedDeliveries = (name: string) =>
  infiniteQueryOptions({
    queryKey: ['webhooks', name],
    queryFn: ({ pageParam: before, signal }) =>
      read<DeliveriesPage>(
        addressOf(['webhooks', name, 'deliveries'], { before, limit: 20 }),
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 5_000,
    retry: false,
  });

/** @throws {Refusal} */
const post = async (...path: readonly string[]): Promise<void> => {
  await askFor(addressOf(['webhooks', ...path]), { method: 'POST' });
};
export const testWebhook = (name: string): Promise<void> => post(name, 'test');
export const enableWebhook = (name: string): Promise<void> => post(name, 'enable');
export const replayDelivery = (name: string, id: string): Promise<void> =>
  post(name, 'deliveries', id, 'replay');
