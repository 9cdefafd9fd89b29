import { describe, expect, test } from 'vitest';
import { explore, type Subject } from './replay.ts';

/** Replays every path of a chart and demands that nothing of the chart was left out. */
export function pathTests(subject: Subject): void {
  describe(`${subject.chart.id}, replayed`, () => {
    test('a live actor follows every path of the model, and nothing is left out', async () => {
      const explored = explore(subject);
      expect(explored.paths.length).toBeGreaterThan(0);
      for (const path of explored.paths) await explored.replay(path);
      process.stdout.write(`${explored.report()}\n`);
    });
  });
}
