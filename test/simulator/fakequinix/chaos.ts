import { setTimeout as pause } from 'node:timers/promises';
import type { FaultRule } from '../../../src/simulator/fakequinix/fault-rules.ts';
import { createGenerator } from '../../../src/simulator/fakequinix/time/random.ts';
import type { Fakequinix } from '../../../src/simulator/fakequinix/options.ts';

const CREATE = { method: 'POST', route: '/projects/{id}/devices' };

/** What a bad week looks like. */
export const FAULT_MIX: readonly FaultRule[] = [
  { match: { probability: 0.05 }, effect: { type: 'status', code: 500, executed: true } },
  { match: { probability: 0.025 }, effect: { type: 'drop', phase: 'before' } },
  { match: { probability: 0.025 }, effect: { type: 'drop', phase: 'after' } },
  { match: { probability: 0.02 }, effect: { type: 'hang', phase: 'after' } },
  // Of some requests, so that clients meet it however few they send.
  { match: { probability: 0.2 }, effect: { type: 'rateLimit', limit: 2, windowMs: 500 } },
  { match: { probability: 0.1 }, effect: { type: 'unstablePages', mode: 'shuffle' } },
  { match: { probability: 0.1 }, effect: { type: 'unstablePages', mode: 'duplicate' } },
  { match: { probability: 0.1 }, effect: { type: 'unstablePages', mode: 'omit' } },
  { match: { probability: 0.1 }, effect: { type: 'unstablePages', mode: 'totalDrift' } },
  { match: { probability: 0.3 }, effect: { type: 'stale', view: 'both', lagMs: 200 } },
  {
    match: { ...CREATE, probability: 0.03 },
    times: 1_000,
    effect: { type: 'race', when: 'betweenCheckAndCreate' },
  },
  { match: CREATE, times: 1_000, effect: { type: 'race', when: 'afterLostReply' } },
];

/** Devices come with the reservations, without what would make long answers of it. */
const LONG = ['plan', 'operating_system', 'network_ports', 'ip_addresses', 'created_by'];
const SHOWN = `include=device&exclude=plan,${LONG.map((name) => `device.${name}`).join()}&per_page=50`;

/** How long a client waits for an answer; it is what ends a hanging request. */
const PATIENCE_MS = 250;

/** Answers the body, or undefined when there was no usable answer. */
async function ask(fake: Fakequinix, path: string, method: string, body?: object) {
  const init = {
    method,
    headers: { 'x-auth-token': fake.tokens.project, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body && { body: JSON.stringify(body) }),
  };
  try {
    const response = await fetch(`${fake.url}${path}`, init);
    const text = await response.text();
    if (response.status === 429) await pause(20);
    return response.ok ? (JSON.parse(text || '{}') as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * One of several careless daemons: puts a device on each reservation that looks free to it, repeats
 * what was not answered, and now and then deletes one of its own. Ends with the signal.
 */
export async function careless(fake: Fakequinix, name: string, signal: AbortSignal) {
  let created = 0;
  const chance = createGenerator(name.length).next;
  while (!signal.aborted) {
    const page = 1 + Math.floor(chance() * 4);
    const list = `/projects/${fake.projectId}/hardware-reservations?${SHOWN}&page=${page}`;
    const body = await ask(fake, list, 'GET');
    const reservations = (body?.['hardware_reservations'] ?? []) as {
      id: string;
      provisionable: boolean;
      device: { id?: string; hostname?: string; state?: string } | null;
    }[];
    for (const { id, provisionable, device } of reservations) {
      if (signal.aborted) break;
      if (device?.hostname?.startsWith(name) && device.state === 'active' && chance() < 0.1) {
        await ask(fake, `/devices/${device.id}`, 'DELETE');
      } else if (provisionable) {
        created++;
        await ask(fake, `/projects/${fake.projectId}/devices`, 'POST', {
          hostname: `${name}-${id.slice(0, 18)}`,
          plan: 'm3.large.x86',
          operating_system: 'ubuntu_22_04',
          hardware_reservation_id: id,
        });
      }
    }
  }
  return created;
}
