import { Subject } from 'rxjs';
import { refusal } from '../../../domain/eligibility.ts';
import type { Refusal } from '../../../domain/eligibility.ts';
import { machineId } from '../../../domain/ids.ts';
import type { MachineId, SessionId, Witness } from '../../../domain/ids.ts';
import type {
  BackoffRow,
  HoldRow,
  IntentRow,
  LiveWork,
  MachineRow,
  PenaltyRow,
  Process,
} from '../../../domain/machine.ts';
import { slotOf } from '../../../domain/ids.ts';
import type { LossPolicy, RecoveryBudget } from '../../../domain/policy.ts';
import type { Clock, Random } from '../../clock/port.ts';

export interface MemBmdbOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly loss: LossPolicy;
  readonly budget: RecoveryBudget;
  /** Share by which backoffs are lengthened at random (0.1). */
  readonly jitter?: number;
}

export interface MemSession {
  readonly sessionId: SessionId;
  readonly component: string;
  readonly intervalMs: number;
  deadlineMs: number;
}
export interface MemWork extends LiveWork {
  readonly machineId: MachineId;
}
export interface MemHistory {
  readonly machineId: MachineId;
  readonly process: Process;
  readonly event: 'Started' | 'Finished' | 'Failed' | 'Canceled';
  readonly cause: string | null;
  readonly component: string;
  readonly epoch: string;
}
export interface MemEvent {
  readonly slot: string;
  readonly machineId: MachineId;
  readonly atMs: number;
  readonly kind: string;
  readonly reason: string;
}
/** A machine's tags; `work` and `permit` of `row` are filled in when it is read. */
export interface MemMachine {
  row: MachineRow;
  permitGrantedAtMs: number | null;
  coolDownSeconds: number | null;
  unbroken: { sinceMs: number; count: number };
  request: Uint8Array | null;
  hardwareReport: Uint8Array | null;
}
export type MemIntent = Omit<IntentRow, 'state' | 'sessionAlive'> & {
  readonly state: IntentRow['state'] | 'adopted' | 'failed' | 'abandoned';
};
export interface MemPenalty extends PenaltyRow {
  readonly level: number;
}

/** All rows. Every operation on them is synchronous, hence atomic. */
export interface MemTables {
  readonly machines: Map<MachineId, MemMachine>;
  readonly sessions: Map<SessionId, MemSession>;
  work: MemWork[];
  readonly history: MemHistory[];
  readonly events: MemEvent[];
  readonly intents: Map<Witness, MemIntent>;
  readonly penalties: Map<string, MemPenalty>;
  holds: HoldRow[];
  /** Why no permit is granted, of `fleet` or of a provider. */
  readonly frozen: Map<string, string>;
}

/** Tables with what belongs to them. */
export interface Memory extends MemTables {
  readonly options: MemBmdbOptions;
  readonly wakes$: Subject<void>;
  nextEpoch(): string;
  now(): number;
  /** Tells readers, after the operation that changed something. */
  wake(): void;
}

export function createMemory(options: MemBmdbOptions): Memory {
  const wakes$ = new Subject<void>();
  let epoch = 0;
  let waking = false;
  return {
    machines: new Map(),
    sessions: new Map(),
    work: [],
    history: [],
    events: [],
    intents: new Map(),
    penalties: new Map(),
    holds: [],
    frozen: new Map(),
    options,
    wakes$,
    nextEpoch: () => String(++epoch),
    now: () => options.clock.now(),
    wake: () => {
      if (waking) return;
      waking = true;
      queueMicrotask(() => {
        waking = false;
        wakes$.next();
      });
    },
  };
}

export const emptyRow = (id: string, createdAtMs: number): MachineRow => ({
  machineId: machineId(id),
  createdAtMs,
  provided: null,
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
  permit: false,
  quarantine: null,
  deprovisionRequestedAtMs: null,
  hostKey: null,
  work: [],
  backoffs: [],
});

export const newMachine = (row: MachineRow): MemMachine => ({
  row,
  permitGrantedAtMs: null,
  coolDownSeconds: null,
  unbroken: { sinceMs: 0, count: 0 },
  request: null,
  hardwareReport: null,
});

export const isSessionAlive = (memory: Memory, id: SessionId): boolean =>
  (memory.sessions.get(id)?.deadlineMs ?? 0) > memory.now();

/** The machine as a reader sees it; work of dead sessions is left out. */
export function rowOf(memory: Memory, machine: MemMachine): MachineRow {
  const { row, permitGrantedAtMs } = machine;
  const work = memory.work
    .filter((each) => each.machineId === row.machineId && isSessionAlive(memory, each.sessionId))
    .map(({ machineId: _, ...live }) => live);
  return { ...row, work, permit: permitGrantedAtMs !== null };
}

export function refusalFor(memory: Memory, process: Process, machine: MemMachine): Refusal | null {
  const { holds, options } = memory;
  const row = rowOf(memory, machine);
  return refusal(process, row, { holds, nowMs: memory.now(), loss: options.loss });
}

export function patch(machine: MemMachine, change: Partial<MachineRow>): void {
  machine.row = { ...machine.row, ...change };
}

export function writeHistory(
  memory: Memory,
  work: MemWork,
  event: MemHistory['event'],
  cause = '',
): void {
  memory.history.push({
    machineId: work.machineId,
    process: work.process,
    event,
    cause: cause || null,
    component: memory.sessions.get(work.sessionId)?.component ?? '',
    epoch: work.epoch,
  });
}

export function writeEvent(memory: Memory, row: MachineRow, kind: string, reason: string): void {
  if (!row.provided) return;
  const { provider, reservationId, providerId } = row.provided;
  const slot = slotOf(provider, { reservationId, id: providerId });
  memory.events.push({ slot, machineId: row.machineId, atMs: memory.now(), kind, reason });
}

/** Removes work rows with history, and gives back permits under which nothing was asked. */
export function cancelWork(
  memory: Memory,
  cause: string,
  which: (work: MemWork) => boolean,
): number {
  const gone = memory.work.filter(which);
  if (gone.length === 0) return 0;
  memory.work = memory.work.filter((each) => !gone.includes(each));
  for (const work of gone) {
    writeHistory(memory, work, 'Canceled', cause);
    const machine = memory.machines.get(work.machineId);
    if (machine && !isPermitUsed(machine, memory.now())) machine.permitGrantedAtMs = null;
  }
  memory.wake();
  return gone.length;
}

function isPermitUsed({ permitGrantedAtMs, row: { recovery } }: MemMachine, nowMs: number) {
  if (permitGrantedAtMs === null || !recovery) return false;
  return (recovery.askedAtMs ?? 0) >= permitGrantedAtMs || (recovery.nextAtMs ?? 0) > nowMs;
}

export const withoutBackoff = (row: MachineRow, process: Process): readonly BackoffRow[] =>
  row.backoffs.filter((each) => each.process !== process);
