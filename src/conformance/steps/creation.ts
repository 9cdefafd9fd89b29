import { codeOf, isProviderError, ProviderError } from '../../domain/errors.ts';
import type { Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import {
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  type Tags,
  WITNESS_TAG,
  witnessOf,
} from '../../domain/provisioning/provider-tags.ts';
import { assertNoStrays, lookBefore } from '../presence.ts';
import { createRaw, hostnameOf, mustReject, requestOf, slotIdOf } from '../requests.ts';
import { assertOurs, type ConformanceStage } from '../stage.ts';
import type { ConformanceStep } from '../step.ts';
import { must, StepFailed, pending } from '../waiting.ts';

/** A crash is survived by the announcement: without it, nothing may be created. */
const unannounced: ConformanceStep = {
  id: 'unannounced',
  title: 'A creation creates nothing if onAttempt rejects',
  needs: ['create'],
  takes: ['listed'],
  async run(stage) {
    await lookBefore(stage);
    const unused = await findUnused(stage);
    const mark = stage.newWitness();
    let attempts = 0;
    const barred = async () => {
      attempts += 1;
      throw new Error('this creation must stop');
    };
    const order = { ...requestOf(stage, unused, mark), onAttempt: barred };
    const answer = await createRaw(stage, order, mark).then(
      (machine) => ({ id: machine?.id }),
      () => null,
    );
    stage.signal.throwIfAborted();
    must(answer === null, `onAttempt rejected, but the driver created machine ${answer?.id}`);
    must(attempts > 0, 'onAttempt was not called, and the creation failed');
    await assertNoMore(stage);
  },
};

const create: ConformanceStep = {
  id: 'create',
  title: 'A creation on free capacity creates a machine',
  needs: ['create'],
  takes: ['listed'],
  gives: 'machine',
  async run(stage) {
    const { found } = stage;
    await lookBefore(stage);
    const unused = await findUnused(stage);
    const mark = stage.newWitness();
    found.unused = unused;
    found.witness = mark;
    const { machine, attempts } = await orderMachine(stage, unused, mark);
    assertOurs(machine);
    must(
      machine.reservationId === unused.reservationId,
      'it is on a different slot than requested',
    );
    must(machine.availability !== 'KnownUnused', 'it is still shown as free capacity');
    must(attempts > 0, 'onAttempt was not called: a crash at that moment would leak the machine');
    found.machine = machine;
    return `${machine.id} on ${unused.reservationId ?? unused.id}`;
  },
};

async function orderMachine(stage: ConformanceStage, unused: ProviderMachine, mark: Witness) {
  let attempts = 0;
  const onAttempt = async () => void (attempts += 1);
  const order = { unused, witness: mark, hostname: hostnameOf(stage, unused), onAttempt };
  try {
    const machine = await stage.fleet.createMachine(order, stage.call);
    must(machine.id !== null, 'the machine has no id');
    return { machine, attempts };
  } catch (error) {
    const came = await lateComer(stage, mark, error);
    throw new StepFailed(`create: ${codeOf(error)}, and ${came}`, { cause: error });
  }
}

/** A failed creation may have succeeded: waits for its machine if that is possible. */
async function lateComer(stage: ConformanceStage, mark: Witness, failure: unknown) {
  const { patience, ledger } = stage;
  const entries = ledger.creations.filter(({ witness: its }) => its === mark);
  const answer = entries.find(({ id }) => id !== null);
  if (answer) return `the creation returned machine ${answer.id}`;
  const mayBe =
    facetsOf(failure).outcome === 'unknown' || entries.some(({ state }) => state === 'unknown');
  const limits = { timeoutMs: mayBe ? patience.bootMs : 0, intervalMs: patience.syncMs };
  try {
    const id = await stage.until('the machine shows up', limits, async () => {
      const marked = await withWitness(stage, mark);
      return marked[0]?.id ?? pending('it is not listed');
    });
    return `the creation created machine ${id}`;
  } catch (error) {
    if (!(error instanceof StepFailed || isProviderError(error))) throw error;
    return mayBe ? 'the creation may still create a machine' : 'the creation created no machine';
  }
}

async function findUnused(stage: ConformanceStage): Promise<ProviderMachine> {
  const { plan, reservation } = stage.wishes;
  const first = (await stage.list()).find(
    (entry) =>
      entry.availability === 'KnownUnused' &&
      (plan === null || entry.plan === plan) &&
      (reservation === null || [entry.reservationId, entry.id].includes(reservation)),
  );
  const wish = [plan && `of plan ${plan}`, reservation && `named ${reservation}`].filter(Boolean);
  must(first !== undefined, `there is no free capacity ${wish.join(' ')}`.trimEnd());
  return first;
}

const withWitness = async (
  stage: ConformanceStage,
  mark: Witness,
): Promise<readonly ProviderMachine[]> =>
  (await stage.list()).filter(
    (machine) => machine.availability !== 'KnownUnused' && witnessOf(machine) === mark,
  );

const listed: ConformanceStep = {
  id: 'listed',
  title: 'The next listing contains the new machine, and getMachine finds it',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const { patience, fleet, machineId } = stage;
    const timeoutMs = fleet.capabilities.consistentList ? 0 : patience.bootMs;
    const limits = { timeoutMs, intervalMs: patience.syncMs };
    const entry = await stage.until('the machine in a listing', limits, async () => {
      const machines = await stage.list();
      return machines.find(({ id }) => id === machineId) ?? pending('it is not listed');
    });
    assertOurs(entry);
    must(entry.availability !== 'KnownUnused', 'it is listed as free capacity');
    const { id, reservationId } = await stage.refresh();
    must(id === entry.id, `requested machine ${entry.id}, but the driver returned ${id}`);
    must(reservationId === entry.reservationId, 'listed and found on different slots');
  },
};

const tags: ConformanceStep = {
  id: 'tags',
  title: 'The listing shows every requested tag',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const { subject, found } = stage;
    const machine = await stage.refresh();
    const wanted = {
      ...subject.sharedTags,
      [SET_ID_TAG]: subject.setId,
      [WITNESS_TAG]: found.witness!,
      [PLAN_TAG]: found.unused!.plan,
    };
    assertTags(machine.tags, wanted);
    const hash = machine.tags[SECRET_TAG] ?? '';
    must(/^[0-9a-f]{64}$/.test(hash), `${SECRET_TAG} is not the hash that was given`);
    const [marked] = await withWitness(stage, found.witness!);
    must(marked !== undefined, 'the listing has no machine with the creation key');
    assertTags(marked.tags, { ...wanted, [SECRET_TAG]: hash });
    return `${Object.keys(wanted).length + 1} tags`;
  },
};

/** The first missing or different tag; null: none. Additional tags are allowed. */
export function tagFault(seen: Tags, wanted: Tags): string | null {
  for (const [key, value] of Object.entries(wanted)) {
    if (seen[key] === undefined) return `tag ${key} is lost`;
    // A tag may reveal a secret: its value is not printed.
    if (seen[key] !== value) return `tag ${key} reads back differently`;
  }
  return null;
}

/** @throws {StepFailed} a tag is missing or different. */
export function assertTags(seen: Tags, wanted: Tags): void {
  const fault = tagFault(seen, wanted);
  if (fault !== null) throw new StepFailed(fault);
}

const assertNoMore = (stage: ConformanceStage): Promise<void> =>
  assertNoStrays(
    stage,
    new Set([stage.found.machine?.id ?? '']),
    'more machines appeared than requested: ',
  );

const idempotent: ConformanceStep = {
  id: 'idempotent',
  title: 'A repeated creation returns the same machine',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const unused = stage.found.unused!;
    const mark = stage.found.witness!;
    for (const resumed of [false, true]) {
      const order = { unused, witness: mark, hostname: hostnameOf(stage, unused), resumed };
      const { id } = await stage.fleet.createMachine(order, stage.call);
      must(id === stage.machineId, `a second machine was created: ${id}`);
    }
    const marked = await withWitness(stage, mark);
    must(marked.length === 1, `${marked.length} machines carry the same creation key`);
    await assertNoMore(stage);
    const before = stage.machine.tags[SECRET_TAG];
    const { tags: now } = await stage.refresh();
    must(now[SECRET_TAG] === before, 'the machine lost the hash of its secret');
  },
};

const witness: ConformanceStep = {
  id: 'witness',
  title: 'findByWitness finds the machine by its own creation key only',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const { found, fleet, call } = stage;
    const slotId = slotIdOf(found.unused!);
    const mine = await fleet.findByWitness(found.witness!, slotId, call);
    must(mine?.id === stage.machineId, `its own creation key leads to ${mine?.id ?? 'nothing'}`);
    // A foreign device on the slot may count as a lost race.
    const other = await fleet
      .findByWitness(stage.newWitness(), slotId, call)
      .catch((error: unknown) => {
        if (isProviderError(error, 'race-lost')) return null;
        throw error;
      });
    must(other === null, `another creation key leads to ${other?.id}`);
  },
};

const sweep: ConformanceStep = {
  id: 'sweep',
  title: 'Listing leftovers removes nothing',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const { removed } = await stage.fleet.sweep({ ...stage.call, dryRun: true });
    await stage.refresh();
    return removed.length === 0 ? '' : `would remove ${removed.length} leftovers`;
  },
};

const rival: ConformanceStep = {
  id: 'rival',
  title: 'A creation on taken or missing capacity fails',
  needs: ['create'],
  takes: ['machine'],
  async run(stage) {
    const before = await countOurs(stage);
    const unused = stage.found.unused!;
    const attempt = (from: ProviderMachine) => {
      const mark = stage.newWitness();
      return createRaw(stage, requestOf(stage, from, mark), mark);
    };
    await mustLose(() => attempt(unused));
    const nowhere = { ...unused, id: null, reservationId: null };
    await mustReject('create without a slot', ['invalid'], () => attempt(nowhere));
    const after = await countOurs(stage);
    must(after === before, `the failed creations created ${after - before} machines`);
    await assertNoMore(stage);
  },
};

/** If there is room for one machine only, the quota may refuse first. */
const mustLose = (call: () => Promise<unknown>): Promise<void> =>
  mustReject('create on a taken slot', ['race-lost'], async () => {
    try {
      await call();
    } catch (error) {
      const { quota, capacity } = facetsOf(error);
      if (!quota && capacity === null) throw error;
      throw new ProviderError('race-lost', 'there is no room for it', { cause: error });
    }
  });

async function countOurs(stage: ConformanceStage): Promise<number> {
  const machines = await stage.list();
  return machines.filter(
    ({ availability, ownership }) => availability !== 'KnownUnused' && ownership === 'ours',
  ).length;
}

export const CREATION: readonly ConformanceStep[] = [
  unannounced,
  create,
  listed,
  tags,
  idempotent,
  witness,
  rival,
  sweep,
];
