import { describe, expect, test } from 'vitest';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import { createPromMetrics } from '../../../src/adapters/metrics/prom-metrics.ts';
import { touchAll, touchLeaving } from './every-metric.ts';

const create = () =>
  createPromMetrics({ version: '1.2.3', schema: '7', commit: 'abc1234', suppressed: () => 21 });

const isOurs = (line: string) => !/^(# (HELP|TYPE) )?(process|nodejs)_/.test(line) && line !== '';

describe('prom metrics', () => {
  test('V52 the scrape is the agreed one', async () => {
    const metrics = create();
    touchAll(metrics);
    const { body } = await metrics.expose();
    const ours = body.split('\n').filter(isOurs).join('\n');
    await expect(`${ours}\n`).toMatchFileSnapshot('golden-scrape.txt');
  });

  test('every family has one sentence of help', async () => {
    const { body } = await create().expose();
    const helps = body
      .split('\n')
      .filter((line) => line.startsWith('# HELP') && isOurs(line.slice(7)));
    expect(helps.length).toBeGreaterThan(20);
    for (const help of helps) expect(help).toMatch(/^# HELP \w+ [A-Z][^.]+\.$/);
  });

  test('tells of the runtime, event loop lag included', async () => {
    const { body, contentType } = await create().expose();
    expect(contentType).toMatch(/^text\/plain/);
    expect(body).toMatch(/^nodejs_eventloop_lag_seconds /m);
    expect(body).toMatch(/^process_resident_memory_bytes /m);
  });

  test('a new set of counts replaces the old one', async () => {
    const metrics = create();
    const two = { provider: 'equinix', count: 2, needHuman: 0 };
    metrics.machines([{ ...two, state: 'Reserved', substate: 'available' }]);
    metrics.machines([{ ...two, state: 'Running', substate: 'healthy' }]);
    const { body } = await metrics.expose();
    expect(body.split('\n').filter((line) => line.startsWith('shepherd_machines{'))).toEqual([
      'shepherd_machines{provider="equinix",state="Running",substate="healthy"} 2',
    ]);
  });

  test('a pool that another daemon tends leaves no gauge, and its counters stay', async () => {
    const metrics = create();
    const pool = { driver: 'haproxy', lb: 'edge', pool: 'api' };
    const lines = async () =>
      (await metrics.expose()).body.split('\n').filter((line) => line.includes('lb="edge"'));
    metrics.poolTended(pool);
    metrics.poolWrites(pool, 'created', 12);
    metrics.poolPending(pool, { create: 3, destroy: 4 });
    const standing = { isFrozen: true, settledAtMs: 1_000, members: { active: 2 } } as const;
    metrics.poolStanding(pool, { ...standing, state: 'creating' });
    metrics.poolStanding(pool, { ...standing, state: 'settled' });
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'shepherd_lb_state{driver="haproxy",lb="edge",pool="api",state="settled"} 1',
        'shepherd_lb_state{driver="haproxy",lb="edge",pool="api",state="creating"} 0',
        'shepherd_lb_frozen{driver="haproxy",lb="edge",pool="api"} 1',
      ]),
    );
    metrics.poolLeft(pool);
    const left = await lines();
    expect(left.filter((line) => /pending|state|frozen|members|settled/.test(line))).toEqual([]);
    expect(left).toContain(
      'shepherd_lb_reconcile_created_total{driver="haproxy",lb="edge",pool="api"} 12',
    );
  });

  test('machines that need a human are counted by provider, and 0 where there is none', async () => {
    const metrics = create();
    const stuck = { provider: 'a', state: 'Quarantined', substate: 'needsHuman' };
    metrics.machines([
      { ...stuck, count: 2, needHuman: 2 },
      { ...stuck, substate: 'missing', count: 5, needHuman: 5 },
      { ...stuck, substate: 'byOperator', count: 9, needHuman: 0 },
      { ...stuck, state: 'Running', substate: 'silent', count: 4, needHuman: 1 },
      { ...stuck, provider: 'b', state: 'Running', substate: 'healthy', count: 7, needHuman: 0 },
    ]);
    const { body } = await metrics.expose();
    expect(body.split('\n').filter((line) => line.startsWith('shepherd_machines_need'))).toEqual([
      'shepherd_machines_need_human{provider="a"} 8',
      'shepherd_machines_need_human{provider="b"} 0',
    ]);
  });

  test('a scope that the guard no longer knows is gone, but not the time it was frozen', async () => {
    const metrics = create();
    const standing = { state: 'frozen', sinceMs: null, reason: null } as const;
    metrics.guard([{ ...standing, scope: 'a' }], []);
    metrics.guardFrozen('a', 3);
    metrics.guard([{ ...standing, scope: 'fleet', state: 'watching' }], []);
    const lines = (await metrics.expose()).body.split('\n');
    expect(lines.filter((line) => line.startsWith('shepherd_guard_frozen'))).toEqual([
      'shepherd_guard_frozen{scope="fleet"} 0',
      'shepherd_guard_frozen_seconds_total{scope="provider a"} 3',
      'shepherd_guard_frozen_seconds_total{scope="fleet"} 0',
    ]);
    expect(lines.filter((line) => line.endsWith(' 1') && line.includes('guard_state'))).toEqual([
      'shepherd_guard_state{scope="fleet",state="watching"} 1',
    ]);
  });

  test('two daemons in one process count apart', async () => {
    const [one, other] = [create(), create()];
    one.actorCrash();
    expect((await one.expose()).body).toMatch(/^shepherd_actor_crashes_total 1$/m);
    expect((await other.expose()).body).toMatch(/^shepherd_actor_crashes_total 0$/m);
  });

  test('a label too many does not stop the caller', async () => {
    const metrics = create();
    metrics.observe('heartbeat_seconds', { outcome: 'ok', machine: 'never-a-label' }, 1);
    const { body } = await metrics.expose();
    expect(body).toMatch(/^shepherd_heartbeat_seconds_count\{outcome="ok"\} 1$/m);
    expect(body).not.toContain('never-a-label');
  });
});

test('the remembering metrics tell what was counted', () => {
  const metrics = createMemMetrics();
  touchAll(metrics);
  touchLeaving(metrics);
  expect(metrics.count('workFinished')).toBe(2);
  expect(metrics.count('workFinished', 'ShepherdRecovery')).toBe(1);
  expect(metrics.count('workFinished', 'ShepherdRecovery', 'finished')).toBe(0);
  expect(new Set(metrics.calls.map(({ method }) => method))).toEqual(
    new Set(Object.keys(silentMetrics)),
  );
});
