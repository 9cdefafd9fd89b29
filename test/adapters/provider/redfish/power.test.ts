import { expect, test } from 'vitest';
import { patienceOf } from '../../../../src/adapters/provider/redfish/power.ts';
import { testRows } from '../../../support/rows.ts';
import { failureOf, refusing, startRack } from './stand.ts';

const RESETS = { match: { route: '/redfish/v1/Systems/{system}/Actions/ComputerSystem.Reset' } };
const CONFLICT = refusing(409, 'ActionParameterValueConflict');

test('vector 12: what is off is not switched off', async () => {
  const rack = await startRack();
  await rack.power('off');
  expect(rack.resets()).toEqual([]);
});

test('vector 13: a refusal because it is off already is a success', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'powerState', shows: 'On' }, { times: 1 });
  await rack.fault(CONFLICT, RESETS);
  await rack.power('off');
  expect(rack.resets()).toEqual(['ForceOff']);
});

testRows([
  ['a while', 3, 4],
  ['ever', undefined, 7],
] as const)('vector 14: On that is refused for %s is asked for again', async (_, times, sent) => {
  const rack = await startRack();
  await rack.fault(CONFLICT, { ...RESETS, times });
  const startMs = rack.clock.monotonic();
  const ended = rack.power('on');
  if (times === undefined) expect(await failureOf(ended)).toMatchObject({ kind: 'conflict' });
  else expect(Math.round(((await ended.then(rack.clock.monotonic)) - startMs) / 10_000)).toBe(3);
  expect(rack.resets()).toEqual(Array(sent).fill('On'));
  expect(rack.asked.filter((one) => one === 'before')).toHaveLength(sent);
});

test.each(['on', 'off'] as const)(
  'a switch %s whose answer is lost, and that was done, succeeds',
  async (want) => {
    const rack = await startRack();
    if (want === 'off') await rack.boot();
    await rack.fault({ type: 'drop', phase: 'after' }, RESETS);
    await rack.power(want);
    expect(rack.resets()).toHaveLength(1);
  },
);

test('the power button is pressed only where the machine is surely off', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'allowableValues', values: ['PushPowerButton'] });
  await rack.fault({ type: 'powerState', shows: null }, { times: 1 });
  expect(await failureOf(rack.power('on'))).toMatchObject({ kind: 'not-implemented' });
  await rack.power('on');
  expect(rack.resets()).toEqual(['PushPowerButton']);
});

test('a pushed button has as long to show as a switch, also where the BMC tells of no resets', () => {
  const blind = { power: 'Off', lastResetMs: null, progress: null, readAtMs: null };
  expect(patienceOf('PushPowerButton', blind)).toBe(60_000);
  expect(patienceOf('On', blind)).toBe(60_000);
  expect(patienceOf('ForceRestart', blind)).toBe(10_000);
});

test('vector 32: a change that goes on as a task is followed to its end', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'task', does: 'ends', ms: 5_500, retryAfterS: 2 });
  const startMs = rack.clock.monotonic();
  const { operationRef } = await rack.power('on');
  expect(Math.round((rack.clock.monotonic() - startMs) / 1_000)).toBe(6);
  expect(operationRef).toMatch(/^On system-1 \S+ \/redfish\/v1\/TaskService\/TaskMonitors\/\d+$/);
});

test('vector 32: a task that vanishes is judged by the state', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'task', does: 'vanishes', ms: 1_500, retryAfterS: 1 });
  await rack.power('on');
  expect(rack.system().power).toBe('On');
});

test('vector 32: a task that never ends ends with the call, by the state', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'task', does: 'neverEnds' });
  const soon = () => rack.call({ deadline: new Date(rack.clock.now() + 20_000) });
  await rack.power('off', soon());
  await rack.fault({ type: 'powerState', shows: 'Off' });
  expect(await failureOf(rack.power('on', soon()))).toMatchObject({
    kind: 'transient',
    outcome: 'unknown',
  });
});

test('vector 33: on its way off is not off', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'powerState', shows: 'PoweringOff' });
  for (let n = 0; n < 9; n++) {
    expect(await rack.get()).toMatchObject({ power: 'unknown', status: 'Stopped' });
    await rack.after(10_000);
  }
});
