import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createFiles } from '../../../../src/adapters/balancer/haproxy/files.ts';
import { nameOf, markOf } from '../../../../src/adapters/balancer/haproxy/pool-file.ts';
import type { PoolRef } from '../../../../src/domain/balancing/objects.ts';

const owner: PoolRef = { pool: 'api', uid: 'uid-1', suffix: 'api' };
const text = `${markOf(owner)}\n`;
let poolsDir: string;
beforeEach(() => {
  poolsDir = mkdtempSync(join(tmpdir(), 'haproxy-files-'));
  onTestFinished(() => rmSync(poolsDir, { recursive: true }));
});

test('E10: writes a file through no link that waits in its place', async () => {
  const [name, victim] = [`${nameOf('api')}.cfg`, join(poolsDir, 'victim')];
  writeFileSync(victim, 'kept');
  for (const link of [`.${name}.new`, `${name}.new`, `.${name}.tmp`]) {
    symlinkSync(victim, join(poolsDir, link));
  }
  const before = readdirSync(poolsDir);
  const files = createFiles({ poolsDir, baseFiles: [], program: 'haproxy' });
  await files.put({ owner, text });
  await files.remember(owner, text);
  expect(readFileSync(victim, 'utf8')).toBe('kept');
  expect(readdirSync(poolsDir).toSorted()).toEqual([...before, name, `${name}.loaded`].toSorted());
});

test('gives a check of HAProxy only the PATH of the environment', async () => {
  const program = join(poolsDir, 'check.sh');
  writeFileSync(program, `#!/bin/sh\nenv > '${poolsDir}/seen'\n`);
  chmodSync(program, 0o755);
  vi.stubEnv('SHEPHERD_SECRET', 'correct horse');
  onTestFinished(() => void vi.unstubAllEnvs());
  const files = createFiles({ poolsDir, baseFiles: [], program });
  await files.check([{ owner, text }], new AbortController().signal);
  const seen = readFileSync(join(poolsDir, 'seen'), 'utf8');
  expect(seen).not.toContain('correct horse');
  // The shell itself adds its working directory.
  expect(seen.replaceAll(/^(PWD|OLDPWD|SHLVL|_)=.*\n/gm, '')).toMatch(/^PATH=.*\n$/);
});
