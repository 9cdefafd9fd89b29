import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { Role } from '../../../src/domain/access.ts';
import { AGENT_SOURCE, type ConditionStanding } from '../../../src/domain/conditions.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { conditionRow } from '../../support/conditions.ts';
import { machineRow, slotFacts } from '../../support/facts.ts';
import { openStand } from '../access/stand.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';

const PATH = 'machines/equinix/a/conditions';
const BAD = { status: 'True', reason: 'sda: 2 media errors' };

async function stand(standing: ConditionStanding = { effect: 'drain', suspicious: false }) {
  const around = { clock: systemClock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const fleet = { ...scriptedFleet(machine('a')), standing: () => standing };
  const shown = await openStand({ fleet, conditions: bmdb.conditions });
  const tokens = new Map<string, string>();
  /** Asks as the token of this name, which has the role `checker` unless it was made before. */
  const ask = async (as: string, method: string, path: string, body?: object) => {
    if (!tokens.has(as)) tokens.set(as, (await shown.token('checker', { name: as })).token);
    const token = tokens.get(as)!;
    const answer = await shown.ask(`api/v1/${path}`, { method, token, body });
    return { status: answer.status, body: JSON.parse(answer.body) as Record<string, unknown> };
  };
  const make = async (as: string, role: Role, providers: string[] | null = null) =>
    void tokens.set(as, (await shown.token(role, { name: as, providers })).token);
  const place = { provider: providerName('equinix'), slotId: 'a' };
  const rows = () => bmdb.conditions.ofSlot(place, new AbortController().signal);
  const agent = (status: 'True' | 'False', validForMs: number | null = null) =>
    bmdb.conditions.report([
      {
        ...{ ...place, machineId: null, type: 'disk-failing', source: AGENT_SOURCE, status },
        ...{ reason: 'sda', detail: '', validForMs },
      },
    ]);
  return { ask, make, rows, agent, bmdb };
}

test('a report is stored as its caller’s, again without another row, and answered with its effect', async () => {
  const { ask, rows } = await stand();
  const body = { ...BAD, detail: 'see the log', validForMs: 60_000 };
  const first = await ask('smart', 'PUT', `${PATH}/disk-failing`, body);
  expect(first).toMatchObject({
    status: 200,
    body: {
      ...{ type: 'disk-failing', source: 'token:smart', ...BAD, detail: 'see the log' },
      ...{ effect: 'drain', suspicious: false, expiresAtMs: expect.any(Number) },
    },
  });
  const again = await ask('smart', 'PUT', `${PATH}/disk-failing`, BAD);
  expect(again.body).toMatchObject({ expiresAtMs: null, detail: '' });
  expect(again.body['sinceMs']).toBe(first.body['sinceMs']);
  expect(await rows()).toHaveLength(1);
});

test('a source clears its own condition only', async () => {
  const { ask, rows, agent } = await stand();
  await agent('True');
  await ask('smart', 'PUT', `${PATH}/disk-failing`, BAD);
  const foreign = await ask('other', 'DELETE', `${PATH}/disk-failing`);
  expect(foreign).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('token:other reported no condition disk-failing') },
  });
  const before = await rows();
  expect(before.map(({ source, status }) => `${source} ${status}`)).toEqual([
    ...['agent True', 'token:smart True'],
  ]);
  const cleared = await ask('smart', 'DELETE', `${PATH}/disk-failing?reason=new%20disk`);
  expect(cleared).toMatchObject({ status: 200, body: { status: 'False', reason: 'new disk' } });
  // Another source that says False changes no other row either.
  await ask('other', 'PUT', `${PATH}/disk-failing`, { status: 'False', reason: 'fine' });
  expect((await rows()).map(({ source, status }) => `${source} ${status}`)).toEqual([
    ...['agent True', 'token:other False', 'token:smart False'],
  ]);
});

test('lists all conditions with the status that counts now, and says what is suspicious', async () => {
  const { ask, agent, bmdb } = await stand({ effect: 'drain', suspicious: true });
  await ask('smart', 'PUT', `${PATH}/fan-broken`, { status: 'False', reason: 'fine' });
  await agent('True');
  // The clock of the scripted fleet is fixed: the report of the agent expired long before.
  const [row] = [...bmdb.tables.conditions.values()].filter(({ source }) => source === 'agent');
  const key = [...bmdb.tables.conditions.keys()].find((each) => each.includes('agent'))!;
  bmdb.tables.conditions.set(key, { ...row!, status: 'False', expiresAtMs: AT_MS - 1 });
  expect((await ask('smart', 'GET', PATH)).body).toMatchObject({
    conditions: [
      { type: 'disk-failing', source: 'agent', status: 'Unknown', suspicious: true },
      { type: 'fan-broken', source: 'token:smart', status: 'False', effect: 'drain' },
    ],
  });
});

test('only who may report there can report or clear', async () => {
  const { ask, make, rows } = await stand();
  await make('looker', 'viewer');
  await make('elsewhere', 'checker', ['metal']);
  await make('here', 'checker', ['equinix']);
  await make('op', 'operator');
  for (const [as, status] of [
    ['looker', 403],
    ['elsewhere', 403],
  ] as const) {
    expect((await ask(as, 'PUT', `${PATH}/disk-failing`, BAD)).status, as).toBe(status);
    expect((await ask(as, 'DELETE', `${PATH}/disk-failing`)).status, as).toBe(status);
  }
  expect(await rows()).toEqual([]);
  for (const as of ['here', 'op']) {
    expect((await ask(as, 'PUT', `${PATH}/disk-failing`, BAD)).status, as).toBe(200);
  }
  expect((await ask('looker', 'GET', PATH)).status).toBe(200);
  // A checker may do no more than that.
  expect((await ask('here', 'GET', 'tokens')).status).toBe(403);
});

test.each([
  ['a type in capitals', 'Disk', BAD],
  ['an unknown status', 'disk-failing', { ...BAD, status: 'true' }],
  ['no reason', 'disk-failing', { status: 'True' }],
  ['a reason of two lines', 'disk-failing', { ...BAD, reason: 'a\nb' }],
  ['an unknown member', 'disk-failing', { ...BAD, source: 'agent' }],
  ['no time at all', 'disk-failing', { ...BAD, validForMs: 0 }],
])('refuses %s', async (_, type, body) => {
  const { ask, rows } = await stand();
  expect((await ask('smart', 'PUT', `${PATH}/${type}`, body)).status).toBe(400);
  expect(await rows()).toEqual([]);
});

test('knows no condition of a machine that is not there', async () => {
  const { ask } = await stand();
  const nowhere = 'machines/equinix/b/conditions';
  expect((await ask('smart', 'GET', nowhere)).status).toBe(404);
  expect((await ask('smart', 'PUT', `${nowhere}/disk-failing`, BAD)).status).toBe(404);
});

test('a machine shows its conditions that are not False', async () => {
  const conditions = [
    conditionRow(),
    conditionRow({ type: 'a', status: 'Unknown' }),
    conditionRow({ type: 'b', status: 'False', expiresAtMs: AT_MS - 1 }),
    conditionRow({ type: 'c', status: 'False', expiresAtMs: AT_MS + 1 }),
  ];
  const fleet = {
    ...scriptedFleet(machine('a', { conditions: 'disk-failing' })),
    facts: () => slotFacts({ conditions }),
  };
  const shown = await openStand({ fleet });
  const { token } = await shown.token('viewer');
  const { body } = await shown.ask('api/v1/machines/equinix/a', { token });
  const found = JSON.parse(body) as { conditionRows: { type: string; status: string }[] };
  expect(found).toMatchObject({ conditions: 'disk-failing' });
  expect(found.conditionRows.map(({ type, status }) => `${type} ${status}`)).toEqual([
    ...['disk-failing True', 'a Unknown', 'b Unknown'],
  ]);
  expect(found.conditionRows[0]).not.toHaveProperty('slotId');
});

test('the acceptance of a machine is shown with its checks', async () => {
  const { bmdb } = await stand();
  const row = machineRow({
    acceptance: {
      ...{ state: 'due', cause: 'first', held: true, reason: '', endedAtMs: null },
      ...{ askedAtMs: AT_MS - 3_600_000, handedOutAtMs: AT_MS - 3_600_000 },
    },
  });
  const checks = [
    { name: 'memory', expected: '64 GiB', found: '32 GiB', status: 'failed' },
  ] as const;
  const fleet = {
    ...scriptedFleet(machine('a', { machineId: row.machineId }), machine('b')),
    facts: (name: string) => (name.endsWith('/a') ? slotFacts({ row }) : undefined),
    standing: () => ({ effect: 'tell', suspicious: false }) as const,
  };
  const acceptances = { ...bmdb.acceptances, read: async () => ({ profile: null, checks }) };
  const shown = await openStand({ fleet, conditions: bmdb.conditions, acceptances });
  const { token } = await shown.token('viewer');
  const ask = async (path: string) => shown.ask(`api/v1/machines/equinix/${path}`, { token });
  const answer = await ask('a/acceptance');
  expect(JSON.parse(answer.body)).toMatchObject({
    acceptance: { state: 'unknown', cause: 'first', held: true },
    checks,
  });
  expect(JSON.parse((await ask('a')).body)).toMatchObject({ acceptance: { state: 'unknown' } });
  expect((await ask('b/acceptance')).status).toBe(404);
});
