import { afterEach, describe, expect, test } from 'vitest';
import type { BmdbSession, Work } from '../../src/adapters/bmdb/port.ts';
import type { ShellSession } from '../../src/adapters/ssh/port.ts';
import { createFault, EFFECTS, type Fault } from '../support/fault-battery.ts';
import { slotIdOf } from '../../src/domain/ids.ts';
import { type OrderVerb } from '../../src/domain/verbs.ts';
import { ladderRow, PROVIDER } from '../support/facts.ts';
import {
  createSmallWorld,
  type SmallWorld,
  type SmallWorldOptions,
} from '../support/small-world.ts';
import { advance, settled } from '../doubles/simulated-clock.ts';
import type { StandingRung } from '../../src/domain/recovery/rung-names.ts';

const MINUTE = 60_000;

/** Everything that the tasks and the provisioner ask of the world, each call open to a fault. */
const openToFaults = (fault: Fault): SmallWorldOptions => ({
  shell: (shell) =>
    fault.wrap(
      shell,
      { connect: 'connect' },
      {
        connect: (session: ShellSession) =>
          fault.wrap(session, { upload: 'upload', execute: 'execute' }),
      },
    ),
  driven: (driven) =>
    fault.wrap(
      { prepare: async () => undefined, ...driven },
      {
        listMachines: 'list',
        getMachine: 'getMachine',
        createMachine: 'createMachine',
        rebootMachine: 'rebootMachine',
        setPower: 'setPower',
        reinstallMachine: 'reinstallMachine',
        deprovisionMachine: 'deprovisionMachine',
        isReusable: 'isReusable',
        prepare: 'prepare',
      },
    ),
  bmdb: (bmdb) =>
    fault.wrap(
      bmdb,
      { scan: 'scan', readMachine: 'readMachine' },
      { openSession: async (session: Promise<BmdbSession>) => sessionOpenTo(fault, await session) },
    ),
});

const sessionOpenTo = (fault: Fault, session: BmdbSession): BmdbSession =>
  fault.wrap(
    {
      ...session,
      intents: fault.wrap(session.intents, { open: 'open', progress: 'progress', adopt: 'adopt' }),
    },
    { claim: 'claim', settle: 'settle', lease: 'lease' },
    {
      claim: (work: Work) =>
        fault.wrap(work, { note: 'note', finish: 'finish', fail: 'fail', cancel: 'cancel' }),
    },
  );

const STEPS = {
  provision: ['lease', 'scan', 'list', 'prepare', 'open', 'progress', 'createMachine', 'adopt'],
  deprovision: [
    'settle',
    'claim',
    'note',
    'deprovisionMachine',
    'getMachine',
    'isReusable',
    'finish',
    'readMachine',
  ],
  takeover: [
    'claim',
    'getMachine',
    'connect',
    'execute',
    'upload',
    'note',
    'finish',
    'readMachine',
  ],
  restartAgent: ['claim', 'getMachine', 'connect', 'execute', 'note', 'finish', 'readMachine'],
  reboot: ['claim', 'note', 'rebootMachine', 'getMachine', 'connect', 'execute', 'finish'],
  powerCycle: ['claim', 'note', 'setPower', 'getMachine', 'connect', 'execute', 'finish'],
  reinstall: ['claim', 'note', 'reinstallMachine', 'getMachine', 'connect', 'execute', 'finish'],
};
/** On which rung the machine is, when it falls silent. */
const RUNG_OF: Readonly<Record<string, StandingRung>> = {
  restartAgent: 'restartingAgent',
  reboot: 'rebooting',
  powerCycle: 'powerCycling',
  reinstall: 'reinstalling',
};

/** The agent is dead; but for the mildest rung its machine too, until it boots. */
function fallSilent(rung: StandingRung) {
  const [machine] = world.bmdb.tables.machines.values();
  const recovery = rung === 'restartingAgent' || rung === 'rebooting' ? null : ladderRow({ rung });
  machine!.row = { ...machine!.row, recovery };
  for (const host of world.hosts.values()) {
    host.killAgent();
    host.unreachable = rung !== 'restartingAgent';
  }
}

function askTo(verb: 'deprovision' | OrderVerb): Promise<unknown> {
  const [view] = world.views.values();
  const { slot, machineId } = view!;
  const target = { provider: PROVIDER, slotId: slotIdOf(slot), machineId };
  const what = {
    ...(verb === 'reboot' ? { verb, target, force: false } : { verb, target }),
    // The next machine on the slot is what shows that all is in order.
    ...(verb === 'deprovision' && { returnToPool: true }),
  };
  return world.bmdb.requests.file({ key: 'ann-1', by: 'ann', reason: 'test', what });
}
const cases = Object.entries(STEPS).flatMap(([task, steps]) =>
  steps.flatMap((step) => EFFECTS.map((effect) => [task, step, effect] as const)),
);

let world: SmallWorld;
let actor: Awaited<ReturnType<SmallWorld['fleet']>>;

async function begin(fault: Fault) {
  world = createSmallWorld({ machines: 1, ...openToFaults(fault) });
  actor = await world.fleet();
}
afterEach(async () => {
  actor.send({ type: 'fleet.stop' });
  await advance(world.clock, MINUTE);
  world.end();
  await settled();
  expect(actor.getSnapshot().value).toBe('stopped');
  expect(world.clock.pending).toBe(0);
});

async function untilRunning(limitMs: number) {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += MINUTE) {
    await advance(world.clock, MINUTE);
    const [view] = world.views.values();
    if (view?.state === 'Running' && view.substate === 'healthy') return;
  }
  throw new Error(`not Running: ${JSON.stringify([...world.views.values()])}`);
}

function expectOrder() {
  expect(world.provider.devices()).toHaveLength(1);
  expect(world.bmdb.tables.machines.size).toBe(1);
  expect(world.bmdb.tables.work).toEqual([]);
  expect(world.taskPool.busy).toBe(0);
  expect(world.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
}

describe('one fault at each step, and the machine runs in the end', () => {
  test.each(cases)('%s: %s %s', async (task, step, effect) => {
    const fault = createFault();
    // The job is asked for once: whoever has it keeps it.
    const isAtStart = step === 'lease';
    if (isAtStart) fault.arm(step, effect);
    await begin(fault);
    if (task === 'provision' && !isAtStart) fault.arm(step, effect);
    const rung = RUNG_OF[task];
    if (rung || task === 'deprovision') await untilRunning(20 * MINUTE);
    if (rung) {
      fallSilent(rung);
      await advance(world.clock, 5 * MINUTE);
    }
    if (task !== 'provision') fault.arm(step, effect);
    const [before] = world.bmdb.tables.machines.keys();
    const { tables } = world.bmdb;
    if (task === 'deprovision') await askTo('deprovision');
    await advance(world.clock, 6 * MINUTE);
    await untilRunning(90 * MINUTE);
    expect(fault.struck).toBe(true);
    expectOrder();
    for (const host of world.hosts.values()) expect(host.unreachable).toBe(false);
    if (task === 'deprovision') expect(tables.machines.has(before!), 'it is another').toBe(false);
  });
});

test.each(['restart-agent', 'reboot', 'reinstall'] as const)(
  '%s: what an operator ordered is done, though the database was away when it was to be noted',
  async (verb) => {
    const fault = createFault();
    await begin(fault);
    await untilRunning(20 * MINUTE);
    fault.arm('note', 'fails before');
    await askTo(verb);
    await advance(world.clock, 6 * MINUTE);
    await untilRunning(90 * MINUTE);
    expect(fault.struck).toBe(true);
    expectOrder();
    const read = world.bmdb.requests.read(['ann-1'], new AbortController().signal);
    expect(await read).toMatchObject([{ state: 'done' }]);
  },
);

describe('a failure that cannot be recorded', () => {
  test.each(['fails before', 'fails after'] as const)('fail: %s', async (effect) => {
    const fault = createFault();
    await begin(fault);
    while (world.hosts.size === 0) await advance(world.clock, 100);
    for (const host of world.hosts.values()) host.refusesKey = true;
    fault.arm('fail', effect);
    await advance(world.clock, 5 * MINUTE);
    expect(fault.struck).toBe(true);
    for (const host of world.hosts.values()) host.refusesKey = false;
    await untilRunning(90 * MINUTE);
    expectOrder();
  });

  test('a claim whose work cannot be given back is found and released', async () => {
    const fault = createFault();
    await begin(fault);
    await advance(world.clock, 100_000);
    fault.arm('claim', 'fails after');
    await untilRunning(90 * MINUTE);
    expect(world.log.count('work that nobody holds is released')).toBe(1);
    expectOrder();
  });
});
