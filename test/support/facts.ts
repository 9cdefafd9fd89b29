import { emptyRow } from '../doubles/mem-bmdb/tables.ts';
import type { MemberRow } from '../../src/domain/balancing/members.ts';
import { machineId, providerName, sessionId, slot, witness } from '../../src/domain/ids.ts';
import type {
  BackoffRow,
  HoldKind,
  HoldRow,
  IntentRow,
  LadderRow,
  LiveWork,
  MachineRow,
  OrderRow,
  PenaltyRow,
  Process,
  Provided,
  ProviderMachine,
  RequestRow,
  SlotFacts,
} from '../../src/domain/machine.ts';
import { NO_TRAITS } from '../../src/domain/traits.ts';

/** Builders of rows and listings: a healthy default and the test's changes. */

export const NOW_MS = 1_700_000_000_000;
export const PROVIDER = providerName('stub');
export const SLOT_ID = 'rack-1';
export const SLOT = slot(PROVIDER, SLOT_ID);
export const MACHINE = machineId('aaaaaaaa-0000-4000-8000-000000000001');
export const SESSION = sessionId('bbbbbbbb-0000-4000-8000-000000000001');

export const provided = (change: Partial<Provided> = {}): Provided => ({
  provider: PROVIDER,
  providerId: 'device-1',
  reservationId: SLOT_ID,
  address: '192.0.2.1',
  ...NO_TRAITS,
  location: 'lab',
  status: 'Running',
  ...change,
});

/** A machine with hardware and no agent. */
export const machineRow = (change: Partial<MachineRow> = {}): MachineRow => ({
  ...emptyRow(MACHINE, NOW_MS - 3_600_000),
  provided: provided(),
  ...change,
});

export const agentStarted = (atMs: number, bootId: string | null = 'boot-1') => ({
  atMs,
  publicKey: 'ab'.repeat(32),
  bootId,
});

export const liveWork = (process: Process, session = SESSION): LiveWork => ({
  process,
  sessionId: session,
  epoch: '1',
  startedAtMs: NOW_MS - 1_000,
});

/** A recovery episode without any request yet. */
export const ladderRow = (change: Partial<LadderRow> = {}): LadderRow => ({
  rung: 'rebooting',
  attempts: 0,
  nextAtMs: null,
  askedAtMs: null,
  askedRung: null,
  orderKey: null,
  operationRef: null,
  bootIdBefore: null,
  hostKeyBefore: null,
  offSeenAtMs: null,
  powerOffAskedAtMs: null,
  ...change,
});

/** Work that an operator requested. */
export const orderRow = (change: Partial<OrderRow> = {}): OrderRow => ({
  key: 'request-1',
  verb: 'reboot',
  by: 'ann',
  reason: 'it is slow',
  force: false,
  drain: null,
  expiresAtMs: NOW_MS + 3_600_000,
  ...change,
});

/** An active member of pool api at front. */
export const memberRow = (change: Partial<MemberRow> = {}): MemberRow => ({
  pool: 'api',
  balancer: 'front',
  machineId: MACHINE,
  state: 'active',
  sinceMs: NOW_MS,
  deadlineMs: null,
  how: null,
  waived: false,
  refused: false,
  note: null,
  sessions: null,
  ...change,
});

export const deprovisionAsked = (
  change: Partial<NonNullable<MachineRow['deprovision']>> = {},
): NonNullable<MachineRow['deprovision']> => ({
  requestedAtMs: NOW_MS,
  requestedBy: 'ann',
  reason: 'it is not needed',
  drain: null,
  returnToPool: false,
  attempts: 0,
  askedAtMs: null,
  ...change,
});

export const backoff = (process: Process, untilMs: number, cause = 'it failed'): BackoffRow => ({
  process,
  untilMs,
  cause,
  lastIntervalSeconds: 60,
});

export const hold = (
  kind: HoldKind,
  untilMs: number | null = null,
  fromMs: number | null = null,
): HoldRow => ({
  provider: PROVIDER,
  slotId: SLOT_ID,
  kind,
  setBy: 'operator',
  reason: 'under inspection',
  fromMs,
  untilMs,
});

export const intentRow = (change: Partial<IntentRow> = {}): IntentRow => ({
  witness: witness('cccccccc-0000-4000-8000-000000000001'),
  machineId: MACHINE,
  provider: PROVIDER,
  slotId: SLOT_ID,
  hostname: 'machine-1',
  state: 'open',
  ambiguous: false,
  attempts: 0,
  sessionId: SESSION,
  sessionAlive: true,
  createdAtMs: NOW_MS - 1_000,
  emptySinceMs: null,
  lastError: null,
  ...change,
});

export const penaltyRow = (untilMs: number, change: Partial<PenaltyRow> = {}): PenaltyRow => ({
  provider: PROVIDER,
  slotId: SLOT_ID,
  untilMs,
  cause: 'the creation was refused',
  ...change,
});

/** An operator request of a moment ago for the slot's machine. */
export const requestRow = (change: Partial<RequestRow> = {}): RequestRow => ({
  key: 'request-1',
  verb: 'hold',
  provider: PROVIDER,
  slotId: SLOT_ID,
  machineId: MACHINE,
  by: 'ann',
  reason: 'under inspection',
  createdAtMs: NOW_MS,
  expiresAtMs: NOW_MS + 3_600_000,
  ...change,
});

/** Free capacity on the slot. */
export const free = (change: Partial<ProviderMachine> = {}): ProviderMachine => ({
  id: null,
  reservationId: SLOT_ID,
  hostname: null,
  plan: 'c3.small',
  ...NO_TRAITS,
  location: 'lab',
  address: null,
  remoteUser: 'root',
  availability: 'KnownUnused',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: NOW_MS,
  ...change,
});

/** A deployed device on the slot. */
export const device = (change: Partial<ProviderMachine> = {}): ProviderMachine =>
  free({
    id: 'device-1',
    hostname: 'machine-1',
    address: '192.0.2.1',
    availability: 'KnownUsed',
    status: 'Running',
    power: 'on',
    ...change,
  });

export const slotFacts = (change: Partial<SlotFacts> = {}): SlotFacts => ({
  slot: SLOT,
  provider: PROVIDER,
  listed: null,
  listingComplete: true,
  row: null,
  intent: null,
  holds: [],
  penalty: null,
  conditions: [],
  requests: [],
  conflict: null,
  ...change,
});
