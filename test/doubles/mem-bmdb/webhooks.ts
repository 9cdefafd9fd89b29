import { LeaseLost } from '../../../src/domain/errors.ts';
import type {
  FailedDelivery,
  Lease,
  WebhookRepository,
  WebhookService,
  WebhookStatus,
} from '../../../src/adapters/bmdb/port.ts';
import { tell } from './events.ts';
import type { Memory, SessionGate } from './tables.ts';

export type MemWebhook = {
  -readonly [
    Key in 'toldTo' | 'deliveredAtMs' | 'disabledAtMs' | 'disabledReason'
  ]: WebhookStatus[Key];
};
export interface MemWebhooks {
  readonly endpoints: Map<string, MemWebhook>;
  /** By webhook, and by the event's number. */
  readonly failed: Map<string, Map<string, FailedDelivery>>;
}

const DAY_MS = 86_400_000;
const DEAD_KEPT_MS = 30 * DAY_MS;
const DUE_KEPT_MS = 90 * DAY_MS;
const newestFirst = (a: FailedDelivery, b: FailedDelivery) =>
  BigInt(a.number) < BigInt(b.number) ? 1 : -1;

const failedOf = ({ webhooks }: Memory, name: string): Map<string, FailedDelivery> => {
  const found = webhooks.failed.get(name) ?? new Map<string, FailedDelivery>();
  webhooks.failed.set(name, found);
  return found;
};

/** Events are numbered consecutively. */
const toldOf = ({ told }: Memory, number: string) =>
  told[Number(number) - Number(told[0]?.number ?? 0)] ?? null;

/** See `WebhookRepository`. */
export const createWebhookRepository = (memory: Memory): WebhookRepository => ({
  list: async () => {
    return [...memory.webhooks.endpoints]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, endpoint]) => {
        const all = [...failedOf(memory, name).values()];
        const waiting = all.filter(({ nextAtMs }) => nextAtMs !== null);
        const since = waiting.map(({ firstAtMs }) => firstAtMs);
        return {
          ...{ name, ...endpoint, waiting: waiting.length, dead: all.length - waiting.length },
          waitingSinceMs: since.length === 0 ? null : Math.min(...since),
        };
      });
  },
  deliveries: async ({ webhook, state, before, limit }) => {
    return [...failedOf(memory, webhook).values()]
      .filter(({ nextAtMs }) => state === undefined || (nextAtMs === null) === (state === 'dead'))
      .filter(({ number }) => before === undefined || BigInt(number) < BigInt(before))
      .toSorted(newestFirst)
      .slice(0, limit);
  },
  replay: async (webhook, number) => {
    const found = failedOf(memory, webhook).get(number);
    if (!found) return false;
    failedOf(memory, webhook).set(number, { ...found, attempts: 0, nextAtMs: memory.now() });
    return true;
  },
  enable: async (webhook) => {
    const found = memory.webhooks.endpoints.get(webhook);
    if (!found || found.disabledAtMs === null) return false;
    Object.assign(found, { disabledAtMs: null, disabledReason: null });
    return true;
  },
});

/** See `WebhookService`. */
export function createWebhookService(memory: Memory, gate: SessionGate): WebhookService {
  const requireLease = ({ name, epoch }: Lease) => {
    const job = memory.jobs.get(name);
    if (job?.epoch === epoch && job.sessionId === gate.sessionId) return;
    throw new LeaseLost(`${name} (lease ${epoch}) is no longer ours`);
  };
  return {
    begin: async (lease, webhook, from) => {
      requireLease(lease);
      const { endpoints } = memory.webhooks;
      const known = endpoints.get(webhook) ?? {
        ...{ toldTo: from, deliveredAtMs: null, disabledAtMs: null, disabledReason: null },
      };
      endpoints.set(webhook, known);
      return { toldTo: known.toldTo, isDisabled: known.disabledAtMs !== null };
    },
    due: async (webhook, but, limit) => {
      return [...failedOf(memory, webhook).values()]
        .filter(
          ({ number, nextAtMs }) =>
            nextAtMs !== null && nextAtMs <= memory.now() && !but.includes(number),
        )
        .toSorted((a, b) => a.nextAtMs! - b.nextAtMs! || -newestFirst(a, b))
        .slice(0, limit)
        .map(({ number, attempts }) => ({
          ...{ number, attempts },
          event: toldOf(memory, number),
        }));
    },
    record: async (lease, webhook, { toldTo, hasDelivered, delivered, failed, disabled }) => {
      requireLease(lease);
      const nowMs = memory.now();
      const known = memory.webhooks.endpoints.get(webhook)!;
      if (BigInt(toldTo) > BigInt(known.toldTo)) known.toldTo = toldTo;
      if (hasDelivered) known.deliveredAtMs = nowMs;
      const rows = failedOf(memory, webhook);
      for (const number of delivered) rows.delete(number);
      for (const { number, type, attempts, nextInMs, status, cause } of failed) {
        rows.set(number, {
          ...{ number, attempts, status, cause, lastAtMs: nowMs },
          type: rows.get(number)?.type ?? type,
          firstAtMs: rows.get(number)?.firstAtMs ?? nowMs,
          nextAtMs: nextInMs === null ? null : nowMs + nextInMs,
        });
      }
      if (disabled === null) return;
      const isKnown = known.disabledAtMs !== null;
      known.disabledAtMs ??= nowMs;
      known.disabledReason = disabled;
      if (isKnown) return;
      tell(memory, {
        ...{ type: 'webhook.disabled', actor: 'shepherd', reason: disabled, details: { webhook } },
      });
    },
  };
}

/** Dead letters, and events that nobody delivers, are kept for a while. */
export function trimDeliveries(memory: Memory): void {
  for (const rows of memory.webhooks.failed.values()) {
    for (const [number, { nextAtMs, lastAtMs }] of rows) {
      const keptMs = nextAtMs === null ? DEAD_KEPT_MS : DUE_KEPT_MS;
      if ((nextAtMs ?? lastAtMs) < memory.now() - keptMs) rows.delete(number);
    }
  }
}
