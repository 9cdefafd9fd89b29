import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import { messageOf, textOf } from '../../../src/adapters/inspector/messages.ts';
import type { Inspection, Subject } from '../../../src/adapters/inspector/port.ts';
import { createSimulatedClock, settled, type VirtualClock } from '../../doubles/simulated-clock.ts';
import { CANARY, FIRST, startCast, type Cast } from './cast.ts';

let clock: VirtualClock;
let inspection: Inspection;
let cast: Cast;
beforeEach(() => {
  clock = createSimulatedClock();
  inspection = createInspection({ clock });
  cast = startCast(inspection, clock);
});
afterEach(() => {
  cast.stop();
  inspection.close();
  expect(clock.pending).toBe(0);
});

const lost = { type: 'agent.lost', secret: CANARY } as const;

function watch(subject: Subject) {
  const texts: string[] = [];
  const stop = inspection.watch(subject, (text) => void texts.push(text));
  const told = () => texts.map((text) => JSON.parse(text) as StatelyInspectionEvent);
  return { texts, stop: stop!, told };
}

/** `name: value` of each registration and each later state, in order. */
function namesIn(messages: readonly StatelyInspectionEvent[]): string[] {
  const names = new Map<string, string>();
  return messages.flatMap((message) => {
    const { sessionId, type } = message;
    if (type === '@xstate.actor') names.set(sessionId, message.name);
    if (type === '@xstate.event') return [];
    const { value, status } = message.snapshot as { value?: unknown; status?: string };
    return [`${names.get(sessionId)} ${JSON.stringify(value ?? status)}`];
  });
}
const inLife = (life: object) => JSON.stringify({ alive: { life, requests: 'idle' } });
const RUNNING = inLife({ Running: 'resting' });

describe('a viewer', () => {
  test('sees one machine with its work, the guard and the session, and no other machine', async () => {
    const { told, stop } = watch(FIRST);
    cast.first.send(lost);
    cast.second.send(lost);
    await settled();
    expect([...new Set(namesIn(told()).map((line) => line.split(' ')[0]))]).toEqual([
      ...['guard', 'session', FIRST, 'recovery', 'restartAgent'],
    ]);
    expect(namesIn(told())).toEqual([
      ...['guard "watching"', 'session "alive"', `${FIRST} ${RUNNING}`, 'recovery "active"'],
      ...[
        'restartAgent "active"',
        'restartAgent "active"',
        'recovery {"restartingAgent":"connecting"}',
      ],
      `${FIRST} ${inLife({ Recovering: 'working' })}`,
      // The receiver of an end event is reported before the actor that ended.
      ...[`${FIRST} ${RUNNING}`, 'recovery "ended"', 'restartAgent "done"'],
    ]);
    stop();
    cast.first.send({ type: 'noise' });
    expect(namesIn(told())).toHaveLength(11);
  });

  test('without a chosen machine sees the supervisor and only the first cell', () => {
    const { told } = watch(null);
    cast.first.send(lost);
    expect(namesIn(told())).toEqual([
      ...['fleet {}', 'guard "watching"', 'session "alive"', 'provisioner-equinix "resting"'],
    ]);
  });

  test('learns which actor sent each event', async () => {
    const { told } = watch(FIRST);
    cast.first.send(lost);
    await settled();
    const idOf = (name: string) =>
      told().find((each) => each.type === '@xstate.actor' && each.name === name)!.sessionId;
    const events = told().flatMap((each) => (each.type === '@xstate.event' ? [each] : []));
    expect(
      events.map(({ event, sourceId, sessionId }) => [event.type, sourceId, sessionId]),
    ).toEqual(
      [
        ['agent.lost', undefined, idOf(FIRST)],
        ['xstate.init', idOf(FIRST), idOf('recovery')],
        ['xstate.init', idOf('recovery'), idOf('restartAgent')],
        ['xstate.promise.resolve', idOf('restartAgent'), idOf('restartAgent')],
        ['xstate.done.actor.restartAgent', idOf('restartAgent'), idOf('recovery')],
        ['xstate.done.actor.recovery', idOf('recovery'), idOf(FIRST)],
      ].map((each) => expect.arrayContaining(each) as unknown),
    );
  });

  test('learns how many messages of a burst were dropped, and where the burst ended', () => {
    const { told } = watch(FIRST);
    const before = told().length;
    for (let i = 0; i < 5_000; i += 1) cast.first.send({ type: 'noise' });
    expect(told().length - before).toBe(200);
    clock.increment(100);
    const [last, ...more] = told().slice(before + 200);
    expect(last).toMatchObject({ snapshot: { context: { count: 5_000 } } });
    expect(more).toEqual([{ type: 'shepherd.dropped', count: 5_000 - 100 }]);
  });

  test('counts towards the limit of eight', () => {
    const viewers = Array.from({ length: 8 }, () => watch(null));
    expect(watch(null).stop).toBeNull();
    viewers[0]!.stop();
    expect(watch(null).stop).not.toBeNull();
  });

  test('gets messages in the format of the library', async () => {
    const made: StatelyInspectionEvent[] = [];
    const ours: StatelyInspectionEvent[] = [];
    const library = createInspector({ send: (event) => void made.push(event) });
    const inspect = (event: InspectionEvent) => {
      const message = messageOf(event, 7, () => true);
      if (message === null) return;
      ours.push(message);
      library.inspect.next?.(event);
    };
    const other = startCast({ inspect }, clock);
    other.first.send(lost);
    await settled();
    await expect.poll(() => ours.length - made.length).toBe(0);
    expect(new Set(ours.map(({ type }) => type)).size).toBe(3);
    expect(ours.map(comparable)).toEqual(made.map(comparable));
    other.stop();
  });
});

/**
 * Everything except send times, hidden values, and states that the library reads too late or drops.
 */
function comparable({ createdAt: _, ...message }: StatelyInspectionEvent): object {
  const { type } = message;
  if (type === '@xstate.event') return { ...message, event: message.event.type };
  if (type === '@xstate.actor') {
    const { snapshot: _later, definition, ...registration } = message;
    const { context: _first, ...chart } = JSON.parse(definition!) as Record<string, unknown>;
    return { ...registration, chart };
  }
  const { status, value, children } = message.snapshot as unknown as Record<string, object>;
  return {
    ...message,
    event: message.event.type,
    snapshot: { status, value, children: Object.keys(children ?? {}) },
  };
}

test('vector 36: gets no message with a secret, however the secret is known', async () => {
  const { texts } = watch(FIRST);
  cast.first.send(lost);
  await settled();
  cast.first.send({ type: 'mistake' });
  const text = texts.join('\n');
  expect(text).toContain('agent.lost');
  expect(text).toContain('mistake');
  expect(text).toContain('[hidden]');
  expect(text).not.toContain(CANARY);
  expect(text).not.toContain([...new TextEncoder().encode(CANARY)].join(','));
});

test('gets an overlong message without the parts that make it so', () => {
  const snapshot = { status: 'active', value: 'x', context: 'y'.repeat(200_000) };
  const message = { type: '@xstate.snapshot', snapshot } as unknown as StatelyInspectionEvent;
  expect(JSON.parse(textOf(message))).toMatchObject({
    snapshot: {
      status: 'active',
      value: 'x',
      context: expect.stringMatching(/^\[cut: /) as string,
    },
  });
});
