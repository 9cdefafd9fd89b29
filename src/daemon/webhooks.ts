import { startDeliverer } from '../actors/webhooks/deliverer.ts';
import type { WebhooksView } from '../console/views.ts';
import { typesNamed } from '../domain/events/fleet-event.ts';
import type { DaemonParts } from './parts.ts';

/** Delivers events to the configured webhooks, each while this daemon has its lease. */
export function startWebhooks(parts: DaemonParts): void {
  const { config, tuning, clock, log, closer, version, mirror, ports } = parts;
  const deps = {
    ...{ ...parts, nowMs: mirror.nowMs, pollMs: tuning.webhookPollMs },
    log: log.child({ component: 'webhooks' }),
  };
  for (const [name, { url, types, secrets, source }] of Object.entries(config.webhooks)) {
    const sender = ports.createWebhookSender({
      ...{ url, clock, userAgent: `shepherd/${version}` },
      secrets: secrets.map((secret) => () => secret.read()),
    });
    const stop = startDeliverer(deps, { name, types: typesNamed(types), source, sender });
    closer.add(`webhook ${name}`, stop);
  }
}

/** The console's view of webhooks; shows only the host of an address, whose rest may be secret. */
export const webhooksView = ({ config, bmdb }: DaemonParts): WebhooksView => ({
  repository: bmdb.webhooks,
  configured: Object.entries(config.webhooks).map(([name, { url, types }]) => ({
    ...{ name, host: new URL(url).host, types: types ?? null },
  })),
});
