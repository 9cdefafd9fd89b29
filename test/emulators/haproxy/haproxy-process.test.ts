import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findHaproxy, startHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../support/haproxy.ts';

describe.runIf(hasHaproxyFor('the HAProxy of tests and simulation'))(
  'an HAProxy of its own',
  () => {
    test('says why it cannot load its files, and leaves nothing behind', async () => {
      const failure = startHaproxy({ base: ['nonsense'] });
      await expect(failure).rejects.toThrow(/haproxy does not start: .*nonsense/);
    });

    test('does not return with files that it cannot load', async () => {
      const haproxy = await startTestHaproxy();
      await writeFile(`${haproxy.poolsDir}/bad.cfg`, 'nonsense\n');
      await expect(haproxy.restart()).rejects.toThrow('haproxy does not start');
    });
  },
);

test('is searched in the path first', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-path-'));
  try {
    await writeFile(join(dir, 'haproxy'), '', { mode: 0o755 });
    expect(findHaproxy({ PATH: `/nonexistent:${dir}` })).toBe(join(dir, 'haproxy'));
  } finally {
    await rm(dir, { recursive: true });
  }
});
