import type { CallOptions, Provider } from '../../adapters/provider/port.ts';
import { isProviderError } from '../../domain/errors.ts';
import { destroyUntilGone } from '../destroying.ts';
import { mustReject, UNKNOWN_ID } from '../refusal.ts';
import { requestOf } from '../request.ts';
import { callOf, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { StepFailed } from '../verdict.ts';
import { claimed, unclaimed } from './claims.ts';
import { pending, until, within } from '../waiting.ts';

const destroy: Step = {
  id: 'destroy',
  title: 'The machine is destroyed, and leaves the listing',
  needs: ['create', 'deprovision'],
  takes: ['machine'],
  gives: 'gone',
  async run(stage, signal) {
    const { destroyMs: timeoutMs } = stage.patience;
    const { fleet } = stage.opened();
    const id = stage.machineId();
    await fleet.deprovisionMachine(id, callOf(signal));
    await stage.destroyPastTheCore(id, signal);
    const calls = await destroyUntilGone(stage, id, { signal, timeoutMs, asked: true });
    return calls === 0 ? 'asked twice at once' : `asked ${calls} times more`;
  },
};

const destroyAgain: Step = {
  id: 'destroy-again',
  title: 'Destroying it again succeeds, and nothing else does',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  async run(stage, signal) {
    const { raw } = stage.opened();
    const id = stage.machineId();
    await stage.destroyPastTheCore(id, signal);
    const { tags } = stage.machine();
    if (!raw.capabilities.tags) return;
    await mustReject('setTags on a machine that is gone', ['not-found'], () =>
      stage.raw('SetTags', signal, (options) => raw.setTags(id, tags, options)),
    );
  },
};

const reusable: Step = {
  id: 'reusable',
  title: 'Its slot can be used again',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  gives: 'free',
  async run(stage, signal) {
    const { patience, found } = stage;
    const { reservationId, id } = found.unused!;
    const slotId = reservationId ?? id!;
    const wait = stage.wait({
      signal,
      timeoutMs: patience.destroyMs,
      intervalMs: patience.probeMs,
    });
    await until(`slot ${slotId} is reusable`, wait, async () =>
      (await stage.opened().fleet.isReusable(slotId, callOf(signal))) ? true : pending('it is not'),
    );
    found.isFree = true;
  },
};

const stop: Step = {
  id: 'stop',
  title: 'A stopped driver ends what is under way and refuses what comes later',
  needs: [],
  takes: ['opened'],
  async run(stage, signal) {
    const { raw } = await stage.open();
    const isCreation = stage.found.isFree;
    try {
      await (isCreation ? stopCreation : stopListing)(stage, raw, signal);
      await stopInTime(stage, raw);
      await refusesAll(stage, raw, signal);
    } catch (error) {
      await Promise.allSettled([stopInTime(stage, raw)]);
      throw error;
    }
    return isCreation ? 'a creation was under way' : 'a listing was under way';
  },
};

async function stopListing(stage: Stage, raw: Provider, signal: AbortSignal): Promise<void> {
  const listing = mustEnd(stage.raw('List', signal, (options) => raw.listMachines({}, options)));
  await Promise.all([stopInTime(stage, raw), inTime(stage, 'a listing', () => listing)]);
}

/** A creation that is stopped just before its request leaves must not make a machine. */
async function stopCreation(stage: Stage, raw: Provider, signal: AbortSignal): Promise<void> {
  const mark = stage.newWitness();
  const told = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const tell = () => (stopping ??= stopInTime(stage, raw));
  const order = {
    ...requestOf(stage, stage.found.unused!, mark),
    // Not awaited here: a driver may let its stop wait for the creation, which waits for this.
    onAttempt: async () => void tell().then(told.resolve, told.reject),
  };
  const leave = new AbortController();
  const ends = AbortSignal.any([signal, leave.signal]);
  const creation = mustEnd(
    stage.raw('Create', ends, (o) => raw.createMachine(order, o), mark),
    () => {
      throw new StepFailed('a creation that was stopped before its request made a machine');
    },
  );
  try {
    await Promise.race([creation, told.promise]);
    await tell();
    await inTime(stage, 'a creation', () => creation);
  } catch (error) {
    // A driver that does not stop must not go on creating while the test cleans up.
    leave.abort();
    await Promise.allSettled([inTime(stage, 'a creation', () => creation)]);
    throw error;
  }
}

const inTime = <T>(stage: Stage, what: string, work: () => Promise<T>): Promise<T> => {
  const { clock, patience } = stage;
  const signal = new AbortController().signal;
  return within(what, { clock, signal, timeoutMs: patience.stopMs }, work);
};
const stopInTime = (stage: Stage, raw: Provider) => inTime(stage, 'stop', () => raw.stop());

/** What was under way may have succeeded; if not, it must say that it was stopped. */
async function mustEnd<T>(
  call: Promise<T>,
  onSuccess: (result: T) => void = () => undefined,
): Promise<void> {
  let result: T;
  try {
    result = await call;
  } catch (error) {
    if (isProviderError(error, 'aborted', 'stopped')) return;
    throw error;
  }
  onSuccess(result);
}

async function refusesAll(stage: Stage, raw: Provider, signal: AbortSignal): Promise<void> {
  const { capabilities } = raw;
  const calls: [string, (options: CallOptions) => Promise<unknown>][] = [
    ['list', (o) => raw.listMachines({}, o)],
    ['get', (o) => raw.getMachine(UNKNOWN_ID, o)],
  ];
  if (capabilities.tags) calls.push(['setTags', (o) => raw.setTags(UNKNOWN_ID, {}, o)]);
  if (capabilities.reboot) {
    calls.push(['reboot', (o) => raw.rebootMachine(UNKNOWN_ID, 'graceful', o)]);
  }
  if (capabilities.deprovision) {
    calls.push(['destroy', (o) => raw.deprovisionMachine(UNKNOWN_ID, o)]);
  }
  for (const [what, call] of calls) {
    await mustReject(`${what} after stop`, ['stopped'], () =>
      inTime(stage, what, () => stage.raw(what, signal, call)),
    );
  }
}

export const ENDING: readonly Step[] = [destroy, destroyAgain, reusable, unclaimed, claimed, stop];
