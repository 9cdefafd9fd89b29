import type { ShellSession } from '../../../adapters/ssh/port.ts';
import {
  FleetError,
  HostKeyRejected,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { hungControllerOf } from '../../../domain/recovery/controllers.ts';
import { stepBeyondAgent } from '../../../domain/recovery/ladder.ts';
import { stopAgentCommand } from '../stop-agent.ts';
import { connect, readBootId, requireOurs, targetOf, withLimit } from '../task.ts';
import { noteAsked } from './ask.ts';
import {
  countAttempt,
  circumstancesOf,
  knownBootId,
  rungPolicy,
  type Proved,
  type RecoverDeps,
  type Recovering,
} from './deps.ts';
import { isOutage } from './first-step.ts';
import { prove } from './probe.ts';

const NOTHING = new Uint8Array(0);

/** A machine that answers by SSH and proved to be the one it should be. */
export interface Reached extends Recovering {
  readonly shell: ShellSession;
  readonly bootId: string;
}

/**
 * Connects to the machine and finds out in which boot it is. Where SSH does not answer, the attempt
 * goes on with the next rung; an operator's order to restart the agent does not. Where no other rung
 * is left, what never reached the machine counts as no attempt on it, so it is tried again and again.
 * @returns null: the attempt goes on with another rung.
 */
export async function reachAgent(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Reached | null> {
  const { slot, turn, work, row, attempt } = given;
  const limit = { ms: rungPolicy(deps, given).patienceMs, what: `connect to ${slot}`, signal };
  const found = await withLimit(deps.clock, limit, (within) => reach(deps, given, within)).catch(
    onlyIf(TimedOut),
  );
  if (!(found instanceof FleetError)) return found;
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
  return null;
}

/** The machine with an open connection, or why it does not answer. */
async function reach(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Reached | FleetError> {
  const machine = await look(deps, given, signal).catch(onlyIf(Unreachable));
  if (machine instanceof Unreachable) return machine;
  try {
    const target = targetOf(deps, given, machine);
    const shell = await connect(deps, given, target, signal);
    given.attempt.reached = true;
    await prove(deps, given, { machine, shell, pinned: given.row.hostKey }, signal);
    return { ...given, shell, bootId: await readBootId(shell, signal) };
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
  given: Reached,
  signal: AbortSignal,
): Promise<Proved> {
  const { slot, work, provided, shell, bootId } = given;
  await noteAsked(given, bootId);
  countAttempt(deps, provided.provider, 'restartingAgent', 'asked');
  const known = knownBootId(given);
  const hasBooted = known !== null && known !== bootId;
  if (!hasBooted) await stop(deps, given, signal);
  shell.close();
  const what = hasBooted ? 'it booted by itself since its agent was started' : 'no agent runs';
  deps.log.info({ slot, machine: work.machineId, what }, 'agent stopped');
  return { ...given, proof: { what, bootSeconds: null } };
}

const stop = (deps: RecoverDeps, given: Reached, signal: AbortSignal) =>
  withLimit(
    deps.clock,
    { ms: rungPolicy(deps, given).patienceMs, what: `stop the agent of ${given.slot}`, signal },
    (within) => given.shell.execute(stopAgentCommand(deps.agentPath), NOTHING, within),
  );
