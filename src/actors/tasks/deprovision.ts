import { sleep, type Random } from '../../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import { isProviderError, TimedOut } from '../../domain/errors.ts';
import { providerOf, slotIdOf } from '../../domain/ids.ts';
import type { MachineRow } from '../../domain/machine.ts';
import { isAdopted } from '../../domain/provisioning/adoption.ts';
import type { DeprovisionResults } from '../../machines/deprovision.ts';
import type { Job } from '../../machines/task.ts';
import type { Turn } from '../turns/turns.ts';
import { createSendCheck, type HoldKeeper } from '../providers/holds.ts';
import { endAgent, type EndAgentDeps } from './end-agent.ts';
import { claim, required, stepsOf, workEnded, type Claimed } from './task.ts';

export interface DeprovisionDeps extends EndAgentDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'failed' | 'guard' | 'holds' | 'succeeded'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  /** Interval between readings, ± 20 %; also the least pause between requests (10 s). */
  readonly pollMs: number;
}

/** The pause between requests starts at the interval of readings and doubles up to this. */
const ASK_MAX_MS = 10 * 60_000;
/** After this many requests, an operator should intervene. */
const STUCK_AFTER = 20;
/** Cleaning a machine takes minutes; after this long, its state is read again later. */
const REUSABLE_LIMIT_MS = 60 * 60_000;
const READ_MS = 60_000;
/** Backoff between attempts of the whole task. */
const BACKOFF: BackoffDescriptor = { initialMs: 10_000, exponent: 2, maximumMs: ASK_MAX_MS };

/** A machine to give back. */
interface Leaving extends Claimed<DeprovisionDeps> {
  readonly request: NonNullable<MachineRow['deprovision']>;
}
type LeavingContext<Part extends keyof DeprovisionResults = never> = Leaving &
  DeprovisionFacts<Part>;
type DeprovisionFacts<Part extends keyof DeprovisionResults> = Pick<DeprovisionResults, Part>;

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

/** Whether the machine is only let go of, and its agent must be ended. */
const livesOn = ({ provider, provided }: Pick<Leaving, 'provider' | 'provided'>): boolean =>
  provider.inventory !== undefined || isAdopted(provider.capabilities, provided);

async function endIfItStays(given: LeavingContext): Promise<DeprovisionFacts<'agentEnd'>> {
  // The deletion of the device also ends the agent.
  if (!livesOn(given)) return { agentEnd: null };
  const agentEnd = await endAgent({ ...given, signal: orStop(given) });
  given.deps.log.info({ ...fieldsOf(given), agentEnd }, 'the machine is released');
  return { agentEnd };
}

async function askUnlessGone(given: LeavingContext): Promise<DeprovisionFacts<'asked'>> {
  const asked = given.request.attempts;
  // After an earlier request, the device may be gone; a first request finds out itself.
  if (asked > 0) {
    const seen = await readState(given);
    if (seen.state === 'gone' || isAwaited(given, seen)) return { asked };
  }
  return { asked: await ask({ ...given, asked }) };
}

async function awaitGone(given: LeavingContext<'asked'>) {
  const { clock, taskPool, log, pollMs } = given.deps;
  // The machine stays where it is, and others may use it at once.
  if (livesOn(given)) return;
  taskPool.leavePlace(given.slot);
  let { asked } = given;
  let askedAtMs = clock.monotonic();
  for (;;) {
    const seen = await readState(given);
    if (seen.state === 'gone') break;
    if (isAwaited(given, seen)) {
      await pause(given, ASK_MAX_MS);
      continue;
    }
    const waitedMs = clock.monotonic() - askedAtMs;
    if (waitedMs >= askAgainMs(pollMs, asked, seen.state)) {
      asked = await ask({ ...given, asked });
      askedAtMs = clock.monotonic();
    }
    await pause(given);
  }
  log.info(fieldsOf(given), 'the device is gone');
}

async function awaitReusable(given: LeavingContext) {
  const { clock } = given.deps;
  // Without a reservation, the slot is the device, and is gone with it.
  if (given.provided.reservationId === null) return;
  const untilMs = clock.monotonic() + REUSABLE_LIMIT_MS;
  while (!(await isReusable(given))) {
    if (clock.monotonic() >= untilMs) {
      throw new TimedOut(`${given.slot} is not reusable after ${REUSABLE_LIMIT_MS} ms`);
    }
    await pause(given);
  }
}

async function recordDeprovision(given: LeavingContext<'agentEnd'>): Promise<void> {
  await given.work.finish({ kind: 'deprovisioned', ...deprovisionedOf(given) });
  workEnded(given, 'finished');
  given.deps.log.info(fieldsOf(given), 'machine given back');
}

const fieldsOf = ({ slot, work }: Claimed) => ({ slot, machine: work.machineId });

/** A device that the provider is removing gets the longest pause. */
const askAgainMs = (minMs: number, asked: number, seen: 'there' | 'going'): number =>
  seen === 'going' ? ASK_MAX_MS : Math.min(ASK_MAX_MS, minMs * 2 ** Math.max(0, asked - 1));

/** The signal of a long wait: it ends when the daemon stops, and another daemon continues. */
const orStop = ({ deps, signal }: Leaving): AbortSignal =>
  AbortSignal.any([signal, deps.taskPool.stopping]);

const pause = (given: Leaving, pauseMs = given.deps.pollMs): Promise<void> =>
  sleep(given.deps.clock, pauseMs * (0.8 + 0.4 * given.deps.random.next()), orStop(given));

/** The provider has named the time of removal: no request is repeated before it. */
const isAwaited = ({ deps }: Leaving, { leavesAtMs = 0 }: DeviceReading): boolean =>
  leavesAtMs > deps.nowMs();

/**
 * The slot stays free unless the requester wants the next machine there. A slot that is the device
 * is gone with it; in an inventory, the device stays.
 */
function deprovisionedOf({ provider, provided, request, agentEnd }: LeavingContext<'agentEnd'>) {
  const { requestedBy, reason, returnToPool } = request;
  const staysListed = livesOn({ provider, provided }) || provided.reservationId !== null;
  return {
    ...(staysListed &&
      !returnToPool && { bar: { setBy: requestedBy, reason: `given back: ${reason}` } }),
    ...(agentEnd !== null && { remark: agentEnd }),
  };
}

/**
 * Requests the removal once; records it just before the call.
 * @returns the number of requests.
 */
async function ask(given: LeavingContext<'asked'>): Promise<number> {
  const { deps, slot, work, provided, provider, signal } = given;
  const name = providerOf(slot);
  deps.holds.check(name, 'destroy');
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  const { providerId, reservationId } = provided;
  const beforeSending = createSendCheck(deps.clock, () => work.note({ kind: 'deprovisionAsked' }));
  const attempts = given.asked + 1;
  const fields = { ...fieldsOf(given), attempts };
  if (attempts === STUCK_AFTER) {
    deps.metrics.count('shepherd_deprovisions_stuck_total', { provider: name });
    deps.log.error(
      { ...fields, alarm: 'stuck-deprovision' },
      'the device of a machine is still there',
    );
  }
  try {
    await provider.deprovisionMachine(providerId, { signal, beforeSending, reservationId });
  } catch (error) {
    await deps.holds.failed(name, 'destroy', error);
    throw error;
  }
  await deps.holds.succeeded(name, 'destroy', begun);
  deps.log.info(fields, 'the provider was requested to take the machine back');
  return attempts;
}

interface DeviceReading {
  /** `going`: the provider says that it is removing the device. */
  readonly state: 'there' | 'going' | 'gone';
  /** The time of removal, epoch milliseconds, if the provider names it. */
  readonly leavesAtMs?: number | undefined;
}

/** A failed reading proves nothing: the device counts as present until the next reading. */
async function readState(given: Leaving): Promise<DeviceReading> {
  const { deps, slot, provided, provider, signal } = given;
  const { providerId, reservationId } = provided;
  try {
    const options = { signal, timeoutMs: READ_MS, reservationId };
    const { status, leavesAtMs } = await deps.holds.guard(providerOf(slot), 'get', () =>
      provider.getMachine(providerId, options),
    );
    return status === 'Missing' ? { state: 'going', leavesAtMs } : { state: 'there' };
  } catch (error) {
    if (isProviderError(error, 'not-found')) return { state: 'gone' };
    requirePassing(given, error);
    return { state: 'there' };
  }
}

async function isReusable(given: Leaving): Promise<boolean> {
  const { deps, slot, provider, signal } = given;
  try {
    return await deps.holds.guard(providerOf(slot), 'get', () =>
      provider.isReusable(slotIdOf(slot), { signal, timeoutMs: READ_MS }),
    );
  } catch (error) {
    requirePassing(given, error);
    return false;
  }
}

/** @throws any error except a transient failure of the provider. */
function requirePassing({ deps, slot, signal }: Leaving, error: unknown): void {
  if (signal.aborted || !isProviderError(error, 'transient')) throw error;
  deps.log.debug({ slot, err: error }, 'the provider did not answer');
}
