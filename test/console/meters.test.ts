import { expect, test } from 'vitest';
import { createMemMetrics } from '../doubles/mem-metrics.ts';
import { PATIENCE } from '../support/patience.ts';
import { askApi, openConsole } from './api/console-stand.ts';

const metrics = () => createMemMetrics();

test('answers are counted by the pattern of their path; calls of no path are one', async () => {
  const meters = metrics();
  const web = await openConsole({ meters });
  await askApi(web, 'machines/stub/rack-1?x=1');
  await fetch(`${web.url}nothing/${'x'.repeat(50)}`);
  await fetch(`${web.url}livez`);
  const calls = meters.calls.filter(({ method }) => method === 'httpRequest');
  const told = calls.map(({ args }) => args.slice(0, 3));
  expect(told).toEqual([
    ['/api/v1/machines/:provider/:slot', 'GET', 404],
    ['none', 'any', 404],
    ['/livez', 'GET', 200],
  ]);
  for (const { args } of calls) expect(args[3]).toBeLessThan(5);
});

test('a stream is open while its reader stays, and says nothing of the time to answer', async () => {
  const meters = metrics();
  const web = await openConsole({ meters });
  const open = async () => {
    await fetch(`${web.url}metrics`);
    return meters.calls.filter(({ method }) => method === 'streams').at(-1)!.args[0];
  };
  expect(await open()).toBe(0);
  const leaving = new AbortController();
  for (let stream = 0; stream < 2; stream++) {
    await fetch(`${web.url}api/v1/stream?view=fleet`, { signal: leaving.signal });
  }
  expect(await open()).toBe(2);
  leaving.abort();
  await expect.poll(open, PATIENCE).toBe(0);
  const routes = meters.calls.filter(({ method }) => method === 'httpRequest');
  expect(new Set(routes.map(({ args }) => args[0]))).toEqual(new Set(['/metrics']));
});

test('a reader that does not read is dropped, which is counted', async () => {
  const meters = metrics();
  const web = await openConsole({ meters, streamLimits: { lagMaxBytes: -1 } });
  await expect(fetch(`${web.url}api/v1/stream?view=fleet`)).rejects.toThrow();
  expect(meters.count('streamDropped')).toBe(1);
});
