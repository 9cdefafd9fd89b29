import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

const failure = (code: string) => Object.assign(new Error(code), { code, syscall: 'write' });

test.each([
  ['stderr', 'ENOSPC', 'goes on'],
  ['stderr', 'EPIPE', 'stops'],
  ['stdout', 'ENOSPC', 'stops'],
  ['stdout', 'EPIPE', 'stops'],
] as const)('when %s fails with %s the process %s', (name, code, outcome) => {
  let stopped = 0;
  const stream = process[name];
  const before = stream.listeners('error');
  const release = watchForEnd(systemClock, {
    stop: () => (stopped += 1),
    abandon: () => undefined,
  });
  const added = stream.listeners('error').filter((each) => !before.includes(each));
  for (const listener of added) listener.call(stream, failure(code));
  release();
  for (const listener of added) stream.off('error', listener as () => void);
  expect(added).toHaveLength(1);
  expect(stopped).toBe(outcome === 'stops' ? 1 : 0);
});

test('ends a command quietly when nobody reads its output', async () => {
  const main = join(import.meta.dirname, '../../src/main.ts');
  const child = spawn(process.execPath, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([said, code]).toEqual(['', 141]);
});
