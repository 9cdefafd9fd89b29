import type { CallOptions } from '../../adapters/provider/port.ts';
import { codeOf, isProviderError } from '../../domain/errors.ts';
import type { Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { facetsOf } from '../../domain/provisioning/provider-facets.ts';
import {
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  type Tags,
  WITNESS_TAG,
  witnessOf,
} from '../../domain/provisioning/provider-tags.ts';
import { lookBefore, straysOf, toldStrays } from '../strays.ts';
import { hostnameOf, requestOf } from '../request.ts';
import { assertOurs, callOf, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { must, StepFailed } from '../verdict.ts';
import { pending, until } from '../waiting.ts';
import { mustReject } from '../refusal.ts';

/** Its announcement is what a crash is survived by: without it nothing may be made. */
const unannounced: Step = {
  id: 'unannounced',
  title: 'A creation that may not be announced makes nothing',
  needs: ['create'],
  takes: ['listed'],
  async run(stage, signal) {
    await lookBefore(stage, signal);
    const unused = await findUnused(stage, signal);
    const { raw } = stage.opened();
    const mark = stage.newWitness();
    let attempts = 0;
    const barred = async () => {
      attempts += 1;
      throw new Error('this creation may not go on');
    };
    const order = { ...requestOf(stage, unused, mark), onAttempt: barred };
    const answer = await stage
      .raw('Create', signal, (options) => raw.createMachine(order, options), mark)
      .then(
        (machine) => ({ id: machine?.id }),
        () => null,
      );
    signal.throwIfAborted();
    must(answer === null, `onAttempt rejected, and machine ${answer?.id} was made all the same`);
    must(attempts > 0, 'onAttempt was not called, and the creation failed');
    await assertNoStrays(stage, signal);
  },
};

const create: Step = {
  id: 'create',
  title: 'A machine is made of free capacity',
  needs: ['create'],
  takes: ['listed'],
  gives: 'machine',
  async run(stage, signal) {
    const { found } = stage;
    await lookBefore(stage, signal);
    const unused = await findUnused(stage, signal);
    const mark = stage.newWitness();
    found.unused = unused;
    found.witness = mark;
    const { machine, attempts } = await orderMachine(stage, unused, mark, signal);
    assertOurs(machine);
    must(
      machine.reservationId === unused.reservationId,
      'it is on another slot than was asked for',
    );
    must(machine.availability !== 'KnownUnused', 'it is still shown as free capacity');
    must(attempts > 0, 'onAttempt was not called: a crash just then would leak the machine');
    found.machine = machine;
    return `${machine.id} on ${unused.reservationId ?? unused.id}`;
  },
};

async function orderMachine(
  stage: Stage,
  unused: ProviderMachine,
  mark: Witness,
  signal: AbortSignal,
) {
  const { fleet } = stage.opened();
  let attempts = 0;
  const onAttempt = async () => void (attempts += 1);
  const order = { unused, witness: mark, hostname: hostnameOf(stage, unused), onAttempt };
  try {
    const machine = await fleet.createMachine(order, callOf(signal));
    must(machine.id !== null, 'the machine has no id');
    return { machine, attempts };
  } catch (error) {
    const came = await lateComer(stage, mark, error, signal);
    throw new StepFailed(`create: ${codeOf(error)}, and ${came}`, { cause: error });
  }
}

/** A creation that failed may have worked: its machine is waited for, where that can be. */
async function lateComer(stage: Stage, mark: Witness, failure: unknown, signal: AbortSignal) {
  const { patience, ledger } = stage;
  const booked = ledger.creations.filter(({ witness: its }) => its === mark);
  const answer = booked.find(({ id }) => id !== null);
  if (answer) return `machine ${answer.id} came of it: the driver answered with it`;
  const mayBe =
    facetsOf(failure).outcome === 'unknown' || booked.some(({ state }) => state === 'unknown');
  const timeoutMs = mayBe ? patience.bootMs : 0;
  const wait = stage.wait({ signal, timeoutMs, intervalMs: patience.syncMs });
  try {
    const id = await until('the machine shows up', wait, async () => {
      const marked = await withWitness(stage, mark, signal);
      return marked[0]?.id ?? pending('it is not listed');
    });
    return `machine ${id} came of it`;
  } catch (error) {
    if (!(error instanceof StepFailed || isProviderError(error))) throw error;
    return mayBe ? 'a machine may still come of it' : 'no machine came of it';
  }
}

async function findUnused(stage: Stage, signal: AbortSignal): Promise<ProviderMachine> {
  const { plan, reservation } = stage.wishes;
  const { machines } = await stage.opened().fleet.listMachines(callOf(signal));
  const free = machines.filter(({ availability }) => availability === 'KnownUnused');
  const fitting = free.filter(
    (entry) =>
      (plan === null || entry.plan === plan) &&
      (reservation === null || [entry.reservationId, entry.id].includes(reservation)),
  );
  const wish = [plan && `of plan ${plan}`, reservation && `named ${reservation}`].filter(Boolean);
  const [first] = fitting;
  must(first !== undefined, `there is no free capacity ${wish.join(' ')}`.trimEnd());
  return first;
}

async function withWitness(stage: Stage, mark: Witness, signal: AbortSignal) {
  const { machines } = await stage.opened().fleet.listMachines(callOf(signal));
  return machines.filter(
    (machine) => machine.availability !== 'KnownUnused' && witnessOf(machine) === mark,
  );
}

const listed: Step = {
  id: 'listed',
  title: 'The new machine is in the next listing, and found by its id',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { patience } = stage;
    const { fleet } = stage.opened();
    const { consistentList } = fleet.capabilities;
    const timeoutMs = consistentList ? 0 : patience.bootMs;
    const wait = stage.wait({ signal, timeoutMs, intervalMs: patience.syncMs });
    const entry = await until('the machine in a listing', wait, async () => {
      const { machines } = await fleet.listMachines(callOf(signal));
      return machines.find(({ id }) => id === stage.machineId()) ?? pending('it is not listed');
    });
    assertOurs(entry);
    must(entry.availability !== 'KnownUnused', 'it is listed as free capacity');
    const { id, reservationId } = await stage.refresh(signal);
    must(id === entry.id, `asked for machine ${entry.id}, the driver answered with ${id}`);
    must(reservationId === entry.reservationId, 'listed and found on different slots');
  },
};

const tags: Step = {
  id: 'tags',
  title: 'Every tag that was asked for reads back',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { subject, found } = stage;
    const machine = await stage.refresh(signal);
    const wanted = {
      ...subject.sharedTags,
      [SET_ID_TAG]: subject.setId,
      [WITNESS_TAG]: found.witness!,
      [PLAN_TAG]: found.unused!.plan,
    };
    assertTags(machine.tags, wanted);
    const hash = machine.tags[SECRET_TAG] ?? '';
    must(/^[0-9a-f]{64}$/.test(hash), `${SECRET_TAG} is not the hash that was given`);
    const [marked] = await withWitness(stage, found.witness!, signal);
    must(marked !== undefined, 'the listing has no machine with the witness');
    assertTags(marked.tags, { ...wanted, [SECRET_TAG]: hash });
    return `${Object.keys(wanted).length + 1} tags`;
  },
};

/** @throws {StepFailed} one of them is missing or different. Others may be there too. */
export function assertTags(seen: Tags, wanted: Tags): void {
  for (const [key, value] of Object.entries(wanted)) {
    const found = seen[key];
    must(found !== undefined, `tag ${key} is lost`);
    // What a tag holds may be a secret's trace: only that it differs is said.
    must(found === value, `tag ${key} reads back differently`);
  }
}

/** A second machine may be anywhere, and carry no mark of ours. */
async function assertNoStrays(stage: Stage, signal: AbortSignal): Promise<void> {
  const strays = await straysOf(stage, signal, new Set([stage.found.machine?.id ?? '']));
  must(strays.length === 0, `more machines came than were asked for: ${toldStrays(strays)}`);
}

const idempotent: Step = {
  id: 'idempotent',
  title: 'The same creation again answers with the same machine',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { found } = stage;
    const unused = found.unused!;
    const mark = found.witness!;
    const { fleet } = stage.opened();
    for (const resumed of [false, true]) {
      const order = { unused, witness: mark, hostname: hostnameOf(stage, unused), resumed };
      const { id } = await fleet.createMachine(order, callOf(signal));
      must(id === stage.machineId(), `a second machine was made: ${id}`);
    }
    const marked = await withWitness(stage, mark, signal);
    must(marked.length === 1, `${marked.length} machines carry the same witness`);
    await assertNoStrays(stage, signal);
    const before = stage.machine().tags[SECRET_TAG];
    const { tags: now } = await stage.refresh(signal);
    must(now[SECRET_TAG] === before, 'the machine lost the hash of the secret that it was given');
  },
};

const witness: Step = {
  id: 'witness',
  title: 'The machine is found by its witness, and by no other',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { fleet } = stage.opened();
    const { found } = stage;
    const slotId = found.unused!.reservationId ?? found.unused!.id!;
    const mine = await fleet.findByWitness(found.witness!, slotId, callOf(signal));
    must(mine?.id === stage.machineId(), `its own witness leads to ${mine?.id ?? 'nothing'}`);
    // That another's device is on the slot may be told as the race that was lost.
    const other = await fleet
      .findByWitness(stage.newWitness(), slotId, callOf(signal))
      .catch((error: unknown) => {
        if (isProviderError(error, 'race-lost')) return null;
        throw error;
      });
    must(other === null, `another witness leads to ${other?.id}`);
  },
};

const sweep: Step = {
  id: 'sweep',
  title: 'Looking for leftovers removes nothing',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { removed } = await stage.opened().fleet.sweep({ ...callOf(signal), dryRun: true });
    await stage.refresh(signal);
    return removed.length === 0 ? '' : `would remove ${removed.length} leftovers`;
  },
};

const rival: Step = {
  id: 'rival',
  title: 'Capacity that is taken, or that is none, cannot be had',
  needs: ['create'],
  takes: ['machine'],
  async run(stage, signal) {
    const { raw } = stage.opened();
    const before = await countOurs(stage, signal);
    const unused = stage.found.unused!;
    const attempt = (from: ProviderMachine) => {
      const mark = stage.newWitness();
      const ask = (options: CallOptions) =>
        raw.createMachine(requestOf(stage, from, mark), options);
      return stage.raw('Create', signal, ask, mark);
    };
    await mustLose(() => attempt(unused));
    const nowhere = { ...unused, id: null, reservationId: null };
    await mustReject('create on nothing', ['invalid'], () => attempt(nowhere));
    const after = await countOurs(stage, signal);
    must(after === before, `${after - before} machines were made all the same`);
    await assertNoStrays(stage, signal);
  },
};

/** Where there is room for only one machine, the quota may speak first. */
async function mustLose(call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    const { quota, capacity } = facetsOf(error);
    if (isProviderError(error, 'race-lost') || quota || capacity !== null) return;
    throw new StepFailed(`create on a taken slot: ${codeOf(error)} instead of race-lost`, {
      cause: error,
    });
  }
  throw new StepFailed('create on a taken slot: succeeded instead of race-lost');
}

async function countOurs(stage: Stage, signal: AbortSignal): Promise<number> {
  const { machines } = await stage.opened().fleet.listMachines(callOf(signal));
  return machines.filter(
    ({ availability, ownership }) => availability !== 'KnownUnused' && ownership === 'ours',
  ).length;
}

export const CREATION: readonly Step[] = [
  unannounced,
  create,
  listed,
  tags,
  idempotent,
  witness,
  rival,
  sweep,
];
