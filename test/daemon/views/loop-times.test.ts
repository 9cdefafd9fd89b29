import { expect, test } from 'vitest';
import { createLoopTimes } from '../../../src/daemon/views/state-gauges.ts';
import { ALL_ROLES, type DaemonRole } from '../../../src/domain/daemons.ts';

const START = 1_700_000_000_000;

function start(roles: readonly DaemonRole[] = [...ALL_ROLES]) {
  const world = { at: 5_000, jobs: new Set<string>() };
  const timeOf = createLoopTimes({
    roles: new Set(roles),
    has: (job) => world.jobs.has(job),
    clock: { monotonic: () => world.at },
    nowMs: () => START + world.at - 5_000,
  });
  const time = (name: string, job: string | null = null, lastSuccessAtMs: number | null = null) =>
    timeOf({ name, job, lastSuccessAtMs, periodMs: 1, failure: null });
  return Object.assign(world, { time });
}

test('counts a loop without success from the start of its daemon, then from its success', () => {
  const world = start();
  world.at += 700_000;
  expect(world.time('guard')).toBe(START);
  expect(world.time('listing rack')).toBe(START);
  expect(world.time('guard', null, START + 600_000)).toBe(START + 600_000);
});

test('does not miss a loop that this daemon does not run', () => {
  const janitor = start(['janitor']);
  const names = ['session', 'guard', 'sweep', 'rows', 'listing rack'];
  const told = (world: typeof janitor) => names.filter((name) => world.time(name) !== null);
  expect(told(janitor)).toEqual(['session', 'guard', 'sweep']);
  expect(told(start(['console']))).toEqual(['session', 'guard', 'rows', 'listing rack']);
});

test('counts a loop of a job from when this daemon got the job', () => {
  const world = start();
  const time = () => world.time('provisioner rack', 'provisioner/rack');
  expect(time()).toBe(null);
  world.at += 1_000_000;
  world.jobs.add('provisioner/rack');
  expect(time()).toBe(START + 1_000_000);
  world.at += 700_000;
  expect(time()).toBe(START + 1_000_000);
  world.jobs.clear();
  expect(time()).toBe(null);
  world.jobs.add('provisioner/rack');
  expect(time()).toBe(START + 1_700_000);
});
