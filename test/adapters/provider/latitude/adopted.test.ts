import { expect, test } from 'vitest';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';
import { adoptedEntry, HOST_KEY, serveAdopted } from '../adopted-list.ts';
import { testRows } from '../../../support/rows.ts';
import {
  callOf,
  faultAt,
  live,
  nameOf,
  PLAN,
  SET,
  SITE,
  slotOf,
  startStand,
  witnessOf,
} from './stand.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';

const ADOPT_ONLY = { slots: undefined, namePrefix: undefined, sshKeyName: undefined };
const ACT = 'POST /servers/{id}/actions';
const LIST = 'GET /servers';

/** Somebody's server `mail1`, and a fleet that adopts it. */
async function startAdopting(settings: object = ADOPT_ONLY) {
  const stand = await startStand();
  const { api, fake, wait, network, run } = stand;
  const order = {
    project: fake.project,
    plan: PLAN,
    site: SITE,
    operating_system: 'ubuntu_24_04_x64_lts',
  };
  const [made] = await run(api('POST', '/servers', { ...order, hostname: 'mail1' }, 'servers'));
  await wait(30 * 60_000);
  const { id, address } = fake.servers().find((each) => each.id === made!.id)!;
  const list = serveAdopted(network, adoptedEntry('mail', { Server: id }));
  const provider = stand.fleet({ settings: { adopt: list.url, ...settings } });
  return { ...stand, provider, list, server: id, address, seq: stand.lastSeq() };
}

test('lists servers of the list as machines that exist, with the reads of one listing', async () => {
  const { provider, machines, sent, seq, address } = await startAdopting();
  expect(await machines(provider)).toMatchObject([
    {
      ...{ id: 'mail', reservationId: null, availability: 'PossiblyUsed', ownership: 'ours' },
      ...{ plan: PLAN, location: SITE, hostname: 'mail1', status: 'Running', power: 'on' },
      ...{ address, remoteUser: 'root', hostKey: HOST_KEY.split(' ')[1] },
      tags: { [SET_ID_TAG]: SET },
    },
  ]);
  expect(sent(seq)).toEqual([LIST]);
  expect(provider.capabilities).toMatchObject({ reinstall: false, tags: false, reboot: true });
});

test('creates machines and adopts servers, with one list of servers in a round', async () => {
  const stand = await startAdopting({});
  const { provider, machines, sent, run, made, wait } = stand;
  const names = async () =>
    (await machines(provider)).map(({ id, reservationId }) => id ?? reservationId);
  const from = stand.lastSeq();
  expect(await names()).toEqual([slotOf(1), slotOf(2), 'mail']);
  expect(sent(from).filter((line) => line === LIST)).toHaveLength(1);
  const { id } = await made(provider);
  expect(await names()).toEqual([id, slotOf(2), 'mail']);
  const seq = stand.lastSeq();
  // Taken in and let go of, without a request that changes something.
  const unused = (await machines(provider)).find((each) => each.id === 'mail')!;
  const request = { unused, hostname: 'mail', witness: witnessOf(9) };
  const taken = await run(provider.createMachine(request, live));
  expect(taken).toMatchObject({ id: 'mail', tags: { [WITNESS_TAG]: witnessOf(9) } });
  expect(await run(provider.findByWitness(witnessOf(9), 'mail', live))).toEqual(
    expect.objectContaining({ id: 'mail' }),
  );
  let asked = 0;
  const beforeSending = async () => void (asked += 1);
  await run(provider.deprovisionMachine('mail', { ...live, beforeSending }));
  expect([stand.changes(seq), asked]).toEqual([[], 1]);
  await run(provider.deprovisionMachine(id!, live));
  await wait(60_000);
  expect(stand.fake.servers().map(({ hostname }) => hostname)).toEqual(['mail1']);
});

test.each([ADOPT_ONLY, {}])(
  'reboots and switches an adopted server, and nothing else: %j',
  async (settings) => {
    const stand = await startAdopting(settings);
    const { provider, run, seq, wait, fails, fake } = stand;
    const status = () => fake.servers().find(({ hostname }) => hostname === 'mail1')!.status;
    await run(provider.rebootMachine('mail', 'graceful', live));
    await run(provider.setPower('mail', 'off', live));
    await wait(60_000);
    expect(status()).toBe('off');
    await run(provider.setPower('mail', 'off', live));
    await run(provider.rebootMachine('mail', 'force', live));
    await wait(60_000);
    expect(status()).toBe('on');
    expect(stand.changes(seq)).toEqual([ACT, ACT, ACT]);
    const refused = { kind: 'not-implemented' };
    await fails(provider.reinstallMachine('mail', live), refused);
    await fails(provider.setTags('mail', { 'shepherd-idle': 'hold' }, live), refused);
    expect(stand.changes(seq)).toEqual([ACT, ACT, ACT]);
  },
);

test('does not repeat a reboot whose answer is lost', async () => {
  const stand = await startAdopting();
  const { provider, fake, fails, seq } = stand;
  fake.addFault(faultAt(ACT, { type: 'drop', phase: 'after' }));
  await fails(provider.rebootMachine('mail', 'force', live), { outcome: 'unknown' });
  expect(stand.changes(seq)).toEqual([ACT]);
});

test('a request that is no longer wanted is not sent', async () => {
  const stand = await startAdopting();
  const { provider, fails, seq } = stand;
  const beforeSending = () => Promise.reject(new Error('recovered meanwhile'));
  const call = { ...live, beforeSending };
  for (const asked of [
    provider.rebootMachine('mail', 'force', call),
    provider.setPower('mail', 'off', call),
  ]) {
    await fails(asked, { message: expect.stringContaining('recovered meanwhile') });
  }
  expect(stand.changes(seq)).toEqual([]);
});

test('an entry with another address is a conflict, and nothing is done', async () => {
  const { provider, list, server, fails, run, wait, address, ...stand } = await startAdopting();
  list.write(adoptedEntry('mail', { Server: server, Addr: '198.51.100.99' }));
  await wait(301_000);
  const seq = stand.lastSeq();
  const { machines, complete, unreadable } = await run(provider.listMachines(live));
  expect([machines, complete, unreadable?.map(({ id }) => id)]).toEqual([[], true, ['mail']]);
  const conflict = { kind: 'conflict', message: expect.stringContaining(address!) };
  await fails(provider.getMachine('mail', live), conflict);
  await fails(provider.rebootMachine('mail', 'force', live), conflict);
  await fails(provider.setPower('mail', 'off', live), conflict);
  expect(stand.changes(seq)).toEqual([]);
});

test('shows the power after a change, whatever the last list said', async () => {
  const { provider, machines, run, wait } = await startAdopting();
  await machines(provider);
  await run(provider.setPower('mail', 'off', live));
  await wait(20_000);
  expect((await run(provider.getMachine('mail', live))).power).toBe('off');
});

test('a look at a fresh list notices an abort, and the stop', async () => {
  const { open, list, run } = await startAdopting();
  const by = open({ settings: { adopt: list.url, ...ADOPT_ONLY } });
  await run(by.listMachines({}, callOf()));
  const aborted = run(by.getMachine('x', callOf({ signal: AbortSignal.abort() })));
  await expect(aborted).rejects.toMatchObject({ kind: 'aborted' });
  await run(by.stop());
  await expect(run(by.getMachine('x', callOf()))).rejects.toMatchObject({ kind: 'stopped' });
});

test('a machine whose entry is gone is gone, although the server is there', async () => {
  for (const settings of [ADOPT_ONLY, {}]) {
    const { provider, list, server, run, wait, fails, ...stand } = await startAdopting(settings);
    // The ID is the server's own id, which the driver of created machines also knows.
    list.write(adoptedEntry(server));
    await wait(301_000);
    expect((await run(provider.getMachine(server, live))).id).toBe(server);
    list.write();
    await wait(301_000);
    const seq = stand.lastSeq();
    await fails(provider.getMachine(server, live), { kind: 'not-found' });
    await run(provider.deprovisionMachine(server, live));
    expect(stand.changes(seq)).toEqual([]);
  }
});

test('a server with a name of our machines is not adopted', async () => {
  const { provider, list, api, fake, run, wait, machines, log } = await startAdopting({});
  const order = {
    project: fake.project,
    plan: PLAN,
    site: SITE,
    operating_system: 'ubuntu_24_04_x64_lts',
  };
  const [made] = await run(api('POST', '/servers', { ...order, hostname: nameOf(2) }, 'servers'));
  await wait(30 * 60_000);
  list.write(adoptedEntry('x', { Server: made!.id }));
  expect((await machines(provider)).map(({ id }) => id)).not.toContain('x');
  expect(log.count('some adopted servers are not as their list says')).toBe(1);
});

const schema = latitudeDriver.settings({
  env: { TOKEN: 't' },
  baseDirectory: '/',
  checkFiles: false,
});
const ADOPTS = { token: '${TOKEN}', project: 'proj_A1b2', adopt: 'file:servers.json' };
const INSTALLS = {
  ...{ namePrefix: 'shep-', sshKeyName: 'shepherd' },
  slots: [{ plan: PLAN, site: SITE, count: 2 }],
};
testRows([
  ['', {}],
  ['', INSTALLS],
  ['namePrefix,slots,sshKeyName', { adopt: undefined }],
  ['namePrefix,sshKeyName', { slots: INSTALLS.slots }],
  ['slots,sshKeyName', { namePrefix: 'shep-' }],
  ['target', { target: 3 }],
  ['adopt', { adopt: 'servers.json' }],
] as const)('reports %j if %j is configured beside adopt', (paths, change) => {
  const { error } = schema.loose().safeParse({ ...ADOPTS, ...change });
  const found = error?.issues.map(({ path }) => path.join('.')) ?? [];
  expect(found.toSorted().join()).toBe(paths);
});
