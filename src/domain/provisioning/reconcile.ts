import { slot, type MachineId, type ProviderName, type SessionId, type Slot } from '../ids.ts';
import type {
  HoldRow,
  IntentRow,
  MachineRow,
  PenaltyRow,
  ProviderHoldRow,
  ProviderMachine,
  UnreadableEntry,
} from '../machine.ts';
import { ABANDON_MS } from '../policy.ts';
import {
  isIdle,
  judge,
  mayResume,
  type Finding,
  type FindingAction,
  type FindingCase,
  type Findings,
} from './findings.ts';
import {
  admissionRefusal,
  indexHolds,
  type AdmissionInput,
  type CapacityPlan,
} from './provider-holds.ts';
import { isReadAlready, takeStock, type FreeSlot, type Stock } from './stock.ts';

export interface ReconcileInput {
  readonly provider: ProviderName;
  readonly listed: readonly ProviderMachine[];
  /** A listing with gaps counts too few machines: then nothing may be created. */
  readonly listingComplete: boolean;
  /** What is listed and cannot be read: neither absent nor free. */
  readonly unreadable?: readonly UnreadableEntry[];
  /** Database time at which the listing was begun; `nowMs` when absent. */
  readonly listedAtMs?: number;
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  readonly providerHolds?: readonly ProviderHoldRow[];
  /** Database clock. */
  readonly nowMs: number;
  /** Managed machines at most; 0 = no limit. */
  readonly machinesMax: number;
  /** Creations per iteration at most. */
  readonly chunkSize: number;
  /** Whose unfinished creations are ours to take up, besides those of dead sessions. */
  readonly self?: SessionId | null;
  /** Witnesses that creations of this process worked on at any time since the rows were read. */
  readonly running?: ReadonlySet<string>;
  /** Slots whose last creation failed, with a rank: they come last, in its order. */
  readonly failedLast?: ReadonlyMap<Slot, number>;
  /** Creations of this process that are under way now. */
  readonly underWay?: number;
  /** Creations of this process at once; no limit when absent. */
  readonly parallelism?: number;
  /** Take over devices that nothing refers to. */
  readonly assimilate?: boolean;
  readonly abandonMs?: number;
  /** The provider can make machines. */
  readonly canCreate?: boolean;
  /** Why nothing can be created now (no key, no init command); null: all is there. */
  readonly payload?: string | null;
  /** Quota group of a plan, in the driver's words; the plan itself when absent. */
  readonly groupOf?: (plan: CapacityPlan) => string;
}

/** One machine to create: free capacity, and the slot it becomes. */
export interface Creation {
  readonly slot: Slot;
  readonly slotId: string;
  readonly unused: ProviderMachine;
  /** An unfinished creation that is to be taken up again. */
  readonly intent?: IntentRow;
}

/** What becomes of one free slot, and why. */
export interface Decision {
  readonly slot: Slot;
  readonly verdict: 'create' | 'resume' | 'skip';
  readonly reason: string;
}

export interface Reconciliation {
  readonly creations: readonly Creation[];
  /** One for each free slot, in the order in which they are considered. */
  readonly decisions: readonly Decision[];
  /** Everything that is not as it should be; what nothing is to be said of is left out. */
  readonly machines: readonly Finding[];
  /** Why the provider's listing is not believed as a whole; null: it is. */
  readonly breaker: string | null;
  /** Counts for the iteration's summary line and the metrics. */
  readonly summary: {
    readonly bmdb: number;
    readonly used: number;
    readonly free: number;
    readonly failed: number;
    readonly orphan: number;
    readonly missing: number;
    readonly penalised: number;
    readonly managed: number;
    readonly max: number;
  };
  /** Managed machines beyond the limit: told, never reduced. */
  readonly overLimit: number;
  /** Free slots that nothing but the limit keeps from becoming machines. */
  readonly leftOut: number;
}

/**
 * What to do now, for one provider. Deterministic; free slots are taken in byte order of device id
 * and slot id, after them those whose last creation failed, so that none keeps the others from their
 * turn. One contradiction concerns one machine. Orphans and unfinished creations count
 * against the limit, foreign devices do not. Costs one pass over everything.
 */
export function reconcile(input: ReconcileInput): Reconciliation {
  const { nowMs, listedAtMs = nowMs, running = NONE, self = null, unreadable = [] } = input;
  const stock = takeStock(input);
  const findings = judge({
    provider: input.provider,
    stock,
    listedAtMs,
    nowMs,
    self,
    running,
    listedCount: input.listed.length + unreadable.length,
    unreadable,
    listingComplete: input.listingComplete,
    assimilate: input.assimilate ?? false,
    abandonMs: input.abandonMs ?? ABANDON_MS,
  });
  const managed = findings.counts.machines + stock.intents.length;
  const { creations, decisions, penalised, leftOut } = choose(input, stock, findings, managed);
  const resumed = new Set(creations.map(({ intent }) => intent?.witness));
  return {
    creations,
    decisions,
    // Whoever is tried again is not given up in the same breath.
    machines: findings.all.filter(
      ({ intent, action }) => !(action === 'abandon' && resumed.has(intent!.witness)),
    ),
    breaker: findings.breaker,
    summary: {
      bmdb: stock.rows.length,
      used: stock.used.filter(({ device }) => device.ownership !== 'foreign').length,
      free: stock.free.length,
      failed: findings.counts.failed,
      orphan: findings.counts.orphan,
      missing: findings.counts.missing,
      penalised,
      managed,
      max: input.machinesMax,
    },
    leftOut,
    overLimit: input.machinesMax === 0 ? 0 : Math.max(0, managed - input.machinesMax),
  };
}

const NONE: ReadonlySet<string> = new Set();

interface Choice {
  readonly creations: Creation[];
  readonly decisions: Decision[];
  penalised: number;
  leftOut: number;
}

function choose(input: ReconcileInput, stock: Stock, findings: Findings, managed: number): Choice {
  const choice: Choice = { creations: [], decisions: [], penalised: 0, leftOut: 0 };
  const refusalOf = slotRefusals(input, stock, choice);
  const barred = globalRefusal(input, findings);
  const roomFor = admissions(input, managed, choice);
  for (const free of inTurn(input, stock.free)) {
    const intent = stock.intentBySlot.get(free.slotId);
    const name = slot(input.provider, free.slotId);
    const refusal = refusalOf(free) ?? barred ?? roomFor(free, intent, choice.creations.length);
    const verdict = refusal !== null ? 'skip' : intent ? 'resume' : 'create';
    const reason = refusal ?? (intent ? 'an unfinished creation is taken up' : 'it is free');
    choice.decisions.push({ slot: name, verdict, reason });
    if (refusal === null) choice.creations.push({ slot: name, ...free, ...(intent && { intent }) });
  }
  return choice;
}

/** Those that failed come last, and before them those that were not read yet; the sort is stable. */
function inTurn(
  { provider, failedLast }: ReconcileInput,
  free: readonly FreeSlot[],
): readonly FreeSlot[] {
  const isRead = ({ unused }: FreeSlot) => isReadAlready(unused);
  if (!failedLast?.size && !free.some(isRead)) return free;
  const rankOf = ({ slotId }: FreeSlot) => failedLast?.get(slot(provider, slotId)) ?? 0;
  return free.toSorted((a, b) => rankOf(a) - rankOf(b) || Number(isRead(b)) - Number(isRead(a)));
}

/** Why nothing at all is created. */
function globalRefusal(input: ReconcileInput, { breaker }: Findings): string | null {
  if (input.canCreate === false) return 'the provider makes no machines';
  if (!input.listingComplete) return 'the listing is incomplete';
  return breaker && `the circuit breaker is open: ${breaker}`;
}

/** Why this slot must not be used, whatever else is true. Counts those on the shelf. */
function slotRefusals(input: ReconcileInput, { rowSlots, intentBySlot }: Stock, choice: Choice) {
  const { provider, nowMs, running = NONE, self = null } = input;
  const barring = new Map<string, string>();
  for (const hold of input.holds) {
    if (hold.provider !== provider || hold.kind !== 'no-allocate') continue;
    if (hold.untilMs === null || hold.untilMs > nowMs) barring.set(hold.slotId, hold.reason);
  }
  const shelf = new Map<string, string>();
  for (const penalty of input.penalties) {
    if (penalty.provider !== provider || penalty.untilMs <= nowMs) continue;
    shelf.set(penalty.slotId, penalty.cause);
  }
  return ({ slotId }: FreeSlot): string | null => {
    if (rowSlots.has(slotId)) return 'a machine is recorded on it';
    const intent = intentBySlot.get(slotId);
    if (intent && !isIdle({ running, self }, intent)) return 'its creation is under way';
    if (intent && !mayResume({ running, self }, intent)) {
      return `its creation was tried ${intent.attempts} times; its device is only looked for`;
    }
    const hold = barring.get(slotId);
    if (hold !== undefined) return `a hold forbids to use it: ${hold}`;
    const cause = shelf.get(slotId);
    if (cause === undefined) return null;
    choice.penalised += 1;
    return `it is on the shelf: ${cause}`;
  };
}

/** Why no further machine may be asked for. Unfinished creations count as machines already. */
function admissions(input: ReconcileInput, managed: number, choice: Choice) {
  const { machinesMax, chunkSize, underWay = 0, parallelism = Infinity } = input;
  const groups = new Map<string, { plan: CapacityPlan; group: string }>();
  const holds = indexHolds(
    (input.providerHolds ?? []).filter((row) => row.provider === input.provider),
  );
  const onTrial = new Set<string>();
  let machines = managed;
  return ({ unused }: FreeSlot, intent: IntentRow | undefined, chosen: number): string | null => {
    const count = machines + (intent ? 0 : 1);
    if (machinesMax !== 0 && !intent && machines >= machinesMax) {
      choice.leftOut += 1;
      return `at the limit of ${machinesMax} machines`;
    }
    if (chosen >= chunkSize) return `not among the first ${chunkSize}`;
    const admission: AdmissionInput = {
      holds,
      nowMs: input.nowMs,
      payload: input.payload ?? null,
      ...groupsOf(input, groups, unused),
      machines: count - 1,
      running: underWay,
      runningMax: isReadAlready(unused) ? Infinity : parallelism,
      onTrial,
    };
    const refusal = admissionRefusal(admission);
    if (refusal === null) machines = count;
    return refusal;
  };
}

/** Plans are few and slots are many: each plan is put into its group once. */
function groupsOf(
  { groupOf }: ReconcileInput,
  known: Map<string, { plan: CapacityPlan; group: string }>,
  { plan: name, location, spot = false }: ProviderMachine,
) {
  const key = `${name} ${location} ${spot}`;
  let found = known.get(key);
  if (!found) {
    const plan = { name, location, spot };
    found = { plan, group: groupOf?.(plan) ?? name };
    known.set(key, found);
  }
  return found;
}

/** So many of a kind are told one by one; of the others only the number. */
export const TOLD_MAX = 100;
/** So many slots are named for one reason. */
const NAMED_MAX = 10;

/** What the provisioner would do, short enough to be told of any number of machines. */
export interface Foresight extends Pick<
  Reconciliation,
  'breaker' | 'summary' | 'overLimit' | 'leftOut'
> {
  /** Machines that would be created now, or whose creation would be taken up: the first of them. */
  readonly creations: readonly Decision[];
  readonly creationCount: number;
  /** Why free slots are left alone, the most frequent reason first. */
  readonly skipped: readonly {
    readonly reason: string;
    readonly count: number;
    readonly slots: readonly Slot[];
  }[];
  /** What is not as it should be, and what would be done about it. */
  readonly findings: readonly FindingGroup[];
}

/** Findings of one case that the same is done about. */
interface FindingGroup {
  readonly case: FindingCase;
  readonly action: FindingAction;
  readonly count: number;
  /** The first of them. */
  readonly examples: readonly {
    readonly slot: Slot;
    /** The provider's id of the device; null: there is none. */
    readonly device: string | null;
    readonly machineId: MachineId | null;
    readonly reason: string;
  }[];
}

/** Puts together what is alike. */
export function foresightOf(plan: Reconciliation): Foresight {
  const { breaker, summary, overLimit, leftOut, decisions, machines } = plan;
  const chosen = decisions.filter(({ verdict }) => verdict !== 'skip');
  return {
    ...{ breaker, summary, overLimit, leftOut },
    creations: chosen.slice(0, TOLD_MAX),
    creationCount: chosen.length,
    skipped: skippedBy(decisions),
    findings: findingsBy(machines),
  };
}

/** Slots that are left alone, by reason: there may be thousands. */
function skippedBy(decisions: readonly Decision[]): Foresight['skipped'] {
  const groups = new Map<string, { count: number; slots: Slot[] }>();
  for (const { slot, verdict, reason } of decisions) {
    if (verdict !== 'skip') continue;
    const group = groups.get(reason) ?? { count: 0, slots: [] };
    groups.set(reason, group);
    group.count += 1;
    if (group.slots.length < NAMED_MAX) group.slots.push(slot);
  }
  return [...groups]
    .map(([reason, group]) => ({ reason, ...group }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, TOLD_MAX);
}

function findingsBy(findings: readonly Finding[]): Foresight['findings'] {
  const groups = Map.groupBy(findings, (each) => `${each.case} ${each.action}`);
  return [...groups.values()].map((those) => {
    const { case: found, action } = those[0]!;
    return {
      case: found,
      action,
      count: those.length,
      examples: those
        .slice(0, NAMED_MAX)
        .map(({ slot, device, row, intent, reason }) => ({
          slot,
          device: device?.id ?? null,
          machineId: row?.machineId ?? intent?.machineId ?? null,
          reason,
        })),
    };
  });
}
