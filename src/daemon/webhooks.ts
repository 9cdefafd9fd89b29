import { startDeliverer } from '../actors/webhooks/deliverer.ts';
import type { WebhooksView } from '../console/views.ts';
import { typesNamed } from '../domain/events/fleet-event.ts';
import type { Parts } from './parts.ts';
import type { Means, Ports } from './ports.ts';

/** Delivers events to the webhooks of the configuration, each while this daemon has its lease. */
export function startWebhooks(
  { config, tuning, clock, random, log, metrics, closer, version }: Means,
  { bmdb, keeper, leases, mirror }: Parts,
  { createWebhookSender }: Pick<Ports, 'createWebhookSender'>,
): void {
  const deps = {
    ...{ bmdb, keeper, leases, clock, random, metrics, nowMs: mirror.nowMs },
    ...{ log: log.child({ component: 'webhooks' }), pollMs: tuning.webhookPollMs },
  };
  for (const [name, { url, types, secrets, source }] of Object.entries(config.webhooks)) {
    const sender = createWebhookSender({
      ...{ url, clock, userAgent: `shepherd/${version}` },
      secrets: secrets.map((secret) => () => secret.read()),
    });
    const stop = startDeliverer(deps, { name, types: typesNamed(types), source, sender });
    closer.add(`webhook ${name}`, stop);
  }
}

/** What the console tells of webhooks; nothing of an address but its host, as the rest may be a secret. */
export const webhooksView = (
  { config }: Pick<Means, 'config'>,
  { bmdb }: Pick<Parts, 'bmdb'>,
): WebhooksView => ({
  book: bmdb.webhooks,
  configured: Object.entries(config.webhooks).map(([name, { url, types }]) => ({
    ...{ name, host: new URL(url).host, types: types ?? null },
  })),
});
