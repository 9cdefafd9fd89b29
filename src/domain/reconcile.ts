import { slotOf, type ProviderName, type Slot } from './ids.ts';
import type { HoldRow, IntentRow, MachineRow, PenaltyRow, ProviderMachine } from './machine.ts';

/** One machine to create: free capacity, and the slot it becomes. */
export interface Creation {
  readonly slot: Slot;
  readonly slotId: string;
  readonly unused: ProviderMachine;
}

export interface ReconcileInput {
  readonly provider: ProviderName;
  readonly listed: readonly ProviderMachine[];
  /** A listing with gaps counts too few machines: then nothing may be created. */
  readonly listingComplete: boolean;
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  readonly nowMs: number;
  /** Managed machines at most; 0 = no limit. */
  readonly machinesMax: number;
  /** Creations per iteration at most. */
  readonly chunkSize: number;
}

export interface Reconciliation {
  readonly creations: readonly Creation[];
  /** Counts for the iteration's summary line. */
  readonly summary: {
    readonly bmdb: number;
    readonly used: number;
    readonly free: number;
    readonly failed: number;
    readonly orphan: number;
    readonly penalised: number;
    readonly managed: number;
    readonly max: number;
  };
}

/**
 * What to create now. Deterministic: free slots in byte order of their id. A slot is taken only if
 * no device, machine, intent, shelf entry or hold speaks against it; orphans and unsettled intents
 * count against the limit, foreign devices do not.
 */
export function reconcile(input: ReconcileInput): Reconciliation {
  const { provider, listed, nowMs } = input;
  const rows = input.machines.filter((row) => row.provided?.provider === provider);
  const known = new Set(rows.map((row) => row.provided!.providerId));
  const intents = input.intents.filter((intent) => intent.provider === provider);
  const isUsed = (machine: ProviderMachine) =>
    machine.availability === 'KnownUsed' ||
    (machine.availability === 'PossiblyUsed' && machine.id !== null && known.has(machine.id));
  const inUse = listed.filter(isUsed);
  const covered = new Set(inUse.map(slotIdOf));
  const used = inUse.filter(({ ownership }) => ownership !== 'foreign');
  const free = listed
    .filter((machine) => !isUsed(machine) && machine.ownership === 'ours')
    .filter((machine) => !covered.has(slotIdOf(machine)));
  const witnesses = new Set<string>(intents.map((intent) => intent.witness));
  const unknown = used.filter((machine) => !known.has(machine.id ?? ''));
  const orphans = unknown.filter((machine) => !witnesses.has(machine.tags['op'] ?? ''));
  const pending = intents.length;
  const managed = rows.length + orphans.length + pending;

  const taken = new Set<string>([
    ...rows.map((row) => row.provided!.reservationId ?? row.provided!.providerId),
    ...intents.map((intent) => intent.slotId),
    ...input.holds
      .filter((hold) => hold.provider === provider && hold.kind === 'no-allocate')
      .filter((hold) => hold.untilMs === null || hold.untilMs > nowMs)
      .map((hold) => hold.slotId),
  ]);
  const shelf = new Set(
    input.penalties
      .filter((penalty) => penalty.provider === provider && penalty.untilMs > nowMs)
      .map((penalty) => penalty.slotId),
  );
  const candidates = free
    .map((unused) => ({
      slot: slotOf(provider, unused),
      slotId: slotIdOf(unused),
      unused,
    }))
    .filter(({ slotId }) => slotId !== '' && !taken.has(slotId))
    .sort((a, b) => (a.slotId < b.slotId ? -1 : a.slotId > b.slotId ? 1 : 0));
  const open = candidates.filter(({ slotId }) => !shelf.has(slotId));
  const room = input.machinesMax === 0 ? Infinity : Math.max(0, input.machinesMax - managed);
  const take = input.listingComplete ? Math.min(open.length, room, input.chunkSize) : 0;
  return {
    creations: open.slice(0, take),
    summary: {
      bmdb: rows.length,
      used: used.length,
      free: free.length,
      failed: used.filter((machine) => machine.failed).length,
      orphan: orphans.length,
      penalised: candidates.length - open.length,
      managed,
      max: input.machinesMax,
    },
  };
}

const slotIdOf = ({ reservationId, id }: ProviderMachine): string => reservationId ?? id ?? '';
