import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { buildAgent } from '../../src/agent-bundle.ts';
import { PATIENCE } from '../support/patience.ts';

test('finishes overlapping builds with the same bytes', async () => {
  const ended: string[] = [];
  for (let at = 0; at < 12; at += 1) {
    void buildAgent().then(({ sha256 }) => ended.push(sha256));
    await pause(at * 5);
  }
  await expect.poll(() => ended.length, PATIENCE).toBe(12);
  expect(new Set(ended).size).toBe(1);
});
