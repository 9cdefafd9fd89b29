import { expect, test } from 'vitest';
import type {
  DriverListing,
  DriverMachine,
  Provider,
} from '../../../src/adapters/provider/port.ts';
import type { ReportedCondition } from '../../../src/domain/conditions.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { witness } from '../../../src/domain/ids.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import {
  fleetOf,
  free,
  live,
  machine,
  scripted,
  WITNESS,
  order,
  EVERYTHING,
  unused,
} from '../../doubles/scripted-driver.ts';

const listing = (
  machines: readonly DriverMachine[],
  unreadable: DriverListing['unreadable'] = [],
) => scripted({ listMachines: async () => ({ machines, complete: true, unreadable }) });

test.each<[string, Partial<DriverMachine>]>([
  ['it is in use, but has no id', { id: null }],
  ['its id is not 1 to 128', { id: 'invalid' }],
  ['its id is not 1 to 128', { id: 'x'.repeat(129) }],
  ['its reservationId is not', { reservationId: 'two\nlines' }],
  ['it has neither id nor', { availability: 'KnownUnused', id: null, reservationId: null }],
  ['its address is no host', { address: 'ssh://a' }],
  ['its address is no host', { address: 'a:99999' }],
  ['its address is no host', { address: '[::1]:0' }],
  ['its address is no host', { address: '-oProxyCommand=x' }],
  ['its address is no host', { address: 'a\0b' }],
  ['its plan is not a text', { plan: 'a\0' }],
  ['its hostname is not a text', { hostname: 'a\0' }],
  ['its location is not a text', { location: 'a\0' }],
  ['its remoteUser is not a user name', { remoteUser: '-oProxyCommand=x' }],
  ['its remoteUser is not a user name', { remoteUser: '' }],
  ['its hostKey is no base64', { hostKey: 'ssh-rsa AAAA' }],
  ['one of its tags', { tags: { a: 'b\0' } }],
  ['one of its tags', { tags: { 'a\ud800': 'b' } }],
])(
  'drops an entry with an alarm, and reports an incomplete listing if it has no name: %s %o',
  async (fault, change) => {
    const { fleet, log } = fleetOf(listing([machine('b'), { ...machine('a'), ...change }]));
    const { machines, complete } = await fleet.listMachines(live);
    expect([machines.map(({ id }) => id), complete]).toEqual([['b'], !('id' in change)]);
    expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { dropped: 1, faults: [expect.stringContaining(fault)] } },
    ]);
  },
);

test('summarises very many faults in one line with their number and a few examples', async () => {
  const wrong = Array.from({ length: 50 }, (_, n) => machine(`m${n}`, { address: 'ssh://a' }));
  const { fleet, log } = fleetOf(listing(wrong));
  await fleet.listMachines(live);
  const [line, ...more] = log.lines.filter(({ level }) => level === 'error');
  expect(more).toEqual([]);
  expect(line?.fields).toMatchObject({ provider: 'rack', dropped: 50 });
  expect(line?.fields['faults']).toHaveLength(5);
  expect(line?.fields['faults']).toContainEqual(expect.stringMatching(/^m0: its address is/));
});

test.each(['admin', 'ec2-user', 'a.b', 'user@example.net', 'EXAMPLE\\admin', 'host$'])(
  'accepts the user name %s',
  async (remoteUser) => {
    const { fleet } = fleetOf(listing([machine('a', { remoteUser })]));
    expect((await fleet.listMachines(live)).machines).toMatchObject([{ remoteUser }]);
  },
);

test('keeps when announced work begins, and drops a condition whose beginning is no time', async () => {
  const announced = (fromMs?: number | null): ReportedCondition => ({
    ...{ type: 'maintenance-announced', status: 'True', reason: 'new switch', detail: '' },
    ...(fromMs !== undefined && { fromMs }),
  });
  const { fleet, log } = fleetOf(
    listing([
      machine('a', { conditions: [announced(5)] }),
      machine('b', { conditions: [announced()] }),
      machine('c', { conditions: [announced(Number.NaN)] }),
    ]),
  );
  const { machines, complete } = await fleet.listMachines(live);
  expect(complete).toBe(true);
  expect(machines.map(({ conditions }) => conditions)).toEqual([[announced(5)], [announced()], []]);
  expect(log.lines.filter(({ level }) => level === 'error')).toMatchObject([
    { fields: { faults: ['c: 1 of its conditions are unusable'] } },
  ]);
});

const seen = async (...answer: Parameters<typeof listing>) => {
  const { fleet } = fleetOf(listing(...answer));
  const { machines, complete, unreadable = [] } = await fleet.listMachines(live);
  return {
    ids: machines.map(({ id, reservationId }) => id ?? reservationId),
    unreadable: unreadable.map(({ id, reservationId }) => id ?? reservationId),
    complete,
  };
};

test('A5: reports an incomplete listing for an unidentifiable entry, and keeps all others', async () => {
  expect(await seen([machine('two\nlines'), machine('b')])).toEqual({
    ids: ['b'],
    unreadable: [],
    complete: false,
  });
});

test('A5: names unreadable free capacity by its slot', async () => {
  const wrong = { ...free('s1'), plan: 'a\0' };
  expect(await seen([wrong, free('s2')])).toEqual({
    ids: ['s2'],
    unreadable: ['s1'],
    complete: true,
  });
});

test("A5: accepts a driver's report of unreadable entries that have names", async () => {
  const told = { id: 'a', reservationId: 's1', fault: 'no hostname' };
  expect(await seen([free('s1'), machine('b')], [told])).toEqual({
    ids: ['b'],
    unreadable: ['a'],
    complete: true,
  });
  expect(await seen([machine('b')], [{ id: null, reservationId: null, fault: '' }])).toMatchObject({
    ids: ['b'],
    unreadable: [],
    complete: false,
  });
});

test('A5: does not rule out that an unreadable entry has the creation key', async () => {
  const { fleet } = fleetOf(listing([machine('b'), machine('a', { plan: 'a\0' })]));
  const other = witness('0b6e2222-2222-4222-8222-222222222222');
  await expect(fleet.findByWitness(other, 'slot-z', live)).rejects.toMatchObject({
    kind: 'transient',
  });
  const { fleet: clear } = fleetOf(listing([machine('b')]));
  expect(await clear.findByWitness(WITNESS, 'slot-z', live)).toBe(null);
});

test('uses the slot as the host name if the slot has none of its own', () => {
  expect(fleetOf(scripted()).fleet.hostnameFor('slot-1')).toBe('slot-1');
});

const first = { attempts: 1, ambiguous: false };
const failure = new Error('the lease is lost');
const refusing = order({ onAttempt: () => Promise.reject(failure) });
const fleetWith = (createMachine: Provider['createMachine']) =>
  fleetOf(scripted({ createMachine })).fleet;
const made = () => machine('d-7', { reservationId: 'slot-1' });

test('assumes that a creation may have made a machine if the driver went on and failed', async () => {
  const outcomes = [
    new ProviderError('transient', 'reset', { outcome: 'unknown' }),
    new TypeError('undefined is no machine'),
  ];
  for (const error of outcomes) {
    const fleet = fleetWith(async ({ onAttempt }) => {
      await onAttempt(first).catch(() => undefined);
      throw error;
    });
    await expect(fleet.createMachine(refusing, live)).rejects.toMatchObject({ outcome: 'unknown' });
  }
});

test('concludes that nothing was made if the driver stopped with its own error', async () => {
  const ends: ((cause: unknown) => Error)[] = [
    (cause) => new Error('not announced', { cause }),
    () => new ProviderError('transient', 'not announced'),
  ];
  for (const end of ends) {
    const fleet = fleetWith(({ onAttempt }) =>
      onAttempt(first).then(
        () => made(),
        (cause: unknown) => {
          throw end(cause);
        },
      ),
    );
    await expect(fleet.createMachine(refusing, live)).rejects.toBe(failure);
  }
});

const nothing = { create: false, deprovision: false, tags: false } as const;
const entry = (id: string): DriverMachine =>
  machine(id, { reservationId: null, availability: 'PossiblyUsed' });
const listed = (id: string) =>
  unused('', { id, reservationId: null, availability: 'PossiblyUsed' });

function stand() {
  const there = new Set(['a']);
  const driver = scripted({
    capabilities: { ...EVERYTHING, ...nothing },
    listMachines: async () => ({ machines: [...there].map(entry), complete: true }),
    async getMachine(id) {
      if (there.has(id)) return entry(id);
      throw new ProviderError('not-found', `no machine ${id}`);
    },
  });
  return { there, fleet: fleetOf(driver).fleet };
}

test('adopts a machine of an inventory as it is, and announces it first', async () => {
  const { fleet } = stand();
  expect(fleet.capabilities).toMatchObject({ create: true, deprovision: true, tags: false });
  const attempts: number[] = [];
  const onAttempt = async (progress: { attempts: number }) => void attempts.push(progress.attempts);
  const made = await fleet.createMachine(order({ unused: listed('a'), onAttempt }), live);
  expect(made).toMatchObject({ id: 'a', ownership: 'ours', tags: { [WITNESS_TAG]: WITNESS } });
  expect(attempts).toEqual([1]);
  expect(await fleet.findByWitness(WITNESS, 'a', live)).toMatchObject({ id: 'a' });
  expect(await fleet.assimilate('a', WITNESS, live)).toMatchObject({ ownership: 'ours' });
});

test('adopts other machines while the look at one takes long', async () => {
  const looked = Promise.withResolvers<DriverMachine>();
  const { fleet } = fleetOf(
    scripted({
      capabilities: { ...EVERYTHING, ...nothing },
      getMachine: async (id) => (id === 'slow' ? looked.promise : entry(id)),
    }),
  );
  const slow = fleet.createMachine(order({ unused: listed('slow') }), live);
  const made = await fleet.createMachine(order({ unused: listed('a') }), live);
  expect(made.id).toBe('a');
  looked.resolve(entry('slow'));
  expect((await slow).id).toBe('slow');
});

test('reports a lost race for a machine that left the inventory, and offers no free capacity', async () => {
  const { fleet, there } = stand();
  there.clear();
  const gone = fleet.createMachine(order({ unused: listed('a') }), live);
  await expect(gone).rejects.toMatchObject({ kind: 'race-lost' });
  const free = fleet.createMachine(order(), live);
  await expect(free).rejects.toMatchObject({ kind: 'invalid' });
  expect(await fleet.findByWitness(WITNESS, 'a', live)).toBeNull();
});

test('C3: offers a released machine to every daemon', async () => {
  const { fleet } = stand();
  await fleet.deprovisionMachine('a', live);
  await fleet.deprovisionMachine('b', live);
  expect((await fleet.getMachine('a', live)).id).toBe('a');
  await expect(fleet.getMachine('b', live)).rejects.toMatchObject({ kind: 'not-found' });
});

/** The driver supports it, and no read of the machine works while its controller hangs. */
const hung = (resetController: NonNullable<Provider['resetController']>): Provider => ({
  ...scripted({
    resetController,
    getMachine: async () => {
      throw new ProviderError('transient', 'the controller does not answer');
    },
  }),
  capabilities: { ...EVERYTHING, resetController: true },
});
const done = { operationRef: 'reset 1' };
const asks: NonNullable<Provider['resetController']> = async (id, options) => {
  options.requireOurs(machine(id));
  await options.beforeSending?.();
  return done;
};

test('restarts a controller without a look at the machine, which the controller hides', async () => {
  const steps: string[] = [];
  const { fleet } = fleetOf(hung(asks));
  const beforeSending = async () => void steps.push('before sending');
  await expect(fleet.resetController('a', { ...live, beforeSending })).resolves.toEqual(done);
  expect(steps).toEqual(['before sending']);
});

test('sends nothing once the request is withdrawn, nor for a foreign machine', async () => {
  const sent: string[] = [];
  const driver = hung(async (id, options) => {
    options.requireOurs(machine(id, id === 'f' ? { tags: {} } : {}));
    await options.beforeSending?.();
    sent.push(id);
    return done;
  });
  const { fleet } = fleetOf(driver);
  const over = new Error('it came back');
  const beforeSending = () => Promise.reject(over);
  await expect(fleet.resetController('a', { ...live, beforeSending })).rejects.toBe(over);
  await expect(fleet.resetController('f', live)).rejects.toMatchObject({ code: 'conflict' });
  expect(sent).toEqual([]);
});

test('detects a driver that does not report whose the machine is', async () => {
  const { fleet } = fleetOf(hung(async () => done));
  await expect(fleet.resetController('a', live)).rejects.toMatchObject({
    code: 'permanent',
    outcome: 'unknown',
  });
});

test('does not call a driver that cannot restart controllers', async () => {
  const { fleet } = fleetOf(scripted({ resetController: asks }));
  await expect(fleet.resetController('a', live)).rejects.toMatchObject({ code: 'not-implemented' });
});
