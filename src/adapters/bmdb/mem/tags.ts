import { jitteredUntil, nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isLadder, refusal } from '../../../domain/eligibility.ts';
import { NoPermit, NothingToDo } from '../../../domain/errors.ts';
import type { MachineRow, Rung } from '../../../domain/machine.ts';
import { forgetMachine, noteDeprovisionAsked } from './deprovision.ts';
import { refuseFrozen } from './permits.ts';
import { writeEvent } from './records.ts';
import { circumstances } from './rows.ts';
import { dropPermit, patch } from './tables.ts';
import type { MemMachine, Memory } from './tables.ts';
import type { Held } from './held.ts';
import type { FinishChange, WorkNote } from '../port.ts';

/** What a finished task makes true. */
export function applyChange(held: Held, change: FinishChange): void {
  switch (change.kind) {
    case 'agentStarted':
      return startAgent(held, change);
    case 'recovered':
      return recover(held, change.coolDown);
    case 'deprovisioned':
      return forgetMachine(held);
    case 'nothing':
  }
}

function startAgent(held: Held, change: Extract<FinishChange, { kind: 'agentStarted' }>): void {
  const { memory, gate, machine } = held;
  forgetAgent(held);
  const publicKey = Buffer.from(change.publicKey).toString('hex');
  patch(machine, {
    agentStarted: { atMs: memory.now(), publicKey, bootId: change.bootId },
    hostKey: change.hostKey ?? machine.row.hostKey,
  });
  const reason = change.warnings.join('; ');
  writeEvent(memory, machine.row, { kind: 'agentStarted', actor: gate.component, reason });
}

function recover(held: Held, descriptor: BackoffDescriptor): void {
  const { memory, gate, machine } = held;
  forgetAgent(held);
  const rung = coolDown(held, descriptor);
  patchLadder(machine, () => ({ askedAtMs: null, operationRef: null }));
  const { component: actor } = gate;
  writeEvent(memory, machine.row, { kind: 'recovered', actor, reason: rung ?? '' });
}

function forgetAgent({ memory, machine }: Held): void {
  patch(machine, { agentStarted: null, heartbeat: null, startAttempt: null });
  machine.unbroken = { sinceMs: 0, count: 0 };
  dropPermit(memory, machine);
}

/** When a wait of so many seconds ends, jitter included. */
export const untilMs = ({ options, now }: Memory, seconds: number): number =>
  jitteredUntil(now(), seconds, options.random.next(), options.jitter);

export const dropBackoff = ({ machine, work }: Held): void =>
  patch(machine, {
    backoffs: machine.row.backoffs.filter((each) => each.process !== work.process),
  });

/**
 * No rung starts again before the cool-down, which grows over the whole episode. Nothing to cool
 * down from while nothing was asked of the provider.
 * @returns the rung the machine is on.
 */
export function coolDown(
  { memory, machine, work }: Held,
  descriptor: BackoffDescriptor,
): Rung | null {
  if (!isLadder(work.process) || !machine.row.recovery) return null;
  machine.coolDownSeconds = nextBackoffSeconds(descriptor, machine.coolDownSeconds);
  const nextAtMs = untilMs(memory, machine.coolDownSeconds);
  patchLadder(machine, () => ({ nextAtMs }));
  return machine.row.recovery.rung;
}

type Ladder = NonNullable<MachineRow['recovery']>;

/** @returns whether there was something to change. */
function patchLadder(machine: MemMachine, change: (before: Ladder) => Partial<Ladder>): boolean {
  const { recovery } = machine.row;
  if (!recovery) return false;
  patch(machine, { recovery: { ...recovery, ...change(recovery) } });
  return true;
}

/** @throws {NothingToDo} before asking: the machine came back or was put under a hold meanwhile. */
export function writeNote(held: Held, note: WorkNote): void {
  if (changeByNote(held, note)) held.memory.touch(held.work.machineId);
}

function changeByNote(held: Held, note: WorkNote): boolean {
  const { memory, machine } = held;
  switch (note.kind) {
    case 'agentStartAttempt':
      patch(machine, {
        startAttempt: { atMs: memory.now(), count: machine.row.startAttempt?.count ?? 0 },
      });
      return true;
    case 'recoveryAsked':
      noteAsked(held, note.rung);
      return true;
    case 'recoveryRefused':
      return patchLadder(machine, ({ attempts }) => ({
        attempts: note.counts ? attempts : lessOne(attempts),
        ...{ askedAtMs: null, operationRef: null },
      }));
    case 'recoveryUnclear':
      return patchLadder(machine, ({ attempts }) => ({ attempts: lessOne(attempts) }));
    case 'recoveryAccepted':
      return patchLadder(machine, () => ({ operationRef: note.operationRef }));
    case 'deprovisionAsked':
      noteDeprovisionAsked(held);
      return true;
  }
}

const lessOne = (attempts: number): number => Math.max(0, attempts - 1);

const WAITS: ReadonlySet<string> = new Set([
  'it waits after a failure',
  'it cools down after an attempt',
]);

function noteAsked(held: Held, rung: Rung): void {
  const { memory, gate, machine, work } = held;
  // Nobody else can hold the group, and a wait does not end what was begun before it.
  const row = { ...machine.row, work: [] };
  const reason = isLadder(work.process) ? refusal(work.process, row, circumstances(memory)) : null;
  if (reason && !WAITS.has(reason)) {
    throw new NothingToDo(`${rung} of ${work.machineId} was not asked for: ${reason}`);
  }
  refuseFrozen(memory, machine);
  if (isLadder(work.process) && machine.permitGrantedAtMs === null) {
    throw new NoPermit(`${rung} of ${work.machineId} was not asked for: its permit was taken back`);
  }
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
  writeEvent(memory, machine.row, { kind: 'recoveryAsked', actor: gate.component, reason: rung });
}
