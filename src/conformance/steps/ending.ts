import type { Provider } from '../../adapters/provider/port.ts';
import { isProviderError } from '../../domain/errors.ts';
import { namesOf } from '../ledger.ts';
import { assertNoStrays, destroyUntilGone } from '../presence.ts';
import { callsOn, createRaw, mustReject, requestOf, slotIdOf } from '../requests.ts';
import { stageAt, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { must, StepFailed, StepSkipped, pending, within } from '../waiting.ts';

const destroy: Step = {
  id: 'destroy',
  title: 'The machine is destroyed, and leaves the listing',
  needs: ['create', 'deprovision'],
  takes: ['machine'],
  gives: 'gone',
  async run(stage) {
    const { machineId: id, patience } = stage;
    await stage.fleet.deprovisionMachine(id, stage.call);
    await stage.destroyPastTheCore(id);
    const bound = { timeoutMs: patience.destroyMs, asked: true };
    const calls = await destroyUntilGone(stage, id, bound);
    return calls === 0 ? 'asked twice at once' : `asked ${calls} times more`;
  },
};

const destroyAgain: Step = {
  id: 'destroy-again',
  title: 'Destroying it again succeeds, and nothing else does',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  async run(stage) {
    const { raw, machineId: id } = stage;
    await stage.destroyPastTheCore(id);
    const { tags } = stage.machine;
    if (!raw.capabilities.tags) return;
    await mustReject('setTags on a machine that is gone', ['not-found'], () =>
      stage.ask('SetTags', (options) => raw.setTags(id, tags, options)),
    );
  },
};

/** A slot may take as long to become free as its machine to end. */
const slotWait = ({ patience }: Stage) => ({
  timeoutMs: patience.destroyMs,
  intervalMs: patience.probeMs,
});

const reusable: Step = {
  id: 'reusable',
  title: 'Its slot can be used again',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  gives: 'free',
  async run(stage) {
    const { found, fleet, call } = stage;
    const slotId = slotIdOf(found.unused!);
    await stage.until(`slot ${slotId} is reusable`, slotWait(stage), async () =>
      (await fleet.isReusable(slotId, call)) ? true : pending('it is not'),
    );
    found.isFree = true;
  },
};

/** A remaining claim blocks its slot for everybody. */
const unclaimed: Step = {
  id: 'claims-dropped',
  title: 'No record of a removed machine remains',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  async run(stage) {
    requireClaims(stage);
    const { subject, found, ledger, call } = stage;
    const names = ledger.creations.flatMap(namesOf);
    await stage.until('nothing is kept', slotWait(stage), async () => {
      const left = await subject.claims(names, stage.signal);
      if (left.length === 0) return true;
      // Some providers free a slot step by step, once per query.
      await stage.fleet.isReusable(slotIdOf(found.unused!), call);
      return pending(`still on record: ${left.join(', ')}`);
    });
  },
};

/** A claim identifies a creation after a crash: so it must come first. */
const claimed: Step = {
  id: 'claims',
  title: 'A machine is not created if its record cannot be written',
  needs: ['create', 'deprovision'],
  takes: ['free'],
  async run(stage) {
    requireClaims(stage);
    const { found } = stage;
    const mark = stage.newWitness();
    const order = requestOf(stage, found.unused!, mark);
    const made = await stage.subject.withoutRecords(() =>
      createRaw(stage, order, mark).then(
        (machine) => machine?.id ?? 'without an id',
        () => null,
      ),
    );
    stage.signal.throwIfAborted();
    const what = 'no record could be written, and ';
    must(made === null, `${what}machine ${made} was made all the same`);
    await assertNoStrays(stage, found.goneIds, what);
  },
};

function requireClaims({ ledger }: Stage): void {
  if (ledger.creations.some(({ claims }) => claims.length > 0)) return;
  throw new StepSkipped('the driver keeps no records of its machines');
}

const stop: Step = {
  id: 'stop',
  title: 'A stopped driver ends calls under way and refuses later calls',
  needs: [],
  takes: ['opened'],
  async run(stage) {
    const { raw } = await stage.open();
    const isCreation = stage.found.isFree;
    try {
      await (isCreation ? stopCreation : stopListing)(stage, raw);
      await stopInTime(stage, raw);
      await refusesAll(stage, raw);
    } catch (error) {
      await Promise.allSettled([stopInTime(stage, raw)]);
      throw error;
    }
    return isCreation ? 'a creation was under way' : 'a listing was under way';
  },
};

async function stopListing(stage: Stage, raw: Provider): Promise<void> {
  const listing = mustEnd(stage.ask('List', (options) => raw.listMachines({}, options)));
  await Promise.all([stopInTime(stage, raw), inTime(stage, 'a listing', () => listing)]);
}

/** A creation stopped just before its request must not create a machine. */
async function stopCreation(stage: Stage, raw: Provider): Promise<void> {
  const mark = stage.newWitness();
  const told = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const tell = () => (stopping ??= stopInTime(stage, raw));
  const order = {
    ...requestOf(stage, stage.found.unused!, mark),
    // Not awaited here: a driver's stop may wait for the creation, which waits for this.
    onAttempt: async () => void tell().then(told.resolve, told.reject),
  };
  const leave = new AbortController();
  const { ask } = stageAt(stage, AbortSignal.any([stage.signal, leave.signal]));
  const creation = mustEnd(
    ask('Create', (options) => raw.createMachine(order, options), mark),
    () => {
      throw new StepFailed('a creation that was stopped before its request made a machine');
    },
  );
  try {
    await Promise.race([creation, told.promise]);
    await tell();
    await inTime(stage, 'a creation', () => creation);
  } catch (error) {
    // A driver that does not stop must not continue to create during the clean-up.
    leave.abort();
    await Promise.allSettled([inTime(stage, 'a creation', () => creation)]);
    throw error;
  }
}

const inTime = <T>({ clock, patience }: Stage, what: string, work: () => Promise<T>): Promise<T> =>
  within(what, { clock, signal: new AbortController().signal, timeoutMs: patience.stopMs }, work);
const stopInTime = (stage: Stage, raw: Provider) => inTime(stage, 'stop', () => raw.stop());

/** A call under way may succeed; otherwise it must report the stop. */
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

async function refusesAll(stage: Stage, raw: Provider): Promise<void> {
  const calls = {
    list: (options: Parameters<Provider['listMachines']>[1]) => raw.listMachines({}, options),
    ...callsOn(raw),
  };
  for (const [what, call] of Object.entries(calls)) {
    await mustReject(`${what} after stop`, ['stopped'], () =>
      inTime(stage, what, () => stage.ask<unknown>(what, call)),
    );
  }
}

export const ENDING: readonly Step[] = [destroy, destroyAgain, reusable, unclaimed, claimed, stop];
