import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SIGNAL } from '../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../contracts/bmdb-stage.ts';
import { NOTHING, perform } from './differential/commands.ts';
import type { Command } from './differential/commands.ts';
import { scripts } from './differential/scripts.ts';
import { BUDGET, idOf, LOSS, MACHINES } from './differential/setting.ts';
import { createSide, normalise } from './differential/side.ts';
import type { Side } from './differential/side.ts';
import { TRUSTING_GUARD } from '../../support/ingest.ts';
import { memHarness } from './mem/mem-harness.ts';
import { openTwoBmdbs, pgHarness, startOwnPgServer, startTimedPgServer } from './pg/pg-harness.ts';
import type { TimedPgServer } from './pg/pg-harness.ts';

/**
 * Drives both implementations with the same random commands of three sessions on two daemons. Both
 * must return the same answers and hold the same rows. `DIFFERENTIAL_RUNS` requests more runs.
 * fast-check prints the seed and the shortest commands that make a difference.
 */
const RUNS = Number(process.env['DIFFERENTIAL_RUNS'] ?? 25);
/** For all runs on a busy machine, and for the search for the shortest commands. */
const LIMIT_MS = 300_000 + RUNS * 24_000;
const CHECK_EVERY = 4;
/** Most commands find their object, but not all: the object may be gone or not exist yet. */
const APPLIED_MIN = 0.8;

/** Shows what was compared: runs that end early, and commands without an object, prove nothing. */
const figures = { runs: 0, commands: 0, applied: 0 };

let server: TimedPgServer;
let onPostgres: BmdbHarness;
beforeAll(async () => {
  server = await startTimedPgServer(startOwnPgServer);
  onPostgres = await pgHarness(server, openTwoBmdbs(server, LOSS, BUDGET));
});
afterAll(async () => {
  await onPostgres.close();
  await server.stop();
});

it(
  'behaves the same in both implementations',
  async () => {
    const checking = fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        await server.clear();
        const pg = createSide(onPostgres);
        const mem = createSide(await memHarness(LOSS, BUDGET, TRUSTING_GUARD, server.time.nowMs()));
        try {
          await compare(pg, mem, script);
          figures.runs += 1;
        } finally {
          for (const session of [...pg.opened, ...mem.opened]) await session.close();
          await mem.h.close();
        }
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true },
    );
    await checking.finally(() => console.log('differential', { wanted: RUNS, ...figures }));
    expect(figures.runs, 'each run came to its end').toBe(RUNS);
    expect(figures.applied / figures.commands).toBeGreaterThan(APPLIED_MIN);
  },
  LIMIT_MS + 30_000,
);

async function compare(pg: Side, mem: Side, script: readonly Command[]): Promise<void> {
  for (const [at, command] of script.entries()) {
    const what = `command ${at}: ${JSON.stringify(command)}`;
    const [onPg, inMem] = [await perform(pg, command), await perform(mem, command)];
    figures.commands += 1;
    if (!('value' in inMem) || inMem.value !== NOTHING) figures.applied += 1;
    expect(normalise(pg, onPg), what).toEqual(normalise(mem, inMem));
    if (at % CHECK_EVERY === 0) await compareRows(pg, mem, what);
  }
  await compareRows(pg, mem, 'the last command');
  for (let at = 0; at < MACHINES; at++) {
    const id = idOf(at);
    const [onPg, inMem] = [await pg.h.history(id), await mem.h.history(id)];
    expect(settled(onPg), `history of ${id}`).toEqual(settled(inMem));
    expect(await pg.h.events(id), `events of ${id}`).toEqual(await mem.h.events(id));
    expect(await pg.h.actors(id), `actors of ${id}`).toEqual(await mem.h.actors(id));
  }
}

/** Works cancelled in one statement have no order. */
function settled(lines: readonly string[]): string[] {
  const isCancelled = (line: string) => line.includes(' Canceled ');
  const groups: string[][] = [];
  for (const line of lines) {
    const group = groups.at(-1);
    if (group && isCancelled(line) && isCancelled(group[0]!)) group.push(line);
    else groups.push([line]);
  }
  return groups.flatMap((group) => group.toSorted());
}

/** All stored state. The reader that follows the changes is left alone. */
async function compareRows(pg: Side, mem: Side, what: string): Promise<void> {
  const all = async (side: Side) => {
    const { cursor: _, ...snapshot } = await side.h.bmdb.scan(SIGNAL);
    return normalise(side, snapshot);
  };
  expect(await all(pg), `rows after ${what}`).toEqual(await all(mem));
}
