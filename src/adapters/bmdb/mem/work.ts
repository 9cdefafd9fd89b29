import { nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isLadder } from '../../../domain/eligibility.ts';
import {
  AlreadyFinished,
  NoPermit,
  NothingToDo,
  WorkConflict,
  WorkLost,
} from '../../../domain/errors.ts';
import type { MachineId } from '../../../domain/ids.ts';
import type { MachineRow, Process, Rung } from '../../../domain/machine.ts';
import { fleetBudget, groupBudget } from '../../../domain/policy.ts';
import type { SessionGate } from './gate.ts';
import {
  cancelWork,
  isSessionAlive,
  patch,
  refusalFor,
  rowOf,
  withoutBackoff,
  writeEvent,
  writeHistory,
} from './tables.ts';
import type { MemMachine, Memory, MemWork } from './tables.ts';
import type { FinishChange, Quarantine, Work, WorkNote } from '../port.ts';

/** See `BmdbSession.claim`. */
export function claim(
  memory: Memory,
  gate: SessionGate,
  process: Process,
  machineId: MachineId,
): Work {
  gate.check();
  cancelWork(
    memory,
    'session expired',
    (work) => work.machineId === machineId && !isSessionAlive(memory, work.sessionId),
  );
  const machine = memory.machines.get(machineId);
  if (!machine) throw new NothingToDo(`there is no machine ${machineId}`);
  const reason = refusalFor(memory, process, machine);
  if (reason === 'it is being worked on') {
    throw new WorkConflict(`machine ${machineId} is not free for ${process}: ${reason}`);
  }
  if (reason) throw new NothingToDo(`machine ${machineId} is not for ${process}: ${reason}`);
  if (isLadder(process)) grantPermit(memory, machine);
  const work: MemWork = {
    ...{ machineId, process, sessionId: gate.sessionId },
    epoch: memory.nextEpoch(),
    startedAtMs: memory.now(),
  };
  memory.work.push(work);
  writeHistory(memory, work, 'Started');
  memory.wake();
  return createWork({ memory, gate, machine, work, row: rowOf(memory, machine) });
}

function grantPermit(memory: Memory, machine: MemMachine): void {
  if (machine.permitGrantedAtMs !== null) return;
  refuseFrozen(memory, machine);
  const { provider, location } = machine.row.provided!;
  const { budget } = memory.options;
  const counted = [...memory.machines.values()].filter(
    (each) => each.row.provided && (each.row.agentStarted || each.permitGrantedAtMs !== null),
  );
  const refuse = (scope: string, group: readonly MemMachine[], limit: typeof groupBudget) => {
    const recovering = group.filter((each) => each.permitGrantedAtMs !== null).length;
    const most = limit(budget, group.length);
    if (recovering >= most) {
      throw new NoPermit(`${recovering} of ${most} machines of ${scope} are recovering already`);
    }
  };
  refuse('the fleet', counted, fleetBudget);
  const peers = counted.filter((each) => each.row.provided!.provider === provider);
  refuse(`provider ${provider}`, peers, groupBudget);
  if (location !== null) {
    const near = counted.filter((each) => each.row.provided!.location === location);
    refuse(`location ${location}`, near, groupBudget);
  }
  machine.permitGrantedAtMs = memory.now();
}

function refuseFrozen({ frozen }: Memory, { row }: MemMachine): void {
  const reason = frozen.get('fleet') ?? frozen.get(row.provided?.provider ?? '');
  if (reason !== undefined) throw new NoPermit(`frozen: ${reason}`);
}

interface Held {
  readonly memory: Memory;
  readonly gate: SessionGate;
  readonly machine: MemMachine;
  readonly work: MemWork;
  readonly row: MachineRow;
}

function createWork(held: Held): Work {
  const { memory, gate, work, row } = held;
  let ended = false;
  const end = (event: 'Finished' | 'Failed', cause: string, apply: () => void) => {
    gate.check();
    if (ended) throw new AlreadyFinished(`${work.process} on ${work.machineId} has ended already`);
    requireWork(held);
    memory.work = memory.work.filter((each) => each !== work);
    writeHistory(memory, work, event, cause);
    apply();
    ended = true;
    memory.wake();
  };
  return {
    process: work.process,
    machineId: work.machineId,
    epoch: work.epoch,
    signal: held.gate.signal,
    row,
    note: async (note) => {
      gate.check();
      requireWork(held);
      writeNote(held, note);
      memory.wake();
    },
    finish: async (change) => end('Finished', '', () => finish(held, change)),
    fail: async (backoff, cause, quarantine) =>
      end('Failed', cause, () => fail(held, backoff, cause, quarantine)),
    cancel: async (cause = 'canceled') => {
      if (!ended && !gate.signal.aborted) cancelWork(memory, cause, (each) => each === work);
      ended = true;
    },
  };
}

function requireWork({ memory, work }: Held): void {
  if (!memory.work.includes(work)) {
    throw new WorkLost(`${work.process} on ${work.machineId} is no longer ours`);
  }
}

function finish(held: Held, change: FinishChange): void {
  const { memory, machine, work } = held;
  patch(machine, { backoffs: withoutBackoff(machine.row, work.process) });
  if (change.kind === 'nothing') return;
  patch(machine, { heartbeat: null, startAttempt: null });
  machine.unbroken = { sinceMs: 0, count: 0 };
  machine.permitGrantedAtMs = null;
  if (change.kind === 'recovered') {
    patch(machine, { agentStarted: null });
    const rung = coolDown(held, change.coolDown);
    const { recovery } = machine.row;
    const settled = { askedAtMs: null, operationRef: null };
    if (recovery) patch(machine, { recovery: { ...recovery, ...settled } });
    writeEvent(memory, machine.row, 'recovered', rung ?? '');
    return;
  }
  const publicKey = Buffer.from(change.publicKey).toString('hex');
  patch(machine, {
    agentStarted: { atMs: memory.now(), publicKey, bootId: change.bootId },
    hostKey: change.hostKey ?? machine.row.hostKey,
  });
  writeEvent(memory, machine.row, 'agentStarted', change.warnings.join('; '));
}

function fail(
  held: Held,
  backoff: BackoffDescriptor,
  cause: string,
  quarantine: Quarantine | undefined,
): void {
  const { memory, machine, work } = held;
  const previous = held.row.backoffs.find((each) => each.process === work.process);
  const seconds = nextBackoffSeconds(backoff, previous?.lastIntervalSeconds ?? null);
  const wait = { untilMs: untilMs(memory, seconds), cause, lastIntervalSeconds: seconds };
  const others = withoutBackoff(machine.row, work.process);
  patch(machine, { backoffs: [...others, { process: work.process, ...wait }] });
  if (work.process === 'ShepherdAgentStart') {
    const attempt = machine.row.startAttempt ?? { atMs: memory.now(), count: 0 };
    patch(machine, { startAttempt: { ...attempt, count: attempt.count + 1 } });
  }
  coolDown(held, backoff);
  writeEvent(memory, machine.row, 'workFailed', `${work.process}: ${cause}`);
  if (!quarantine) return;
  patch(machine, { quarantine: { ...quarantine, untilMs: null } });
  machine.permitGrantedAtMs = null;
  writeEvent(memory, machine.row, 'quarantined', `${quarantine.kind}: ${quarantine.reason}`);
}

const untilMs = ({ options, now }: Memory, seconds: number): number =>
  now() + seconds * 1000 * (1 + options.random.next() * (options.jitter ?? 0.1));

function coolDown({ memory, machine, work }: Held, descriptor: BackoffDescriptor): Rung | null {
  const { recovery } = machine.row;
  if (!isLadder(work.process) || !recovery) return null;
  machine.coolDownSeconds = nextBackoffSeconds(descriptor, machine.coolDownSeconds);
  const nextAtMs = untilMs(memory, machine.coolDownSeconds);
  patch(machine, { recovery: { ...recovery, nextAtMs } });
  return recovery.rung;
}

function writeNote(held: Held, note: WorkNote): void {
  const { memory, machine } = held;
  switch (note.kind) {
    case 'agentStartAttempt': {
      const count = machine.row.startAttempt?.count ?? 0;
      return patch(machine, { startAttempt: { atMs: memory.now(), count } });
    }
    case 'recoveryAsked':
      return noteAsked(held, note.rung);
    case 'recoveryRefused':
      return noteRefused(machine, note.counts);
    case 'recoveryUnclear': {
      const { recovery } = machine.row;
      const attempts = Math.max(0, (recovery?.attempts ?? 0) - 1);
      return recovery ? patch(machine, { recovery: { ...recovery, attempts } }) : undefined;
    }
    case 'recoveryAccepted': {
      const { recovery } = machine.row;
      if (recovery) patch(machine, { recovery: { ...recovery, operationRef: note.operationRef } });
    }
  }
}

const WAITS: ReadonlySet<string> = new Set([
  'it waits after a failure',
  'it cools down after an attempt',
]);

function noteAsked({ memory, machine, work }: Held, rung: Rung): void {
  const others = memory.work.filter((each) => each !== work);
  const alone = { ...memory, work: others };
  const reason = isLadder(work.process) ? refusalFor(alone, work.process, machine) : null;
  if (reason && !WAITS.has(reason)) {
    throw new NothingToDo(`${rung} of ${work.machineId} was not asked for: ${reason}`);
  }
  refuseFrozen(memory, machine);
  const before = machine.row.recovery;
  patch(machine, {
    recovery: {
      rung,
      attempts: before?.rung === rung ? before.attempts + 1 : 1,
      askedAtMs: memory.now(),
      operationRef: null,
      nextAtMs: before?.nextAtMs ?? null,
    },
  });
  writeEvent(memory, machine.row, 'recoveryAsked', rung);
}

function noteRefused(machine: MemMachine, counts: boolean): void {
  const { recovery } = machine.row;
  if (!recovery) return;
  const attempts = Math.max(0, recovery.attempts - (counts ? 0 : 1));
  patch(machine, { recovery: { ...recovery, attempts, askedAtMs: null, operationRef: null } });
}
