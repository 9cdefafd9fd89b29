import { expect, test } from 'vitest';
import {
  after,
  NOTHING,
  readRecording,
  recordingOf,
  SNAPSHOTS_MAX,
  stepsOf,
  told,
  type Message,
  type Story,
} from '../../web/pages/inspector/story.ts';

const actor = (id: string, parentId?: string): Message => ({
  ...{ type: '@xstate.actor', sessionId: id, createdAt: '1', name: id, snapshot: {} },
  definition: '{"id":"lifecycle","states":{}}',
  ...(parentId !== undefined && { parentId }),
});
const is = (id: string, value: string, status = 'active'): Message => ({
  ...{ type: '@xstate.snapshot', sessionId: id, createdAt: '2', snapshot: { value, status } },
});
const hears = (id: string, type: string): Message => ({
  ...{ type: '@xstate.event', sessionId: id, createdAt: '2', event: { type } },
});

test('keeps exactly 500 snapshots, and the actors before them', () => {
  expect(SNAPSHOTS_MAX).toBe(500);
  let story = told(NOTHING, [actor('a'), actor('b'), is('b', 'over', 'done')]);
  for (let at = 0; at < 700; at += 1) story = told(story, [hears('a', 'go'), is('a', `s${at}`)]);
  const snapshots = story.messages.filter(({ type }) => type === '@xstate.snapshot');
  expect(snapshots.map(({ snapshot }) => snapshot!.value)).toEqual(
    Array.from({ length: 500 }, (_, at) => `s${at + 200}`),
  );
  expect(story.before.get('a')?.snapshot.value).toBe('s199');
  // Actors that ended earlier are left out.
  expect([...story.before.keys()]).toEqual(['a']);
  expect(story.forgotten).toBe(3 + 400);
  const steps = stepsOf(story);
  expect(steps).toHaveLength(1_000);
  expect([steps[0]!.number, steps.at(-1)!.number]).toEqual([403, 1_402]);
  const [, first] = steps;
  expect(after(story.before, story.messages.slice(0, first!.number - 402)).get('a')).toMatchObject({
    snapshot: { value: 's200' },
  });
});

test('writes the earlier actors and their state into a recording', () => {
  let story = told(NOTHING, [actor('a'), actor('b', 'a')]);
  for (let at = 0; at < 700; at += 1) story = told(story, [is('a', `s${at}`)]);
  const read = readRecording(recordingOf(story));
  expect(read.messages.slice(0, 3)).toMatchObject([
    { type: '@xstate.actor', name: 'a', snapshot: { value: 's199' } },
    { type: '@xstate.actor', name: 'b', parentId: 'a' },
    { type: '@xstate.snapshot', snapshot: { value: 's200' } },
  ]);
  const shown = ({ before, messages }: Story) =>
    [...after(before, messages).values()].map(({ name, chart, parent, snapshot }) => [
      ...[name, chart, parent, snapshot.value],
    ]);
  expect(shown(read)).toEqual(shown(story));
});

test('makes no step for a change of context only, but keeps the new context', () => {
  const more: Message = { ...is('a', 'x'), snapshot: { value: 'x', context: { count: 2 } } };
  const story = told(NOTHING, [actor('a'), is('a', 'x'), more]);
  expect(stepsOf(story).map(({ kind, text }) => [kind, text])).toEqual([['state', 'x']]);
  expect(after(story.before, story.messages).get('a')?.snapshot.context).toEqual({ count: 2 });
});

test('rejects a file that is not a recording, and names the line and the fault', () => {
  const line = JSON.stringify(actor('a'));
  expect(readRecording(`${line}\n\n`).messages).toHaveLength(1);
  for (const [text, wrong] of [
    ['', 'the file is empty'],
    [`${line}\nnonsense`, 'line 2 is not JSON'],
    [`${line}\n{"type":"else"}`, 'line 2 is no message of an inspector'],
    ['null', 'line 1 is no message of an inspector'],
  ] as const) {
    expect(() => readRecording(text)).toThrow(wrong);
  }
});
