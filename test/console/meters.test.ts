import { expect, test } from 'vitest';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { PATIENCE } from '../support/patience.ts';
import { askApi, openConsole } from './api/console-stand.ts';

const metrics = () => createMemMetrics();
const answersOf = ({ calls }: MemMetrics) =>
  calls.filter(({ name }) => name === 'shepherd_http_request_seconds');

test('counts answers by the pattern of their path, and requests without a route together', async () => {
  const meters = metrics();
  const web = await openConsole({ meters });
  await askApi(web, 'machines/stub/rack-1?x=1');
  await fetch(`${web.url}nothing/${'x'.repeat(50)}`);
  await fetch(`${web.url}livez`);
  const calls = answersOf(meters);
  expect(calls.map(({ labels }) => Object.values(labels))).toEqual([
    ['/api/v1/machines/:provider/:slot', 'GET', '404'],
    ['none', 'any', '404'],
    ['/livez', 'GET', '200'],
  ]);
  for (const { value } of calls) expect(value).toBeLessThan(5);
});

test('counts a stream as open while its reader stays, and not in the response time', async () => {
  const meters = metrics();
  const web = await openConsole({ meters });
  const open = async () => {
    await fetch(`${web.url}metrics`);
    return meters.series('shepherd_streams').at(-1)![1];
  };
  expect(await open()).toBe(0);
  const leaving = new AbortController();
  for (let stream = 0; stream < 2; stream++) {
    await fetch(`${web.url}api/v1/stream?view=fleet`, { signal: leaving.signal });
  }
  expect(await open()).toBe(2);
  leaving.abort();
  await expect.poll(open, PATIENCE).toBe(0);
  const routes = answersOf(meters).map(({ labels }) => labels['route']);
  expect(new Set(routes)).toEqual(new Set(['/metrics']));
});

test('counts dropped readers that do not read', async () => {
  const meters = metrics();
  const web = await openConsole({ meters, streamLimits: { lagMaxBytes: -1 } });
  await expect(fetch(`${web.url}api/v1/stream?view=fleet`)).rejects.toThrow();
  expect(meters.total('shepherd_streams_dropped_total')).toBe(1);
});
