import { afterEach, beforeEach, expect } from 'vitest';
import type { Bmdb, BmdbSession } from '../../src/adapters/bmdb/port.ts';
import type {
  NewRequest,
  RequestedThing,
  RequestState,
  RequestTarget,
} from '../../src/adapters/bmdb/port.ts';
import type { BackoffDescriptor } from '../../src/domain/backoff.ts';
import { codeOf } from '../../src/domain/errors.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { MachineId, ProviderName, SessionId } from '../../src/domain/ids.ts';
import type { HoldKind, HoldRow, MachineRow } from '../../src/domain/machine.ts';
import type { LossPolicy, RecoveryBudget } from '../../src/domain/policy.ts';
import type { GuardPolicy } from '../../src/domain/recovery/guard-judgement.ts';
import { ask, requestFor, targetOf } from './requests-of.ts';
import { KEY, MINUTE, machineRow, PROVIDER, startedAt } from './bmdb-rows.ts';

/**
 * What the contract needs besides the port: functions that set up rows and read what was written.
 */
export interface BmdbHarness {
  readonly bmdb: Bmdb;
  /** The same database as another daemon sees it. */
  readonly other: Bmdb;
  /** Without work, which needs a session. `request` is the raw installation request. */
  insert(row: MachineRow, request?: Uint8Array): Promise<void>;
  /** Deletes the machine with all its tags. */
  remove(id: MachineId): Promise<void>;
  /** Requests the installation of an operating system. A second call requests another one. */
  request(id: MachineId, generation: bigint, raw?: Uint8Array): Promise<void>;
  /** Writes a provider status that this program does not know. */
  spoil(id: MachineId): Promise<void>;
  /** Withdraws a request to give the machine back. */
  withdraw(id: MachineId): Promise<void>;
  hold(hold: HoldRow): Promise<void>;
  lift(provider: ProviderName, slotId: string, kind: HoldKind): Promise<void>;
  freeze(scope: string, reason: string): Promise<void>;
  thaw(scope: string): Promise<void>;
  /**
   * True: heartbeats have been accepted for a long time, as at the begin of each test. False: never
   * yet.
   */
  takeIn(yes: boolean): Promise<void>;
  /** Adds this many lines with the present time to the work history of a machine. */
  addHistory(id: MachineId, count: number): Promise<void>;
  /** Gives a provider this many records at once. */
  addRecords(provider: ProviderName, count: number): Promise<void>;
  /** The time of the database's clock. */
  nowMs(): number;
  /** Lets time pass for the database and for the local clock. */
  pass(ms: number): Promise<void>;
  /** Moves a session's deadline into the past, in the database only. */
  expireSession(id: SessionId): Promise<void>;
  /** False: breaks all connections and refuses new ones. True: accepts connections again. */
  reachable(yes: boolean): Promise<void>;
  /** Lines `process event cause`, oldest first. */
  history(id: MachineId): Promise<string[]>;
  /** Lines `kind reason`, oldest first. */
  events(id: MachineId): Promise<string[]>;
  /** The author of each of these lines. */
  actors(id: MachineId): Promise<string[]>;
  close(): Promise<void>;
}
export type MakeHarness = (
  loss?: LossPolicy,
  budget?: RecoveryBudget,
  guard?: GuardPolicy,
) => Promise<BmdbHarness>;

/** The logs of a machine, as the port returns them. */
export function logsOf({ inspection }: Bmdb): Pick<BmdbHarness, 'history' | 'events' | 'actors'> {
  const told = (machineId: MachineId) => inspection.events({ machineId, limit: 1_000 }, SIGNAL);
  const line = (...parts: readonly (string | null)[]) => parts.filter(Boolean).join(' ');
  return {
    history: async (id) =>
      (await inspection.history(id, SIGNAL)).map((each) =>
        line(each.process, each.event, each.cause),
      ),
    events: async (id) => (await told(id)).map(({ kind, reason }) => line(kind, reason)),
    actors: async (id) => (await told(id)).map(({ actor }) => actor),
  };
}

export const DAY = 86_400_000;
export const SIGNAL = new AbortController().signal;
export const UNKNOWN = machineId('00000000-0000-4000-8000-00000000dead');
export const STEADY: BackoffDescriptor = { initialMs: 60_000, exponent: 1, maximumMs: 0 };
export const DOUBLING: BackoffDescriptor = { initialMs: 1_000, exponent: 2, maximumMs: 5_000 };

/** The code of the error that a call fails with. Throws when the call succeeds. */
export async function refusedWith(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return codeOf(error);
  }
  return expect.fail('the call succeeded');
}

/** Two daemons with one session each on a fresh database for every test. */
export interface BmdbStage {
  readonly h: BmdbHarness;
  readonly session: BmdbSession;
  readonly rival: BmdbSession;
  openOn(bmdb: Bmdb, intervalMs?: number): Promise<BmdbSession>;
  /** Database clock. */
  now(): Promise<number>;
  read(id: MachineId): Promise<MachineRow>;
  /** Everything, as another daemon sees it. */
  scan(): ReturnType<Bmdb['scan']>;
  holds(): Promise<readonly HoldRow[]>;
  /** The machine at its present place; it must have hardware. */
  target(id: MachineId): Promise<RequestTarget>;
  /** Submits what Ann requests. @returns its key. */
  submit(what: RequestedThing, how?: Partial<NewRequest>): Promise<string>;
  /** Submits the request and applies it. @returns its state then; null: it stays open. */
  applyRequest(what: RequestedThing, how?: Partial<NewRequest>): Promise<RequestState | null>;
  /** The state of a request. */
  stateOf(key: string): Promise<RequestState>;
  /** Inserts a machine with hardware and the given fields. */
  add(change?: Partial<MachineRow>, request?: Uint8Array): Promise<MachineId>;
  /** Inserts a machine that was started 40 min ago and has been silent since. */
  addLost(change?: Partial<MachineRow>): Promise<MachineId>;
  /** Inserts a machine whose agent was heard just now. */
  addWell(change?: Partial<MachineRow>): Promise<MachineId>;
  /** One heartbeat, accepted by the other daemon. */
  beat(
    id: MachineId,
    publicKey?: Uint8Array,
    bootId?: string | null,
  ): ReturnType<Bmdb['heartbeats']['recordHeartbeats']>;
  /** Starts again with another policy. */
  begin(...policies: Parameters<MakeHarness>): Promise<void>;
}

/** Registers the hooks that build and remove the stage. */
export function createStage(make: MakeHarness): BmdbStage {
  let on: { h: BmdbHarness; session: BmdbSession; rival: BmdbSession } | null = null;
  const openOn = (bmdb: Bmdb, intervalMs = DAY) =>
    bmdb.openSession({ component: 'shepherd', runtimeInfo: 'host test', intervalMs });
  const end = async () => {
    await on?.session.close();
    await on?.rival.close();
    await on?.h.close();
    on = null;
  };
  const begin: BmdbStage['begin'] = async (...policies) => {
    await end();
    const h = await make(...policies);
    on = { h, session: await openOn(h.bmdb), rival: await openOn(h.other) };
  };
  beforeEach(() => begin());
  afterEach(end);
  const now = () => Promise.resolve(on!.h.nowMs());
  const add: BmdbStage['add'] = async (change = {}, request) => {
    const row = machineRow(await now(), change);
    await on!.h.insert(row, request);
    return row.machineId;
  };
  const read: BmdbStage['read'] = async (id) => (await on!.h.bmdb.readMachine(id, SIGNAL)).row!;
  return {
    get h() {
      return on!.h;
    },
    get session() {
      return on!.session;
    },
    get rival() {
      return on!.rival;
    },
    openOn,
    now,
    add,
    begin,
    read,
    scan: () => on!.h.other.scan(SIGNAL),
    holds: async () => (await on!.h.other.scan(SIGNAL)).holds,
    target: async (id) => targetOf(await read(id)),
    submit: async (what, how) => (await on!.h.bmdb.requests.submit(requestFor(what, how))).key,
    applyRequest: (what, how) => ask(on!.h.bmdb, on!.session, requestFor(what, how)),
    stateOf: async (key) => (await on!.h.other.requests.read([key], SIGNAL))[0]!,
    addWell: async (change = {}) => {
      const atMs = await now();
      const heartbeat = { atMs, bootId: null };
      return add({ ...startedAt(atMs - MINUTE), heartbeat, ...change });
    },
    addLost: async (change = {}) => add({ ...startedAt((await now()) - 40 * MINUTE), ...change }),
    beat: (id, publicKey = KEY, bootId = null) =>
      on!.h.other.heartbeats.recordHeartbeats([{ machineId: id, publicKey, bootId }]),
  };
}

/** The result of a successful agent start with the known key. */
export const agentStarted = (warnings: readonly string[] = []) => ({
  kind: 'agentStarted' as const,
  publicKey: KEY,
  bootId: 'boot-2',
  hostKey: 'host-key',
  warnings,
});

export const holdOn = (row: MachineRow, kind: HoldKind): HoldRow => ({
  provider: PROVIDER,
  slotId: row.provided!.reservationId!,
  kind,
  setBy: 'ann',
  reason: 'being looked at',
  untilMs: null,
});
