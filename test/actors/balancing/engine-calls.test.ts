import { expect, test } from 'vitest';
import { measureEngineCalls } from '../../bench/balancing/engine-calls.ts';

const MACHINES = 100;
/** For each of three ports a backend, a frontend, a bind, and one server per machine. */
const OBJECTS = 3 * (3 + MACHINES);
const PAGES = {
  /** Tagged objects: 309 in pages of 100, and an empty page. */
  tagged: 5,
  /** Backends and frontends, three each, and an empty page after them. */
  tops: 2 * 2,
  /** The one bind of each of three frontends. */
  binds: 3 * 2,
  /** The 100 servers of each of three backends. */
  servers: 3 * 2,
};
const perLook = Object.values(PAGES).reduce((sum, pages) => sum + pages, 0);

test.each([
  { rows: 'short', read: OBJECTS },
  { rows: 'full', read: 0 },
] as const)(
  'needs lists × pages and the changes for 100 machines, three ports and $rows rows',
  async ({ rows, read }) => {
    const found = await measureEngineCalls(MACHINES, rows);
    expect(found).toMatchObject({ objects: OBJECTS, pagesPerLook: perLook });
    // A daemon that takes over reads everything once, after it has read the load balancer.
    expect(found.first).toEqual({
      ...{ looks: 1, fullLooks: 1, pages: perLook },
      ...{ polls: 0, fetches: 1 + read, changes: 0 },
    });
    // Three servers leave without a read of any single object.
    const { leave, join } = found;
    expect(leave).toEqual({
      ...{ looks: leave.looks, fullLooks: 0, pages: leave.looks * perLook },
      ...{ polls: 0, fetches: 0, changes: 3 },
    });
    // Three servers are created and tagged. Only objects that are not ready are read singly.
    expect(join).toEqual({
      ...{ looks: join.looks, fullLooks: 0, pages: join.looks * perLook },
      ...{ polls: join.polls, fetches: 3, changes: 6 },
    });
    expect([leave.looks, join.looks, join.polls]).toEqual([3, 5, 9]);
    // A full read shows changes by others where rows do not report them.
    expect(found.resync).toEqual({
      ...{ looks: 1, fullLooks: 1, pages: perLook },
      ...{ polls: 0, fetches: read, changes: 0 },
    });
  },
);
