import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { Role } from '../../../src/domain/access.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { openStand } from '../access/stand.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { machine, scriptedFleet } from '../scripted-fleet.ts';

const ID = '6f1c3c62-5b7e-4a53-9d8f-0d3a0c6f2a11';

/** Asks for rolls of one machine, as a token with the role. */
async function stand() {
  const around = { clock: systemClock, random: systemRandom };
  const { rolls } = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const only = machine('a', { machineId: machineId('00000000-0000-4000-8000-000000000001') });
  const shown = await openStand({ fleet: scriptedFleet(only), rolls });
  const tokenOf = (role: Role, providers: string[] | null) =>
    shown.token(role, { name: systemRandom.uuid(), providers });
  const ask = async (
    role: Role,
    path: string,
    body: object = {},
    providers: string[] | null = null,
    id = ID,
  ) => {
    const { token } = await tokenOf(role, providers);
    const how = { method: 'POST', token, headers: { 'idempotency-key': id }, body };
    return (await shown.ask(`api/v1/rolls${path}`, how)).status;
  };
  const read = async (role: Role, path = '', providers: string[] | null = null) => {
    const { token } = await tokenOf(role, providers);
    return JSON.parse((await shown.ask(`api/v1/rolls${path}`, { token })).body) as unknown;
  };
  return { ask, read };
}

const about = (action: string) => ({
  ...{ action, filter: 'provider:equinix', reason: 'new kernel', expectCount: 1 },
});

test('the rights are those of the action, at the providers of all its machines', async () => {
  const { ask } = await stand();
  expect(await ask('viewer', '', about('reboot'))).toBe(403);
  expect(await ask('operator', '', about('reinstall'))).toBe(403);
  expect(await ask('operator', '', about('reboot'), ['metal'])).toBe(403);
  expect(await ask('operator', '', about('reboot'), ['equinix'])).toBe(202);
  expect(await ask('operator', '', about('reboot'))).toBe(422);
  expect(await ask('operator', `/${ID}/pause`, {}, ['metal'])).toBe(403);
  expect(await ask('viewer', `/${ID}/pause`)).toBe(403);
  expect(await ask('operator', `/${ID}/pause`)).toBe(200);
  expect(await ask('operator', `/${systemRandom.uuid()}/pause`)).toBe(404);
});

test('each person reads what they may ask of a roll in its state', async () => {
  const { ask, read } = await stand();
  const OTHER = systemRandom.uuid();
  await ask('admin', '', about('reboot'));
  await ask('admin', '', about('reinstall'), null, OTHER);
  const controls = async (...asked: Parameters<typeof read>) =>
    ((await read(...asked)) as { controls: string[] }).controls;
  expect(await controls('operator', `/${ID}`)).toEqual(['pause', 'abort']);
  expect(await controls('operator', `/${ID}`, ['metal'])).toEqual([]);
  expect(await controls('viewer', `/${ID}`)).toEqual([]);
  expect(await controls('operator', `/${OTHER}`)).toEqual([]);
  expect(await controls('admin', `/${OTHER}`)).toEqual(['pause', 'abort']);
  await ask('operator', `/${ID}/pause`);
  expect(await controls('operator', `/${ID}`)).toEqual(['resume', 'abort']);
  await ask('operator', `/${ID}/abort`);
  expect(await controls('operator', `/${ID}`)).toEqual([]);
  const newest = (await read('viewer', '?limit=1')) as { rolls: { id: string }[] };
  expect(newest.rolls.map(({ id }) => id)).toEqual([OTHER]);
});
