import type * as ChildProcess from 'node:child_process';
import type * as Net from 'node:net';
import type * as Threads from 'node:worker_threads';
import { expect, test } from 'vitest';
import type * as Clock from '../../src/adapters/clock/system-clock.ts';

/** This file runs in virtual time too, so it hides the names of modules from the import rule. */
const load = async <Module>(name: string) => (await import(name)) as Module;

test('fails when code opens a socket, starts a process or waits for real time in a virtual test', async () => {
  const net = await load<typeof Net>('node:net');
  const child = await load<typeof ChildProcess>('node:child_process');
  const { Worker } = await load<typeof Threads>('node:worker_threads');
  const clocks = '../../src/adapters/clock';
  const { systemClock } = await load<typeof Clock>(`${clocks}/system-clock.ts`);
  expect(() => net.connect(1)).toThrow('virtual time connects a socket');
  expect(() => net.createServer().listen()).toThrow('listens on a socket');
  expect(() => child.spawn('true')).toThrow('starts a process');
  expect(() => child.execFileSync('true')).toThrow('starts a process');
  expect(() => new Worker('')).toThrow('starts a thread');
  expect(() => systemClock.setTimeout(() => undefined, 1)).toThrow('waits for real time');
});
