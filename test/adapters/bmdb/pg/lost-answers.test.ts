import { describe, expect, it } from 'vitest';
import { providerName } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { ASKED, MINUTE, PROVIDER, providedOf, requestedAt } from '../../../contracts/bmdb-rows.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import type { Mood } from './breaking-proxy.ts';
import { claimStand, refusedWith, SIGNAL, sorted, STARTED } from './claim-stand.ts';

// Each write of a daemon, with a lost answer to its COMMIT: the daemon finds out whether it was
// done.
const s = claimStand();
let mood: Mood;

/**
 * Loses the answer to the call's COMMIT once. Optionally no other connection succeeds for a while.
 */
async function lose<T>(call: () => Promise<T>): Promise<T> {
  const before = s.proxy.broken;
  s.proxy.mood = mood;
  if (mood.endsWith('then down')) s.proxy.refusesMax = 3;
  const answer = await call();
  expect(s.proxy.broken - before).toBe(1);
  if (mood.endsWith('then down')) expect(s.proxy.refused).toBe(3);
  return answer;
}

const claimAll = (ids: readonly MachineId[]) =>
  Promise.all(ids.map((id) => s.session.claim('ShepherdAgentStart', id)));
const open = async () => (await s.other.scan(SIGNAL)).requests.map(({ key }) => key).toSorted();
const addLeaving = () => s.add({ deprovision: requestedAt(Date.now()) });
const BACK = { kind: 'deprovisioned' } as const;
const SLOT = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
const RECORD = { provider: providerName('rack'), key: 'bmc-1' };
const records = async () =>
  (await s.other.records.all(RECORD.provider, SIGNAL)).map(({ value, version }) => [
    value,
    version,
  ]);

const WRITES: Readonly<Record<string, () => Promise<void>>> = {
  'of claims': async () => {
    const ids = await s.addMany(10);
    const taken = await s.rival.claim('ShepherdAgentStart', ids[0]!);
    const { done, codes } = await lose(() =>
      sorted(ids.map((id) => s.session.claim('ShepherdAgentStart', id))),
    );
    expect([done.length, codes]).toEqual([9, ['work-conflict']]);
    for (const { machineId, epoch } of done) {
      expect(await s.history(machineId)).toEqual(['Started']);
      expect((await s.row(machineId)).work).toMatchObject([{ epoch }]);
    }
    await Promise.all([taken, ...done].map((work) => work.finish(STARTED)));
  },
  'of claims of what the session had already': async () => {
    const [held, free] = await s.addMany(2);
    const work = await s.session.claim('ShepherdAgentStart', held!);
    const { done, codes } = await lose(() =>
      sorted([held!, free!].map((id) => s.session.claim('ShepherdAgentStart', id))),
    );
    expect([done.length, codes]).toEqual([1, ['work-conflict']]);
    await Promise.all([work, ...done].map((each) => each.finish(STARTED)));
  },
  'of first claims of a kind': async () => {
    const ids = await s.addMany(3);
    const works = await lose(() => Promise.all(ids.map((id) => s.session.claim('UnitTest1', id))));
    await Promise.all(works.map((work) => work.finish({ kind: 'nothing' })));
    for (const id of ids) expect(await s.history(id)).toEqual(['Started', 'Finished']);
  },
  'of ends of several kinds': async () => {
    const ids = await s.addMany(6);
    const works = await claimAll(ids);
    await s.session.releaseWork(ids[5]!);
    const { done, codes } = await lose(() =>
      sorted([
        ...works.slice(0, 2).map((work) => work.finish(STARTED)),
        ...works.slice(2, 4).map((work) => work.fail(STEADY, 'refused')),
        works[4]!.cancel(),
        works[5]!.finish(STARTED),
      ]),
    );
    expect([done.length, codes]).toEqual([5, ['work-lost']]);
    const ended = await Promise.all(ids.map(async (id) => (await s.history(id)).slice(1)));
    expect(ended).toEqual([
      ...[['Finished'], ['Finished'], ['Failed refused'], ['Failed refused']],
      ...[['Canceled canceled'], ['Canceled released']],
    ]);
    const { machines } = await s.bmdb.scan(SIGNAL);
    const attempts = machines.map((row) => row.startAttempt?.count ?? 0);
    expect(attempts.toSorted()).toEqual([0, 0, 0, 0, 1, 1]);
    expect(await refusedWith(works[0]!.finish(STARTED))).toBe('already-finished');
  },
  'of filing an order': async () => {
    const request = await s.reboot(await s.add(), { key: 'one' });
    const submitted = await lose(() => s.bmdb.requests.submit(request));
    expect(submitted).toMatchObject({ key: 'one', state: 'open' });
    expect(await open()).toEqual(['one']);
  },
  'V12: of filing a batch, of which nothing is filed twice': async () => {
    const ids = await s.addMany(3);
    const requests = await Promise.all(ids.map((id, at) => s.reboot(id, { key: `k/${at}` })));
    const batch = { key: 'k', digest: 'one', requests };
    const submitted = await lose(() => s.bmdb.requests.submitBatch(batch));
    expect(submitted.requests.map(({ key }) => key)).toEqual(['k/0', 'k/1', 'k/2']);
    expect(await s.bmdb.requests.submitBatch(batch)).toEqual(submitted);
    expect(await open()).toEqual(['k/0', 'k/1', 'k/2']);
  },
  'of settling': async () => {
    const id = await s.add();
    const key = await s.submit({ verb: 'deprovision', target: await s.target(id) });
    expect(await lose(() => s.session.applyRequest(key))).toMatchObject({ key, state: 'done' });
    expect(await s.events(id)).toEqual(['deprovisionRequested']);
  },
  'of the end of what was ordered': async () => {
    const id = await s.add();
    const order = await s.submit((await s.reboot(id)).what);
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note({ ...ASKED, order });
    const recovered = { kind: 'recovered', coolDown: STEADY, bootSeconds: null } as const;
    await lose(() => work.finish({ ...recovered, order }));
    expect(await s.rival.applyRequest(order)).toMatchObject({ state: 'done' });
    expect((await s.events(id)).filter((kind) => kind === 'requestDone')).toHaveLength(1);
  },
  'of giving machines back': async () => {
    const ids = [await addLeaving(), await addLeaving()];
    const works = await Promise.all(ids.map((id) => s.session.claim('ShepherdDeprovision', id)));
    await lose(() => Promise.all(works.map((work) => work.finish(BACK))));
    for (const id of ids) {
      expect(await s.row(id)).toBeNull();
      expect(await s.history(id)).toEqual(['Started', 'Finished']);
      expect(await s.events(id)).toEqual(['deprovisioned']);
    }
    expect(await refusedWith(works[0]!.finish(BACK))).toBe('already-finished');
  },
  'of a claim whose machine is given back by the next one': async () => {
    const ids = [await addLeaving(), await addLeaving()];
    const first = await s.session.claim('ShepherdDeprovision', ids[0]!);
    const second = await lose(() => s.session.claim('ShepherdDeprovision', ids[1]!));
    await Promise.all([first, second].map((work) => work.finish(BACK)));
    expect(await Promise.all(ids.map(s.row))).toEqual([null, null]);
  },
  'of an intent of a job': async () => {
    const lease = (await s.session.lease('provisioner/metal'))!;
    const intent = await lose(() => s.session.intents.open({ ...SLOT, lease }));
    expect((await s.other.scan(SIGNAL)).intents).toEqual([intent]);
  },
  'of steps of many intents': async () => {
    const { intents } = s.session;
    const slots = [0, 1, 2, 3, 4].map((at) => ({ ...SLOT, slotId: `r${at}` }));
    const opened = await lose(() => Promise.all(slots.map((slot) => intents.open(slot))));
    await lose(() =>
      Promise.all(opened.map(({ witness }) => intents.progress(witness, { attempts: 1 }))),
    );
    const device = (at: number) => providedOf(`${at}`, { reservationId: `r${at}` });
    const adopted = opened.slice(0, 3);
    const ids = await lose(() =>
      Promise.all(adopted.map(({ witness }, at) => intents.adopt(witness, device(at)))),
    );
    const failed = { state: 'failed', cause: 'no disk', penaltyMs: MINUTE } as const;
    await lose(() =>
      Promise.all(opened.slice(3).map(({ witness }) => intents.end(witness, failed))),
    );
    expect(ids).toEqual(adopted.map(({ machineId }) => machineId));
    const states = `SELECT state, attempts::int FROM provision_intents ORDER BY slot_id`;
    expect(await s.sql(states)).toEqual([
      ...Array(3).fill({ state: 'adopted', attempts: 1 }),
      ...Array(2).fill({ state: 'failed', attempts: 1 }),
    ]);
    for (const id of ids) expect(await s.events(id)).toEqual(['adopted']);
    expect(await s.sql(`SELECT level::int FROM provider_holds`)).toEqual([
      { level: 1 },
      { level: 1 },
    ]);
  },
  'of taking and leaving a job': async () => {
    const lease = (await lose(() => s.session.lease('provisioner/metal')))!;
    expect((await s.session.lease(lease.name))!.epoch).toBe(lease.epoch);
    await lose(() => lease.release());
    expect(await s.rival.lease(lease.name)).not.toBeNull();
  },
  'of a hold of a provider': async () => {
    const hold = { provider: PROVIDER, kind: 'throttle', key: 'list', level: 1 } as const;
    await lose(() => s.bmdb.providerHolds.impose({ ...hold, cause: 'x', forMs: MINUTE }));
    expect((await s.other.scan(SIGNAL)).providerHolds).toHaveLength(1);
    await lose(() => s.bmdb.providerHolds.lift(PROVIDER, 'throttle'));
    expect((await s.other.scan(SIGNAL)).providerHolds).toEqual([]);
  },
  'of a record that is made, replaced and dropped': async () => {
    const first = await lose(() => s.session.records.make(RECORD, 1));
    expect(await records()).toEqual([[1, first]]);
    const second = await lose(() => s.session.records.replace(RECORD, 2, first));
    expect(await records()).toEqual([[2, second]]);
    await lose(() => s.session.records.drop(RECORD, second));
    expect(await records()).toEqual([]);
  },
};

describe.each<Mood>(['break before commit', 'break after commit'])(
  'a connection that breaks during COMMIT (%s)',
  (how) => {
    it.each(Object.entries(WRITES))('%s', async (_, write) => {
      mood = how;
      await write();
    });
  },
);

describe.each<Mood>(['break before commit, then down', 'break after commit, then down'])(
  'a database that disappears after a COMMIT (%s)',
  (how) => {
    it.each(['of claims', 'of ends of several kinds'])('%s', async (name) => {
      mood = how;
      await WRITES[name]!();
    });
  },
);
