import { expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { live, nameOf, slotOf, type Stand, startStand, witnessOf } from './stand.ts';

/**
 * The process dies before a request has reached the API, or after the API has carried it out and before
 * the answer came: the request hangs for ever, its process is never heard of again, and another goes on.
 */
type Phase = 'before' | 'after';
const PHASES: readonly Phase[] = ['before', 'after'];
const SETTLE_MS = 120_000;

/** Which request, counted from 1 among those of its kind, a table names. */
interface Moment {
  readonly line: string;
  readonly nth: number;
}
async function die(
  stand: Stand,
  { line, nth }: Moment,
  phase: Phase,
  task: (provider: FleetProvider) => Promise<unknown>,
) {
  const [method = '', route = ''] = line.split(' ');
  const effect = { type: 'hang', phase } as const;
  stand.fake.addFault({ id: 'death', match: { method, route, nth }, times: 1, effect });
  const { provider, kill } = stand.mortal();
  let ended: unknown = 'not at all';
  void task(provider).then(
    () => (ended = 'well'),
    (error: unknown) => (ended = error),
  );
  await stand.wait(3_000);
  expect(ended, `the process should have died at ${line}`).toBe('not at all');
  kill();
  stand.fake.clearFaults();
}

const orderOn = (unused: ProviderMachine, n: number) => ({
  unused,
  hostname: nameOf(1),
  witness: witnessOf(n),
});

/** All requests of one creation, in their order, the first ones of each process included. */
const CREATION: readonly Moment[] = [
  { line: 'GET /servers', nth: 1 },
  { line: 'GET /user_data', nth: 1 },
  { line: 'POST /user_data', nth: 1 },
  { line: 'GET /user_data', nth: 2 },
  { line: 'GET /ssh_keys', nth: 1 },
  { line: 'POST /ssh_keys', nth: 1 },
  { line: 'POST /servers', nth: 1 },
  { line: 'GET /plans/operating_systems', nth: 1 },
];

test('the table of deaths has every request of a creation', async () => {
  const stand = await startStand();
  const unused = await stand.free(stand.fleet());
  const seq = stand.lastSeq();
  await stand.run(stand.fleet().createMachine(orderOn(unused, 1), live));
  const counts = new Map<string, number>();
  const moments = stand.sent(seq).map((line) => {
    counts.set(line, (counts.get(line) ?? 0) + 1);
    return { line, nth: counts.get(line)! };
  });
  expect(moments).toEqual(CREATION);
});

test.each(CREATION.flatMap((moment) => PHASES.map((phase) => [moment, phase] as const)))(
  'killed at %j, %s it was carried out: one server, one record, one order that counts',
  async (moment, phase) => {
    const stand = await startStand();
    const unused = await stand.free(stand.fleet());
    await die(stand, moment, phase, (first) => first.createMachine(orderOn(unused, 1), live));
    const second = stand.fleet();
    const resumed = { ...orderOn(unused, 1), resumed: true };
    const machine = await stand.run(second.createMachine(resumed, live));
    await stand.wait(20 * 60_000);
    expect(stand.fake.servers().map(({ id }) => id)).toEqual([machine.id]);
    expect(stand.fake.userData()).toHaveLength(1);
    const { machines, complete } = await stand.run(second.listMachines(live));
    expect(complete).toBe(true);
    expect(machines).toMatchObject([
      { id: machine.id, ownership: 'ours', status: 'Running', reservationId: slotOf(1) },
      { reservationId: slotOf(2), availability: 'KnownUnused' },
    ]);
    expect(machines[0]!.tags['shepherd-op']).toBe(witnessOf(1));
  },
);

const REINSTALLATION: readonly Moment[] = [
  { line: 'POST /user_data', nth: 1 },
  { line: 'POST /servers/{id}/reinstall', nth: 1 },
  { line: 'DELETE /user_data/{id}', nth: 1 },
];

test.each(REINSTALLATION.flatMap((moment) => PHASES.map((phase) => [moment, phase] as const)))(
  'killed in a reinstallation at %j, %s it was carried out: the machine stays ours, and is installed once',
  async (moment, phase) => {
    const stand = await startStand();
    const { id } = await stand.made(stand.fleet());
    await die(stand, moment, phase, (first) => first.reinstallMachine(id!, live));
    const second = stand.fleet();
    const look = () => stand.run(second.getMachine(id!, live));
    const { tags } = await look();
    expect((await look()).ownership).toBe('ours');
    await stand.wait(20 * 60_000);
    const asked = stand.count('POST /servers/{id}/reinstall');
    expect(asked).toBeLessThanOrEqual(1);
    expect((await look()).tags).toEqual(tags);
    // The machine has the record whose secret its tags speak of.
    const { userData } = stand.fake.servers()[0]!;
    await stand.wait(3_700_000);
    await stand.run(second.sweep({ ...live, dryRun: false }));
    expect(stand.fake.userData().map((record) => record.id)).toEqual([userData]);
    expect(await look()).toMatchObject({ ownership: 'ours', tags, status: 'Running' });
  },
);

const GIVING_BACK: readonly Moment[] = [
  { line: 'DELETE /servers/{id}', nth: 1 },
  { line: 'DELETE /user_data/{id}', nth: 1 },
];

test.each(GIVING_BACK.flatMap((moment) => PHASES.map((phase) => [moment, phase] as const)))(
  'killed while giving back at %j, %s it was carried out: it is gone once, and its slot is free',
  async (moment, phase) => {
    const stand = await startStand();
    const { id } = await stand.made(stand.fleet());
    const giveBack = async (provider: FleetProvider) => {
      await provider.deprovisionMachine(id!, live);
      return provider.isReusable(slotOf(1), live);
    };
    await die(stand, moment, phase, giveBack);
    const second = stand.fleet();
    expect(await stand.run(giveBack(second))).toBe(true);
    expect([stand.fake.servers(), stand.fake.userData()]).toEqual([[], []]);
    await stand.free(second);
  },
);

test('two daemons that want the same slots: never two servers on one, and in the end one on each', async () => {
  const stand = await startStand();
  const daemons = [stand.fleet({ daemons: 2 }), stand.fleet({ daemons: 2 })];
  const unused = await Promise.all([stand.free(daemons[0]!, 1), stand.free(daemons[0]!, 2)]);
  const names = [nameOf(1), nameOf(2)];
  const wants = (round: number) =>
    daemons.flatMap((daemon, d) =>
      unused.map((slot, n) =>
        daemon.createMachine(
          { unused: slot, hostname: names[n]!, witness: witnessOf(100 * round + 10 * d + n) },
          live,
        ),
      ),
    );
  const outcomes = await stand.run(Promise.allSettled(wants(1)));
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  for (const reason of refused) {
    expect(reason).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  }
  expect(refused.length).toBeGreaterThanOrEqual(2);
  const perName = () =>
    names.map((name) => stand.fake.servers().filter((one) => one.hostname === name).length);
  expect(Math.max(...perName())).toBeLessThanOrEqual(1);
  await stand.wait(SETTLE_MS);
  // One after the other now, as the rows of the database have it.
  for (const [n, slot] of unused.entries()) {
    const order = { unused: slot, hostname: names[n]!, witness: witnessOf(500 + n) };
    await stand.run(daemons[1]!.createMachine(order, live)).catch(() => null);
  }
  expect(perName()).toEqual([1, 1]);
  expect(stand.fake.userData()).toHaveLength(2);
});
