import { beforeEach, expect, test } from 'vitest';
import { createCloser, type Closer } from '../../src/daemon/closer.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';

let log: RecordingLog;
let closer: Closer;
let closed: string[];
beforeEach(() => {
  [log, closed] = [recordingLog(), []];
  closer = createCloser(log);
});
const open = (name: string, close: () => Promise<void> | void = () => undefined) =>
  closer.add(name, async () => {
    await close();
    closed.push(name);
  });

test('what was opened last is closed first, and nothing before that is closed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  open('database');
  open('agent server', () => promise);
  open('console');
  const closing = closer.close();
  await new Promise(setImmediate);
  expect(closed).toEqual(['console']);
  resolve();
  await closing;
  expect(closed).toEqual(['console', 'agent server', 'database']);
  expect(log.lines).toEqual([]);
});

test('a part that cannot be closed is told by its name, and keeps no other open', async () => {
  open('database');
  open('agent server', () => Promise.reject(new Error('it hangs')));
  closer.add('inspector', () => {
    throw new Error('at once');
  });
  await closer.close();
  expect(closed).toEqual(['database']);
  expect(log.lines.map(({ level, fields }) => [level, fields])).toEqual([
    ['warn', { part: 'inspector', cause: 'at once' }],
    ['warn', { part: 'agent server', cause: 'it hangs' }],
  ]);
});

test('everything is closed once, however often that is asked for', async () => {
  open('database');
  open('console');
  await Promise.all([closer.close(), closer.close()]);
  await closer.close();
  expect(closed.toSorted()).toEqual(['console', 'database']);
});

test('what is opened while the rest is being closed is closed, too', async () => {
  open('database');
  open('console', () => open('late'));
  await closer.close();
  expect(closed).toEqual(['console', 'late', 'database']);
});
