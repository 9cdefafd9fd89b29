import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const REAPER = join(import.meta.dirname, 'reaper.ts');

function start(script: string, mark: string) {
  const child = spawn(process.execPath, ['-e', `${script}; console.log('up')`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, [mark]: 'yes' },
  });
  return { child, up: once(child.stdout, 'data'), ended: once(child, 'exit') };
}

test('B5: ends what a run has left when the run is gone, and nothing else', async () => {
  const [ours, theirs] = [randomUUID(), randomUUID()].map(
    (id) => `MARK_${id.replaceAll('-', '_')}`,
  );
  const wait = 'setInterval(() => undefined, 1000)';
  // Its child has another environment and is stopped.
  const forked = `spawn('sleep', ['1d'], { env: {}, stdio: 'ignore' })`;
  const stopped = `const { pid } = require('node:child_process').${forked}`;
  const daemon = start(
    `${wait}; ${stopped}; process.kill(pid, 'SIGSTOP'); console.log(pid)`,
    ours!,
  );
  const other = start(wait, theirs!);
  const [[said]] = await Promise.all([daemon.up, other.up]);
  const child = Number.parseInt(String(said), 10);
  expect(isAlive(child)).toBe(true);
  const reaper = spawn(process.execPath, [REAPER, `${ours}=yes`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  // It may end before we hear of the daemon's end.
  const reaped = once(reaper, 'exit');
  try {
    reaper.stdin.end();
    expect(await daemon.ended).toEqual([null, 'SIGTERM']);
    expect(await reaped).toEqual([0, null]);
    expect(isAlive(child)).toBe(false);
    expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
  } finally {
    for (const each of [daemon.child, other.child, reaper]) each.kill('SIGKILL');
    if (isAlive(child)) process.kill(child, 'SIGKILL');
    await other.ended;
  }
});

function isAlive(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !/^\d+ \(.*\) Z/s.test(readFileSync(path, 'utf8'));
}

test('knows every process of a run', () => {
  expect(process.env['SHEPHERD_TEST_RUN']).toMatch(/^[0-9a-f-]{36}$/);
});
