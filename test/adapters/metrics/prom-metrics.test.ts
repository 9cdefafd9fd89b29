import { describe, expect, test } from 'vitest';
import { createPromMetrics } from '../../../src/adapters/metrics/prom-metrics.ts';
import { touchAll } from './every-metric.ts';

const create = () =>
  createPromMetrics({ version: '1.2.3', schema: '7', commit: 'abc1234', suppressed: () => 21 });

const isOurs = (line: string) => !/^(# (HELP|TYPE) )?(process|nodejs)_/.test(line) && line !== '';

describe('the Prometheus registry', () => {
  test('V52 exports the agreed metrics', async () => {
    const metrics = create();
    touchAll(metrics);
    const { body } = await metrics.expose();
    const ours = body.split('\n').filter(isOurs).join('\n');
    await expect(`${ours}\n`).toMatchFileSnapshot('golden-scrape.txt');
  });

  test('has one sentence of help for every family', async () => {
    const { body } = await create().expose();
    const helps = body
      .split('\n')
      .filter((line) => line.startsWith('# HELP') && isOurs(line.slice(7)));
    expect(helps.length).toBeGreaterThan(20);
    for (const help of helps) expect(help).toMatch(/^# HELP \w+ [A-Z][^.]+\.$/);
  });

  test('reports the runtime, including event loop lag', async () => {
    const { body, contentType } = await create().expose();
    expect(contentType).toMatch(/^text\/plain/);
    expect(body).toMatch(/^nodejs_eventloop_lag_seconds /m);
    expect(body).toMatch(/^process_resident_memory_bytes /m);
  });

  test('removes gauges by the given labels, and keeps counters', async () => {
    const metrics = create();
    const pool = { driver: 'haproxy', lb: 'edge', pool: 'api' };
    const other = { ...pool, pool: 'web' };
    for (const each of [pool, other]) {
      metrics.count('shepherd_lb_reconcile_created_total', each, 12);
      for (const state of ['active', 'draining'] as const) {
        metrics.set('shepherd_lb_members', { ...each, state }, 2);
      }
    }
    metrics.clear('shepherd_lb_members', pool);
    const of = (lb: typeof pool) => `{driver="haproxy",lb="edge",pool="${lb.pool}"`;
    const lines = (await metrics.expose()).body.split('\n').filter((line) => /{.*edge/.test(line));
    expect(lines).toEqual([
      `shepherd_lb_reconcile_created_total${of(pool)}} 12`,
      `shepherd_lb_reconcile_created_total${of(other)}} 12`,
      `shepherd_lb_members${of(other)},state="active"} 2`,
      `shepherd_lb_members${of(other)},state="draining"} 2`,
    ]);
    metrics.clear('shepherd_lb_members');
    expect((await metrics.expose()).body).not.toMatch(/^shepherd_lb_members{/m);
  });

  test('starts a series when all its values are known, or when it is started explicitly', async () => {
    const metrics = create();
    metrics.begin('shepherd_driver_operation_seconds', { provider: 'rack', operation: 'List' });
    metrics.count('driver_operations', { provider: 'rack', operation: 'List', error: '1' }, 0);
    const { body } = await metrics.expose();
    for (const line of [
      'bmdb_transaction_failed{processor="bmsrv"} 0',
      'bmdb_stats_active_work{process="ShepherdAccess"} 0',
      'shepherd_actor_crashes_total 0',
      'shepherd_log_suppressed_total 21',
      'shepherd_driver_operation_seconds_count{provider="rack",operation="List"} 0',
      'driver_operations{provider="rack",operation="List",error="1"} 0',
    ]) {
      expect(body.split('\n')).toContain(line);
    }
    expect(body).not.toMatch(/^(bmdb_hwstats|shepherd_provision_outcomes_total)\w*[{ ]/m);
  });

  test('counts two daemons in one process separately', async () => {
    const [one, other] = [create(), create()];
    one.count('shepherd_actor_crashes_total', {});
    expect((await one.expose()).body).toMatch(/^shepherd_actor_crashes_total 1$/m);
    expect((await other.expose()).body).toMatch(/^shepherd_actor_crashes_total 0$/m);
  });
});
