import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask, findHaproxy, startHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../support/haproxy.ts';

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe.runIf(hasHaproxyFor('the HAProxy of tests and simulation'))(
  'an HAProxy of its own',
  () => {
    test('has a worker when it is started, and another after a restart', async () => {
      const haproxy = await startTestHaproxy();
      const before = haproxy.pid();
      expect(await ask(haproxy.masterSocket, 'show proc')).toContain(String(before));
      await haproxy.restart();
      expect(haproxy.pid()).not.toBe(before);
      expect(isAlive(before)).toBe(false);
      expect(await ask(haproxy.masterSocket, 'show proc')).toMatch(/^\d+\s+worker\s/m);
    });

    test('leaves nothing behind when it is stopped', async () => {
      const haproxy = await startHaproxy();
      const proc = await ask(haproxy.masterSocket, 'show proc');
      const pids = [...proc.matchAll(/^(\d+)\s/gm)].map(([, pid]) => Number(pid));
      expect(pids).toHaveLength(2);
      await haproxy.stop();
      expect(pids.filter(isAlive)).toEqual([]);
      expect(existsSync(haproxy.dir)).toBe(false);
    });

    test('that cannot load its files says why, and leaves nothing behind', async () => {
      const failure = startHaproxy({ base: ['nonsense'] });
      await expect(failure).rejects.toThrow(/haproxy does not start: .*nonsense/);
    });

    test('does not come back with files that it cannot load', async () => {
      const haproxy = await startTestHaproxy();
      await writeFile(`${haproxy.poolsDir}/bad.cfg`, 'nonsense\n');
      await expect(haproxy.restart()).rejects.toThrow('haproxy does not start');
    });
  },
);

test('it is found in the path first', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-path-'));
  try {
    await writeFile(join(dir, 'haproxy'), '', { mode: 0o755 });
    expect(findHaproxy({ PATH: `/nonexistent:${dir}` })).toBe(join(dir, 'haproxy'));
  } finally {
    await rm(dir, { recursive: true });
  }
});
