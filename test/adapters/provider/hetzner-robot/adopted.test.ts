import { expect, test } from 'vitest';
import { adoptedParser } from '../../../../src/adapters/driver-kit/inventory/adopted-list.ts';
import { ROBOT_NAMING } from '../../../../src/adapters/provider/hetzner-robot/adopted.ts';
import { hetznerRobotDriver } from '../../../../src/adapters/provider/hetzner-robot/driver.ts';
import { robotSchema } from '../../../../src/adapters/provider/hetzner-robot/settings.ts';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { witness } from '../../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { testRows } from '../../../support/rows.ts';
import { adoptedEntry, HOST_KEY, serveAdopted } from '../adopted-list.ts';
import {
  at,
  callOf,
  failureOf,
  IMAGE,
  INSTANCE_SET_ID,
  orderOf,
  PREFIXES,
  startStand,
  WITNESS,
  type RobotStandOptions,
} from './stand.ts';

const ADOPT_ONLY = {
  ...{ namePrefix: undefined, freePrefix: undefined, sshKeyName: undefined },
  imageUrl: undefined,
};
const BUTTONS = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
const LEFT_ALONE = /an adopted server is only watched and reset; .*take it off the list of adopt/;

/** Servers in use: 321 is `mail1`, 322 `db`; and a free one, 323. */
async function startAdopting(options: RobotStandOptions = {}, entries = [adoptedEntry('321')]) {
  const servers = ['mail1', 'db', 'free-323'].map((name) => ({ name, resetTypes: BUTTONS }));
  const stand = await startStand({ servers, ...options });
  const { network, daemon, run } = stand;
  const adopted = serveAdopted(network, ...entries);
  const open = (settings: object) => daemon({ settings: { adopt: adopted.url, ...settings } });
  const only = open(ADOPT_ONLY);
  const both = open({});
  stand.forget();
  return {
    ...{ ...stand, adopted, only, both },
    listBy: async (by: Provider) => run(by.listMachines({}, callOf())),
    get: (id: string, by = only) => run(by.getMachine(id, callOf())),
    reboot: (id: string, mode: 'graceful' | 'force' = 'graceful', by = only) =>
      run(by.rebootMachine(id, mode, callOf())),
    power: (id: string, want: 'on' | 'off', by = only) => run(by.setPower!(id, want, callOf())),
  };
}

test('lists servers of the list as machines that exist, with one request', async () => {
  const entries = [
    adoptedEntry('321', { SshPort: 2222, SshUser: 'ops', Location: 'rack 7' }),
    adoptedEntry('web', { Server: '322' }),
  ];
  const { listBy, only, sent, fake } = await startAdopting({}, entries);
  const [first, second] = fake.servers();
  const { machines, complete, unreadable } = await listBy(only);
  expect({ machines, complete, unreadable, sent: sent() }).toEqual({
    ...{ complete: true, unreadable: [], sent: ['GET /server'] },
    machines: [
      {
        ...{ id: '321', reservationId: null, availability: 'PossiblyUsed', plan: 'EX44' },
        ...{ location: 'rack 7', hostname: 'mail1', status: 'Unknown', power: 'unknown' },
        ...{
          address: `${first!.address}:2222`,
          remoteUser: 'ops',
          hostKey: HOST_KEY.split(' ')[1],
        },
        tags: { [SET_ID_TAG]: INSTANCE_SET_ID },
      },
      {
        ...{ id: 'web', reservationId: null, availability: 'PossiblyUsed', plan: 'AX41-NVMe' },
        ...{ location: 'FSN1-DC15', hostname: 'db', status: 'Unknown', power: 'unknown' },
        ...{ address: second!.address, remoteUser: 'root', hostKey: HOST_KEY.split(' ')[1] },
        tags: { [SET_ID_TAG]: INSTANCE_SET_ID },
      },
    ],
  });
});

test('sixty adopted servers that are only watched cost a listing a minute', async () => {
  const servers = Array.from({ length: 60 }, (_, n) => ({ name: `web-${n}` }));
  const entries = servers.map((_, n) => adoptedEntry(String(321 + n)));
  const { only, listBy, get, pass, sent } = await startAdopting({ servers }, entries);
  for (let minute = 0; minute < 60; minute++) {
    const { machines } = await listBy(only);
    expect(machines).toHaveLength(60);
    for (const { id } of machines) await get(id!);
    await pass(60_000);
  }
  expect(new Set(sent())).toEqual(new Set(['GET /server']));
  expect(sent().length, 'of 200 that Robot allows').toBeLessThanOrEqual(60);
});

test('resets an adopted server by its buttons, and leaves its name and boot settings', async () => {
  const { reboot, power, sent, count, forget, machine, fake } = await startAdopting();
  await reboot('321');
  expect(sent()).toEqual([
    ...['GET /server/321', 'GET /reset/321', 'GET /boot/321', 'POST /reset/321 sw'],
  ]);
  await reboot('321', 'force');
  expect(machine().resets.map(({ type }) => type)).toEqual(['sw', 'hw']);
  forget();
  const silent = { reset: { type: BUTTONS, operating_status: null } };
  fake.addFault(at('GET /reset/{n}', { type: 'status', code: 200, body: silent }));
  expect(await failureOf(power('321', 'off'))).toMatchObject({ kind: 'not-implemented' });
  expect([machine().name, count(/^(POST|DELETE) /)]).toEqual(['mail1', 0]);
});

test('switches an adopted server off and on where Robot reports its state', async () => {
  const { power, machine, get, pass } = await startAdopting();
  expect((await get('321')).power).toBe('unknown');
  for (const want of ['off', 'off', 'on', 'on'] as const) {
    await power('321', want);
    expect([machine().power, (await get('321')).power]).toEqual([want, want]);
  }
  await pass(31 * 60_000);
  expect((await get('321')).power, 'without a request').toBe('unknown');
  expect(machine().resets.map(({ type }) => type)).toEqual(['power_long', 'power']);
});

test.each(['graceful', 'force'] as const)(
  'a %s reset waits while somebody has armed something for the next boot',
  async (mode) => {
    const { reboot, ask, machine } = await startAdopting();
    await ask('POST', '/boot/321/rescue', 'os=linux');
    expect(await failureOf(reboot('321', mode))).toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('ordered in Robot (rescue); it is adopted'),
    });
    expect([machine().isArmed, machine().resets]).toEqual([true, []]);
  },
);

test.each([
  ['another address', { Addr: '192.0.2.99' }, /the vendor reports 192\.0\.2\.1, .*\/64 for server/],
  ['a private address only', { Addr: '10.0.0.9' }, /give the address .* as VendorAddr/],
])('an entry with %s is a conflict, and nothing is reset', async (_, change, told) => {
  const { listBy, only, get, reboot, power, count } = await startAdopting({}, [
    adoptedEntry('321', change),
  ]);
  const { machines, complete, unreadable } = await listBy(only);
  expect([machines, complete]).toEqual([[], true]);
  expect(unreadable).toEqual([
    { id: '321', reservationId: null, fault: expect.stringMatching(told) },
  ]);
  for (const call of [get('321'), reboot('321'), power('321', 'off')]) {
    expect(await failureOf(call)).toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(told),
    });
  }
  expect(count(/^POST/)).toBe(0);
});

test('an entry may reach its server by a private address, and by its IPv6 network', async () => {
  const stand = await startAdopting({}, []);
  const { adopted, fake, listBy, only, reboot, machine, pass, ask } = stand;
  const reply = (await (await ask('GET', '/server/322')).json()) as {
    readonly server: { readonly server_ipv6_net: string };
  };
  const v6 = `${reply.server.server_ipv6_net}b:1`;
  adopted.write(
    adoptedEntry('321', { Addr: '10.0.0.9', VendorAddr: fake.servers()[0]!.address }),
    adoptedEntry('322', { Addr: v6 }),
  );
  await pass(301_000);
  const { machines } = await listBy(only);
  expect(machines.map(({ address }) => address)).toEqual(['10.0.0.9', `[${v6}]`]);
  await reboot('321');
  expect(machine().resets).toHaveLength(1);
});

test('a server that got another address since is not reset', async () => {
  const { fake, listBy, only, reboot, machine } = await startAdopting({}, [
    adoptedEntry('321', { Addr: '192.0.2.1' }),
  ]);
  expect((await listBy(only)).machines).toHaveLength(1);
  const fields = { server_ip: '192.0.2.77', ip: ['192.0.2.77'] };
  fake.addFault(at('GET /server/{n}', { type: 'fields', fields }));
  expect(await failureOf(reboot('321'))).toMatchObject({ kind: 'conflict' });
  expect(machine().resets).toEqual([]);
});

test('a server that is not in the account is no machine, and is told once', async () => {
  const entries = [adoptedEntry('321'), adoptedEntry('999')];
  const { listBy, only, get, reboot, log, pass } = await startAdopting({}, entries);
  for (let round = 0; round < 3; round++) {
    const { machines, complete, unreadable } = await listBy(only);
    expect([machines.length, complete, unreadable]).toEqual([1, true, []]);
    await pass(61_000);
  }
  expect(log.count('some adopted servers are not as their list says')).toBe(1);
  for (const call of [get('999'), reboot('999'), get('unlisted'), reboot('unlisted')]) {
    expect(await failureOf(call)).toMatchObject({ kind: 'not-found' });
  }
});

test('refuses everything else, and says what to do', async () => {
  const { run, only, both, sent } = await startAdopting();
  const request = { ...orderOf('s'), image: null };
  for (const by of [only, both]) {
    const refused = [
      run(by.reinstallMachine('321', request, callOf())),
      run(by.setTags('321', { [SET_ID_TAG]: INSTANCE_SET_ID }, callOf())),
    ];
    for (const call of refused) {
      expect(await failureOf(call)).toMatchObject({
        kind: 'not-implemented',
        message: expect.stringMatching(LEFT_ALONE),
      });
    }
  }
  for (const call of [
    run(only.createMachine(orderOf('s', { server: 323 }), callOf())),
    run(only.deprovisionMachine('321', callOf())),
  ]) {
    expect(await failureOf(call)).toMatchObject({ kind: 'not-implemented' });
  }
  expect(sent().filter((line) => !line.startsWith('GET /server'))).toEqual([]);
});

test('installs free servers and adopts others, with the same request', async () => {
  const stand = await startAdopting();
  const { both, listBy, sent, forget, run, until, fake } = stand;
  const names = async () =>
    (await listBy(both)).machines.map(({ id, reservationId }) => id ?? reservationId);
  expect([await names(), sent()]).toEqual([['323', '321'], ['GET /server']]);
  const made = await run(both.createMachine(orderOf('s1', { server: 323 }), callOf()));
  await until(() => fake.servers()[2]!.phase === 'disk');
  forget();
  expect(await names()).toEqual([made.id, '321']);
  expect(both.capabilities).toMatchObject({
    ...{ create: true, reinstall: true },
    adopted: { create: false, reinstall: false, reboot: true, tags: false },
  });
  // Taken in and let go of without a request that changes something.
  const unused = { id: '321', reservationId: null, availability: 'PossiblyUsed' };
  const order = orderOf('s2', { unused: unused as unknown as ProviderMachine });
  const taken = await run(both.createMachine(order, callOf()));
  expect(taken.tags).toEqual({ [SET_ID_TAG]: INSTANCE_SET_ID, [WITNESS_TAG]: WITNESS });
  expect(await run(both.findByWitness!(witness(WITNESS), '321', callOf()))).toEqual(taken);
  await run(both.deprovisionMachine('321', callOf()));
  expect(await run(both.isReusable!('321', callOf()))).toBe(true);
  expect(sent().filter((line) => !line.startsWith('GET '))).toEqual([]);
  // The created machine still has its own life.
  await run(both.deprovisionMachine(made.id!, callOf()));
  expect(fake.servers()[2]!.name).toBe('shep-prod-leaving-323');
});

test('a listed server is never offered as free, whatever its name', async () => {
  const { both, listBy, adopted, pass } = await startAdopting({}, [adoptedEntry('323')]);
  expect((await listBy(both)).machines).toMatchObject([
    { id: '323', availability: 'PossiblyUsed', hostname: 'free-323' },
  ]);
  adopted.write();
  await pass(301_000);
  expect((await listBy(both)).machines).toMatchObject([
    { id: null, reservationId: '323', availability: 'KnownUnused' },
  ]);
});

test('a server that the provider has installed is not adopted as well', async () => {
  const stand = await startAdopting({}, []);
  const { both, only, listBy, run, log, reboot, get, machine, adopted, pass } = stand;
  const { id } = await run(both.createMachine(orderOf('s', { server: 323 }), callOf()));
  adopted.write(adoptedEntry('323'));
  await pass(11_000);
  for (const by of [both, only]) {
    const shown = (await listBy(by)).machines.map((each) => each.id);
    expect(shown).toEqual(by === both ? [id] : []);
    expect(await failureOf(reboot('323', 'force', by))).toMatchObject({ kind: 'not-found' });
    expect(await failureOf(get('323', by))).toMatchObject({ kind: 'not-found' });
  }
  expect(log.count('some adopted servers are not as their list says')).toBeGreaterThan(0);
  expect(machine(323).resets.every(({ type }) => type === 'sw')).toBe(true);
});

test('a free server that is put on the list meanwhile is not installed', async () => {
  const { both, listBy, adopted, pass, run, sent, forget } = await startAdopting();
  const free = (await listBy(both)).machines.find(({ reservationId }) => reservationId === '323')!;
  adopted.write(adoptedEntry('321'), adoptedEntry('db', { Server: '323' }));
  await pass(11_000);
  forget();
  const order = orderOf('s', { unused: free as unknown as ProviderMachine });
  expect(await failureOf(run(both.createMachine(order, callOf())))).toMatchObject({
    kind: 'race-lost',
  });
  expect(sent()).toEqual([]);
});

test('a server that could not be switched on again is not switched off', async () => {
  const { power, ask, machine } = await startAdopting();
  await ask('POST', '/boot/321/rescue', 'os=linux');
  expect(await failureOf(power('321', 'off'))).toMatchObject({ kind: 'conflict' });
  expect(machine().resets).toEqual([]);
});

test('verifies host keys of adopted servers by the list', async () => {
  const { run, only, both } = await startAdopting();
  const shown = { id: '321' } as ProviderMachine;
  const right = Buffer.from(HOST_KEY.split(' ')[1]!, 'base64');
  const session = { execute: () => Promise.reject(new Error('nothing runs')) };
  for (const by of [only, both]) {
    await run(by.verifyHostKey(shown, right, callOf(), session));
    const wrong = run(by.verifyHostKey(shown, Buffer.alloc(51), callOf(), session));
    expect(await failureOf(wrong)).toMatchObject({ kind: 'conflict' });
  }
  const other = run(both.verifyHostKey({ ...shown, id: '323-x' }, right, callOf(), session));
  expect(await failureOf(other)).toMatchObject({ kind: 'not-implemented' });
});

const entryFault = (entries: readonly object[]): string => {
  try {
    adoptedParser(ROBOT_NAMING, {})(JSON.stringify(entries));
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

testRows([
  ['', adoptedEntry('321')],
  ['', adoptedEntry('mail', { Server: '321', Addr: '192.0.2.1', Location: '' })],
  ['Server is missing; give the number', adoptedEntry('mail')],
  ['Server is missing; give the number', adoptedEntry('mail', { Server: 'x' })],
  ['ID is the name of another server', adoptedEntry('322', { Server: '321' })],
  ['HostKey is missing', { ID: '321' }],
  ['Addr is "host"', adoptedEntry('321', { Addr: 'host' })],
  ['VendorAddr is "::x"', adoptedEntry('321', { VendorAddr: '::x' })],
  ['"Bmc" is unknown', adoptedEntry('321', { Bmc: 'https://192.0.2.1' })],
] as const)('the list reports %j about %j', (told, entry) => {
  expect(entryFault([entry])).toContain(told);
  expect(entryFault([entry]) === '').toBe(told === '');
});

test('two entries may not name one server', () => {
  const both = [adoptedEntry('a', { Server: '321' }), adoptedEntry('321')];
  expect(entryFault(both)).toContain('Server is the same as that of "a"');
});

const around = { env: { PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
const ADOPTS = {
  ...{ driver: 'hetzner-robot', instanceSetId: INSTANCE_SET_ID, user: '#ws+fleet' },
  ...{ password: '${PASSWORD}', adopt: 'file:servers.json' },
};
const INSTALLS = { ...PREFIXES, sshKeyName: 'shepherd', image: IMAGE };
testRows([
  ['', {}],
  ['', INSTALLS],
  ['freePrefix,image,namePrefix,sshKeyName', { adopt: undefined }],
  ['image,namePrefix,sshKeyName', { freePrefix: 'free-' }],
  ['freePrefix,namePrefix,sshKeyName', { image: IMAGE }],
  ['target', { ...INSTALLS, target: 3 }],
  ['retired', { ...INSTALLS, retired: 'give-back' }],
  ['', { ...INSTALLS, retired: 'keep', recoveryMayEraseDisks: true }],
  ['adopt', { adopt: 'servers.json' }],
  ['adopt', { adopt: 'http://lists.example.net/servers.json' }],
] as const)('reports %j if %j is configured beside adopt', (paths, change) => {
  const { error } = providerSchema(around).safeParse({ ...ADOPTS, ...change });
  const found = error?.issues.map((issue) => issue.path.join('.')) ?? [];
  expect([...new Set(found)].toSorted().join()).toBe(paths);
});

test('two providers may not share a list', () => {
  const { driver: _, instanceSetId: _set, ...own } = ADOPTS;
  const [one, other] = [own, { ...own, user: 'other' }].map((each) =>
    robotSchema(around).parse(each),
  );
  expect(hetznerRobotDriver.overlaps!(one!, other!)).toBe('adopt');
  expect(hetznerRobotDriver.overlaps!(one!, { ...other!, adopt: '/b.json' })).toBeNull();
});
