import { describe, expect, test } from 'vitest';
import { explore, type Subject } from './replay.ts';

/** Paths of one test: few enough for its time limit on a busy machine. */
const AT_ONCE = 200;

/** Replays every path of a chart and demands that nothing of the chart was left out. */
export function pathTests(subject: Subject): void {
  describe(`${subject.chart.id}, replayed`, () => {
    const explored = explore(subject);
    const { paths } = explored;
    const parts = Array.from(
      { length: Math.ceil(paths.length / AT_ONCE) },
      (_, at) => at * AT_ONCE,
    );

    test.each(parts)(
      'a live actor follows every path of the model, from path %i on',
      async (at) => {
        for (const path of paths.slice(at, at + AT_ONCE)) await explored.replay(path);
      },
    );

    test('nothing of the chart is left out', () => {
      expect(paths.length).toBeGreaterThan(0);
      process.stdout.write(`${explored.report()}\n`);
    });
  });
}
