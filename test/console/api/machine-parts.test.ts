import { expect, test } from 'vitest';
import { hold, slotFacts } from '../../support/facts.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';
import { SCRIPTED_INSIGHT } from '../page/page-scene.ts';
import { askApi, openConsole } from './console-stand.ts';

const ID = '33333333-3333-4333-8333-333333333333';
const open = () =>
  openConsole({
    fleet: {
      ...scriptedFleet(machine('a', { machineId: ID }), machine('b')),
      facts: () => slotFacts({ holds: [hold('no-recover', null)] }),
    },
    insight: SCRIPTED_INSIGHT,
  });

test('holds, ladder and hardware of a machine are told for themselves', async () => {
  const console = await open();
  const told = async (part: string) =>
    (await askApi<object>(console, `machines/equinix/${part}`)).body;
  expect(await told('a/holds')).toMatchObject({ holds: [{ kind: 'no-recover', untilMs: null }] });
  expect(await told('a/ladder')).toMatchObject({
    queue: { scope: 'location am6', place: 3, of: 5 },
    next: { rung: 'rebooting', attempt: 3, end: null },
  });
  expect(await told('a/hardware')).toEqual({
    machineId: ID,
    report: { report: { manufacturer: 'ACME', cpu: [{ vendor: '<b>CPU</b>', cores: 8 }] } },
  });
  expect(await told('b/hardware')).toEqual({ machineId: null, report: null });
});

test.each(['holds', 'ladder', 'hardware'])(
  'of a slot that nobody knows, %s is not told',
  async (part) => {
    const { status, body } = await askApi<object>(await open(), `machines/equinix/none/${part}`);
    expect([status, body]).toMatchObject([404, { code: 'not-found' }]);
  },
);
