import { fromPromise } from 'xstate';
import { sleep, type Random } from '../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../domain/backoff.ts';
import {
  FleetError,
  HostKeyRejected,
  NotListening,
  NothingToDo,
  TimedOut,
  codeOf,
} from '../domain/errors.ts';
import { facetsOf } from '../domain/provisioning/provider-facets.ts';
import { isStillAsked, ladderEnd, rebootMode } from '../domain/recovery/ladder.ts';
import type { Job } from '../machines/task.ts';
import type { Turn } from './desk.ts';
import type { HoldKeeper } from './provider-holds.ts';
import {
  claim,
  connectTo,
  giveUpSlot,
  judgeHostKey,
  locate,
  providerFor,
  readBootId,
  stepSignal,
  workEnded,
  type TaskDeps,
} from './take-over.ts';

export interface RecoverDeps extends TaskDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'failed'>;
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly backoff: BackoffDescriptor;
  /** How long evidence of the reboot is waited for. */
  readonly patienceMs: number;
  /** Distance of two looks, ± 20 %. */
  readonly pollMs: number;
  /** A reboot asked for less than this ago is not asked for again. */
  readonly askAgainMs: number;
}

/** Fills the slots of the `recovery` chart. */
export const recoverSlots = (deps: RecoverDeps) => ({
  claimRecovery: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.begin(input.slot);
    const { row } = await claim(deps, 'ShepherdRecovery', turn, input);
    const pending = isStillAsked(row.recovery, deps.nowMs(), deps.askAgainMs);
    const end = pending ? null : ladderEnd(row.recovery);
    if (end) throw await parked(deps, turn, end);
    turn.bootId = row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;
  }),

  askReboot: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    const work = turn.work!;
    const { recovery } = work.row;
    const ends = stepSignal(deps, turn, signal);
    if (isStillAsked(recovery, deps.nowMs(), deps.askAgainMs)) return;
    turn.bootId ??= await bootIdNow(deps, turn, ends);
    const mode = rebootMode(recovery);
    deps.holds.check(work.row.provided!.provider, 'reboot');
    await work.note({ kind: 'recoveryAsked', rung: 'rebooting' });
    const operationRef = await ask(deps, turn, mode, ends);
    deps.metrics.reboot(work.row.provided!.provider, 'asked');
    deps.log.info({ slot: input.slot, machine: input.machineId, mode }, 'reboot asked for');
    await work.note({ kind: 'recoveryAccepted', operationRef });
  }),

  awaitBoot: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    deps.desk.leavePlace(input.slot);
    const ends = stepSignal(deps, turn, signal);
    const proof = await evidenceOfBoot(deps, turn, ends);
    deps.log.info({ slot: input.slot, machine: input.machineId, proof }, 'reboot proved');
  }),

  recordRecovery: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.turn(input.slot);
    await turn.work!.finish({ kind: 'recovered', coolDown: deps.backoff });
    workEnded(deps, turn, 'finished');
    deps.metrics.reboot(turn.work!.row.provided!.provider, 'proved');
    deps.log.info({ slot: input.slot, machine: input.machineId }, 'machine recovered');
  }),

  giveUp: giveUpSlot(deps, 'recovery attempt failed', () => deps.backoff),
});

/** Nothing is left to try: the machine waits for a person, and its permit is free for others. */
async function parked(deps: RecoverDeps, turn: Turn, reason: string): Promise<Error> {
  const work = turn.work!;
  await work.fail(deps.backoff, reason, { kind: 'needsHuman', reason });
  workEnded(deps, turn, 'failed');
  deps.metrics.reboot(work.row.provided!.provider, 'exhausted');
  deps.log.error({ slot: turn.slot, machine: work.machineId, reason }, 'a human is needed');
  return new NothingToDo(`${turn.slot}: ${reason}`);
}

/** Refusals that say nothing of the machine; any other counts as an attempt on it. */
const OUTAGES = new Set(['transient', 'aborted', 'stopped']);

/** Asks the provider once. A certain refusal is noted, so that the next attempt may ask again. */
async function ask(
  deps: RecoverDeps,
  turn: Turn,
  mode: 'graceful' | 'force',
  signal: AbortSignal,
): Promise<string> {
  const { providerId, provider } = turn.work!.row.provided!;
  try {
    const accepted = await providerFor(deps, turn).rebootMachine(providerId, mode, { signal });
    return accepted.operationRef;
  } catch (error) {
    const code = codeOf(error);
    await deps.holds.failed(provider, 'reboot', error);
    if (facetsOf(error).outcome === 'unknown') await turn.work!.note({ kind: 'recoveryUnclear' });
    else if (code !== 'aborted' && code !== 'stopped') {
      await turn.work!.note({ kind: 'recoveryRefused', counts: !OUTAGES.has(code) });
    }
    throw error;
  }
}

/** The boot id before the reboot, where the rows know none and the machine answers. */
async function bootIdNow(
  deps: RecoverDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<string | null> {
  const seen = await look(deps, turn, signal);
  return typeof seen === 'string' ? null : seen.bootId;
}

/**
 * Looks at the machine until something proves that it booted: its boot id changed (from the one the
 * rows know, else from the first one seen), or, where none was known, its SSH port was seen closed
 * and then open. An accepted request proves nothing.
 * @throws {TimedOut} no proof within the patience.
 */
async function evidenceOfBoot(deps: RecoverDeps, turn: Turn, signal: AbortSignal): Promise<string> {
  let before = turn.bootId ?? null;
  const deadline = deps.clock.monotonic() + deps.patienceMs;
  let seenClosed = false;
  while (deps.clock.monotonic() < deadline) {
    await sleep(deps.clock, deps.pollMs * (0.8 + 0.4 * deps.random.next()), signal);
    const seen = await look(deps, turn, signal);
    if (seen === 'closed') seenClosed = true;
    if (typeof seen === 'string') continue;
    if (before === null && seenClosed) return 'port closed and opened';
    if (before !== null && seen.bootId !== before) return 'boot id changed';
    before = seen.bootId;
  }
  throw new TimedOut(`no evidence that ${turn.slot} rebooted within ${deps.patienceMs} ms`);
}

/** `closed`: nobody listens at its SSH port. `unclear`: it could not be asked, for whatever reason. */
type Look = { readonly bootId: string } | 'closed' | 'unclear';

async function look(deps: RecoverDeps, turn: Turn, signal: AbortSignal): Promise<Look> {
  try {
    const target = await locate(deps, turn, signal);
    try {
      await connectTo(deps, turn, target, signal);
    } catch (error) {
      if (error instanceof NotListening) return 'closed';
      throw error;
    }
    judgeHostKey(deps.ssh.policy, turn.work!.row.hostKey, turn.shell!.hostKey);
    return { bootId: await readBootId(turn, signal) };
  } catch (error) {
    if (signal.aborted || error instanceof HostKeyRejected) throw error;
    if (!(error instanceof FleetError)) throw error;
    deps.log.debug({ slot: turn.slot, err: error }, 'the machine does not answer yet');
    return 'unclear';
  } finally {
    turn.shell?.close();
  }
}
