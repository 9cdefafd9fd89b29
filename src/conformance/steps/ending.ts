import type { Provider } from '../../adapters/provider/port.ts';
import { isProviderError } from '../../domain/errors.ts';
import { namesOf } from '../ledger.ts';
import { assertNoStrays, destroyUntilGone } from '../presence.ts';
import { callsOn, createRaw, mustReject, requestOf, slotIdOf } from '../requests.ts';
import { stageAt, type ConformanceStage } from '../stage.ts';
import type { ConformanceStep } from '../step.ts';
import { must, StepFailed, StepSkipped, pending, within } from '../waiting.ts';

const destroy: ConformanceStep = {
  id: 'destroy',
  title: 'A destroyed machine disappears from the listing',
  needs: ['create', 'deprovision'],
  takes: ['machine'],
  gives: 'gone',
  async run(stage) {
    const { machineId: id, patience } = stage;
    await stage.fleet.deprovisionMachine(id, stage.call);
    await stage.destroyPastTheCore(id);
    const bound = { timeoutMs: patience.destroyMs, asked: true };
    const calls = await destroyUntilGone(stage, id, bound);
    return calls === 0
      ? 'destroyed with two simultaneous calls'
      : `destroyed after ${calls} more ${calls === 1 ? 'call' : 'calls'}`;
  },
};

const destroyAgain: ConformanceStep = {
  id: 'destroy-again',
  title: 'On a destroyed machine, only another destroy succeeds',
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
const slotWait = ({ patience }: ConformanceStage) => ({
  timeoutMs: patience.destroyMs,
  intervalMs: patience.probeMs,
});

const reusable: ConformanceStep = {
  id: 'reusable',
  title: 'The slot of a destroyed machine becomes usable again',
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
const unclaimed: ConformanceStep = {
  id: 'claims-dropped',
  title: 'The driver keeps no record of a destroyed machine',
  needs: ['create', 'deprovision'],
  takes: ['gone'],
  async run(stage) {
    requireClaims(stage);
    const { subject, found, ledger, call } = stage;
    const names = ledger.creations.flatMap(namesOf);
    await stage.until('no record is kept', slotWait(stage), async () => {
      const left = await subject.claims(names, stage.signal);
      if (left.length === 0) return true;
      // Some providers free a slot step by step, once per query.
      await stage.fleet.isReusable(slotIdOf(found.unused!), call);
      return pending(`still on record: ${left.join(', ')}`);
    });
  },
};

/** A claim identifies a creation after a crash: so it must come first. */
const claimed: ConformanceStep = {
  id: 'claims',
  title: 'A creation fails if its record cannot be written',
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
    const what = 'no record could be written, but ';
    must(made === null, `${what}machine ${made} was created`);
    await assertNoStrays(stage, found.goneIds, what);
  },
};

function requireClaims({ ledger }: ConformanceStage): void {
  if (ledger.creations.some(({ claims }) => claims.length > 0)) return;
  throw new StepSkipped('the driver keeps no records of its machines');
}

const stop: ConformanceStep = {
  id: 'stop',
  title: 'A stopped driver ends its current calls and rejects later calls',
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

async function stopListing(stage: ConformanceStage, raw: Provider): Promise<void> {
  const listing = mustEnd(stage.ask('List', (options) => raw.listMachines({}, options)));
  await Promise.all([stopInTime(stage, raw), inTime(stage, 'a listing', () => listing)]);
}

/** A creation stopped just before its request must not create a machine. */
async function stopCreation(stage: ConformanceStage, raw: Provider): Promise<void> {
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
      throw new StepFailed('a creation that stopped before its request created a machine');
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

const inTime = <T>(
  { clock, patience }: ConformanceStage,
  what: string,
  work: () => Promise<T>,
): Promise<T> =>
  within(what, { clock, signal: new AbortController().signal, timeoutMs: patience.stopMs }, work);
const stopInTime = (stage: ConformanceStage, raw: Provider) =>
  inTime(stage, 'stop', () => raw.stop());

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

async function refusesAll(stage: ConformanceStage, raw: Provider): Promise<void> {
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

export const ENDING: readonly ConformanceStep[] = [
  destroy,
  destroyAgain,
  reusable,
  unclaimed,
  claimed,
  stop,
];
