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
  return async (role: Role, path: string, body: object = {}, providers: string[] | null = null) => {
    const { token } = await shown.token(role, { name: systemRandom.uuid(), providers });
    const headers = { 'idempotency-key': ID };
    const how = { method: 'POST', token, headers, body };
    return (await shown.ask(`api/v1/rolls${path}`, how)).status;
  };
}

const about = (action: string) => ({
  ...{ action, filter: 'provider:equinix', reason: 'new kernel', expectCount: 1 },
});

test('the rights are those of the action, at the providers of all its machines', async () => {
  const ask = await stand();
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
