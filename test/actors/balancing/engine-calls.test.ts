import { expect, test } from 'vitest';
import { measureEngineCalls } from '../../bench/balancing/engine-calls.ts';

const MACHINES = 100;
/** A backend, a frontend, a bind and as many servers as machines for each of three ports. */
const OBJECTS = 3 * (3 + MACHINES);
const PAGES = {
  /** Of what has the tag: 309 in pages of 100, and an empty one. */
  tagged: 5,
  /** Backends and frontends, three each, and an empty page after them. */
  tops: 2 * 2,
  /** Of each of three frontends, its one bind. */
  binds: 3 * 2,
  /** Of each of three backends, its 100 servers. */
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
    // A daemon that takes over reads everything once, after it has asked for the load balancer.
    expect(found.first).toEqual({
      ...{ looks: 1, fullLooks: 1, pages: perLook },
      ...{ polls: 0, fetches: 1 + read, changes: 0 },
    });
    // Three servers go: not one object is asked for by itself.
    const { leave, join } = found;
    expect(leave).toEqual({
      ...{ looks: leave.looks, fullLooks: 0, pages: leave.looks * perLook },
      ...{ polls: 0, fetches: 0, changes: 3 },
    });
    // Three servers are made and tagged. Only what is not ready is asked for by itself.
    expect(join).toEqual({
      ...{ looks: join.looks, fullLooks: 0, pages: join.looks * perLook },
      ...{ polls: join.polls, fetches: 3, changes: 6 },
    });
    expect([leave.looks, join.looks, join.polls]).toEqual([3, 5, 9]);
    // What others may have done is seen by reading everything anew, where rows do not tell it.
    expect(found.resync).toEqual({
      ...{ looks: 1, fullLooks: 1, pages: perLook },
      ...{ polls: 0, fetches: read, changes: 0 },
    });
  },
);
