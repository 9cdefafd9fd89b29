import { expect, test } from 'vitest';
import { explore, type Subject } from '../support/replay.ts';
import * as subjects from './subjects.ts';

/**
 * Every chart, replayed on live actors along every path of its model: nothing of it is out of reach. It
 * cannot tell that a chart is wrong, which the tables and rules do.
 */
const SUBJECTS = Object.values(subjects).filter(
  (each): each is Subject => typeof each === 'object' && 'chart' in each,
);

test.each(SUBJECTS)(
  'live actors reach every state and transition of $chart.id',
  async (subject) => {
    const { paths, replay, report } = explore(subject);
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) await replay(path);
    process.stdout.write(`${report()}\n`);
  },
);
