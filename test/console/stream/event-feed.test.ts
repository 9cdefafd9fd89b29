import { expect, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createEventFollower } from '../../../src/console/stream/event-feed.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';

test('keeps the position of a reader that is ahead of what this daemon knows to be complete', async () => {
  const clock = createSimulatedClock();
  const asked: string[] = [];
  const follower = createEventFollower({
    // A just started daemon, while a transaction is open.
    events: {
      newest: async () => '0',
      read: async ({ after }) => {
        asked.push(after);
        return { events: [], next: after, more: false };
      },
    },
    ...{ clock, log: silentLog },
  });
  const feed = follower.follow({ after: '40' }, () => {});
  await advance(clock, 2_000);
  expect(new Set(asked)).toEqual(new Set(['40']));
  expect(feed.position).toBe('40');
  follower.close();
});
