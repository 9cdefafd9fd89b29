import { withTimeLimit } from '../../../adapters/clock/port.ts';
import {
  FleetError,
  HostKeyRejected,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { hungControllerOf } from '../../../domain/recovery/rungs.ts';
import { stepBeyondAgent } from '../../../domain/recovery/ladder.ts';
import { stopAgentCommand } from '../end-agent.ts';
import { connect, readBootId, requireOurs, shellOf, targetOf } from '../task.ts';
import { noteAsked } from './boot.ts';
import {
  countAttempt,
  circumstancesOf,
  isOutage,
  knownBootId,
  rungPolicy,
  type RecoverDeps,
  type Recovering,
  type Told,
} from './deps.ts';
import { prove } from './evidence.ts';

const NOTHING = new Uint8Array(0);

/**
 * Connects to the machine and finds out in which boot it is. Where SSH does not answer, the attempt
 * goes on with the next rung; an operator's order to restart the agent does not. Where no other rung
 * is left, what never reached the machine counts as no attempt on it, so it is tried again and again.
 */
export async function reachAgent(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Told<'rung' | 'bootId'>> {
  const { slot, turn, work, row, attempt } = given;
  const limit = { ms: rungPolicy(deps, given).patienceMs, what: `connect to ${slot}`, signal };
  const found = await withTimeLimit(deps.clock, limit, (within) =>
    reach(deps, given, within),
  ).catch(onlyIf(TimedOut));
  if (!(found instanceof FleetError)) return { rung: attempt.step.rung, bootId: found };
  turn.held.shell?.close();
  if (attempt.step.order !== null) throw found;
  const next = stepBeyondAgent(row, circumstancesOf(deps, given));
  const isLast = 'end' in next;
  if (isLast || next.process !== work.process) {
    if (!isLast || attempt.reached || !isOutage(found)) await noteAsked(given, null);
    throw found;
  }
  attempt.step = next;
  deps.log.info({ slot, cause: found.message, rung: next.rung }, 'SSH does not answer');
  return { rung: next.rung, bootId: null };
}

/** Leaves the connection open. @returns the boot in which the machine is, or why it does not answer. */
async function reach(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<string | FleetError> {
  const machine = await look(deps, given, signal).catch(onlyIf(Unreachable));
  if (machine instanceof Unreachable) return machine;
  try {
    const target = targetOf(deps, given, machine);
    const shell = await connect(deps, given, target, signal);
    given.attempt.reached = true;
    await prove(deps, given, { machine, shell, pinned: given.row.hostKey }, signal);
    return await readBootId(shell, signal);
  } catch (error) {
    const isAnswer = error instanceof HostKeyRejected || error instanceof ProviderError;
    if (signal.aborted || isAnswer || !(error instanceof FleetError)) throw error;
    return error;
  }
}

/** A provider that asks a controller that hangs can say nothing: its listing has to do. */
async function look(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<ProviderMachine> {
  const { slot } = given;
  try {
    return await requireOurs(given, signal);
  } catch (error) {
    const listed = deps.facts().get(slot)?.listed;
    const isHung = hungControllerOf(slot, deps.facts()) !== null;
    const isSilent = !signal.aborted && error instanceof ProviderError && error.retryable;
    if (!isHung || !isSilent || listed?.ownership !== 'ours') throw error;
    return listed;
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
  given: Recovering & Told<'bootId'>,
  signal: AbortSignal,
): Promise<Told<'proof'>> {
  const { slot, work, provided, bootId } = given;
  await noteAsked(given, bootId);
  countAttempt(deps, provided.provider, 'restartingAgent', 'asked');
  const known = knownBootId(given);
  const hasBooted = known !== null && known !== bootId;
  if (!hasBooted) await stop(deps, given, signal);
  shellOf(given).close();
  const what = hasBooted ? 'it booted by itself since its agent was started' : 'no agent runs';
  deps.log.info({ slot, machine: work.machineId, what }, 'agent stopped');
  return { proof: { what, bootSeconds: null } };
}

const stop = (deps: RecoverDeps, given: Recovering, signal: AbortSignal) =>
  withTimeLimit(
    deps.clock,
    { ms: rungPolicy(deps, given).patienceMs, what: `stop the agent of ${given.slot}`, signal },
    (within) => shellOf(given).execute(stopAgentCommand(deps.agentPath), NOTHING, within),
  );
