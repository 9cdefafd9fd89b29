import { getBorderCharacters, table } from 'table';
import { createWorld } from '../bmdb/world.ts';
import { median, rounded } from '../measure.ts';
import type { Report, Suite } from '../suite.ts';
import { measureStorm, type StormFigures } from '../webhooks/storm.ts';

const EVENTS = 10_000;
/** Heartbeats go by batches of 500, several in flight. */
const MACHINES = 4_000;

export const suite: Suite = {
  summary: 'a storm of events to a webhook at which nobody answers, beside heartbeats',
  run: async ({ rounds, spanMs, scale, progress }) => {
    const events = Math.ceil(EVENTS * scale);
    const world = await createWorld({ free: 0, started: MACHINES, others: 0 });
    const all: StormFigures[] = [];
    try {
      for (let round = 1; round <= rounds; round += 1) {
        const name = `dead-${round}`;
        const figures = await measureStorm(world, { events, spanMs, name });
        all.push(figures);
        progress(`round ${round}/${rounds}: ${figures.attemptsPerSecond.toFixed(0)} attempts/s`);
      }
    } finally {
      await world.close();
    }
    return reportOf(events, all);
  },
};

function reportOf(events: number, all: readonly StormFigures[]): Report {
  const of = (value: (figures: StormFigures) => number) => rounded(median(all.map(value)));
  const json = {
    events,
    attemptsPerSecond: of((each) => each.attemptsPerSecond),
    heartbeatsBefore: of((each) => each.heartbeatsBefore),
    heartbeatsDuring: of((each) => each.heartbeatsDuring),
    heartbeatRatio: of((each) => each.heartbeatsDuring / each.heartbeatsBefore),
    heapMb: of((each) => each.heapMb),
  };
  const rows = Object.entries(json).map(([name, value]) => [name, String(value)]);
  return { json, table: table(rows, { border: getBorderCharacters('norc') }).trimEnd() };
}
