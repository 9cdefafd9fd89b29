import { createMemBmdb } from '../../../doubles/mem-bmdb/mem-bmdb.ts';
import { writeHistory } from '../../../doubles/mem-bmdb/records.ts';
import { guardRow } from '../../../doubles/mem-bmdb/guard-rows.ts';
import { newMachine, patch } from '../../../doubles/mem-bmdb/tables.ts';
import type { Memory } from '../../../doubles/mem-bmdb/tables.ts';
import { createSeededRandom, createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { sessionId } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { HoldRow, MachineRow } from '../../../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { notTakenIn, takenIn, TRUSTING_GUARD } from '../../../support/ingest.ts';
import { logsOf } from '../../../contracts/bmdb-stage.ts';
import { ACCEPTANCE } from '../../../contracts/bmdb-rows.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';

/** A fresh BMDB in memory, in virtual time. */
export async function memHarness(
  loss = DEFAULT_LOSS,
  budget = DEFAULT_BUDGET,
  guard = TRUSTING_GUARD,
  startMs?: number,
): Promise<BmdbHarness> {
  const clock = createSimulatedClock(startMs);
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({
    clock,
    random,
    loss,
    budget,
    guard,
    jitter: 0,
    acceptance: ACCEPTANCE,
  });
  const { tables } = bmdb;
  takenIn(tables);
  return {
    bmdb,
    other: bmdb,
    ...rowHooks(tables),
    ...holdHooks(tables),
    addRecords: async (provider, count) => {
      for (let at = 1; at <= count; at++) tables.records.make({ provider, key: `r${at}` }, at);
    },
    nowMs: clock.now,
    pass: async (ms) => clock.increment(ms),
    expireSession: async (id) => {
      tables.sessions.get(id)!.deadlineMs = clock.now() - 1;
    },
    reachable: async (yes) => {
      tables.reachable = yes;
    },
    ...logsOf(bmdb),
    close: async () => bmdb.close(),
  };
}

type RowHooks = Pick<
  BmdbHarness,
  'insert' | 'remove' | 'request' | 'spoil' | 'withdraw' | 'addHistory'
>;

function rowHooks(tables: Memory): RowHooks {
  return {
    insert: async (row, request = new Uint8Array([1])) => {
      tables.machines.set(row.machineId, machineOf(tables, row, request));
      addOrder(tables, row);
      tables.touch(row.machineId);
    },
    remove: async (id) => {
      const machine = tables.machines.get(id)!;
      machine.leases = [];
      tables.machines.delete(id);
      tables.touch(id);
    },
    request: async (id, generation, raw = new Uint8Array([1])) => {
      const machine = tables.machines.get(id)!;
      const { installation } = machine.row;
      const isNew = installation.requestGeneration !== generation;
      const handedOutAtMs = isNew ? null : installation.handedOutAtMs;
      machine.request = raw;
      patch(machine, {
        installation: { ...installation, requestGeneration: generation, handedOutAtMs },
      });
      tables.touch(id);
    },
    spoil: async (id) => {
      const machine = tables.machines.get(id)!;
      const provided = { ...machine.row.provided!, status: null };
      patch(machine, { provided, unreadable: 'the provider status Levitating is not known' });
      tables.touch(id);
    },
    withdraw: async (id) => {
      const machine = tables.machines.get(id)!;
      if (!machine.row.deprovision) return;
      patch(machine, { deprovision: null });
      tables.touch(id);
    },
    addHistory: async (id, count) => addHistory(tables, id, count),
  };
}

const machineOf = (tables: Memory, row: MachineRow, request: Uint8Array) => ({
  ...newMachine({ ...row, order: null }),
  permitGrantedAtMs: row.permit ? tables.now() : null,
  permitScope: row.permit ? row.provided : null,
  unbroken: { sinceMs: tables.now(), count: row.heartbeat ? 1 : 0 },
  request,
});

/** As if the request had been submitted just now. */
function addOrder(tables: Memory, { machineId, provided, order }: MachineRow): void {
  if (!provided || !order) return;
  const { force, ...rest } = order;
  tables.requests.set(order.key, {
    ...rest,
    machineId,
    provider: provided.provider,
    parameters: { force },
    slotId: provided.reservationId ?? provided.providerId,
    createdAtMs: tables.now(),
    state: 'open',
    outcome: null,
    settledAtMs: null,
    batch: null,
    role: null,
    proven: false,
  });
  tables.orders.set(machineId, order.key);
}

function addHistory(tables: Memory, machineId: MachineId, count: number): void {
  const work = {
    machineId,
    process: 'UnitTest1' as const,
    epoch: '0',
    startedAtMs: tables.now(),
    sessionId: sessionId('00000000-0000-4000-8000-00000000feed'),
  };
  for (let at = 1; at <= count; at++) writeHistory(tables, work, 'Failed', `line ${at}`);
}

type HoldHooks = Pick<BmdbHarness, 'hold' | 'lift' | 'freeze' | 'thaw' | 'takeIn'>;

function holdHooks(tables: Memory): HoldHooks {
  const others = (name: Pick<HoldRow, 'provider' | 'slotId' | 'kind'>) =>
    tables.holds.filter(
      ({ provider, slotId, kind }) =>
        provider !== name.provider || slotId !== name.slotId || kind !== name.kind,
    );
  return {
    hold: async (hold) => {
      tables.holds = [...others(hold), hold];
      tables.wake();
    },
    lift: async (provider, slotId, kind) => {
      tables.holds = others({ provider, slotId, kind });
      tables.wake();
    },
    freeze: async (scope, reason) => {
      const frozen = {
        atMs: tables.now(),
        by: 'test',
        kind: 'manual' as const,
        reason,
        untilMs: null,
      };
      tables.guard.rows.set(scope, { ...guardRow(tables.guard, scope), frozen });
    },
    thaw: async (scope) => {
      const row = tables.guard.rows.get(scope);
      if (row) tables.guard.rows.set(scope, { ...row, frozen: null });
    },
    takeIn: async (yes) => (yes ? takenIn(tables) : notTakenIn(tables)),
  };
}
