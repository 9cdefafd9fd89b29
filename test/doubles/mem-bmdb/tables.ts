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
import type { MemWebhooks } from './webhooks.ts';
import { type MemGuard, createMemGuard } from './guard-rows.ts';
import { createRecordTable, type RecordTable } from '../../../src/domain/provisioning/records.ts';
import type { FleetEvent } from '../../../src/domain/events/fleet-event.ts';
import type { DaemonAbout, RequestState, Wake } from '../../../src/adapters/bmdb/port.ts';
import type { RequestDetails } from '../../../src/adapters/bmdb/filed-requests.ts';
import type { Unlisted } from '../../../src/adapters/bmdb/port.ts';

export interface MemBmdbOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  /** `DEFAULT_GUARD` when absent. */
  readonly guard?: GuardPolicy;
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
/** A lease that is held, by whatever session; its epoch is new with each claim. */
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
  /** Null when the session was forgotten before its work. */
  readonly component: string | null;
  readonly epoch: string;
}
export interface MemEvent {
  readonly slot: string;
  /** Null: there was none on the slot. */
  readonly machineId: MachineId | null;
  readonly atMs: number;
  readonly kind: string;
  readonly actor: string;
  readonly reason: string;
  readonly from: string | null;
  readonly to: string | null;
}
/** What somebody asked for, settled or not. */
export interface MemRequest extends RequestState {
  readonly parameters: RequestDetails;
}
/** A machine's tags; `work`, `permit` and `order` of `row` are filled in when it is read. */
export interface MemMachine {
  row: MachineRow;
  /** At most one of each exclusion group. */
  leases: readonly MemWork[];
  permitGrantedAtMs: number | null;
  /** What the permit counts against; null: what the machine is now. */
  permitScope: { readonly provider: ProviderName; readonly location: string | null } | null;
  coolDownSeconds: number | null;
  unbroken: { sinceMs: number; count: number };
  /** Since when its agent start fails because it cannot be reached or does not let us in. */
  unreachableSinceMs: number | null;
  /** It is noted as silent, since then; null: it is not. */
  silentSinceMs: number | null;
  request: Uint8Array | null;
  hardwareReport: Uint8Array | null;
}
export type MemIntent = Omit<IntentRow, 'state' | 'sessionAlive'> & {
  readonly state: IntentRow['state'] | 'adopted' | 'failed' | 'abandoned';
};
export interface MemPenalty extends PenaltyRow {
  readonly level: number;
}
/** A job that somebody took, dead or alive. */
export interface MemJob {
  readonly name: string;
  readonly sessionId: SessionId;
  readonly epoch: string;
}
/** One write to a machine's rows, for those who follow the changes. */
export interface MemChange {
  readonly seq: number;
  readonly atMs: number;
  readonly machineId: MachineId;
}

/** The last restart of a controller. */
export interface MemReset {
  readonly controller: string;
  readonly machineId: MachineId;
  readonly atMs: number;
}

/** All rows. Every operation on them is synchronous, hence atomic. */
export interface MemTables {
  readonly machines: Map<MachineId, MemMachine>;
  readonly sessions: Map<SessionId, MemSession>;
  /** Those that were removed. */
  readonly ended: (MemSession & { readonly endedAtMs: number })[];
  /** All leases that are held, of dead sessions too. */
  readonly work: readonly MemWork[];
  history: MemHistory[];
  readonly events: MemEvent[];
  /** What readers of events are told, oldest first. */
  readonly told: FleetEvent[];
  readonly webhooks: MemWebhooks;
  readonly intents: Map<Witness, MemIntent>;
  readonly penalties: Map<string, MemPenalty>;
  holds: HoldRow[];
  /** By slot. */
  readonly labels: Map<string, string | null>;
  /** By provider, kind and key. */
  readonly providerHolds: Map<string, ProviderHoldRow>;
  unlisted: Unlisted[];
  /** By name. */
  readonly jobs: Map<string, MemJob>;
  readonly guard: MemGuard;
  readonly records: RecordTable;
  /** By provider and controller. */
  readonly controllerResets: Map<string, MemReset>;
  /** By `poolKey`. */
  readonly pools: Map<string, PoolRow>;
  /** By key. */
  readonly requests: Map<string, MemRequest>;
  /** Keys of the open orders; one for a machine. */
  readonly orders: Map<MachineId, string>;
  /** Oldest first. */
  changes: MemChange[];
  /** Changes up to this one are forgotten. */
  trimmedTo: number;
}

/** Tables with what belongs to them. */
export interface Memory extends MemTables {
  /** False: everything that is asked of the database fails with `Unreachable`. */
  reachable: boolean;
  readonly options: MemBmdbOptions;
  readonly wakes$: Subject<Wake>;
  /** Numbers claims, lines of history and changes; never given twice. */
  nextNumber(): number;
  /** Numbers events. */
  nextEvent(): number;
  /** Numbers reads. */
  nextRead(): number;
  now(): number;
  /** Tells readers, after the operation that changed something. */
  wake(): void;
  /** The same, and remembers that the rows of this machine changed. */
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
    labels: new Map(),
    providerHolds: new Map(),
    unlisted: [],
    jobs: new Map(),
    guard: createMemGuard(),
    pools: new Map(),
    requests: new Map(),
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
  slot: { labels: null },
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
});

export function patch(machine: MemMachine, change: Partial<MachineRow>): void {
  machine.row = { ...machine.row, ...change };
}

/** @returns whether there was one. */
export function dropPermit(memory: Memory, machine: MemMachine): boolean {
  if (machine.permitGrantedAtMs === null) return false;
  machine.permitGrantedAtMs = null;
  machine.permitScope = null;
  memory.touch(machine.row.machineId);
  return true;
}

/** What the parts of a session ask before they write. */
export interface SessionGate {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly signal: AbortSignal;
  /** @throws {SessionExpired} */
  check(): void;
}

/** A claim, as everything that follows it sees it. */
export interface HeldWork {
  readonly memory: Memory;
  readonly gate: SessionGate;
  readonly machine: MemMachine;
  readonly work: MemWork;
  /** At the claim. */
  readonly row: MachineRow;
}
