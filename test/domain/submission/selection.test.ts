import { beforeEach, describe, expect, test } from 'vitest';
import { NotFound, UsageError } from '../../../src/domain/errors.ts';
import { idOf, machineStand, slotName, type MachineStand } from '../../commands/machine-stand.ts';

const HOLD = { verb: 'hold', kind: 'no-recover', untilMs: null } as const;
const REBOOT = { verb: 'reboot', force: false } as const;

let s: MachineStand;
beforeEach(() => {
  s = machineStand();
  const quarantine = {
    kind: 'needsHuman',
    reason: 'the ladder has ended',
    untilMs: null,
    cause: null,
  } as const;
  for (const at of [1, 2, 3]) s.add(at, at === 3 ? {} : { quarantine });
});

const targets = async (...of: Parameters<MachineStand['meant']>) =>
  (await s.meant(...of)).map(({ what }) => ('target' in what ? what.target : null));

describe('a machine name', () => {
  test('means the machine with this id or on this slot', async () => {
    const onSlot1 = [{ provider: 'metal', slotId: 'slot-1', machineId: idOf(1) }];
    expect(await targets(REBOOT, { name: idOf(1) })).toEqual(onSlot1);
    expect(await targets(REBOOT, { name: slotName(1) })).toEqual(onSlot1);
  });

  test('means the slot itself when the request is about slots', async () => {
    expect(await targets(HOLD, { name: slotName(1) })).toMatchObject([{ machineId: null }]);
  });

  test('is rejected when it means no machine or is malformed', async () => {
    await expect(s.meant(REBOOT, { name: idOf(9) })).rejects.toThrow(NotFound);
    await expect(s.meant(REBOOT, { name: 'metal/slot-9' })).rejects.toThrow(
      'no machine is on slot metal/slot-9; GET machines lists all',
    );
    for (const name of ['slot-1', 'rack7', 'Metal/slot-1', 'metal/']) {
      await expect(s.meant(REBOOT, { name }), name).rejects.toThrow(/is neither a machine's id/);
    }
  });

  test('must be an id when two machines claim the slot', async () => {
    const provided = { ...s.bmdb.tables.machines.get(idOf(1))!.row.provided!, providerId: 'other' };
    s.add(4, { provided });
    await expect(s.meant(REBOOT, { name: slotName(1) })).rejects.toThrow(
      /claim slot metal\/slot-1/,
    );
    expect(await s.meant(REBOOT, { name: idOf(4) })).toHaveLength(1);
  });

  test('of an unknown slot allows a hold against creation and nothing else', async () => {
    const hold = { ...HOLD, kind: 'no-allocate' } as const;
    expect(await s.meant(hold, { name: 'metal/free' })).toHaveLength(1);
    await expect(s.meant(hold, { name: 'meta/free' })).rejects.toThrow(
      'no provider is named meta; there is metal',
    );
    for (const kind of ['preserve', 'no-start', 'no-recover'] as const) {
      await expect(s.meant({ ...HOLD, kind }, { name: 'metal/slot-l' })).rejects.toThrow(
        'no machine is on slot metal/slot-l; without one, only a hold no-allocate makes sense',
      );
    }
    expect(await s.meant({ verb: 'unhold', kind: 'preserve' }, { name: 'metal/x' })).toHaveLength(
      1,
    );
  });
});

describe('a selector of machines', () => {
  test('gives each of several machines its own key', async () => {
    const asked = await s.meant(REBOOT, { states: ['Quarantined/needsHuman'] }, 'monday');
    expect(asked.map(({ key }) => key)).toEqual(['monday/metal/slot-1', 'monday/metal/slot-2']);
    expect(await s.meant(REBOOT, { all: true })).toHaveLength(3);
  });

  test('is rejected when it is empty, ambiguous or mistyped', async () => {
    const twice = /names metal\/slot-1 twice/;
    const wrong: [Parameters<MachineStand['meant']>[1], string | RegExp][] = [
      [{}, /say which machine/],
      [{ name: slotName(1), all: true }, /select machines in one way only/],
      [{ provider: 'metal', slots: [slotName(1)] }, /select machines in one way only/],
      [{ location: 'ny', all: true }, /select machines in one way only/],
      [{ slots: [] }, /slots is empty; nothing was done/],
      [{ slots: [slotName(1), slotName(1)] }, twice],
      [{ slots: [slotName(1), idOf(1)] }, /metal\/slot-1 twice, as .* and as/],
      [{ states: ['Runing'] }, /"Runing" is no state; there is Reserved/],
      [
        { states: ['Running/lat'] },
        '"lat" is no substate of Running; there is awaitingHeartbeat, ',
      ],
      [{ states: ['running/LATE'] }, 'no machine matches; nothing was done'],
      [{ provider: 'other' }, 'no provider is named other; there is metal'],
      [{ location: 'nowhere' }, 'no location is named nowhere; there is ny'],
    ];
    for (const [selector, says] of wrong) {
      const meant = s.meant(REBOOT, selector);
      await expect(meant).rejects.toThrow(says);
      await expect(meant).rejects.toBeInstanceOf(UsageError);
    }
    await expect(s.meant(REBOOT, { slots: [1, 7, 8].map(slotName) })).rejects.toThrow(
      /slot metal\/slot-7.*slot metal\/slot-8.*nothing was done/,
    );
  });
});

test('accepts a key of 200 characters and shows it printable', async () => {
  const name = slotName(1);
  expect(await s.meant(REBOOT, { name }, 'k'.repeat(200))).toHaveLength(1);
  await expect(s.meant(REBOOT, { name }, `\u001b[2J${'k'.repeat(201)}`)).rejects.toThrow(
    /^"\\u\{1b\}\[2Jk.*more than 200 characters; give a shorter Idempotency-Key/,
  );
});
