import { expect, test } from 'vitest';

/** This file is in virtual time itself: the names of modules are hidden from the rule of imports. */
const load = async <Module>(name: string) => (await import(name)) as Module;
test('whatever opens a socket, starts a process or waits for real time there fails', async () => {
  const net = await load<typeof import('node:net')>('node:net');
  const child = await load<typeof import('node:child_process')>('node:child_process');
  const { Worker } = await load<typeof import('node:worker_threads')>('node:worker_threads');
  const { systemClock } = await load<typeof import('../../src/adapters/clock/system-clock.ts')>(
    ['../../src/adapters/clock', 'system-clock.ts'].join('/'),
  );
  expect(() => net.connect(1)).toThrow('virtual time connects a socket');
  expect(() => net.createServer().listen()).toThrow('listens on a socket');
  expect(() => child.spawn('true')).toThrow('starts a process');
  expect(() => child.execFileSync('true')).toThrow('starts a process');
  expect(() => new Worker('')).toThrow('starts a thread');
  expect(() => systemClock.setTimeout(() => undefined, 1)).toThrow('waits for real time');
});
