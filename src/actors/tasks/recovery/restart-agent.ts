import { withTimeLimit } from '../../../adapters/clock/port.ts';
import {
  FleetError,
  HostKeyRejected,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { stepBeyondAgent } from '../../../domain/recovery/ladder.ts';
import { hungControllerOf } from '../../../domain/recovery/rungs.ts';
import { stopAgentCommand } from '../end-agent.ts';
import { connect, NOTHING, readBootId, requireOurs, shellOf } from '../task.ts';
import { noteAsked } from './boot.ts';
import {
  circumstancesOf,
  countAttempt,
  isOutage,
  knownBootId,
  prove,
  rungPolicy,
  type Recovering,
  type Told,
} from './recovering.ts';

/**
 * Connects to the machine and finds out in which boot it is. Where SSH does not answer, the attempt
 * goes on with the next rung; an operator's order to restart the agent does not. Where no other rung
 * is left, what never reached the machine counts as no attempt on it, so it is tried again and again.
 */
export async function reachAgent(given: Recovering): Promise<Told<'rung' | 'bootId'>> {
  const { deps, slot, turn, work, row, attempt } = given;
  const found = await inPatience(given, `connect to ${slot}`, reach).catch(onlyIf(TimedOut));
  if (!(found instanceof FleetError)) return { rung: attempt.step.rung, bootId: found };
  turn.held.shell?.close();
  if (attempt.step.order !== null) throw found;
  const next = stepBeyondAgent(row, circumstancesOf(given));
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
async function reach(given: Recovering): Promise<string | FleetError> {
  const { signal, attempt } = given;
  const machine = await look(given).catch(onlyIf(Unreachable));
  if (machine instanceof Unreachable) return machine;
  try {
    const shell = await connect(given, machine);
    attempt.reached = true;
    await prove(given, machine, shell);
    return await readBootId(shell, signal);
  } catch (error) {
    const isAnswer = error instanceof HostKeyRejected || error instanceof ProviderError;
    if (signal.aborted || isAnswer || !(error instanceof FleetError)) throw error;
    return error;
  }
}

/** A provider that asks a controller that hangs can say nothing: its listing has to do. */
async function look(given: Recovering): Promise<ProviderMachine> {
  const { deps, slot, signal } = given;
  try {
    return await requireOurs(given);
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
export async function stopAgent(given: Recovering & Told<'bootId'>): Promise<Told<'proof'>> {
  const { deps, slot, work, bootId } = given;
  await noteAsked(given, bootId);
  countAttempt(given, 'restartingAgent', 'asked');
  const known = knownBootId(given);
  const hasBooted = known !== null && known !== bootId;
  if (!hasBooted) await inPatience(given, `stop the agent of ${slot}`, stop);
  shellOf(given).close();
  const what = hasBooted ? 'it booted by itself since its agent was started' : 'no agent runs';
  deps.log.info({ slot, machine: work.machineId, what }, 'agent stopped');
  return { proof: { what, bootSeconds: null } };
}

const stop = (given: Recovering) =>
  shellOf(given).execute(stopAgentCommand(given.deps.agentPath), NOTHING, given.signal);

/** Within the patience of the rung. @throws {TimedOut} */
const inPatience = <Output>(
  given: Recovering,
  what: string,
  act: (given: Recovering) => Promise<Output>,
): Promise<Output> =>
  withTimeLimit(
    given.deps.clock,
    { ms: rungPolicy(given).patienceMs, what, signal: given.signal },
    (signal) => act({ ...given, signal }),
  );
