import { expect, test } from 'vitest';
import type { Lease } from '../../../src/adapters/bmdb/port.ts';
import { webhookJob } from '../../../src/actors/webhooks/deliverer.ts';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import type { Role } from '../../../src/domain/access.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { openStand } from '../access/stand.ts';

async function stand() {
  const around = { clock: systemClock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const configured = [{ name: 'pager', host: 'hooks.test', types: ['guard.*'] }];
  const shown = await openStand({
    events: bmdb.events,
    webhooks: { repository: bmdb.webhooks, configured },
  });
  const session = await bmdb.openSession({
    ...{ component: 'shepherd', runtimeInfo: 'test', intervalMs: 60_000 },
  });
  const lease = (await session.lease(webhookJob('pager'))) as Lease;
  await session.webhooks.begin(lease, 'pager', '0');
  const failed = { type: 'guard.frozen', attempts: 1, status: 500, cause: 'it answered 500' };
  await session.webhooks.record(lease, 'pager', {
    ...{ toldTo: '9', hasDelivered: true, delivered: [], disabled: 'it answered 410: gone' },
    failed: [
      { ...failed, number: '7', nextInMs: null },
      { ...failed, number: '8', nextInMs: 60_000 },
    ],
  });
  const ask = async (path: string, role: Role, method = 'GET', providers?: string[]) => {
    const { token } = await shown.token(role, { providers: providers ?? null });
    const { status, body } = await shown.ask(`api/v1/webhooks${path}`, { method, token });
    return { status, body: body === '' ? null : (JSON.parse(body) as unknown) };
  };
  return { bmdb, ask };
}

test('webhooks: shows their state and failures, and of an address only its host', async () => {
  const { ask } = await stand();
  expect((await ask('', 'viewer')).body).toMatchObject({
    webhooks: [
      {
        ...{
          name: 'pager',
          host: 'hooks.test',
          types: ['guard.*'],
          toldTo: '9',
          waiting: 1,
          dead: 1,
        },
        disabledReason: 'it answered 410: gone',
      },
    ],
  });
  expect((await ask('/pager/deliveries', 'viewer')).body).toMatchObject({
    deliveries: [
      { id: '8', status: 500, nextAtMs: expect.any(Number) },
      { id: '7', nextAtMs: null, cause: 'it answered 500' },
    ],
    next: null,
  });
  expect((await ask('/pager/deliveries?state=dead&limit=1', 'viewer')).body).toMatchObject({
    ...{ deliveries: [{ id: '7' }], next: '7' },
  });
});

test('E9: V60 webhooks: lets only an admin of the whole fleet replay, test and enable them', async () => {
  const { ask, bmdb } = await stand();
  const acts = ['/pager/deliveries/7/replay', '/pager/test', '/pager/enable'];
  for (const act of acts) {
    for (const role of ['viewer', 'operator'] as const) {
      expect((await ask(act, role, 'POST')).status, `${role} ${act}`).toBe(403);
    }
    expect((await ask(act, 'admin', 'POST', ['equinix'])).status, `of equinix ${act}`).toBe(403);
    expect((await ask(act, 'admin', 'POST')).status, act).toBe(204);
  }
  expect((await ask('/pager/deliveries?state=waiting', 'viewer')).body).toMatchObject({
    deliveries: [{ id: '8' }, { id: '7', attempts: 0 }],
  });
  expect(bmdb.tables.told.at(-1)).toMatchObject({
    ...{ type: 'webhook.test', details: { webhook: 'pager' } },
  });
  for (const act of ['/pager/deliveries/99/replay', '/other/test', '/pager/enable']) {
    expect((await ask(act, 'admin', 'POST')).status, act).toBe(404);
  }
});
