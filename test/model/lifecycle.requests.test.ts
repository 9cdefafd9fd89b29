import { describe, expect, test } from 'vitest';
import { leafOf } from '../../src/machines/leaf.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { explore, type Path, type Run } from '../support/replay.ts';
import { viewAt } from '../support/views.ts';
import { lifecycleSubject } from './subjects.ts';

/** What operators ask is settled beside whatever the machine is at. */

const explored = explore(lifecycleSubject);
const RETRY = { type: 'xstate.after.settlePause.lifecycle.requests.pausing' };

/** A shortest path to each state of life in which nothing is being settled, by its name. */
const places = new Map<string, Path>();
for (const path of explored.paths) {
  const { snapshot } = path.steps.at(-1) ?? { snapshot: path.initial };
  const { requests } = snapshot.value as { requests: string };
  const leaf = leafOf(snapshot);
  if (!leaf || requests !== 'idle' || leaf.state === 'Released') continue;
  if (snapshot.context['settledKey'] !== null) continue;
  const name = `${leaf.state}.${leaf.substate}${snapshot.tags.has('busy') ? ' of ours' : ''}`;
  const known = places.get(name);
  if (!known || known.steps.length > path.steps.length) places.set(name, path);
}

const requestsOf = (run: Run) => (run.snapshot().value as { requests: string }).requests;
const settlings = (run: Run) => run.stage.started.filter((name) => name === 'settleRequest').length;
const asked = (run: Run, request: string | null): Promise<void> => {
  const view = { ...(run.snapshot().context['view'] as MachineView), request };
  return run.send({ type: 'machine.observed', view } as never);
};
const answer = (run: Run, key: string, settled = true) =>
  run.play({
    type: 'xstate.done.actor.settleRequest',
    actorId: 'settleRequest',
    output: { key, settled },
  } as never);

describe.each([...places.keys()])('in %s', (name) => {
  const reach = () => explored.reach(places.get(name)!);

  test('a request is settled once, and nothing else moves', async () => {
    const run = await reach();
    const before = leafOf(run.snapshot());
    await asked(run, 'ann-1');
    expect(requestsOf(run)).toBe('settling');
    await answer(run, 'ann-1');
    expect({ region: requestsOf(run), leaf: leafOf(run.snapshot()) }).toEqual({
      region: 'idle',
      leaf: before,
    });
    await asked(run, 'ann-1');
    expect(settlings(run), 'the mirror lags a little').toBe(1);
    await asked(run, 'ann-2');
    expect(settlings(run)).toBe(2);
    await run.stop();
  });
});

describe('a request that cannot be settled', () => {
  const reach = () => explored.reach(places.get('Running.healthy')!);

  test.each(['fails', 'stays open'])('%s: is tried again after a while', async (how) => {
    const run = await reach();
    await asked(run, 'ann-1');
    if (how === 'stays open') await answer(run, 'ann-1', false);
    else {
      await run.play({
        type: 'xstate.error.actor.settleRequest',
        actorId: 'settleRequest',
        error: new Error('no database'),
      } as never);
    }
    expect(requestsOf(run)).toBe('pausing');
    await asked(run, 'ann-1');
    expect(settlings(run), 'news do not shorten the wait').toBe(1);
    await run.play(RETRY);
    expect({ region: requestsOf(run), settlings: settlings(run) }).toEqual({
      region: 'settling',
      settlings: 2,
    });
    await run.stop();
  });

  test('is forgotten where the machine is released', async () => {
    for (const region of ['settling', 'pausing']) {
      const run = await reach();
      await asked(run, 'ann-1');
      if (region === 'pausing') await answer(run, 'ann-1', false);
      expect(requestsOf(run)).toBe(region);
      await run.send({ type: 'machine.observed', view: viewAt('Released', 'gone') } as never);
      expect(run.snapshot().status).toBe('done');
      await run.stop();
    }
  });
});

test('every place of a machine was looked at', () => {
  expect(places.size).toBeGreaterThan(40);
});
