import { expect, it } from 'vitest';
import { runMonth } from './month.ts';

it('keeps its promises to a small fleet for three days', async () => {
  const figures = await runMonth({ seed: 1, days: 3, machines: 10, daemons: 1 });
  expect(figures.violations).toEqual([]);
  expect(figures).toMatchObject({ revivedMax: 4, retired: 1, replacements: 1, interruptedWell: 0 });
  expect(figures.disksDied).toBeGreaterThan(0);
  expect(figures.lies).toBe(6);
  expect(figures.drainedMax).toBeGreaterThan(0);
});
