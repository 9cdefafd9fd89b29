import type { ProviderName } from '../../../src/domain/ids.ts';
import type { ProviderHoldKind } from '../../../src/domain/machine.ts';
import { holdForMs } from '../../../src/adapters/bmdb/preconditions.ts';
import { tellProviderHold } from './events.ts';
import type { Memory } from './tables.ts';
import type { ProviderHoldBook } from '../../../src/adapters/bmdb/port.ts';

const KEPT_MS = 86_400_000;

/** See `ProviderHoldBook`. */
export const createProviderHolds = (memory: Memory): ProviderHoldBook => ({
  impose: async ({ provider, kind, key, forMs, level, amount, cause }) => {
    const lastsMs = holdForMs({ forMs, level, ...(amount === undefined ? {} : { amount }) });
    const name = nameOf(provider, kind, key);
    const lasted = memory.providerHolds.get(name)?.untilMs;
    const before = lasted ?? Number.NEGATIVE_INFINITY;
    const untilMs = Math.max(before, memory.now() + lastsMs);
    const hold = { provider, kind, key, level, cause, amount: amount ?? null, untilMs };
    memory.providerHolds.set(name, hold);
    tellProviderHold(memory, hold, lasted);
    memory.wake();
  },
  lift: async (provider, kind, key, seenUntilMs) =>
    liftHolds(memory, provider, kind, key, seenUntilMs),
});

export function liftHolds(
  memory: Memory,
  provider: ProviderName,
  kind: ProviderHoldKind | 'penalty',
  key?: string,
  seenUntilMs = Number.POSITIVE_INFINITY,
): number {
  const isMeant = (hold: Meant) =>
    hold.provider === provider &&
    (key === undefined || hold.key === key) &&
    hold.untilMs <= seenUntilMs;
  const count = kind === 'penalty' ? forgive(memory, isMeant) : lift(memory, kind, isMeant);
  if (count > 0) memory.wake();
  return count;
}

const nameOf = (provider: ProviderName, kind: ProviderHoldKind, key: string) =>
  `${provider} ${kind} ${key}`;

/** What identifies a hold, or a penalty by its slot. */
interface Meant {
  readonly provider: ProviderName;
  readonly key: string;
  readonly untilMs: number;
}

function lift(
  { providerHolds }: Memory,
  kind: ProviderHoldKind,
  isMeant: (hold: Meant) => boolean,
): number {
  const found = [...providerHolds].filter(([, hold]) => hold.kind === kind && isMeant(hold));
  for (const [name] of found) providerHolds.delete(name);
  return found.length;
}

function forgive({ penalties }: Memory, isMeant: (hold: Meant) => boolean): number {
  const found = [...penalties].filter(([, penalty]) =>
    isMeant({ ...penalty, key: penalty.slotId }),
  );
  for (const [name] of found) penalties.delete(name);
  return found.length;
}

/** Deletes holds that ended long ago; the next hold of that kind starts small again. */
export function trimProviderHolds(memory: Memory): void {
  const limitMs = memory.now() - KEPT_MS;
  for (const [name, { untilMs }] of memory.providerHolds) {
    if (untilMs < limitMs) memory.providerHolds.delete(name);
  }
}
