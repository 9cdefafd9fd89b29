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
 * before the first look are left out, because nobody clears old logs. A log that cannot be read is
 * not tried again until the BMC restarts or logs in anew.
 */
export async function readHealth(
  bmc: Pick<Bmc, 'lasting' | 'cannot' | 'remembered'>,
  wire: Wire,
  system: System,
): Promise<readonly ReportedCondition[]> {
  const { lasting, cannot } = bmc;
  const [firstLook, log] = [`first look at ${system.path}`, `log of ${system.path}`];
  if (!lasting.has(firstLook) && system.readAtMs !== null) lasting.set(firstLook, system.readAtMs);
  const sinceMs = (lasting.get(firstLook) as number | undefined) ?? null;
  const [found] = healthOf(system);
  if (found?.status !== 'True' || sinceMs === null || cannot.has(log)) return healthOf(system);
  try {
    const entries = await entriesOf(bmc, wire, system);
    return healthOf(system, entries === null ? '' : await readNewest(wire, entries, sinceMs));
  } catch {
    // A BMC that fails is left alone for a while, which must not happen for its log at each poll.
    cannot.add(log);
    return healthOf(system);
  }
}

/** Path of the entries of the system's first log; null: there is none. */
async function entriesOf(
  { remembered }: Pick<Bmc, 'remembered'>,
  wire: Wire,
  { path, json }: System,
): Promise<string | null> {
  const key = `entries of ${path}`;
  const known = remembered.get(key);
  if (typeof known === 'string') return known;
  const place = linkOf(json['LogServices']);
  const services = place === null ? null : await unlessAbsent(wire.get(place));
  const [service] = linksOf(services?.json?.['Members']);
  const found = service === undefined ? null : linkOf((await wire.get(service)).json?.['Entries']);
  if (found !== null) remembered.set(key, found);
  return found;
}

/** Empty: there is none. */
async function readNewest(wire: Wire, entries: string, sinceMs: number): Promise<string> {
  const members = (await wire.get(entries)).json?.['Members'];
  const all = Array.isArray(members) ? (members as unknown[]) : [];
  const critical = [...all.slice(0, ENTRIES_MAX), ...all.slice(-ENTRIES_MAX)]
    .flatMap((one) => LogEntry.safeParse(one).data ?? [])
    // By the clock of the BMC, like the first look.
    .filter(({ Created: createdMs }) => createdMs > sinceMs)
    .toSorted((a, b) => b.Created - a.Created);
  return critical[0]?.Message ?? '';
}
