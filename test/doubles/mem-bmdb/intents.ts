import { tellProviderHold } from './events.ts';
import { BARRING_CREATION, isInForce } from '../../../src/domain/eligibility.ts';
import { NotFound, NothingToDo, WorkConflict } from '../../../src/domain/errors.ts';
import {
  machineId,
  slot,
  slotOf,
  witness as asWitness,
  type Witness,
} from '../../../src/domain/ids.ts';
import type { IntentRow, MachineRow } from '../../../src/domain/machine.ts';
import { REPLACEMENT_MS, type Replacement } from '../../../src/domain/provisioning/replacement.ts';
import { PENALTY_MAX_MS } from '../../../src/domain/policy.ts';
import { type SessionGate, emptyRow, newMachine, type MemIntent, type Memory } from './tables.ts';
import { requireJob } from './jobs.ts';
import { writeEvent } from './records.ts';
import { isSessionAlive } from './rows.ts';
import type { IntentRepository } from '../../../src/adapters/bmdb/port.ts';

/** See `IntentRepository`. */
export const createIntentRepository = (memory: Memory, gate: SessionGate): IntentRepository => ({
  open: async ({ lease, replaces = false, ...input }) => {
    if (lease) requireJob(memory, gate, lease);
    refuseOccupied(memory, slot(input.provider, input.slotId));
    const { random } = memory.options;
    const intent: MemIntent = {
      ...input,
      replaces,
      witness: asWitness(random.uuid()),
      machineId: machineId(random.uuid()),
      state: 'open',
      ambiguous: false,
      attempts: 0,
      lastError: null,
      emptySinceMs: null,
      sessionId: gate.sessionId,
      createdAtMs: memory.now(),
    };
    return write(memory, intent);
  },
  resume: async (witness) => {
    const intent = memory.intents.get(witness);
    const free = intent?.sessionId === gate.sessionId || !isAlive(memory, intent);
    if (!intent || !isUnsettled(intent) || !free) throw notOurs(witness);
    return write(memory, { ...intent, sessionId: gate.sessionId });
  },
  progress: async (witness, change) => {
    const intent = requireMine(memory, gate, witness);
    if (change.attempts !== undefined) refuseAttempt(memory, intent);
    const state = change.unresolved === undefined ? intent.state : stateOf(change.unresolved);
    const { attempts = intent.attempts, ambiguous = intent.ambiguous } = change;
    const lastError = change.lastError ?? intent.lastError;
    const emptySinceMs = emptySince(memory, intent, change.empty);
    write(memory, { ...intent, state, attempts, ambiguous, lastError, emptySinceMs });
  },
  adopt: async (witness, provided) => {
    const found = memory.intents.get(witness);
    if (!found) throw new NotFound(`there is no intent ${witness}`);
    if (found.state === 'adopted') return found.machineId;
    const intent = requireMine(memory, gate, witness);
    const row: MachineRow = { ...emptyRow(intent.machineId, memory.now()), provided };
    refuseTaken(memory, row);
    memory.machines.set(intent.machineId, newMachine(row));
    memory.touch(intent.machineId);
    memory.penalties.delete(slot(intent.provider, intent.slotId));
    const reason = `device ${provided.providerId}, intent ${witness}`;
    writeEvent(memory, row, { kind: 'adopted', actor: gate.component, reason });
    write(memory, { ...intent, state: 'adopted' });
    return intent.machineId;
  },
  end: async (witness, how) => {
    const found = memory.intents.get(witness);
    if (!found) throw new NotFound(`there is no intent ${witness}`);
    if (found.state === how.state) return;
    const intent = requireMine(memory, gate, witness);
    if (how.penaltyMs !== undefined) penalise(memory, intent, how.penaltyMs, how.cause);
    write(memory, { ...intent, state: how.state, lastError: how.cause });
  },
});

const emptySince = (memory: Memory, { emptySinceMs }: MemIntent, empty: boolean | undefined) =>
  empty === undefined ? emptySinceMs : empty ? (emptySinceMs ?? memory.now()) : null;
const stateOf = (unresolved: boolean) => (unresolved ? 'unresolved' : 'open');
export const isUnsettled = ({ state }: MemIntent): boolean =>
  state === 'open' || state === 'unresolved';
const isAlive = (memory: Memory, intent: MemIntent | undefined): boolean =>
  intent !== undefined && isSessionAlive(memory, intent.sessionId);
const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} has ended, or another session works on it`);

function requireMine(memory: Memory, gate: SessionGate, witness: Witness): MemIntent {
  const intent = memory.intents.get(witness);
  if (!intent || !isUnsettled(intent) || intent.sessionId !== gate.sessionId) {
    throw notOurs(witness);
  }
  return intent;
}

function write(memory: Memory, intent: MemIntent): IntentRow {
  memory.intents.set(intent.witness, intent);
  memory.wake();
  return toIntentRow(memory, intent);
}

/** See `BmdbSurroundings.replacements`. */
export const readReplacements = (memory: Memory): Replacement[] =>
  [...memory.intents.values()]
    .filter(({ replaces, state }) => replaces && state !== 'failed' && state !== 'abandoned')
    .map(({ provider, createdAtMs: atMs }) => ({ provider, atMs }))
    .filter(({ atMs }) => atMs > memory.now() - REPLACEMENT_MS);

export const toIntentRow = (memory: Memory, { replaces: _, ...intent }: MemIntent): IntentRow => ({
  ...intent,
  state: intent.state === 'unresolved' ? 'unresolved' : 'open',
  sessionAlive: isSessionAlive(memory, intent.sessionId),
});

const slotOfRow = ({ provided }: MachineRow) =>
  provided &&
  slotOf(provided.provider, { reservationId: provided.reservationId, id: provided.providerId });

const hasMachine = (memory: Memory, name: string) =>
  [...memory.machines.values()].some(({ row }) => slotOfRow(row) === name);

function refuseOccupied(memory: Memory, name: string): void {
  if (hasMachine(memory, name)) throw new WorkConflict(`${name} already has a machine`);
  const intents = [...memory.intents.values()].filter(isUnsettled);
  if (intents.some((intent) => slot(intent.provider, intent.slotId) === name)) {
    throw new WorkConflict(`${name} already has an intent`);
  }
  refuseBarred(memory, name);
}

function refuseBarred(memory: Memory, name: string): void {
  const hold = memory.holds.find(
    (each) =>
      slot(each.provider, each.slotId) === name &&
      BARRING_CREATION.includes(each.kind) &&
      isInForce(each, memory.now()),
  );
  const penalty = memory.penalties.get(name);
  const isCoolingDown = penalty !== undefined && penalty.untilMs > memory.now();
  const cause = hold?.reason ?? (isCoolingDown ? penalty.cause : undefined);
  if (cause !== undefined) throw new NothingToDo(`${name} is barred: ${cause}`);
}

/** The slot may have changed since the intent was opened. */
function refuseAttempt(memory: Memory, { provider, slotId }: MemIntent): void {
  const name = slot(provider, slotId);
  if (hasMachine(memory, name)) throw new NothingToDo(`${name} has a machine`);
  refuseBarred(memory, name);
}

function refuseTaken(memory: Memory, row: MachineRow): void {
  const { provider, providerId, reservationId } = row.provided!;
  for (const { row: other } of memory.machines.values()) {
    const { provided } = other;
    if (!provided || provided.provider !== provider) continue;
    const reserved = reservationId !== null && provided.reservationId === reservationId;
    if (provided.providerId === providerId || reserved) {
      throw new WorkConflict(`device ${provider}/${providerId} belongs to another machine`);
    }
  }
}

function penalise(memory: Memory, intent: MemIntent, penaltyMs: number, cause: string): void {
  const { provider, slotId } = intent;
  const name = slot(provider, slotId);
  const before = memory.penalties.get(name);
  const doubled = Math.min(PENALTY_MAX_MS, penaltyMs * 2 ** (before?.level ?? 0));
  const untilMs = memory.now() + Math.max(penaltyMs, doubled);
  const penalty = {
    ...{ provider, slotId, cause },
    untilMs: Math.max(untilMs, before?.untilMs ?? 0),
    level: (before?.level ?? 0) + 1,
  };
  memory.penalties.set(name, penalty);
  tellProviderHold(memory, { ...penalty, kind: 'penalty', key: slotId }, before?.untilMs);
}
