import { BARRING_CREATION, isInForce } from '../eligibility.ts';
import { slot, type ProviderName, type SessionId, type Slot } from '../ids.ts';
import type {
  GuardRow,
  HoldRow,
  IntentRow,
  MachineRow,
  PenaltyRow,
  ProviderHoldRow,
  ProviderMachine,
  UnreadableEntry,
} from '../machine.ts';
import { ABANDON_MS } from '../policy.ts';
import { isIdle, judge, mayResume, type Finding, type Findings } from './findings.ts';
import {
  admissionRefusal,
  indexHolds,
  type AdmissionInput,
  type CapacityPlan,
} from './provider-holds.ts';
import { keepTarget, type Replacement, type ServiceCount, type Target } from './replacement.ts';
import { isReadAlready, takeStock, type FreeSlot, type Stock } from './stock.ts';

export interface ReconcileInput {
  readonly provider: ProviderName;
  readonly listed: readonly ProviderMachine[];
  /** False: the listing has gaps and may miss machines, so that nothing may be created. */
  readonly listingComplete: boolean;
  /** Entries that cannot be parsed: neither absent nor free. */
  readonly unreadable?: readonly UnreadableEntry[];
  /** Database time at the start of the listing; default `nowMs`. */
  readonly listedAtMs?: number;
  readonly machines: readonly MachineRow[];
  readonly intents: readonly IntentRow[];
  readonly holds: readonly HoldRow[];
  readonly penalties: readonly PenaltyRow[];
  readonly providerHolds?: readonly ProviderHoldRow[];
  /** Decisions of the guard, and replacements of the last 24 hours; only a target needs them. */
  readonly guard?: readonly GuardRow[];
  readonly replacements?: readonly Replacement[];
  /** Absent: every free slot is used. */
  readonly target?: Target | undefined;
  /** Why replacements wait; absent or null: they do not. */
  readonly replacementBar?: string | null;
  /** Database clock. */
  readonly nowMs: number;
  /** Maximum number of managed machines; 0 = no limit. */
  readonly machinesMax: number;
  /** Maximum number of creations per iteration. */
  readonly chunkSize: number;
  /** Besides creations of dead sessions, this session's unfinished creations may be resumed. */
  readonly self?: SessionId | null;
  /** Creation keys on which this process worked at any time since the rows were read. */
  readonly running?: ReadonlySet<string>;
  /** Slots whose last creation failed, with a rank: they come last, in its order. */
  readonly failedLast?: ReadonlyMap<Slot, number>;
  /** Creations of this process that are under way. */
  readonly underWay?: number;
  /** Maximum number of simultaneous creations of this process; absent: no limit. */
  readonly parallelism?: number;
  /** Take over orphans. */
  readonly assimilate?: boolean;
  readonly abandonMs?: number;
  /** The provider can create machines. */
  readonly canCreate?: boolean;
  /** Why nothing can be created now (no key, no init command); null: everything is configured. */
  readonly payload?: string | null;
  /** Quota group of a plan, as the driver names it; default: the plan itself. */
  readonly groupOf?: (plan: CapacityPlan) => string;
}

/** One machine to create: the free capacity and its slot. */
export interface PlannedCreation {
  readonly slot: Slot;
  readonly slotId: string;
  readonly unused: ProviderMachine;
  /** An unfinished creation to resume. */
  readonly intent?: IntentRow;
  /** It takes the place of a lost machine. */
  readonly replaces?: true;
}

/** The decision about one free slot, with its reason. */
export interface Decision {
  readonly slot: Slot;
  readonly verdict: 'create' | 'resume' | 'skip';
  readonly reason: string;
}

export interface Reconciliation {
  readonly creations: readonly PlannedCreation[];
  /** One decision per free slot, in the order of consideration. */
  readonly decisions: readonly Decision[];
  /** All deviations; machines as they should be are left out. */
  readonly machines: readonly Finding[];
  /** Why the provider's whole listing is not trusted; null: it is trusted. */
  readonly breaker: string | null;
  /** Counts for the iteration's summary line and metrics. */
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
  /** Managed machines beyond the limit: reported, never reduced. */
  readonly overLimit: number;
  /** Free slots that only the limit keeps from becoming machines. */
  readonly leftOut: number;
  /** Null: the provider has no target. */
  readonly service: ServiceCount | null;
}

/**
 * Decides what to do for one provider now. Deterministic. Takes free slots in byte order of device
 * id and slot id. Slots whose last creation failed come last, so that they do not delay the others.
 * A contradiction concerns one machine only. Orphans and unfinished creations count against the
 * limit; foreign devices do not. Takes one pass over everything.
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
  const keeper = keepTarget(input, stock, managed);
  const { creations, decisions, penalised, leftOut } = choose(input, stock, findings, {
    managed,
    keeper,
  });
  const resumed = new Set(creations.map(({ intent }) => intent?.witness));
  return {
    creations,
    decisions,
    // A creation that is resumed is not abandoned in the same round.
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
    service: keeper.service,
    overLimit: input.machinesMax === 0 ? 0 : Math.max(0, managed - input.machinesMax),
  };
}

const NONE: ReadonlySet<string> = new Set();

interface Choice {
  readonly creations: PlannedCreation[];
  readonly decisions: Decision[];
  penalised: number;
  leftOut: number;
}

interface Room {
  readonly managed: number;
  readonly keeper: ReturnType<typeof keepTarget>;
}

function choose(input: ReconcileInput, stock: Stock, findings: Findings, room: Room): Choice {
  const choice: Choice = { creations: [], decisions: [], penalised: 0, leftOut: 0 };
  const refusalOf = slotRefusals(input, stock, choice);
  const barred = globalRefusal(input, findings);
  const roomFor = admissions(input, room, choice);
  for (const free of inTurn(input, stock.free)) {
    const intent = stock.intentBySlot.get(free.slotId);
    const name = slot(input.provider, free.slotId);
    const refusal = refusalOf(free) ?? barred ?? roomFor(free, intent, choice.creations.length);
    const verdict = refusal !== null ? 'skip' : intent ? 'resume' : 'create';
    const replaces = refusal === null && !intent && room.keeper.take();
    const isThere = free.unused.availability === 'PossiblyUsed';
    const usual = isThere ? 'it exists already, and is adopted' : 'it is free';
    const fresh = replaces ? 'it replaces a lost machine' : usual;
    const reason = refusal ?? (intent ? 'an unfinished creation is resumed' : fresh);
    choice.decisions.push({ slot: name, verdict, reason });
    if (refusal !== null) continue;
    const more = { ...(intent && { intent }), ...(replaces && { replaces }) };
    choice.creations.push({ slot: name, ...free, ...more });
  }
  return choice;
}

/** Failed slots come last, after slots that were not read yet; the sort is stable. */
function inTurn(
  { provider, failedLast }: ReconcileInput,
  free: readonly FreeSlot[],
): readonly FreeSlot[] {
  const isRead = ({ unused }: FreeSlot) => isReadAlready(unused);
  if (!failedLast?.size && !free.some(isRead)) return free;
  const rankOf = ({ slotId }: FreeSlot) => failedLast?.get(slot(provider, slotId)) ?? 0;
  return free.toSorted((a, b) => rankOf(a) - rankOf(b) || Number(isRead(b)) - Number(isRead(a)));
}

/** Why nothing is created at all. */
function globalRefusal(input: ReconcileInput, { breaker }: Findings): string | null {
  if (input.canCreate === false) return 'the provider creates no machines';
  if (!input.listingComplete) return 'the listing is incomplete';
  return breaker && `the circuit breaker is open: ${breaker}`;
}

/** Why this slot must not be used. Counts penalised slots. */
function slotRefusals(input: ReconcileInput, { rowSlots, intentBySlot }: Stock, choice: Choice) {
  const { provider, nowMs, running = NONE, self = null } = input;
  const barring = new Map<string, string>();
  for (const hold of input.holds) {
    if (hold.provider !== provider || !BARRING_CREATION.includes(hold.kind)) continue;
    const why = hold.kind === 'retired' ? `retired: ${hold.reason}` : hold.reason;
    if (isInForce(hold, nowMs)) barring.set(hold.slotId, why);
  }
  const cooldowns = new Map<string, string>();
  for (const penalty of input.penalties) {
    if (penalty.provider !== provider || penalty.untilMs <= nowMs) continue;
    cooldowns.set(penalty.slotId, penalty.cause);
  }
  return ({ slotId }: FreeSlot): string | null => {
    if (rowSlots.has(slotId)) return 'a machine is recorded on it';
    const intent = intentBySlot.get(slotId);
    if (intent && !isIdle({ running, self }, intent)) return 'its creation is under way';
    if (intent && !mayResume({ running, self }, intent)) {
      return `its creation was tried ${intent.attempts} times; its device is only searched for`;
    }
    const hold = barring.get(slotId);
    if (hold !== undefined) return `a hold forbids its use: ${hold}`;
    const cause = cooldowns.get(slotId);
    if (cause === undefined) return null;
    choice.penalised += 1;
    return `it is in cooldown: ${cause}`;
  };
}

/** Why no further machine may be requested. Unfinished creations already count as machines. */
function admissions(input: ReconcileInput, { managed, keeper }: Room, choice: Choice) {
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
    const enough = intent ? null : keeper.refusal();
    if (enough !== null) return enough;
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

/** There are few plans and many slots, so each plan's group is computed once. */
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
