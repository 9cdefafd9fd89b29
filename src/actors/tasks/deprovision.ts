import { sleep, type Random } from '../../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import { isProviderError, TimedOut } from '../../domain/errors.ts';
import { providerOf, slotIdOf, type Slot } from '../../domain/ids.ts';
import type { MachineRow } from '../../domain/machine.ts';
import type { DeprovisionTold } from '../../machines/deprovision.ts';
import type { Job } from '../../machines/task.ts';
import type { Turn } from '../turns/task-pool.ts';
import { createSendCheck, type HoldKeeper } from '../providers/holds.ts';
import { endAgent, type EndAgentDeps } from './end-agent.ts';
import { claim, required, stepsOf, workEnded, type Claimed } from './task.ts';

export interface DeprovisionDeps extends EndAgentDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'failed' | 'guard' | 'holds' | 'succeeded'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  /** Time between two readings, ± 20 %; the provider is asked again no sooner (10 s). */
  readonly pollMs: number;
}

/** The provider is asked again after the time between two readings, then twice that, up to this. */
const ASK_MAX_MS = 10 * 60_000;
/** After so many requests an operator should see to it. */
const STUCK_AFTER = 20;
/** Cleaning a machine takes minutes; of one that takes longer the state is read again later. */
const REUSABLE_LIMIT_MS = 60 * 60_000;
const READ_MS = 60_000;
/** How the wait between two tries of the whole task grows. */
const BACKOFF: BackoffDescriptor = { initialMs: 10_000, exponent: 2, maximumMs: ASK_MAX_MS };

/** A machine that is to be given back. */
interface Leaving extends Claimed {
  readonly request: NonNullable<MachineRow['deprovision']>;
}
type Given<Part extends keyof DeprovisionTold = never> = Leaving & Told<Part>;
type Told<Part extends keyof DeprovisionTold> = Pick<DeprovisionTold, Part>;

/** The services of the `deprovision` chart. Each step may run again after a crash. */
export function deprovisionServices(deps: DeprovisionDeps) {
  const { claim: claimed, step, giveUp } = stepsOf(deps, beginLeaving);
  return {
    claimDeprovision: claimed<void>(() => undefined),
    endAgent: step(endIfItStays),
    askDestroy: step(askUnlessGone),
    awaitGone: step(awaitGone),
    awaitReusable: step(awaitReusable),
    recordDeprovision: step(recordDeprovision),
    giveUp: giveUp({ message: 'a machine could not be given back', backoffFor: () => BACKOFF }),
  };
}

async function beginLeaving(deps: DeprovisionDeps, turn: Turn, job: Job): Promise<Leaving> {
  const given = await claim(deps, 'ShepherdDeprovision', turn, job);
  return { ...given, request: required(given.row.deprovision, 'request to be given back') };
}

async function endIfItStays(
  deps: DeprovisionDeps,
  given: Given,
  signal: AbortSignal,
): Promise<Told<'agentEnd'>> {
  // Where the device is deleted, the agent goes with it.
  if (!given.provider.inventory) return { agentEnd: null };
  const agentEnd = await endAgent(deps, given, orStop(deps, signal));
  deps.log.info({ ...fieldsOf(given), agentEnd }, 'the machine is let go');
  return { agentEnd };
}

async function askUnlessGone(
  deps: DeprovisionDeps,
  given: Given,
  signal: AbortSignal,
): Promise<Told<'asked'>> {
  const asked = given.request.attempts;
  // One that was asked for before may be gone by now; a first request finds that out itself.
  if (asked > 0) {
    const seen = await readState(deps, given, signal);
    if (seen.state === 'gone' || isAwaited(deps, seen)) return { asked };
  }
  return { asked: await ask(deps, { ...given, asked }, signal) };
}

async function awaitGone(deps: DeprovisionDeps, given: Given<'asked'>, signal: AbortSignal) {
  const { clock, taskPool, log } = deps;
  // The machine stays where it is, and may be used by somebody else at once.
  if (given.provider.inventory) return;
  taskPool.leavePlace(given.slot);
  let { asked } = given;
  let askedAtMs = clock.monotonic();
  for (;;) {
    const seen = await readState(deps, given, signal);
    if (seen.state === 'gone') break;
    if (isAwaited(deps, seen)) {
      await pause(deps, signal, ASK_MAX_MS);
      continue;
    }
    const waitedMs = clock.monotonic() - askedAtMs;
    if (waitedMs >= askAgainMs(deps.pollMs, asked, seen.state)) {
      asked = await ask(deps, { ...given, asked }, signal);
      askedAtMs = clock.monotonic();
    }
    await pause(deps, signal);
  }
  log.info(fieldsOf(given), 'the device is gone');
}

async function awaitReusable(deps: DeprovisionDeps, given: Given, signal: AbortSignal) {
  // Without a reservation the slot is the device, and gone with it.
  if (given.provided.reservationId === null) return;
  const untilMs = deps.clock.monotonic() + REUSABLE_LIMIT_MS;
  while (!(await isReusable(deps, given, signal))) {
    if (deps.clock.monotonic() >= untilMs) {
      throw new TimedOut(`${given.slot} is not reusable after ${REUSABLE_LIMIT_MS} ms`);
    }
    await pause(deps, signal);
  }
}

async function recordDeprovision(deps: DeprovisionDeps, given: Given<'agentEnd'>): Promise<void> {
  await given.work.finish({ kind: 'deprovisioned', ...deprovisionedOf(given) });
  workEnded(deps, given, 'finished');
  deps.log.info(fieldsOf(given), 'machine given back');
}

const fieldsOf = ({ slot, work }: Claimed) => ({ slot, machine: work.machineId });

/** A device that the provider says is going away is given all the time there is. */
const askAgainMs = (minMs: number, asked: number, seen: 'there' | 'going'): number =>
  seen === 'going' ? ASK_MAX_MS : Math.min(ASK_MAX_MS, minMs * 2 ** Math.max(0, asked - 1));

/** The signal of a long wait: when the daemon stops it ends, and another daemon goes on. */
const orStop = ({ taskPool }: DeprovisionDeps, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, taskPool.stopping]);

const pause = (deps: DeprovisionDeps, signal: AbortSignal, pauseMs = deps.pollMs): Promise<void> =>
  sleep(deps.clock, pauseMs * (0.8 + 0.4 * deps.random.next()), orStop(deps, signal));

/** It goes at a time that the provider has named: until then nobody asks again, however long that is. */
const isAwaited = ({ nowMs }: DeprovisionDeps, { leavesAtMs = 0 }: Seen): boolean =>
  leavesAtMs > nowMs();

/**
 * The slot stays free, however long that is, unless whoever gave the machine back wants the next one
 * there. A slot that is the device itself is gone with it; in an inventory the device stays.
 */
function deprovisionedOf({ provider, provided, request, agentEnd }: Given<'agentEnd'>) {
  const { requestedBy, reason, returnToPool } = request;
  const staysListed = provider.inventory !== undefined || provided.reservationId !== null;
  return {
    ...(staysListed &&
      !returnToPool && { bar: { setBy: requestedBy, reason: `given back: ${reason}` } }),
    ...(agentEnd !== null && { remark: agentEnd }),
  };
}

/**
 * Asks the provider once; that is noted just before anything is sent.
 * @returns how often it was asked.
 */
async function ask(
  deps: DeprovisionDeps,
  given: Given<'asked'>,
  signal: AbortSignal,
): Promise<number> {
  const { slot, work, provided, provider } = given;
  const name = providerOf(slot);
  deps.holds.check(name, 'destroy');
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  const { providerId, reservationId } = provided;
  const beforeSending = createSendCheck(deps.clock, () => work.note({ kind: 'deprovisionAsked' }));
  const attempts = given.asked + 1;
  const fields = { ...fieldsOf(given), attempts };
  if (attempts === STUCK_AFTER) {
    deps.metrics.count('shepherd_deprovisions_stuck_total', { provider: name });
    deps.log.error({ ...fields, alarm: 'stuck-deprovision' }, 'a machine does not go away');
  }
  try {
    await provider.deprovisionMachine(providerId, { signal, beforeSending, reservationId });
  } catch (error) {
    await deps.holds.failed(name, 'destroy', error);
    throw error;
  }
  await deps.holds.succeeded(name, 'destroy', begun);
  deps.log.info(fields, 'the provider was asked to take the machine back');
  return attempts;
}

interface Seen {
  /** `going`: the provider says that the device is being taken away. */
  readonly state: 'there' | 'going' | 'gone';
  /** When that will be, epoch milliseconds, where the provider says so. */
  readonly leavesAtMs?: number | undefined;
}

async function readState(
  deps: DeprovisionDeps,
  { slot, provided, provider }: Claimed,
  signal: AbortSignal,
): Promise<Seen> {
  const { providerId, reservationId } = provided;
  try {
    const options = { signal, timeoutMs: READ_MS, reservationId };
    const { status, leavesAtMs } = await deps.holds.guard(providerOf(slot), 'get', () =>
      provider.getMachine(providerId, options),
    );
    return status === 'Missing' ? { state: 'going', leavesAtMs } : { state: 'there' };
  } catch (error) {
    if (isProviderError(error, 'not-found')) return { state: 'gone' };
    if (isPassing(error, signal)) return tellPassing(deps, slot, error, { state: 'there' });
    throw error;
  }
}

async function isReusable(
  deps: DeprovisionDeps,
  { slot, provider }: Claimed,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const options = { signal, timeoutMs: READ_MS };
    return await deps.holds.guard(providerOf(slot), 'get', () =>
      provider.isReusable(slotIdOf(slot), options),
    );
  } catch (error) {
    if (isPassing(error, signal)) return tellPassing(deps, slot, error, false);
    throw error;
  }
}

/** A reading that fails says nothing; the next one may succeed. */
const isPassing = (error: unknown, signal: AbortSignal): boolean =>
  !signal.aborted && isProviderError(error, 'transient');

function tellPassing<T>({ log }: DeprovisionDeps, slot: Slot, err: unknown, answer: T): T {
  log.debug({ slot, err }, 'the provider could not be asked');
  return answer;
}
