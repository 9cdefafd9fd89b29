import type { NewRoll } from '../../../src/adapters/bmdb/port.ts';
import type { RepairCase } from '../../../src/domain/cases.ts';
import { machineId } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { targetOf } from '../../contracts/requests-of.ts';
import { reportCondition } from '../../doubles/mem-bmdb/conditions.ts';
import { newMachine, type MemRequest } from '../../doubles/mem-bmdb/tables.ts';
import { machineRow, memberRow, PROVIDER, provided } from '../../support/facts.ts';
import type { Forged } from './forge.ts';
import { MINUTE } from './rule.ts';

/** Acts that break a rule about repairs or planned work, as in `LIES`. */

type Act = (forged: Forged) => unknown;
const inTurn =
  (...acts: readonly Act[]): Act =>
  async (forged) => {
    for (const act of acts) await act(forged);
  };
const pass =
  (minutes: number): Act =>
  (forged) =>
    forged.pass(minutes);
/** Daemon `a` runs and shows the machine. */
const healthy: Act = ({ daemon }) => daemon('a', { state: 'Running', substate: 'healthy' });

/** Puts machines on all other slots. */
const fill: Act = ({ world, tables, slotId }) => {
  for (const [at, reservationId] of world.provider.reservationIds().entries()) {
    if (reservationId === slotId) continue;
    const id = machineId(`eeeeeeee-0000-4000-8000-00000000001${at}`);
    const place = provided({ reservationId, providerId: `device ${at}`, address: null });
    tables.machines.set(id, newMachine(machineRow({ machineId: id, provided: place })));
  }
};

/** Daemon `a` writes these cases of the slot, in place of all others. */
const cases =
  (...changes: readonly Partial<RepairCase>[]): Act =>
  ({ ask, tables, slotId }) =>
    ask('a', 'bmdb.cases.update', [], () => {
      tables.cases = changes.map((change, at) => ({
        ...{ caseId: String(at), provider: PROVIDER, slotId, machineId: null, title: 'a disk' },
        ...{ part: null, ticketUrl: null, openedAtMs: 1, openedBy: 'ann' },
        ...{ closedAtMs: null, closedBy: null, outcome: null, ...change },
      }));
    });
/** Daemon `a` writes the machine's row. */
const row =
  (change: Partial<MachineRow>): Act =>
  (forged) =>
    forged.ask('a', 'bmdb.work.cancel', [], () => forged.row(change));
const acceptance = (state: 'passed' | 'failed') =>
  row({
    acceptance: {
      ...{ state, cause: 'first', held: true, reason: 'memory' },
      ...{ askedAtMs: 1, handedOutAtMs: null, endedAtMs: 1 },
    },
  });
const condition =
  (type: string): Act =>
  ({ tables, slotId }) =>
    reportCondition(tables, {
      ...{ provider: PROVIDER, slotId, machineId: null, type, validForMs: null },
      ...{ source: 'agent', status: 'True', reason: '', detail: '' },
    });
const quarantine = (cause: 'retired' | null) =>
  row({ quarantine: { kind: 'needsHuman', reason: '', untilMs: null, cause } });
/** A machine is going to be made on the slot. */
const intend =
  (witness: string, replaces = false): Act =>
  ({ ask, tables, slotId }) =>
    ask('a', 'bmdb.session.intents.open', [], () => {
      const intent = { witness, slotId, provider: PROVIDER, state: 'open', replaces };
      tables.intents.set(witness as never, { ...intent, createdAtMs: tables.now() } as never);
    });

/** A roll over the machine and another one, which daemon `a` has known for minutes. */
const roll = (change: Partial<NewRoll> = {}) =>
  inTurn(
    fill,
    healthy,
    ({ tables, world }) => {
      const rows = [...tables.machines.values()].slice(0, 2).map((each) => each.row);
      return world.bmdb.rolls.create({
        ...{ id: 'roll', action: 'reboot', drain: null, filter: '', canary: 0, batch: 1 },
        slots: rows.map((each) => ({ ...targetOf(each), machineId: each.machineId })),
        ...{ pauseMs: 10 * MINUTE, stopOnFailure: true, by: 'ann', role: 'operator' },
        ...{ proven: true, reason: 'new kernel', ...change },
      });
    },
    pass(5),
  );
/** Daemon `a` orders one machine for the roll. */
const order =
  (at: number): Act =>
  ({ ask, world, tables }) => {
    const target = targetOf([...tables.machines.values()][at]!.row);
    const key = `roll/${target.provider}/${target.slotId}`;
    const what = { verb: 'reboot', target, force: false } as const;
    const request = { key, by: 'ann', reason: 'r', what };
    return ask('a', 'bmdb.requests.submit', [], () => world.bmdb.requests.submit(request));
  };
const settle =
  (state: MemRequest['state']): Act =>
  ({ ask, tables }) =>
    ask('a', 'bmdb.session.applyRequest', [], () => {
      for (const [key, each] of tables.requests)
        tables.requests.set(key, { ...each, state, settledAtMs: tables.now() });
    });
/** Daemon `a` lets the roll go on. */
const next: Act = ({ ask, tables }) =>
  ask('a', 'bmdb.rolls.step', [], () =>
    tables.rolls.set('roll', { ...tables.rolls.get('roll')!, position: 1 }),
  );
const pause: Act = ({ world }) => world.bmdb.rolls.control('roll', 'pause', 'ann');
const goesOn = roll({ stopOnFailure: false });

export const REPAIR_LIES: Readonly<Record<string, Act>> = {
  'cases-are-few: is one of 2': cases({}, {}),
  'cases-are-few: is open again': inTurn(cases({ closedAtMs: 2 }), cases({})),
  'cases-are-few: is deleted': inTurn(cases({}), cases()),
  'cases-are-few: is closed by a': inTurn(cases({}), cases({ closedAtMs: 2, closedBy: 'ann' })),
  'a-person-is-told: has no case': inTurn(healthy, quarantine(null), pass(30)),
  'a-person-is-told: no case': inTurn(fill, healthy, condition('disk-failing'), pass(30)),
  'condition-interrupts-nobody: acceptance-failed': inTurn(
    condition('acceptance-failed'),
    ({ heard, ladder }) => (heard(MINUTE), ladder({})),
    ({ ask, device }) => ask('a', 'provider.rebootMachine', [device.id]),
  ),
  'acceptance-is-true: with no check': acceptance('passed'),
  'nobody-serves-unaccepted: it is failed': inTurn(
    acceptance('failed'),
    pass(5),
    row({ members: [memberRow({ state: 'active' })] }),
  ),
  'retired-stays-out: a machine is made': inTurn(
    ({ hold }) => hold('retired'),
    pass(3),
    intend('w'),
  ),
  'retired-stays-out: is in use again': inTurn(
    ({ hold }) => hold('retired'),
    quarantine('retired'),
    pass(3),
    row({ quarantine: null }),
  ),
  'replacements-are-few: 3 machines, with a target of 1': inTurn(intend('v'), intend('w')),
  'replacements-are-few: 2 replacements': inTurn(intend('v', true), intend('w', true)),
  'replacements-are-few: while frozen': inTurn(({ freeze }) => freeze('manual'), intend('w', true)),
  'replacements-are-few: no window is open': intend('w', true),
  'roll-begins-in-its-turn: it is paused': inTurn(roll(), pause, pass(3), order(0)),
  'roll-begins-in-its-turn: it is not its turn': inTurn(roll(), order(1)),
  'roll-begins-in-its-turn: after the last batch': inTurn(roll(), next, order(1)),
  'roll-begins-in-its-turn: recovery is frozen': inTurn(
    roll(),
    ({ freeze }) => freeze('manual'),
    order(0),
  ),
  'roll-begins-in-its-turn: no window is open': inTurn(roll(), order(0)),
  'roll-has-one-batch: its order is open': inTurn(goesOn, order(0), next),
  'roll-has-one-batch: it has no order': inTurn(goesOn, next),
  'roll-has-one-batch: its order is refused': inTurn(roll(), order(0), settle('refused'), next),
  'roll-has-one-batch: was not heard since': inTurn(roll(), order(0), settle('done'), next),
  'roll-has-one-batch: it is gone': inTurn(roll(), row({ provided: null }), next),
  'roll-stops: though it failed': inTurn(roll(), order(0), settle('refused'), pass(60)),
};
