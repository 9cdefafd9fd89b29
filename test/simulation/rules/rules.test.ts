import { expect, test } from 'vitest';
import { WorkConflict } from '../../../src/domain/errors.ts';
import { machineId } from '../../../src/domain/ids.ts';
import type { LadderRow, MachineRow, Process } from '../../../src/domain/machine.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { targetOf } from '../../contracts/requests-of.ts';
import { newMachine } from '../../doubles/mem-bmdb/tables.ts';
import { machineRow, memberRow, provided } from '../../support/facts.ts';
import { forge, type Forged } from './forge.ts';
import { RULES } from './index.ts';
import { REPAIR_LIES } from './repair-lies.ts';
import { MINUTE } from './rule.ts';

const healthy = { state: 'Running', substate: 'healthy' };
/** The machine is silent, and daemon `a` works on it. */
function recovering(forged: Forged) {
  forged.heard(11 * MINUTE);
  forged.lease('ShepherdRecovery');
  forged.machine.permitGrantedAtMs = forged.tables.now();
}
const note = (forged: Forged, change: Partial<LadderRow>) =>
  forged.ask('a', 'bmdb.work.note', [{ kind: 'recoveryAsked' }], () => forged.ladder(change));
/** Daemon `by` begins work; `run` does what the claim does to the rows. */
const claims = ({ ask }: Forged, run: () => unknown) => ask('a', 'bmdb.session.claim', [], run);
const create = ({ ask, slotId }: Forged) => {
  const request = { unused: { reservationId: slotId }, tags: { [WITNESS_TAG]: 'w' } };
  return ask('a', 'provider.createMachine', [request, { operationId: 'w' }]);
};
const reboot = ({ ask, device }: Forged, by = 'a') =>
  ask(by, 'provider.rebootMachine', [device.id]);

/**
 * Work fails repeatedly, and each failure stores the next wait in seconds. `share` of the last wait
 * is kept.
 */
function fails(failures: { waits: number[]; share?: number; process?: Process }) {
  const { waits, share = 1, process = 'ShepherdAgentStart' } = failures;
  return async ({ ask, row, tables }: Forged) => {
    for (const lastIntervalSeconds of waits) {
      const untilMs = tables.now() + lastIntervalSeconds * 1_000 * share;
      await ask('a', 'bmdb.work.fail', [], () =>
        row({ backoffs: [{ process, cause: '', lastIntervalSeconds, untilMs }] }),
      );
    }
  };
}

/** Puts one more device on each of these slots, all with the creation key `w`. */
function crowd({ world, pass }: Forged, ...slots: readonly string[]) {
  for (const reservationId of slots) {
    world.provider.world.add({
      ...{ reservationId, hostname: 'b', initCommand: '', publicKey: '', fate: 'up' },
      ...{ tags: { [WITNESS_TAG]: 'w' }, isUp: true },
    });
  }
  return pass(2);
}

/** Adds a server for the machine at the balancer, one more with each call. */
function serverOf({ balancer }: Forged['world'], { machineId: id, provided: at }: MachineRow) {
  const spec = { kind: 'server', name: `${id}.http`, address: at!.address!, number: 80 } as const;
  balancer!.put({ spec });
}

/** Heartbeats arrive from now on, and the agents of three machines report for this many minutes. */
async function silentFleet({ tables, heard, machine, daemon, pass }: Forged, minutes: number) {
  daemon('a', healthy);
  const up = { ...tables.guard.rows.get('fleet')!, ingestUpSinceMs: tables.now() };
  tables.guard.rows.set('fleet', up);
  for (let at = 0; at < 50; at += 1) {
    if (at < minutes) heard(0);
    for (const n of [2, 3]) {
      const id = machineId(`eeeeeeee-0000-4000-8000-00000000000${n}`);
      tables.machines.set(id, newMachine({ ...machine.row, machineId: id }));
    }
    await pass(1);
  }
}

/** Acts that break a rule. Each title is the rule, a colon, and words of the rule's report. */
const LIES: Readonly<Record<string, (forged: Forged) => unknown>> = {
  'claim-is-allowed: nothing is wrong': (forged) => {
    forged.heard(MINUTE);
    return claims(forged, () => forged.lease('ShepherdRecovery'));
  },
  'claim-is-allowed: it is held': (forged) => {
    forged.heard(11 * MINUTE);
    forged.hold('no-recover');
    return claims(forged, () => forged.lease('ShepherdRecovery'));
  },
  'work-is-begun: due for its agent': ({ pass, daemon }) => {
    daemon('a', { state: 'Provisioned', substate: 'waiting' });
    return pass(20);
  },
  'work-is-begun: due for recovery': (forged) => silentFleet(forged, 20),
  'work-is-begun: due to be given back': ({ pass, daemon, row, tables }) => {
    daemon('a', { state: 'Provisioned', substate: 'waiting' });
    const wish = { requestedAtMs: tables.now(), requestedBy: 'ann', reason: '', drain: null };
    row({ deprovision: { ...wish, returnToPool: true, attempts: 0, askedAtMs: null } });
    return pass(20);
  },
  'work-ends': ({ lease, pass }) => {
    lease('ShepherdAgentStart');
    return pass(25);
  },
  'waits-grow: and ends after 0.1 times that': fails({ waits: [300], share: 0.1 }),
  'waits-grow: waits 20000 s, which is too long': fails({ waits: [20_000] }),
  'waits-grow: waits 11 s after its first failure': fails({ waits: [11] }),
  'waits-grow: waits 350 s after 400 s': fails({ waits: [300, 400, 350] }),
  'waits-grow: it starts over though nothing was heard': fails({
    ...{ process: 'ShepherdRecovery', waits: [60, 120, 60] },
  }),
  'ladder-is-climbed: after 0 attempts at rebooting': (forged) => {
    recovering(forged);
    return note(forged, { rung: 'powerCycling', askedRung: 'powerCycling' });
  },
  'ladder-is-climbed: attempt 4': (forged) => {
    recovering(forged);
    forged.ladder({ attempts: 3, askedAtMs: 1 });
    forged.recorder.look();
    return note(forged, { attempts: 4 });
  },
  'a-person-is-asked-last': ({ ask, row }) =>
    ask('a', 'bmdb.work.fail', [], () =>
      row({ quarantine: { kind: 'needsHuman', reason: '', untilMs: null, cause: null } }),
    ),
  'deed-under-lease: by a, which it does not hold': reboot,
  'deed-under-lease: by b, which it does not hold': (forged) => {
    recovering(forged);
    return reboot(forged, 'b');
  },
  'deed-is-noted: it is not noted': (forged) => {
    recovering(forged);
    return reboot(forged);
  },
  'deed-is-noted: for the second time': async (forged) => {
    recovering(forged);
    forged.ladder({});
    await reboot(forged);
    await reboot(forged);
  },
  'nobody-well-is-disturbed': (forged) => {
    recovering(forged);
    forged.heard(MINUTE);
    forged.ladder({});
    return reboot(forged);
  },
  'left-out-is-left-alone: which is chronic': (forged) => {
    recovering(forged);
    forged.ladder({ askedAtMs: forged.tables.now() });
    forged.row({ quarantine: { kind: 'needsHuman', reason: '', untilMs: null, cause: 'chronic' } });
    return reboot(forged);
  },
  'a-person-is-asked-last: chronic after 0 recoveries': ({ ask, row }) =>
    ask('a', 'bmdb.work.fail', [], () =>
      row({ quarantine: { kind: 'needsHuman', reason: '', untilMs: null, cause: 'chronic' } }),
    ),
  'ours-and-not-held: no tag': (forged) => {
    recovering(forged);
    forged.world.provider.world.change(forged.device.id, { tags: {} });
    return reboot(forged);
  },
  'ours-and-not-held: a hold': (forged) => {
    recovering(forged);
    forged.hold('no-recover');
    return reboot(forged);
  },
  'creation-is-announced': create,
  'one-provisioner': create,
  'one-connection-each': ({ recorder }) => {
    const call = { path: 'shell.ssh.execute', args: [['agent']] };
    const never = new Promise<void>(() => {});
    for (const _ of [1, 2]) void recorder.of('a').around(call, () => never);
  },
  'permits-are-few': async (forged) => {
    const { tables } = forged;
    await claims(forged, () => {
      for (const n of [2, 3]) {
        const at = machineId(`eeeeeeee-0000-4000-8000-00000000000${n}`);
        tables.machines.set(at, newMachine(machineRow({ machineId: at, provided: provided({}) })));
      }
    });
    await claims(forged, () => {
      for (const machine of tables.machines.values()) machine.permitGrantedAtMs = 1;
    });
  },
  'no-permit-in-a-freeze': (forged) => {
    forged.freeze('manual');
    return claims(forged, () => recovering(forged));
  },
  'permit-is-returned': (forged) => {
    recovering(forged);
    forged.recorder.look();
    return forged.ask('a', 'bmdb.work.fail', [], () => (forged.machine.leases = []));
  },
  'freeze-has-a-reason': async ({ freeze, ask }) => {
    freeze('manual');
    await ask('a', 'bmdb.guard.assess');
    await ask('a', 'bmdb.guard.assess', [], () => freeze(null));
  },
  'many-silent-freeze': (forged) => silentFleet(forged, 20),
  'freeze-ends': (forged) => {
    forged.freeze('silence');
    return silentFleet(forged, 60);
  },
  'no-permit-lies-idle': (forged) => {
    forged.daemon('a', healthy);
    forged.machine.permitGrantedAtMs = 1;
    return forged.pass(10);
  },
  'no-permit-beyond-reach': (forged) => {
    forged.daemon('a', healthy);
    forged.row({ provided: provided({ address: null }) });
    recovering(forged);
    forged.ladder({});
    return forged.pass(20);
  },
  'requests-are-settled': async ({ pass, daemon, world }) => {
    daemon('a', healthy);
    const what = { verb: 'freeze', scope: 'fleet' } as const;
    await world.bmdb.requests.submit({ key: 'k', by: 'ann', reason: 'r', what });
    await pass(15);
  },
  'an-order-is-carried-out-once: k is not open': (forged) => note(forged, { orderKey: 'k' }),
  'an-order-is-carried-out-once: for k again': async (forged) => {
    const { world, machine } = forged;
    const what = { verb: 'reboot', target: targetOf(machine.row), force: false } as const;
    await world.bmdb.requests.submit({ key: 'k', by: 'ann', reason: 'r', what });
    recovering(forged);
    for (let at = 0; at < 2; at += 1) {
      await note(forged, { orderKey: 'k' });
      await reboot(forged);
      world.clock.increment(1);
    }
  },
  'let-go-gets-no-traffic': ({ ask, row, world, machine }) => {
    serverOf(world, machine.row);
    const members = [memberRow({ machineId: machine.row.machineId, state: 'drained' })];
    return ask('a', 'bmdb.session.balancing.write', [], () => row({ members }));
  },
  'no-twins': async ({ world, machine, daemon, pass }) => {
    daemon('a', healthy);
    for (let at = 0; at < 2; at += 1) serverOf(world, machine.row);
    await pass(45);
  },
  'machines-are-spared': async (forged) => {
    recovering(forged);
    forged.ladder({});
    for (let at = 0; at < 9; at += 1) await reboot(forged);
  },
  'rest-is-cheap': async ({ ask, pass }) => {
    await pass(130);
    for (let at = 0; at < 300; at += 1) await ask('a', 'provider.setTags');
    await pass(60);
  },
  'budget-of-calls': async ({ ask }) => {
    for (let at = 0; at < 200; at += 1) await ask('a', 'provider.setTags');
  },
  'gone-means-gone': async ({ ask, row, recorder }) => {
    const call = { path: 'provider.listMachines', args: [] };
    await recorder.of('a').around(call, async () => ({ machines: [], complete: false }));
    const missing = { sinceMs: 1, seen: 1 };
    await ask('a', 'bmdb.session.updateProvided', [], () => row({ missing }));
  },
  'success-is-true: no agent was executed': ({ ask, row }) =>
    ask('a', 'bmdb.work.finish', [{ kind: 'agentStarted', hostKey: null }], () => row({})),
  'success-is-true: no agent was stopped': (forged) => {
    recovering(forged);
    forged.ladder({ askedRung: 'restartingAgent' });
    forged.recorder.look();
    return forged.ask('a', 'bmdb.work.finish', [{ kind: 'recovered' }], () => forged.row({}));
  },
  'power-is-left-on': async ({ ask, device, world, pass, daemon }) => {
    daemon('a', healthy);
    await ask('a', 'provider.setPower', [device.id, 'off']);
    world.provider.world.change(device.id, { power: 'off' });
    await pass(40);
  },
  'work-is-not-dropped': async ({ ask, pass, tables, machine, lease, daemon }) => {
    daemon('a', healthy);
    await pass(10);
    lease('ShepherdRecovery');
    const cause = 'the task ended before its time';
    const line = { ...machine.leases[0]!, component: null, event: 'Canceled', cause } as const;
    await ask('a', 'bmdb.work.cancel', [], () => tables.history.push({ seq: 1, atMs: 1, ...line }));
  },
  'connections-end': async ({ recorder, pass }) => {
    const call = { path: 'shell.connect', args: [{ host: '192.0.2.1' }] };
    await recorder.of('a').around(call, async () => ({}));
    await pass(10);
  },
  'nothing-crashes': ({ daemon, pass }) => {
    const log = { lines: [{ level: 'error', message: 'an actor crashed', fields: {} }] };
    daemon('a', healthy, {}, { log });
    return pass(2);
  },
  'one-session-each': ({ daemon, pass, tables }) => {
    daemon('a', healthy);
    tables.sessions.clear();
    return pass(10);
  },
  'claims-rarely-collide': async (forged) => {
    await forged.pass(10);
    const lost = () => Promise.reject(new WorkConflict('too late'));
    for (let at = 0; at < 30; at += 1) await claims(forged, lost).catch(() => undefined);
    forged.recorder.end();
  },
  'counts-add-up': ({ daemon, pass }) => {
    daemon('a', healthy, {}, {}, { Running: 2 });
    return pass(5);
  },
  'nobody-unwell-in-calm': ({ pass }) => pass(20),
  'state-is-true': ({ daemon, pass }) => {
    daemon('a', healthy);
    return pass(10);
  },
  'explanation-is-true': ({ daemon, pass }) => {
    const blockedBy = [{ kind: 'hold', endsAtMs: null }];
    daemon('a', { state: 'Provisioned', substate: 'waiting' }, { blockedBy });
    return pass(10);
  },
  'next-step-is-true': async (forged) => {
    const next = { work: 'agentStart', atMs: forged.tables.now() + 60 * MINUTE };
    forged.daemon('a', { state: 'Provisioned', substate: 'waiting' }, { next });
    await forged.pass(10);
    await claims(forged, () => forged.lease('ShepherdAgentStart'));
  },
  'devices-are-known: is unknown': ({ row, ask }) =>
    ask('a', 'bmdb.session.poke', [], () => row({ provided: null })),
  'devices-are-known: slot': (forged) => crowd(forged, forged.slotId),
  'devices-are-known: witness w': (forged) =>
    crowd(forged, ...forged.world.provider.reservationIds().slice(1, 3)),
  'devices-are-known: device of a machine': ({ tables, machine, ask }) => {
    const other = machineId('eeeeeeee-0000-4000-8000-000000000002');
    return ask('a', 'bmdb.session.poke', [], () =>
      tables.machines.set(other, newMachine({ ...machine.row, machineId: other })),
    );
  },
  evidence: ({ recorder, lease }) => (lease('ShepherdAgentStart'), recorder.end()),
  ...REPAIR_LIES,
};
const ruleOf = (title: string) => title.split(':', 1)[0]!;

test.each(Object.entries(LIES))('reports %s', async (title, act) => {
  const forged = await forge();
  await act(forged);
  const [rule, why = ''] = title.split(': ');
  const said = forged.said.filter((line) => line.startsWith(`${rule}: `));
  expect(said.join('\n')).toContain(why);
  expect(said).not.toEqual([]);
});

test('has a sentence and a forged record for each rule', () => {
  const told = new Set(Object.keys(LIES).map(ruleOf));
  expect(RULES.map(({ id }) => id).filter((id) => !told.has(id))).toEqual([]);
  expect(RULES.every(({ sentence }) => sentence.length > 20)).toBe(true);
});
