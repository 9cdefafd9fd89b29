import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
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
  const daemon = start(wait, ours!);
  const other = start(wait, theirs!);
  await Promise.all([daemon.up, other.up]);
  const reaper = spawn(process.execPath, [REAPER, `${ours}=yes`], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  // It may end before we hear of the daemon's end.
  const reaped = once(reaper, 'exit');
  try {
    reaper.stdin.end();
    expect(await daemon.ended).toEqual([null, 'SIGTERM']);
    expect(await reaped).toEqual([0, null]);
    expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
  } finally {
    for (const child of [daemon.child, other.child, reaper]) child.kill('SIGKILL');
    await other.ended;
  }
});

test('knows every process of a run', () => {
  expect(process.env['SHEPHERD_TEST_RUN']).toMatch(/^[0-9a-f-]{36}$/);
});
