import { z } from 'zod';
import type { ReportedCondition } from '../../../../domain/conditions.ts';
import type { Bmc, Wire } from './bmc.ts';
import { linkOf, linksOf, unlessAbsent } from './errors.ts';
import type { System } from './system.ts';

/** Entries at each end of a log that are looked at: logs begin with the oldest or the newest. */
const ENTRIES_MAX = 50;

const LogEntry = z.object({
  Severity: z.literal('Critical'),
  Message: z.string().trim().min(1),
  Created: z.string().transform((value) => Date.parse(value)),
});

/** What the system's `Status` says about its hardware; empty: nothing. */
export function healthOf({ health }: System, detail = ''): readonly ReportedCondition[] {
  if (health === null) return [];
  const type = 'hardware-unhealthy';
  if (health === 'OK') return [{ type, status: 'False', reason: 'its BMC reports OK', detail }];
  const isFault = health === 'Warning' || health === 'Critical';
  const reason = `its BMC reports ${health}`;
  return [{ type, status: isFault ? 'True' : 'Unknown', reason, detail }];
}

/**
 * The same, with the newest critical entry in the system's log if there is a fault. Entries from
 * before the first look are left out, because nobody clears old logs. A log that cannot be read
 * costs nothing but the detail.
 */
export async function readHealth(
  { lasting }: Pick<Bmc, 'lasting'>,
  wire: Wire,
  system: System,
): Promise<readonly ReportedCondition[]> {
  const key = `first look at ${system.path}`;
  if (!lasting.has(key) && system.readAtMs !== null) lasting.set(key, system.readAtMs);
  const sinceMs = (lasting.get(key) as number | undefined) ?? null;
  const [found] = healthOf(system);
  if (found?.status !== 'True' || sinceMs === null) return healthOf(system);
  return healthOf(system, await readNewest(wire, system, sinceMs).catch(() => ''));
}

/** Empty: there is none. */
async function readNewest(wire: Wire, { json }: System, sinceMs: number): Promise<string> {
  const path = linkOf(json['LogServices']);
  const services = path === null ? null : await unlessAbsent(wire.get(path));
  const [service] = linksOf(services?.json?.['Members']);
  const entries = service && linkOf((await wire.get(service)).json?.['Entries']);
  if (!entries) return '';
  const members = (await wire.get(entries)).json?.['Members'];
  const all = Array.isArray(members) ? (members as unknown[]) : [];
  const critical = [...all.slice(0, ENTRIES_MAX), ...all.slice(-ENTRIES_MAX)]
    .flatMap((one) => LogEntry.safeParse(one).data ?? [])
    // By the clock of the BMC, like the first look.
    .filter(({ Created: createdMs }) => createdMs > sinceMs)
    .toSorted((a, b) => b.Created - a.Created);
  return critical[0]?.Message ?? '';
}
