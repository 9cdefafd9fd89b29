import { nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isQuarantined } from '../../../domain/eligibility.ts';
import { AlreadyFinished, WorkLost } from '../../../domain/errors.ts';
import { requireFitting } from '../door.ts';
import type { Held } from './held.ts';
import { cancelOn, dropLease } from './leases.ts';
import { writeEvent, writeHistory } from './records.ts';
import { isSessionAlive } from './rows.ts';
import { dropPermit, patch } from './tables.ts';
import { applyChange, coolDown, dropBackoff, untilMs, writeNote } from './tags.ts';
import type { Quarantine, Work } from '../port.ts';

/** See `Work`. */
export function createWork(held: Held): Work {
  const { memory, gate, machine, work, row } = held;
  const { process, machineId, epoch } = work;
  let ended = false;
  const end = (event: 'Finished' | 'Failed', cause: string | null, apply: () => void) => {
    if (ended) throw new AlreadyFinished(`${process} on ${machineId} has ended already`);
    gate.check();
    requireWork(held);
    dropLease(machine, work);
    writeHistory(memory, work, event, cause);
    apply();
    ended = true;
    memory.touch(machineId);
  };
  return {
    ...{ process, machineId, epoch, row, signal: gate.signal },
    note: async (note) => {
      gate.check();
      requireWork(held);
      writeNote(held, note);
    },
    finish: async (change) => {
      requireFitting(process, change);
      end('Finished', null, () => {
        dropBackoff(held);
        applyChange(held, change);
      });
    },
    fail: async (backoff, cause, quarantine) =>
      end('Failed', cause, () => fail(held, { backoff, cause, quarantine })),
    cancel: async (cause = 'canceled') => {
      // Work of a dead session counts for nothing, so only a live one has something to cancel.
      if (!memory.reachable) return;
      const alive = !gate.signal.aborted && isSessionAlive(memory, gate.sessionId);
      if (!ended && alive) cancelOn(memory, machine, cause, (each) => each === work);
      ended = true;
    },
  };
}

function requireWork({ machine, work }: Held): void {
  if (machine.leases.includes(work)) return;
  throw new WorkLost(`${work.process} on ${work.machineId} is no longer ours`);
}

interface Failure {
  readonly backoff: BackoffDescriptor;
  readonly cause: string;
  readonly quarantine: Quarantine | undefined;
}

function fail(held: Held, { backoff, cause, quarantine }: Failure): void {
  const { memory, gate, machine, work } = held;
  const previous = held.row.backoffs.find((each) => each.process === work.process);
  const seconds = nextBackoffSeconds(backoff, previous?.lastIntervalSeconds ?? null);
  const wait = { untilMs: untilMs(memory, seconds), cause, lastIntervalSeconds: seconds };
  dropBackoff(held);
  patch(machine, { backoffs: [...machine.row.backoffs, { process: work.process, ...wait }] });
  if (work.process === 'ShepherdAgentStart') {
    const attempt = machine.row.startAttempt ?? { atMs: memory.now(), count: 0 };
    patch(machine, { startAttempt: { ...attempt, count: attempt.count + 1 } });
  }
  coolDown(held, backoff);
  const reason = `${work.process}: ${cause}`;
  writeEvent(memory, machine.row, { kind: 'workFailed', actor: gate.component, reason });
  if (quarantine) park(held, quarantine);
}

/** An operator's quarantine stays. The permit is given back. */
function park({ memory, machine, gate }: Held, { kind, reason }: Quarantine): void {
  const isByOperator =
    machine.row.quarantine?.kind === 'byOperator' && isQuarantined(machine.row, memory.now());
  if (!isByOperator) {
    patch(machine, { quarantine: { kind, reason, untilMs: null } });
    machine.quarantinedBy = gate.component;
  }
  dropPermit(memory, machine);
  const { component: actor } = gate;
  writeEvent(memory, machine.row, { kind: 'quarantined', actor, reason: `${kind}: ${reason}` });
}
