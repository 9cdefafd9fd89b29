import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { balancerTest, type BalancerTestOptions } from '../../../src/commands/lb/test.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import type { Haproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../support/haproxy.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shepherd-lb-test-'));
});
afterEach(() => rm(dir, { recursive: true }));

async function runTest(section: object, more: Partial<BalancerTestOptions> = {}) {
  const configFile = join(dir, 'config.yaml');
  await writeFile(configFile, JSON.stringify({ balancers: section }));
  let text = '';
  const options = {
    ...{ balancer: 'edge', configFile, address: '127.0.0.1', only: [], version: '0' },
    ...{ port: await takeFreePort(new Set()), timeoutMs: 120_000, format: 'text' as const },
    ...more,
  };
  const signal = new AbortController().signal;
  const code = await balancerTest(options, { write: (more_) => (text += more_), signal });
  return { code, text };
}

describe.runIf(hasHaproxyFor('shepherd lb test'))('at HAProxy', () => {
  const edgeOf = ({ masterSocket, poolsDir, baseFile }: Haproxy) => ({
    edge: { driver: 'haproxy', masterSocket, poolsDir, baseFiles: [baseFile] },
  });

  test('a driver passes, by its own name as well, and nothing is left', async () => {
    const haproxy = await startTestHaproxy();
    const { code, text } = await runTest(edgeOf(haproxy), { balancer: 'haproxy' });
    expect(text).toMatch(/^Testing balancer edge \(driver haproxy\) with a pool of its own, own-/);
    expect(text).toMatch(/\nPassed: 11 passed, 0 failed, 0 skipped, 0 not run, in /);
    expect(code).toBe(0);
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
  });

  test('one that cannot be reached fails, and says why', async () => {
    const haproxy = await startTestHaproxy();
    await haproxy.halt();
    const { code, text } = await runTest(edgeOf(haproxy), { format: 'json', only: ['creation'] });
    expect(code).toBe(1);
    const report = JSON.parse(text) as {
      steps: { id: string; outcome: string; message: string }[];
    };
    expect(report.steps.map(({ id, outcome }) => [id, outcome])).toEqual([
      ['nothing', 'failed'],
      ['creation', 'not-run'],
    ]);
    expect(report.steps[0]!.message).toContain('no HAProxy listens at');
    const junit = await runTest(edgeOf(haproxy), { format: 'junit', only: ['nothing'] });
    expect(junit.text).toContain('<failure message="no HAProxy listens at');
  });
});

test('a balancer that is not configured, and a step that does not exist, are refused', async () => {
  await expect(runTest({})).rejects.toThrow(/is named edge or has that driver; there is none/);
  await expect(runTest({}, { only: ['none'] })).rejects.toThrow(
    'there is no step none; there are nothing,',
  );
  await expect(runTest({ edge: { driver: 'odd' } })).rejects.toThrow('names an unknown driver');
});
