import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { compressExecutable } from '../../scripts/agent-executable.ts';
import { buildAgent, loadAgentProgram } from '../../src/agent-bundle.ts';
import { PATIENCE } from '../support/patience.ts';

test('finishes overlapping builds with the same bytes', async () => {
  const ended: string[] = [];
  for (let at = 0; at < 12; at += 1) {
    void buildAgent().then(({ sha256 }) => ended.push(sha256));
    await pause(at * 5);
  }
  await expect.poll(() => ended.length, PATIENCE).toBe(12);
  expect(new Set(ended).size).toBe(1);
});

test('sends a large program by xz if that was built from it, and by gzip', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-bundle-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const [path, other] = [join(dir, 'agent'), join(dir, 'other')];
  const stale: string[] = [];
  const load = async () => {
    const { compressed } = await loadAgentProgram(path, (xz) => stale.push(xz));
    return [...(compressed?.keys() ?? [])];
  };
  writeFileSync(path, Buffer.alloc(9_000_000, 'new'));
  writeFileSync(other, Buffer.alloc(9_000_000, 'old'));
  expect(await load()).toEqual(['gzip']);
  for (const each of [path, other]) compressExecutable(each);
  expect(await load()).toEqual(['xz', 'gzip']);
  const { content, compressed } = await loadAgentProgram(path);
  const xz = await compressed!.get('xz')!();
  expect(execFileSync('xz', ['-dc'], { input: xz, maxBuffer: 1e8 }).equals(content)).toBe(true);
  expect(gunzipSync(await compressed!.get('gzip')!()).equals(content)).toBe(true);
  expect(stale).toEqual([]);
  renameSync(`${other}.xz`, `${path}.xz`);
  expect(await load()).toEqual(['gzip']);
  truncateSync(`${path}.xz`, 5);
  expect(await load()).toEqual(['gzip']);
  expect(stale).toEqual([`${path}.xz`, `${path}.xz`]);
  truncateSync(path, 1_000_000);
  expect(await load(), 'is sent as it is').toEqual([]);
});
