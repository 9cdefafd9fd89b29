import { nextBackoffSeconds, type BackoffDescriptor } from '../../../src/domain/backoff.ts';
import { isLadder, isQuarantined, previousWaitSeconds } from '../../../src/domain/eligibility.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { AlreadyFinished, WorkLost } from '../../../src/domain/errors.ts';
import { failedText, wasAskedFor } from '../../../src/domain/requests.ts';
import { requireFitting } from '../../../src/adapters/bmdb/preconditions.ts';
import { type HeldWork, dropPermit, patch } from './tables.ts';
import { cancelOn, dropLease } from './leases.ts';
import { writeEvent, writeHistory } from './records.ts';
import { giveBackRetired, setRetired } from './retiring.ts';
import { isSessionAlive } from './rows.ts';
import {
  applyChange,
  coolDown,
  dropBackoff,
  endUnasked,
  requireStillNeeded,
  untilMs,
  writeNote,
} from './tags.ts';
import type { FailureEffects, Quarantine, Work } from '../../../src/adapters/bmdb/port.ts';
import { endRequests } from './request-ends.ts';

/** See `Work`. */
export function createWork(held: HeldWork): Work {
  const { memory, gate, machine, work, row } = held;
  const { process, machineId, epoch } = work;
  let ended = false;
  const end = (event: 'Finished' | 'Failed', cause: string | null, apply: () => void) => {
    if (ended) throw new AlreadyFinished(`${process} on ${machineId} has already ended`);
    gate.check();
    requireWork(held);
    dropLease(machine, work);
    writeHistory(memory, work, event, cause);
    apply();
    ended = true;
    memory.touch(machineId);
  };
  return {
    process,
    machineId,
    epoch,
    row,
    signal: gate.signal,
    note: async (note) => {
      gate.check();
      requireWork(held);
      writeNote(held, note);
    },
    finish: async (change) => {
      requireFitting(process, change);
      if (change.kind === 'recovered' && change.unasked) requireStillNeeded(held);
      end('Finished', null, () => {
        dropBackoff(held);
        applyChange(held, change);
      });
    },
    fail: async (backoff, cause, also = {}) =>
      end('Failed', cause, () => fail(held, { backoff, cause, also })),
    cancel: async (cause = 'canceled') => {
      // Work of a dead session does not count, so only a live session has something to cancel.
      if (!memory.reachable) return;
      const alive = !gate.signal.aborted && isSessionAlive(memory, gate.sessionId);
      if (!ended && alive) cancelOn(memory, machine, cause, (each) => each === work);
      ended = true;
    },
  };
}

function requireWork({ machine, work }: HeldWork): void {
  if (machine.leases.includes(work)) return;
  throw new WorkLost(`${work.process} on ${work.machineId} is no longer ours`);
}

interface WorkFailure {
  readonly backoff: BackoffDescriptor;
  readonly cause: string;
  readonly also: FailureEffects;
}

/** An order moves neither the ladder nor its waits. */
function fail(held: HeldWork, failure: WorkFailure): void {
  const { memory, gate, machine, work } = held;
  const { backoff, cause, also } = failure;
  if (isLadder(work.process)) dropPermit(memory, machine);
  if (also.order === undefined) {
    backOff(held, failure);
    if (also.unasked) endUnasked(held, also.unasked.countsOn);
    coolDown(held, backoff);
  } else {
    const outcome = failedText(cause, wasAskedFor(machine.row, also.order));
    endRequests(memory, [{ key: also.order, state: 'refused', outcome, event: null }]);
  }
  const reason = `${work.process}: ${cause}`;
  writeEvent(memory, machine.row, { kind: 'workFailed', actor: gate.component, reason });
  if (also.quarantine) park(held, also.quarantine);
}

function backOff(held: HeldWork, { backoff, cause, also }: WorkFailure): void {
  const { memory, machine, work } = held;
  const seconds = nextBackoffSeconds(backoff, previousWaitSeconds(held.row, work.process));
  const wait = { untilMs: untilMs(memory, seconds), cause, lastIntervalSeconds: seconds };
  dropBackoff(held);
  patch(machine, { backoffs: [...machine.row.backoffs, { process: work.process, ...wait }] });
  if (work.process !== 'ShepherdAgentStart') return;
  machine.unreachableSinceMs = also.unreachable
    ? (machine.unreachableSinceMs ?? memory.now())
    : null;
  const attempt: NonNullable<MachineRow['startAttempt']> = machine.row.startAttempt ?? {
    atMs: null,
    count: 0,
    unreached: 0,
  };
  const unreached = attempt.unreached + Number(also.unreached ?? false);
  patch(machine, { startAttempt: { ...attempt, count: attempt.count + 1, unreached } });
}

/** An operator's quarantine stays. The permit is returned. */
function park(
  { memory, machine, gate }: HeldWork,
  { kind, reason, cause = null, retires }: Quarantine,
): void {
  const isByOperator =
    machine.row.quarantine?.kind === 'byOperator' && isQuarantined(machine.row, memory.now());
  if (!isByOperator) patch(machine, { quarantine: { kind, reason, untilMs: null, cause } });
  dropPermit(memory, machine);
  const { component: actor } = gate;
  writeEvent(memory, machine.row, { kind: 'quarantined', actor, reason: `${kind}: ${reason}` });
  if (retires === undefined) return;
  writeEvent(memory, machine.row, { kind: 'retired', actor, reason });
  const { provided } = machine.row;
  if (isByOperator || !provided) return;
  const slotId = provided.reservationId ?? provided.providerId;
  setRetired(memory, provided.provider, slotId, { by: actor, reason });
  if (retires === 'giveBack') giveBackRetired(memory, machine, actor);
}
