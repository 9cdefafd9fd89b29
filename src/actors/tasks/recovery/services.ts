import { withTimeLimit } from '../../../adapters/clock/port.ts';
import {
  codeOf,
  explain,
  FleetError,
  HostKeyRejected,
  NoPermit,
  NothingToDo,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import {
  lastFailures,
  nextStep,
  stepBeyondAgent,
  type LadderEnd,
  type LadderProcess,
} from '../../../domain/recovery/ladder.ts';
import { retiresAt } from '../../../domain/recovery/retirement.ts';
import { hungControllerOf, interrupts, isStanding } from '../../../domain/recovery/rungs.ts';
import type { Job } from '../../../machines/task.ts';
import type { Turn } from '../../turns/turns.ts';
import { stopAgentCommand } from '../end-agent.ts';
import {
  claim,
  connect,
  NOTHING,
  readBootId,
  requireOurs,
  shellOf,
  stepsOf,
  workEnded,
  type Claimed,
} from '../task.ts';
import { askReboot, noteAsked } from './boot.ts';
import {
  awaitBootSwitchedOn,
  awaitOff,
  leaveSwitchedOn,
  powerFirst,
  restorePower,
  switchOff,
  switchOn,
} from './power-cycle.ts';
import {
  circumstancesOf,
  countAttempt,
  isOutage,
  knownBootId,
  orderPart,
  prove,
  refusesUs,
  rungPolicy,
  type RecoverDeps,
  type Recovering,
  type RecoveryFacts,
} from './recovering.ts';
import { askReinstall, awaitSystem } from './reinstall.ts';
import { askReset, awaitController } from './reset-controller.ts';

export type { RecoverDeps } from './recovering.ts';

/** The services of the `recovery` chart. Each step may run again after a crash. */
export function recoveryServices(deps: RecoverDeps) {
  const { claim: claimed, step, giveUp } = stepsOf(deps, claimStep);
  /** The first step of a rung, which makes sure that the power is on. */
  const first = <Output>(act: Act<Recovering, Output>) =>
    step(
      beforeAsked<Recovering, Output>(async (given) => {
        await powerFirst(given);
        return act(given);
      }),
    );
  return {
    claimRecovery: claimed(({ attempt }): RecoveryFacts<'rung'> => ({ rung: attempt.step.rung })),
    reachAgent: first(reachAgent),
    stopAgent: step(beforeAsked(stopAgent)),
    // A hanging controller also blocks power requests.
    askReset: step(beforeAsked(askReset)),
    awaitController: step(beforeAsked(awaitController)),
    askReboot: first(askReboot),
    awaitBoot: step(awaitBootSwitchedOn),
    switchOff: first(switchOff),
    awaitOff: step(awaitOff),
    switchOn: step(switchOn),
    restorePower: step(restorePower),
    askReinstall: first(askReinstall),
    awaitSystem: step(awaitSystem),
    recordRecovery: step(recordRecovery),
    giveUp: giveUp({
      message: 'recovery attempt failed',
      backoffFor: () => deps.backoff,
      // An order is tried once: if the database was unavailable, that attempt is still to come.
      isCancelled: ({ attempt }) => attempt.unnoted === true && attempt.step.order !== null,
      effects: (_, { attempt }) => ({
        ...orderPart(attempt.step),
        ...(attempt.unasked && { unasked: attempt.unasked }),
      }),
      onFailed: (_, given) => countAttempt(given, given.attempt.step.rung, 'failed'),
    }),
  };
}

/** Ends the attempt: the machine is ready for a new agent start, and its permit is free. */
async function recordRecovery(given: Recovering & RecoveryFacts<'proof'>): Promise<void> {
  const { deps, slot, work, provided, attempt, proof } = given;
  const { step, asked } = attempt;
  await work.finish({
    kind: 'recovered',
    coolDown: deps.backoff,
    bootSeconds: proof.bootSeconds,
    ...orderPart(step),
    ...(asked ? {} : { unasked: true }),
  });
  workEnded(given, 'finished');
  const { provider } = provided;
  if (step.rung === 'rebooting')
    deps.metrics.count('shepherd_reboots_total', { provider, outcome: 'proved' });
  countAttempt(given, step.rung, 'proved');
  const { rung, attempt: nth } = step;
  const fields = { slot, machine: work.machineId, rung, attempt: nth, proof: proof.what };
  deps.log.info(fields, 'machine recovered');
}

/**
 * Claims the machine for its next step's process, as far as the mirror knows it; the rows read with
 * the claim decide.
 */
async function claimStep(deps: RecoverDeps, turn: Turn, job: Job): Promise<Recovering> {
  const process = likelyProcess(deps, job);
  const claimed = await claim(deps, process, turn, job);
  const { slot, work, row } = claimed;
  const step = nextStep(row, circumstancesOf(claimed));
  if ('end' in step) {
    throw step.startAgain ? await left(claimed, step.end) : await parked(claimed, step);
  }
  if (step.process !== process) {
    const reason = `${slot} is due for ${step.process}, not for ${process}`;
    await work.cancel(reason);
    workEnded(claimed, 'canceled');
    throw new NothingToDo(reason);
  }
  return { ...claimed, attempt: { step } };
}

function likelyProcess(deps: RecoverDeps, { slot, machineId }: Job): LadderProcess {
  const row = deps.facts().get(slot)?.row;
  const provider = row?.provided && deps.providers.get(row.provided.provider);
  if (!provider || row.machineId !== machineId) return 'ShepherdRecovery';
  const step = nextStep(row, circumstancesOf({ deps, slot, row, provider }));
  return 'end' in step ? 'ShepherdRecovery' : step.process;
}

/** The ladder leaves the machine for a while, without a permit: its agent is started again. */
async function left(claimed: Claimed<RecoverDeps>, end: string): Promise<Error> {
  const { deps, slot, work } = claimed;
  await work.fail(deps.backoff, end, { unasked: { countsOn: null } });
  workEnded(claimed, 'failed');
  deps.log.warn({ slot, machine: work.machineId, cause: end }, 'its agent is started again');
  return new NothingToDo(`${slot}: ${end}`);
}

/** Nothing is left to try: the machine waits for a person, and its permit is free for others. */
async function parked(claimed: Claimed<RecoverDeps>, step: LadderEnd): Promise<Error> {
  const { deps, slot, work, row, provided } = claimed;
  const { end, cause = null } = step;
  const isOn = await leaveSwitchedOn(claimed);
  const said = [end, ...(isOn ? [] : ['it may be switched off']), lastFailures(row)];
  const reason = said.filter((each) => each !== null).join('; ');
  const retires = retiresAt(step, deps.retirement(provided.provider));
  const how = retires ? ({ cause: 'retired', retires } as const) : { cause };
  await work.fail(deps.backoff, reason, { quarantine: { kind: 'needsHuman', reason, ...how } });
  workEnded(claimed, 'failed');
  const { provider } = provided;
  deps.metrics.count('shepherd_reboots_total', { provider, outcome: 'exhausted' });
  const { recovery } = row;
  if (recovery && cause === null) countAttempt(claimed, recovery.rung, 'exhausted');
  const what = retires ? 'the machine is retired' : 'a human is needed';
  deps.log.error({ slot, machine: work.machineId, reason }, what);
  return new NothingToDo(`${slot}: ${reason}`);
}

type Act<Given, Output> = (given: Given) => Promise<Output>;

/**
 * A step before or at the request. If it fails before the request, the attempt is marked for the
 * give-up: it counts unless the failure says nothing about the machine.
 */
const beforeAsked =
  <Given extends Recovering, Output>(act: Act<Given, Output>): Act<Given, Output> =>
  async (given) => {
    try {
      return await act(given);
    } catch (error) {
      throw failed(given, inTime(error, given.signal));
    }
  };

function failed({ deps, slot, provided, attempt }: Recovering, error: unknown): unknown {
  const { log, permits } = deps;
  const { step, asked } = attempt;
  if (error instanceof NoPermit) permits.missed(slot, interrupts(step.rung));
  if (refusesUs(error)) {
    const fields = { provider: provided.provider, slot, cause: explain(error) };
    log.error(fields, 'the provider refuses us');
  }
  if (!asked && !step.resumed) {
    const counts = isStanding(step.rung) && !isOutage(error);
    attempt.unasked = { countsOn: counts ? step.rung : null };
  }
  return error;
}

/** Turns a time limit that expired before the call was made into a retryable error. */
function inTime(error: unknown, { aborted }: AbortSignal): unknown {
  const isLate = codeOf(error) === 'aborted' && facetsOf(error).outcome === 'not-done';
  if (aborted || !isLate) return error;
  return new ProviderError('transient', 'no request reached the provider in time', {
    cause: error,
  });
}

/**
 * Connects to the machine and reads its boot id. If SSH does not answer, the attempt continues with
 * the next rung, except for an order to restart the agent. Without another rung, an attempt that
 * never reached the machine does not count, so that it is repeated.
 */
export async function reachAgent(given: Recovering): Promise<RecoveryFacts<'rung' | 'bootId'>> {
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

/** Leaves the connection open. @returns the current boot, or why the machine does not answer. */
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

/** A provider cannot answer through a hanging controller: its listing must suffice. */
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
 * Counts the attempt and stops the remaining agent. After a boot since the agent start, there is
 * nothing to stop.
 */
export async function stopAgent(
  given: Recovering & RecoveryFacts<'bootId'>,
): Promise<RecoveryFacts<'proof'>> {
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

/** Limits a step to the rung's patience. @throws {TimedOut} */
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
