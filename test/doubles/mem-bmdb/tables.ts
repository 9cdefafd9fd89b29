import { Subject } from 'rxjs';
import type { PoolRow } from '../../../src/domain/balancing/pool-row.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import {
  machineId,
  type MachineId,
  type ProviderName,
  type SessionId,
  type Witness,
} from '../../../src/domain/ids.ts';
import type {
  HoldRow,
  IntentRow,
  LiveWork,
  MachineRow,
  PenaltyRow,
  Process,
  ProviderHoldRow,
} from '../../../src/domain/machine.ts';
import type { LossPolicy, RecoveryBudget } from '../../../src/domain/policy.ts';
import type { GuardPolicy } from '../../../src/domain/recovery/guard-judgement.ts';
import type { Clock, Random } from '../../../src/adapters/clock/port.ts';
import type { ConditionRow } from '../../../src/domain/conditions.ts';
import type { RepairCase } from '../../../src/domain/cases.ts';
import type { MemCaseLine } from './cases.ts';
import type { AcceptancePolicies } from '../../../src/domain/acceptance.ts';
import type { MemAcceptance } from './acceptances.ts';
import type { MemEpisode } from './episodes.ts';
import type { MemWebhooks } from './webhooks.ts';
import { type MemGuard, createMemGuard } from './guard-rows.ts';
import { createRecordTable, type RecordTable } from '../../../src/domain/provisioning/records.ts';
import type { RollRow } from '../../../src/domain/rolling.ts';
import type { FleetEvent } from '../../../src/domain/events/fleet-event.ts';
import type { DaemonAbout, RequestState, Wake } from '../../../src/adapters/bmdb/port.ts';
import type { RequestDetails } from '../../../src/adapters/bmdb/submitted-requests.ts';
import type { Unlisted } from '../../../src/adapters/bmdb/port.ts';

export interface MemBmdbOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  /** Default: `DEFAULT_GUARD`. */
  readonly guard?: GuardPolicy;
  readonly acceptance?: AcceptancePolicies;
  /** Share by which backoffs are lengthened at random (0.1). */
  readonly jitter?: number;
}

export interface MemSession {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly runtimeInfo: string;
  readonly about: DaemonAbout | null;
  readonly startedAtMs: number;
  readonly intervalMs: number;
  deadlineMs: number;
}
/** A held lease of any session. Each claim has a new epoch. */
export interface MemWork extends LiveWork {
  readonly machineId: MachineId;
}
export interface MemHistory {
  readonly seq: number;
  readonly atMs: number;
  readonly machineId: MachineId;
  readonly process: Process;
  readonly event: 'Started' | 'Finished' | 'Failed' | 'Canceled';
  readonly cause: string | null;
  readonly sessionId: SessionId;
  /** Null when the session was deleted before its work. */
  readonly component: string | null;
  readonly epoch: string;
}
export interface MemEvent {
  readonly slot: string;
  /** Null: the slot had no machine. */
  readonly machineId: MachineId | null;
  readonly atMs: number;
  readonly kind: string;
  readonly actor: string;
  readonly reason: string;
  readonly from: string | null;
  readonly to: string | null;
}
/** An operator request, open or ended. */
export interface MemRequest extends RequestState {
  readonly parameters: RequestDetails;
}
/** A machine's tags. `work`, `permit` and `order` of `row` are filled in by reads. */
export interface MemMachine {
  row: MachineRow;
  /** At most one per exclusion group. */
  leases: readonly MemWork[];
  permitGrantedAtMs: number | null;
  /** The scope that the permit counts against; null: the machine's present scope. */
  permitScope: { readonly provider: ProviderName; readonly location: string | null } | null;
  coolDownSeconds: number | null;
  unbroken: { sinceMs: number; count: number };
  /** Time since which its agent start fails because the machine is unreachable or refuses us. */
  unreachableSinceMs: number | null;
  /** Time since which the log records it as silent; null: it does not. */
  silentSinceMs: number | null;
  request: Uint8Array | null;
  hardwareReport: Uint8Array | null;
  /** Last hardware report with all parts, if the newest lacks some; else null. */
  completeReport: Uint8Array | null;
  /** Beside `row.acceptance`. */
  acceptance: MemAcceptance | null;
}
export type MemIntent = Omit<IntentRow, 'state' | 'sessionAlive'> & {
  readonly state: IntentRow['state'] | 'adopted' | 'failed' | 'abandoned';
  readonly replaces: boolean;
};
export interface MemPenalty extends PenaltyRow {
  readonly level: number;
}
/** A job that a live or dead session took. */
export interface MemJob {
  readonly name: string;
  readonly sessionId: SessionId;
  readonly epoch: string;
}
/** One write to a machine's rows, for readers of changes. */
export interface MemChange {
  readonly seq: number;
  readonly atMs: number;
  readonly machineId: MachineId;
}

/** The last restart of a BMC. */
export interface MemReset {
  readonly controller: string;
  readonly machineId: MachineId;
  readonly atMs: number;
}

/** All rows. Every operation on them is synchronous and so atomic. */
export interface MemTables {
  readonly machines: Map<MachineId, MemMachine>;
  readonly sessions: Map<SessionId, MemSession>;
  /** Removed sessions. */
  readonly ended: (MemSession & { readonly endedAtMs: number })[];
  /** All held leases, also of dead sessions. */
  readonly work: readonly MemWork[];
  history: MemHistory[];
  readonly events: MemEvent[];
  /** Events for readers, oldest first. */
  readonly told: FleetEvent[];
  readonly webhooks: MemWebhooks;
  readonly intents: Map<Witness, MemIntent>;
  readonly penalties: Map<string, MemPenalty>;
  holds: HoldRow[];
  episodes: MemEpisode[];
  /** Oldest first, like their lines. */
  cases: RepairCase[];
  caseLines: MemCaseLine[];
  /** By slot, type and source. */
  readonly conditions: Map<string, ConditionRow>;
  /** By slot. */
  readonly labels: Map<string, string | null>;
  /** By provider, kind and key. */
  readonly providerHolds: Map<string, ProviderHoldRow>;
  unlisted: Unlisted[];
  /** By name. */
  readonly jobs: Map<string, MemJob>;
  readonly guard: MemGuard;
  readonly records: RecordTable;
  /** By provider and BMC. */
  readonly controllerResets: Map<string, MemReset>;
  /** By `poolKey`. */
  readonly pools: Map<string, PoolRow>;
  /** By id, oldest first. */
  readonly rolls: Map<string, RollRow>;
  /** By key. */
  readonly requests: Map<string, MemRequest>;
  /** Keys of the open orders, at most one per machine. */
  readonly orders: Map<MachineId, string>;
  /** Oldest first. */
  changes: MemChange[];
  /** Changes up to this number are deleted. */
  trimmedTo: number;
}

/** The tables and their helpers. */
export interface Memory extends MemTables {
  /** False: every call to the database fails with `Unreachable`. */
  reachable: boolean;
  readonly options: MemBmdbOptions;
  readonly wakes$: Subject<Wake>;
  /** Numbers claims, lines of history and changes. No number repeats. */
  nextNumber(): number;
  /** Numbers events. */
  nextEvent(): number;
  /** Numbers reads. */
  nextRead(): number;
  now(): number;
  /** Notifies readers after an operation that changed something. */
  wake(): void;
  /** The same, and records that this machine's rows changed. */
  touch(id: MachineId): void;
}

export function createMemory(options: MemBmdbOptions): Memory {
  const wakes$ = new Subject<Wake>();
  let last = 0;
  let reads = 0;
  let events = 0;
  let waking = false;
  const memory: Memory = {
    machines: new Map(),
    sessions: new Map(),
    ended: [],
    records: createRecordTable(() => options.random.uuid()),
    controllerResets: new Map(),
    get work() {
      return [...memory.machines.values()].flatMap((machine) => machine.leases);
    },
    history: [],
    events: [],
    told: [],
    webhooks: { endpoints: new Map(), failed: new Map() },
    intents: new Map(),
    penalties: new Map(),
    holds: [],
    episodes: [],
    cases: [],
    caseLines: [],
    conditions: new Map(),
    labels: new Map(),
    providerHolds: new Map(),
    unlisted: [],
    jobs: new Map(),
    guard: createMemGuard(),
    pools: new Map(),
    requests: new Map(),
    rolls: new Map(),
    orders: new Map(),
    changes: [],
    trimmedTo: 0,
    reachable: true,
    options,
    wakes$,
    nextNumber: () => ++last,
    nextEvent: () => ++events,
    nextRead: () => ++reads,
    now: () => options.clock.now(),
    wake: () => {
      if (waking) return;
      waking = true;
      queueMicrotask(() => {
        waking = false;
        wakes$.next('changed');
      });
    },
    touch: (id) => {
      memory.changes.push({ seq: ++last, atMs: memory.now(), machineId: id });
      memory.wake();
    },
  };
  return memory;
}

/** @throws {Unreachable} */
export function requireReachable({ reachable }: Memory): void {
  if (!reachable) throw new Unreachable('the database in memory was made unreachable');
}

export const emptyRow = (id: string, createdAtMs: number): MachineRow => ({
  machineId: machineId(id),
  createdAtMs,
  provided: null,
  slot: { labels: null, episodes: [], healedBy: null, isRecovering: false },
  agentStarted: null,
  heartbeat: null,
  installation: {
    requestGeneration: null,
    handedOutAtMs: null,
    reportGeneration: null,
    reportResult: null,
  },
  startAttempt: null,
  recovery: null,
  bootTimes: { reboot: [], reinstall: [] },
  order: null,
  permit: false,
  quarantine: null,
  acceptance: null,
  deprovision: null,
  missing: null,
  hostKey: null,
  members: [],
  work: [],
  backoffs: [],
});

export const newMachine = (row: MachineRow): MemMachine => ({
  row,
  leases: [],
  permitGrantedAtMs: null,
  permitScope: null,
  coolDownSeconds: null,
  unbroken: { sinceMs: 0, count: 0 },
  unreachableSinceMs: null,
  silentSinceMs: null,
  request: null,
  hardwareReport: null,
  completeReport: null,
  acceptance: null,
});

export function patch(machine: MemMachine, change: Partial<MachineRow>): void {
  machine.row = { ...machine.row, ...change };
}

/** @returns whether there was a permit. */
export function dropPermit(memory: Memory, machine: MemMachine): boolean {
  if (machine.permitGrantedAtMs === null) return false;
  machine.permitGrantedAtMs = null;
  machine.permitScope = null;
  memory.touch(machine.row.machineId);
  return true;
}

/** Checks that the parts of a session make before they write. */
export interface SessionGate {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly signal: AbortSignal;
  /** @throws {SessionExpired} */
  check(): void;
}

/** A claim, as its later steps see it. */
export interface HeldWork {
  readonly memory: Memory;
  readonly gate: SessionGate;
  readonly machine: MemMachine;
  readonly work: MemWork;
  /** The row at the claim. */
  readonly row: MachineRow;
}
