import { fromPromise } from 'xstate';
import { sleep, type Random } from '../../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../../domain/backoff.ts';
import { isProviderError, TimedOut } from '../../domain/errors.ts';
import { providerOf, slotIdOf } from '../../domain/ids.ts';
import type { Job } from '../../machines/task.ts';
import type { Turn } from '../desk.ts';
import { endAgent, type EndAgentDeps } from './end-agent.ts';
import type { HoldKeeper } from '../provider-holds.ts';
import { createSendCheck } from '../send-check.ts';
import { claim, giveUpSlot, providerFor, stepSignal, workEnded } from './task.ts';

export interface DeprovisionDeps extends EndAgentDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'failed' | 'guard' | 'holds' | 'succeeded'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  /** Distance of two looks, ± 20 %; the provider is asked again no sooner (10 s). */
  readonly pollMs: number;
}

/** The provider is asked again after a look's distance, then twice as long each time, up to this. */
const ASK_MAX_MS = 10 * 60_000;
/** After so many requests somebody should look. */
const STUCK_AFTER = 20;
/** Cleaning a machine takes minutes; one that takes longer is looked at again later. */
const REUSABLE_LIMIT_MS = 60 * 60_000;
const LOOK_MS = 60_000;
/** Between two tries of the whole task. */
const BACKOFF: BackoffDescriptor = { initialMs: 10_000, exponent: 2, maximumMs: ASK_MAX_MS };

/** Fills the slots of the `deprovision` chart. Each step may run again after a crash. */
export const deprovisionSlots = (deps: DeprovisionDeps) => ({
  claimDeprovision: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.begin(input.slot);
    await claim(deps, 'ShepherdDeprovision', turn, input);
  }),

  endAgent: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    // Where the device is deleted its agent is, too.
    if (!providerFor(deps, turn).inventory) return;
    turn.farewell = await endAgent(deps, turn, orStop(deps, stepSignal(deps, turn, signal)));
    const fields = { slot: input.slot, machine: input.machineId, farewell: turn.farewell };
    deps.log.info(fields, 'the machine is let go');
  }),

  askDestroy: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    const ends = stepSignal(deps, turn, signal);
    const { deprovision } = turn.work!.row;
    turn.asked = deprovision?.attempts ?? 0;
    // One that was asked for before may be gone by now; a first request finds that out itself.
    if (turn.asked > 0 && (await look(deps, turn, ends)) === 'gone') return;
    await ask(deps, turn, ends);
  }),

  awaitGone: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    // It stays where it is, and may be somebody's again at once.
    if (providerFor(deps, turn).inventory) return;
    deps.desk.leavePlace(input.slot);
    const ends = stepSignal(deps, turn, signal);
    let askedAtMs = deps.clock.monotonic();
    for (;;) {
      const seen = await look(deps, turn, ends);
      if (seen === 'gone') break;
      const waitedMs = deps.clock.monotonic() - askedAtMs;
      if (waitedMs >= askAgainMs(deps.pollMs, turn.asked ?? 1, seen)) {
        await ask(deps, turn, ends);
        askedAtMs = deps.clock.monotonic();
      }
      await pause(deps, ends);
    }
    deps.log.info({ slot: input.slot, machine: input.machineId }, 'the device is gone');
  }),

  awaitReusable: fromPromise<void, Job>(async ({ input, signal }) => {
    const turn = deps.desk.turn(input.slot);
    // Without a reservation the slot is the device, and gone with it.
    if ((turn.work!.row.provided?.reservationId ?? null) === null) return;
    const ends = stepSignal(deps, turn, signal);
    const untilMs = deps.clock.monotonic() + REUSABLE_LIMIT_MS;
    while (!(await isReusable(deps, turn, ends))) {
      if (deps.clock.monotonic() >= untilMs) {
        throw new TimedOut(`${input.slot} is not reusable after ${REUSABLE_LIMIT_MS} ms`);
      }
      await pause(deps, ends);
    }
  }),

  recordDeprovision: fromPromise<void, Job>(async ({ input }) => {
    const turn = deps.desk.turn(input.slot);
    await turn.work!.finish({ kind: 'deprovisioned', ...farewellOf(deps, turn) });
    workEnded(deps, turn, 'finished');
    deps.log.info({ slot: input.slot, machine: input.machineId }, 'machine given back');
  }),

  giveUp: giveUpSlot(deps, {
    message: 'a machine could not be given back',
    backoffFor: () => BACKOFF,
  }),
});

/** What is going away by itself is given all the time there is. */
const askAgainMs = (minMs: number, asked: number, seen: 'there' | 'going'): number =>
  seen === 'going' ? ASK_MAX_MS : Math.min(ASK_MAX_MS, minMs * 2 ** Math.max(0, asked - 1));

/** No stop of the daemon is to wait for what may take long: another daemon goes on with it. */
const orStop = ({ desk }: DeprovisionDeps, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, desk.stopping]);

const pause = (deps: DeprovisionDeps, signal: AbortSignal): Promise<void> =>
  sleep(deps.clock, deps.pollMs * (0.8 + 0.4 * deps.random.next()), orStop(deps, signal));

/**
 * The machines of an inventory are there afterwards as before: one that was given back is not to be
 * taken in again at once, nor after years, unless somebody says so.
 */
function farewellOf(deps: DeprovisionDeps, turn: Turn) {
  if (!providerFor(deps, turn).inventory) return {};
  const { requestedBy, reason } = turn.work!.row.deprovision!;
  return {
    bar: { setBy: requestedBy, reason: `given back: ${reason}` },
    ...(turn.farewell !== undefined && { remark: turn.farewell }),
  };
}

/** Asks the provider once; that is noted just before anything is sent. */
async function ask(deps: DeprovisionDeps, turn: Turn, signal: AbortSignal): Promise<void> {
  const { slot } = turn;
  const name = providerOf(slot);
  deps.holds.check(name, 'destroy');
  const begun = { holds: deps.holds.holds(name), nowMs: deps.nowMs() };
  const { providerId, reservationId } = turn.work!.row.provided!;
  const beforeSending = createSendCheck(deps.clock, () =>
    turn.work!.note({ kind: 'deprovisionAsked' }),
  );
  turn.asked = (turn.asked ?? 0) + 1;
  const fields = { slot, machine: turn.work!.machineId, attempts: turn.asked };
  if (turn.asked === STUCK_AFTER) {
    deps.metrics.deprovisionStuck(name);
    deps.log.error({ ...fields, alarm: 'stuck-deprovision' }, 'a machine does not go away');
  }
  try {
    const how = { signal, beforeSending, reservationId };
    await providerFor(deps, turn).deprovisionMachine(providerId, how);
  } catch (error) {
    await deps.holds.failed(name, 'destroy', error);
    throw error;
  }
  await deps.holds.succeeded(name, 'destroy', begun);
  deps.log.info(fields, 'the provider was asked to take the machine back');
}

/** `going`: the provider says that it is being taken away. */
async function look(
  deps: DeprovisionDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<'there' | 'going' | 'gone'> {
  const { providerId, reservationId } = turn.work!.row.provided!;
  try {
    const options = { signal, timeoutMs: LOOK_MS, reservationId };
    const { status } = await deps.holds.guard(providerOf(turn.slot), 'get', () =>
      providerFor(deps, turn).getMachine(providerId, options),
    );
    return status === 'Missing' ? 'going' : 'there';
  } catch (error) {
    if (isProviderError(error, 'not-found')) return 'gone';
    if (isPassing(error, signal)) return tellPassing(deps, turn, error, 'there');
    throw error;
  }
}

async function isReusable(
  deps: DeprovisionDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const options = { signal, timeoutMs: LOOK_MS };
    return await deps.holds.guard(providerOf(turn.slot), 'get', () =>
      providerFor(deps, turn).isReusable(slotIdOf(turn.slot), options),
    );
  } catch (error) {
    if (isPassing(error, signal)) return tellPassing(deps, turn, error, false);
    throw error;
  }
}

/** A look that fails says nothing: the next one may not. */
const isPassing = (error: unknown, signal: AbortSignal): boolean =>
  !signal.aborted && isProviderError(error, 'transient');

function tellPassing<T>({ log }: DeprovisionDeps, { slot }: Turn, err: unknown, answer: T): T {
  log.debug({ slot, err }, 'the provider could not be asked');
  return answer;
}
