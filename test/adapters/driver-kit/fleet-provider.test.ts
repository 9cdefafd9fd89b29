import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type {
  CreateRequest,
  DriverMachine,
  FleetProvider,
  Provider,
  ReinstallRequest,
} from '../../../src/adapters/provider/port.ts';
import { isProviderError, ProviderError, UsageError } from '../../../src/domain/errors.ts';
import {
  INSTANCE_SECRET_PATH,
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  WITNESS_TAG,
  type Tags,
} from '../../../src/domain/provisioning/provider-tags.ts';
import {
  EVERYTHING,
  fleetOf,
  free,
  live,
  machine,
  order,
  OTHER_SET_ID,
  scripted,
  SET_ID,
  unused,
  WITNESS,
  NO_SESSION,
} from '../../doubles/scripted-driver.ts';
import { settled } from '../../doubles/simulated-clock.ts';

const kindOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return 'resolved';
  } catch (error) {
    return isProviderError(error) ? error.kind : `not the port's: ${String(error)}`;
  }
};
const listing = (...machines: DriverMachine[]) =>
  scripted({ listMachines: async () => ({ machines, complete: true }) });
const foreign = (id: string) => machine(id, { tags: { [SET_ID_TAG]: OTHER_SET_ID } });

test('vector 11: uses the last of two entries with one id', async () => {
  const { fleet } = fleetOf(
    listing(machine('a', { plan: 'old' }), machine('b'), machine('a', { plan: 'new' })),
  );
  const { machines, complete } = await fleet.listMachines(live);
  expect(complete).toBe(true);
  expect(machines.map(({ id, plan }) => [id, plan])).toEqual([
    ['b', 'small'],
    ['a', 'new'],
  ]);
});

test('vector 12: rejects an incomplete listing, or marks it as incomplete', async () => {
  const failing = scripted({ listMachines: () => Promise.reject(new Error('page 2 of 3')) });
  expect(await kindOf(fleetOf(failing).fleet.listMachines(live))).toBe('permanent');
  const partial = scripted({
    listMachines: async () => ({ machines: [machine('a')], complete: false }),
  });
  expect((await fleetOf(partial).fleet.listMachines(live)).complete).toBe(false);
});

test.each(['192.0.2.1', 'a.example', 'a:22', '2001:db8::1', '[2001:db8::1]', '[::1]:2222'])(
  'accepts the address %s',
  async (address) => {
    const { fleet } = fleetOf(listing(machine('a', { address })));
    expect((await fleet.listMachines(live)).machines).toMatchObject([{ address }]);
  },
);

test('vector 17: leaves entries that may be in use to the BMDB, with or without an id', async () => {
  const possibly = { availability: 'PossiblyUsed' } as const;
  const { fleet } = fleetOf(listing(machine('a', possibly), { ...free('s'), ...possibly }));
  const { machines } = await fleet.listMachines(live);
  expect(machines.map(({ id, availability }) => [id, availability])).toEqual([
    ['a', 'PossiblyUsed'],
    [null, 'PossiblyUsed'],
  ]);
});

test('does not offer the slot under a machine, whoever owns the machine', async () => {
  const { fleet } = fleetOf(listing(foreign('a'), free('slot-a'), free('slot-b')));
  const { machines } = await fleet.listMachines(live);
  expect(machines.map(({ reservationId, ownership }) => [reservationId, ownership])).toEqual([
    ['slot-a', 'foreign'],
    ['slot-b', 'ours'],
  ]);
});

test('vector 15: reports foreign machines once, as a summary, and never changes them', async () => {
  const untagged = machine('u', { tags: {} });
  const there = new Map([foreign('f'), untagged].map((entry) => [entry.id!, entry]));
  const driver: Provider = {
    ...listing(...there.values()),
    getMachine: async (id) => there.get(id)!,
  };
  const { fleet, log } = fleetOf(driver);
  await fleet.listMachines(live);
  await fleet.listMachines(live);
  const told = log.lines.filter(({ message }) => message.includes('not ours'));
  expect(told.map(({ fields }) => fields)).toEqual([{ provider: 'rack', foreign: 1, untagged: 1 }]);
  for (const id of ['f', 'u']) {
    for (const act of actsOn(id)) expect(await kindOf(act(fleet))).toBe('conflict');
  }
});
const actsOn = (id: string): ((fleet: FleetProvider) => Promise<unknown>)[] => [
  (fleet) => fleet.deprovisionMachine(id, live),
  (fleet) => fleet.rebootMachine(id, 'force', live),
  (fleet) => fleet.reinstallMachine(id, live),
  (fleet) => fleet.setPower(id, 'off', live),
  (fleet) => fleet.setTags(id, {}, live),
];

test('shares one listing among concurrent callers, unless something changed meanwhile', async () => {
  const asked: (() => void)[] = [];
  const listMachines = () =>
    new Promise<{ machines: []; complete: true }>((resolve) =>
      asked.push(() => resolve({ machines: [], complete: true })),
    );
  const { fleet } = fleetOf(scripted({ listMachines, setTags: async () => undefined }));
  const early = [fleet.listMachines(live), fleet.listMachines(live)];
  await settled();
  expect(asked).toHaveLength(1);
  await fleet.setTags('a', {}, live);
  const late = fleet.listMachines(live);
  await settled();
  expect(asked).toHaveLength(2);
  for (const answer of asked) answer();
  await Promise.all([...early, late]);
});

test('continues a shared listing while anybody waits, and ends it with the last caller', async () => {
  let signal: AbortSignal | undefined;
  const listMachines: Provider['listMachines'] = (_filter, options) => {
    signal = options.signal;
    return new Promise((_, reject) =>
      options.signal.addEventListener('abort', () => reject(new Error('ended'))),
    );
  };
  const { fleet } = fleetOf(scripted({ listMachines }));
  const [one, other] = [new AbortController(), new AbortController()];
  const kinds = [one, other].map((each) => kindOf(fleet.listMachines({ signal: each.signal })));
  one.abort();
  expect(await kinds[0]).toBe('aborted');
  expect(signal?.aborted).toBe(false);
  other.abort();
  expect(await kinds[1]).toBe('aborted');
  expect(signal?.aborted).toBe(true);
});

test('merges our tags over the shared ones in a creation, and adds its own secret', async () => {
  const orders: CreateRequest[] = [];
  const createMachine: Provider['createMachine'] = async (request) => {
    orders.push(request);
    return machine('1', { tags: request.tags });
  };
  const sharedTags = { team: 'red', [PLAN_TAG]: 'shared' };
  const site = { initCommand: 'echo hello', sharedTags, image: 'debian' };
  const { fleet } = fleetOf(scripted({ createMachine }), site);
  const made = await fleet.createMachine(order(), live);
  await fleet.createMachine(order(), live);
  const [first, second] = orders;
  const secret = /printf %s ([0-9a-f]{40}) > /.exec(first!.initCommand)![1]!;
  expect(first!.initCommand).toContain(`${secret} > ${INSTANCE_SECRET_PATH}\n`);
  const hash = createHash('sha256').update(secret).digest('hex');
  expect(first!.tags).toEqual({
    team: 'red',
    [SET_ID_TAG]: SET_ID,
    [WITNESS_TAG]: WITNESS,
    [PLAN_TAG]: 'small',
    [SECRET_TAG]: hash,
  });
  expect(first).toMatchObject({ image: 'debian', plan: 'small', resumed: false });
  expect(first!.initCommand).toMatch(/umask 0177\n/);
  expect(first!.initCommand).toMatch(/\necho hello$/);
  expect(second!.tags[SECRET_TAG]).not.toBe(hash);
  expect(made).toMatchObject({ id: '1', ownership: 'ours' });
});

test('refuses a first-boot script that would be too long at once', () => {
  expect(() => fleetOf(scripted(), { initCommand: 'x'.repeat(1_000) })).toThrow(UsageError);
});

test.each<[string, ReturnType<typeof unused> | undefined]>([
  ['nothing', undefined],
  ['a machine in use', unused('s', { availability: 'KnownUsed' })],
  ['free capacity with another mark', unused('s', { ownership: 'foreign' })],
])('vector 4: rejects a creation on %s as invalid, and sends nothing', async (_, from) => {
  let asked = 0;
  const createMachine: Provider['createMachine'] = async () => {
    asked += 1;
    return machine('1');
  };
  const { fleet } = fleetOf(scripted({ createMachine }));
  const call = fleet.createMachine({ ...order(), unused: from! }, live);
  expect([await kindOf(call), asked]).toEqual(['invalid', 0]);
});

test.each<[string, Partial<DriverMachine>]>([
  ['it has no id', { id: null, availability: 'PossiblyUsed' }],
  ['it is free', { availability: 'KnownUnused' }],
  ['machine 1: ', { plan: 'a\0' }],
  ['it is on slot-2', { reservationId: 'slot-2' }],
])(
  'assumes that a creation with a wrong answer may have made a machine: %s',
  async (fault, change) => {
    const made = async () => machine('1', { reservationId: 'slot-1', ...change });
    const call = fleetOf(scripted({ createMachine: made })).fleet.createMachine(order(), live);
    await expect(call).rejects.toMatchObject({
      kind: 'permanent',
      outcome: 'unknown',
      message: expect.stringContaining(fault),
    });
  },
);

test('stops the creation when the announcement fails, and passes on that error unchanged', async () => {
  const failure = new Error('the lease is lost');
  let made = 0;
  const createMachine: Provider['createMachine'] = async ({ onAttempt }) => {
    await onAttempt({ attempts: 1, ambiguous: false });
    made += 1;
    return machine('1');
  };
  const { fleet } = fleetOf(scripted({ createMachine }));
  const onAttempt = () => Promise.reject(failure);
  await expect(fleet.createMachine(order({ onAttempt }), live)).rejects.toBe(failure);
  expect(made).toBe(0);
});

test('does not call a driver for operations that it lacks', async () => {
  const nothing = Object.fromEntries(Object.keys(EVERYTHING).map((key) => [key, false]));
  const capabilities = { ...EVERYTHING, ...nothing, create: true, maxConcurrency: 1 };
  const asked: string[] = [];
  const spying = new Proxy(scripted({ capabilities }), {
    get: (target, key: keyof Provider) => {
      if (typeof target[key] === 'function') asked.push(key);
      return target[key];
    },
  });
  const { fleet } = fleetOf(spying);
  for (const act of actsOn('a')) expect(await kindOf(act(fleet))).toBe('not-implemented');
  expect(await kindOf(fleet.verifyHostKey(unused('s'), Buffer.of(), live, NO_SESSION))).toBe(
    'not-implemented',
  );
  expect(asked.filter((name) => name !== 'getMachine')).toEqual([]);
});

test('succeeds when it gives back a machine that is already gone', async () => {
  const getMachine = () => Promise.reject(new ProviderError('not-found', 'gone'));
  const listMachines = async () => ({ machines: [], complete: true });
  await fleetOf(scripted({ getMachine, listMachines })).fleet.deprovisionMachine('a', live);
});

test('changes only tags with our prefix', async () => {
  const written: Tags[] = [];
  const setTags: Provider['setTags'] = async (_id, tags) => void written.push(tags);
  const tags = { [SET_ID_TAG]: SET_ID, [WITNESS_TAG]: WITNESS, theirs: 'kept' };
  const getMachine = async (id: string) => machine(id, { tags });
  const { fleet } = fleetOf(scripted({ getMachine, setTags }));
  await fleet.setTags('a', { 'shepherd-IdleBehavior': 'hold' }, live);
  expect(written).toEqual([
    { [SET_ID_TAG]: SET_ID, [WITNESS_TAG]: WITNESS, 'shepherd-IdleBehavior': 'hold' },
  ]);
});

test('sets the mark first in an assimilation, and trusts it before it can be read', async () => {
  const written: Tags[] = [];
  const setTags: Provider['setTags'] = async (_id, tags) => void written.push(tags);
  const getMachine = async (id: string) => machine(id, { tags: { theirs: 'kept' } });
  const { fleet } = fleetOf(scripted({ getMachine, setTags }));
  const made = await fleet.assimilate('a', WITNESS, live);
  expect(written).toEqual([{ [SET_ID_TAG]: SET_ID, [WITNESS_TAG]: WITNESS }]);
  expect(made).toMatchObject({ ownership: 'ours', tags: { theirs: 'kept', ...written[0] } });
  const [before, after] = [machine('b', { tags: {} }), foreign('b')];
  const answers = [before, after];
  const late = fleetOf(scripted({ getMachine: async () => answers.shift()!, setTags })).fleet;
  expect(await kindOf(late.assimilate('b', WITNESS, live)), 'another came first').toBe('conflict');
  written.pop();
  const taken = fleetOf(scripted({ getMachine: async () => foreign('a'), setTags })).fleet;
  expect(await kindOf(taken.assimilate('a', WITNESS, live))).toBe('conflict');
  expect(written).toHaveLength(1);
});

test('sets a new secret in a reinstallation, and keeps our tags', async () => {
  const asked: ReinstallRequest[] = [];
  const reinstallMachine: Provider['reinstallMachine'] = async (_id, request) => {
    asked.push(request);
    return { operationRef: 'x' };
  };
  const tags = { [SET_ID_TAG]: SET_ID, [SECRET_TAG]: 'old', theirs: 'kept' };
  const getMachine = async (id: string) => machine(id, { tags });
  const { fleet } = fleetOf(scripted({ getMachine, reinstallMachine }), { sharedTags: { a: 'b' } });
  await fleet.reinstallMachine('a', live);
  const [{ tags: given, initCommand }] = asked as [ReinstallRequest];
  expect(Object.keys(given).toSorted()).toEqual(['a', SECRET_TAG, SET_ID_TAG].toSorted());
  expect(given[SECRET_TAG]).toMatch(/^[0-9a-f]{64}$/);
  expect(initCommand).not.toContain(given[SECRET_TAG]);
});

test('rejects an answer about another machine', async () => {
  const { fleet } = fleetOf(scripted({ getMachine: async () => machine('b') }));
  expect(await kindOf(fleet.getMachine('a', live))).toBe('permanent');
});

test('looks for the creation key in a listing if the driver has no search', async () => {
  const marked = (owner: string) =>
    machine('a', { tags: { [SET_ID_TAG]: owner, [WITNESS_TAG]: WITNESS } });
  const find = (driver: Provider) => fleetOf(driver).fleet.findByWitness(WITNESS, 'slot-a', live);
  expect(await find(listing(machine('b'), marked(SET_ID)))).toMatchObject({ id: 'a' });
  expect(await find(listing(machine('b')))).toBeNull();
  expect(await kindOf(find(listing(marked(OTHER_SET_ID))))).toBe('race-lost');
  const partial = scripted({ listMachines: async () => ({ machines: [], complete: false }) });
  expect(await kindOf(find(partial)), 'nothing follows from absence').toBe('transient');
});

test('treats a slot as reusable once it is listed as free if the driver has no check', async () => {
  const { fleet } = fleetOf(listing(machine('a'), free('slot-b')));
  const answers = ['slot-a', 'slot-b', 'slot-c'].map((slot) => fleet.isReusable(slot, live));
  expect(await Promise.all(answers)).toEqual([false, true, false]);
});
