import {
  FleetError,
  HostKeyRejected,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import { stepBeyondAgent } from '../../../domain/recovery/ladder.ts';
import type { OnRung } from '../../../machines/recovery.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../desk.ts';
import { connectTo, locate, readBootId, stepSignal, withLimit } from '../task.ts';
import { noteAsked } from './ask.ts';
import { isOutage } from './first-step.ts';
import {
  attemptOf,
  circumstancesOf,
  providerOfTurn,
  rungPolicy,
  type RecoverDeps,
} from './deps.ts';
import { prove } from './look.ts';
import { stopAgentCommand } from '../stop-agent.ts';

const NOTHING = new Uint8Array(0);

/**
 * Connects to the machine and finds out in which boot it is. Where SSH does not answer, the attempt
 * goes on with the next rung; an operator's order to restart the agent does not. Where no other rung
 * is left, what never reached the machine counts as no attempt on it, so it is tried again and again.
 * @returns the rung to go on with.
 */
export async function reachAgent(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<OnRung> {
  const turn = deps.desk.turn(slot);
  const { step } = attemptOf(turn);
  const limit = { ms: rungPolicy(deps, turn).patienceMs, what: `connect to ${slot}` };
  const ends = stepSignal(deps, turn, signal);
  const silence = await withLimit(deps.clock, { ...limit, signal: ends }, (within) =>
    silenceOf(deps, turn, within),
  ).catch(onlyIf(TimedOut));
  if (silence === null) return { rung: step.rung };
  turn.shell?.close();
  if (step.order !== null) throw silence;
  const { row } = turn.work!;
  const next = stepBeyondAgent(row, circumstancesOf(deps, slot, row));
  const isLast = 'end' in next;
  if (isLast || next.process !== turn.work!.process) {
    if (!isLast || attemptOf(turn).reached || !isOutage(silence)) await noteAsked(turn);
    throw silence;
  }
  attemptOf(turn).step = next;
  deps.log.info({ slot, cause: silence.message, rung: next.rung }, 'SSH does not answer');
  return { rung: next.rung };
}

/** Why the machine does not answer; null: it does. */
async function silenceOf(
  deps: RecoverDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<FleetError | null> {
  const target = await locate(deps, turn, signal).catch(onlyIf(Unreachable));
  if (target instanceof Unreachable) return target;
  try {
    await connectTo(deps, turn, target, signal);
    attemptOf(turn).reached = true;
    await prove(deps, turn, signal);
    turn.bootId = await readBootId(turn, signal);
    return null;
  } catch (error) {
    const isAnswer = error instanceof HostKeyRejected || error instanceof ProviderError;
    if (signal.aborted || isAnswer || !(error instanceof FleetError)) throw error;
    return error;
  }
}

const onlyIf =
  <Kind extends Error>(kind: new (...args: never[]) => Kind) =>
  (error: unknown): Kind => {
    if (error instanceof kind) return error;
    throw error;
  };

/**
 * Counts the attempt and stops what is left of the agent. In a machine that booted since its agent
 * was started there is nothing left to stop.
 */
export async function stopAgent(
  deps: RecoverDeps,
  { slot, machineId }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const { row } = turn.work!;
  await noteAsked(turn);
  deps.metrics.ladderAttempt(providerOfTurn(turn), 'restartingAgent', 'asked');
  const known = row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;
  const hasBooted = known !== null && known !== turn.bootId;
  if (!hasBooted) await stop(deps, turn, stepSignal(deps, turn, signal));
  turn.shell!.close();
  const what = hasBooted ? 'it booted by itself since its agent was started' : 'no agent runs';
  attemptOf(turn).proof = { what, bootSeconds: null };
  deps.log.info({ slot, machine: machineId, what }, 'agent stopped');
}

const stop = (deps: RecoverDeps, turn: Turn, signal: AbortSignal) =>
  withLimit(
    deps.clock,
    { ms: rungPolicy(deps, turn).patienceMs, what: `stop the agent of ${turn.slot}`, signal },
    (within) => turn.shell!.execute(stopAgentCommand(deps.agentPath), NOTHING, within),
  );
