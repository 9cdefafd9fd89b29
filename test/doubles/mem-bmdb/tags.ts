import {
  CONTROLLER_RESET_MS,
  interrupts,
  type StandingRung,
} from '../../../src/domain/recovery/rungs.ts';
import {
  BACKOFF_JITTER,
  nextBackoffSeconds,
  type BackoffDescriptor,
} from '../../../src/domain/backoff.ts';
import { askRefusal, isLadder } from '../../../src/domain/eligibility.ts';
import { NothingToDo, Throttled } from '../../../src/domain/errors.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { BOOT_TIMES_KEPT } from '../../../src/domain/policy.ts';
import { orderedText } from '../../../src/adapters/bmdb/preconditions.ts';
import { acceptStart, requestAcceptance } from './acceptances.ts';
import { countEpisode, uncountAttempt } from './episodes.ts';
import { forgetMachine, noteDeprovisionAsked } from './deprovision.ts';
import { refuseGuarded } from './guard.ts';
import { grantPermit } from './permits.ts';
import { provedText } from '../../../src/domain/request-outcome.ts';
import { writeEvent } from './records.ts';
import { circumstances, rowOf } from './rows.ts';
import { endRequests } from './request-ends.ts';
import { dropPermit, patch, type MemMachine, type Memory, type HeldWork } from './tables.ts';
import type { FinishChange, WorkNote } from '../../../src/adapters/bmdb/port.ts';

/** Writes the result of a finished task. */
export function applyChange(held: HeldWork, change: FinishChange): void {
  switch (change.kind) {
    case 'agentStarted':
      return startAgent(held, change);
    case 'recovered':
      return recover(held, change);
    case 'deprovisioned':
      return forgetMachine(held, change);
    case 'nothing':
  }
}

function startAgent(held: HeldWork, change: Extract<FinishChange, { kind: 'agentStarted' }>): void {
  const { memory, gate, machine } = held;
  acceptStart(memory, machine);
  forgetAgent(held);
  const publicKey = Buffer.from(change.publicKey).toString('hex');
  patch(machine, {
    agentStarted: { atMs: memory.now(), publicKey, bootId: change.bootId },
    hostKey: change.hostKey ?? machine.row.hostKey,
  });
  const reason = change.warnings.join('; ');
  writeEvent(memory, machine.row, { kind: 'agentStarted', actor: gate.component, reason });
}

type Recovered = Extract<FinishChange, { kind: 'recovered' }>;

function recover(held: HeldWork, change: Recovered): void {
  const { memory, gate, machine, row } = held;
  forgetAgent(held);
  if (change.order === undefined) coolDown(held, change.coolDown);
  const rung = isLadder(held.work.process) ? prove(held, change) : null;
  const { component: actor } = gate;
  if (rung === 'reinstalling') requestAcceptance(memory, machine, 'reinstalled');
  const reason = orderedText(rung ?? '', row, change.order ?? null);
  writeEvent(memory, machine.row, { kind: 'recovered', actor, reason });
}

/** The requested effect was proved. @returns that effect. */
function prove(
  { memory, machine }: HeldWork,
  { bootSeconds, order }: Recovered,
): StandingRung | null {
  const { recovery } = machine.row;
  const rung = recovery?.askedRung ?? recovery?.rung ?? null;
  if (bootSeconds !== null && recovery?.askedRung) {
    addBootTime(machine, recovery.askedRung, Math.max(0, Math.round(bootSeconds)));
  }
  patchLadder(machine, ({ askedRung, powerOffAskedAtMs }) => ({
    ...NOTHING_ASKED,
    hostKeyBefore: null,
    powerOffAskedAtMs: askedRung === 'powerCycling' ? null : powerOffAskedAtMs,
  }));
  if (order !== undefined) {
    const outcome = provedText(rung);
    endRequests(memory, [{ key: order, state: 'done', outcome, event: null }]);
  }
  return rung;
}

function addBootTime(machine: MemMachine, rung: StandingRung, seconds: number): void {
  const { bootTimes } = machine.row;
  const kind = rung === 'reinstalling' ? 'reinstall' : 'reboot';
  const kept = [seconds, ...bootTimes[kind]].slice(0, BOOT_TIMES_KEPT);
  patch(machine, { bootTimes: { ...bootTimes, [kind]: kept } });
}

const NOTHING_ASKED = {
  askedAtMs: null,
  askedRung: null,
  orderKey: null,
  operationRef: null,
  bootIdBefore: null,
  offSeenAtMs: null,
} as const;

function forgetAgent({ memory, machine }: HeldWork): void {
  patch(machine, { agentStarted: null, heartbeat: null, startAttempt: null });
  machine.unbroken = { sinceMs: 0, count: 0 };
  dropPermit(memory, machine);
}

/** End of a wait of this many seconds, jitter included. */
export const untilMs = ({ options, now }: Memory, seconds: number): number =>
  now() + seconds * 1_000 * (1 + options.random.next() * (options.jitter ?? BACKOFF_JITTER));

export const dropBackoff = ({ machine, work }: HeldWork): void =>
  patch(machine, {
    backoffs: machine.row.backoffs.filter((each) => each.process !== work.process),
  });

/**
 * No rung starts before the end of the cool-down, which grows over the episode. Without a request
 * there is no cool-down.
 */
export function coolDown({ memory, machine, work }: HeldWork, descriptor: BackoffDescriptor): void {
  if (!isLadder(work.process) || !machine.row.recovery) return;
  machine.coolDownSeconds = nextBackoffSeconds(descriptor, machine.coolDownSeconds);
  const nextAtMs = untilMs(memory, machine.coolDownSeconds);
  patchLadder(machine, () => ({ nextAtMs }));
}

type Ladder = NonNullable<MachineRow['recovery']>;

/** @returns whether there was a ladder to change. */
function patchLadder(machine: MemMachine, change: (before: Ladder) => Partial<Ladder>): boolean {
  const { recovery } = machine.row;
  if (!recovery) return false;
  patch(machine, { recovery: { ...recovery, ...change(recovery) } });
  return true;
}

/** @throws {NothingToDo} before the request, the machine came back or was put under a hold. */
export function writeNote(held: HeldWork, note: WorkNote): void {
  if (changeByNote(held, note)) held.memory.touch(held.work.machineId);
}

function changeByNote(held: HeldWork, note: WorkNote): boolean {
  const { memory, machine } = held;
  switch (note.kind) {
    case 'agentStartAttempt':
      patch(machine, {
        startAttempt: { count: 0, unreached: 0, ...machine.row.startAttempt, atMs: memory.now() },
        hostKey: note.hostKey ?? machine.row.hostKey,
      });
      return true;
    case 'recoveryAsked':
      noteAsked(held, note);
      return true;
    case 'controllerResetAsked':
      noteControllerReset(held, note.controller);
      return false;
    case 'controllerResetRefused': {
      const { machineId } = held.work;
      for (const [key, each] of memory.controllerResets) {
        const isItsOwn = each.machineId === machineId && each.controller === note.controller;
        if (isItsOwn) memory.controllerResets.delete(key);
      }
      return false;
    }
    case 'recoveryRefused':
      if (!note.counts && machine.row.recovery?.orderKey === null) uncountAttempt(memory, machine);
      return noteRefused(machine, note.counts);
    case 'recoveryAccepted':
      return patchLadder(machine, () => ({ operationRef: note.operationRef }));
    case 'powerSeenOff':
      return patchLadder(machine, ({ askedRung, offSeenAtMs }) => ({
        offSeenAtMs: askedRung === 'powerCycling' ? (offSeenAtMs ?? memory.now()) : offSeenAtMs,
      }));
    case 'permitReturned':
      return dropPermit(memory, machine);
    case 'powerOnAccepted':
      return patchLadder(machine, () => ({ powerOffAskedAtMs: null }));
    case 'deprovisionAsked':
      noteDeprovisionAsked(held);
      return true;
  }
}

const lessOne = (attempts: number): number => Math.max(0, attempts - 1);

interface Asking {
  readonly notAsked: string;
  readonly isOrder: boolean;
  readonly needsPermit: boolean;
}

function requireMay({ memory, machine, work }: HeldWork, asking: Asking): void {
  const { notAsked, isOrder, needsPermit } = asking;
  const reason = askRefusal(work.process, rowOf(memory, machine), circumstances(memory));
  if (reason) throw new NothingToDo(`${notAsked}: ${reason}`);
  const lacksPermit = isLadder(work.process) && machine.permitGrantedAtMs === null;
  if (needsPermit && lacksPermit) grantPermit(memory, machine, isOrder);
  else refuseGuarded(memory, machine, isOrder);
}

function noteControllerReset(held: HeldWork, controller: string): void {
  const { memory, gate, machine, work, row } = held;
  const { machineId } = work;
  const notAsked = `a restart of controller ${controller} of ${machineId} was not requested`;
  const before = machine.permitGrantedAtMs;
  requireMay(held, { notAsked, isOrder: false, needsPermit: true });
  if (!row.provided) throw new NothingToDo(`${notAsked}: it has no hardware`);
  const key = `${row.provided.provider} ${controller}`;
  const againAtMs = (memory.controllerResets.get(key)?.atMs ?? -Infinity) + CONTROLLER_RESET_MS;
  if (memory.now() < againAtMs) {
    // A transaction that fails grants nothing.
    if (before === null) Object.assign(machine, { permitGrantedAtMs: null, permitScope: null });
    throw new Throttled(`controller ${controller} was restarted less than a day ago`, againAtMs);
  }
  memory.controllerResets.set(key, { controller, machineId, atMs: memory.now() });
  const event = { kind: 'controllerResetAsked', actor: gate.component, reason: controller };
  writeEvent(memory, machine.row, event);
}

type RecoveryNote = Extract<WorkNote, { kind: 'recoveryAsked' }>;

function noteAsked(held: HeldWork, { rung, bootId, order }: RecoveryNote): void {
  const { memory, gate, machine, work } = held;
  const notAsked = `${rung} of ${work.machineId} was not requested`;
  const row = rowOf(memory, machine);
  if (order !== undefined && row.order?.key !== order) {
    throw new NothingToDo(`${notAsked}: the order is no longer open`);
  }
  requireMay(held, { notAsked, isOrder: order !== undefined, needsPermit: interrupts(rung) });
  // The permit is in use from now on, even if the clock has gone back since the grant.
  const { permitGrantedAtMs } = machine;
  if (permitGrantedAtMs !== null) {
    machine.permitGrantedAtMs = Math.min(permitGrantedAtMs, memory.now());
  }
  const { recovery: before, hostKey } = machine.row;
  patch(machine, {
    recovery: {
      ...stepOf(before, rung, order !== undefined),
      nextAtMs: before?.nextAtMs ?? null,
      askedAtMs: memory.now(),
      askedRung: rung,
      orderKey: order ?? null,
      operationRef: null,
      bootIdBefore: bootId,
      hostKeyBefore: hostKey ?? before?.hostKeyBefore ?? null,
      offSeenAtMs: null,
      powerOffAskedAtMs:
        before?.powerOffAskedAtMs ?? (rung === 'powerCycling' ? memory.now() : null),
    },
    hostKey: rung === 'reinstalling' ? null : hostKey,
  });
  if (order === undefined) countEpisode(memory, machine, rung);
  writeEvent(memory, machine.row, {
    kind: 'recoveryAsked',
    actor: gate.component,
    reason: orderedText(rung, held.row, order ?? null),
  });
}

/** @throws {NothingToDo} the machine came back by itself before anything was requested. */
export function requireStillNeeded({ memory, machine, work }: HeldWork): void {
  const reason = askRefusal(work.process, rowOf(memory, machine), circumstances(memory));
  if (reason) throw new NothingToDo(`${work.process} of ${work.machineId}: ${reason}`);
}

/** Records a failure before any request: it counts on that rung. */
export function endUnasked({ memory, machine, work }: HeldWork, rung: StandingRung | null): void {
  if (!isLadder(work.process) || rung === null) return;
  const { recovery: before } = machine.row;
  const nothing = { ...NOTHING_ASKED, hostKeyBefore: null, powerOffAskedAtMs: null };
  patch(machine, {
    recovery: { nextAtMs: null, ...nothing, ...before, ...stepOf(before, rung, false) },
  });
  countEpisode(memory, machine, rung);
}

/** The ladder's next position. An order does not move the ladder. */
function stepOf(before: Ladder | null, rung: StandingRung, isOrdered: boolean) {
  if (isOrdered)
    return { rung: before?.rung ?? 'restartingAgent', attempts: before?.attempts ?? 0 };
  return { rung, attempts: before?.rung === rung ? before.attempts + 1 : 1 };
}

/**
 * A reinstallation that was certainly refused changed no key, so the old key is pinned again. After
 * an earlier request that is uncertain.
 */
function noteRefused(machine: MemMachine, counts: boolean): boolean {
  const { recovery, hostKey } = machine.row;
  if (!recovery) return false;
  const { rung, attempts, askedRung, orderKey, hostKeyBefore } = recovery;
  const isLater = rung === 'reinstalling' && attempts > (orderKey === null ? 1 : 0);
  if (askedRung === 'reinstalling' && !isLater)
    patch(machine, { hostKey: hostKey ?? hostKeyBefore });
  return patchLadder(machine, () => ({
    ...NOTHING_ASKED,
    attempts: counts || orderKey !== null ? attempts : lessOne(attempts),
  }));
}
