import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { createInspection } from '../../../src/adapters/inspector/inspection.ts';
import { messageOf, textOf } from '../../../src/adapters/inspector/messages.ts';
import type { Inspection, Subject } from '../../../src/adapters/inspector/port.ts';
import { standInOf } from '../../../src/adapters/inspector/trace.ts';
import { slot } from '../../../src/domain/ids.ts';
import { createSimulatedClock, settled, type VirtualClock } from '../../doubles/simulated-clock.ts';
import { CANARY, FIRST, SECOND, startCast, type Cast } from './cast.ts';

const MINUTE = 60_000;
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
const parsed = (texts: readonly string[]) =>
  texts.map((text) => JSON.parse(text) as StatelyInspectionEvent);
const linesOf = (text: string) => parsed(text.trimEnd().split('\n'));

function watch(subject: Subject) {
  const texts: string[] = [];
  let dropped = 0;
  const stop = inspection.watch(subject, {
    message: (text) => void texts.push(text),
    dropped: (count) => void (dropped += count),
  });
  return { texts, stop: stop!, told: () => parsed(texts), dropped: () => dropped };
}

/** `name: value` of each registration and each later state, in their order. */
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

describe('whoever looks', () => {
  test('sees one machine with its work, the guard and the session, and nobody else', async () => {
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
      // Whoever is told of an end comes before whoever ended.
      ...[`${FIRST} ${RUNNING}`, 'recovery "ended"', 'restartAgent "done"'],
    ]);
    stop();
    cast.first.send({ type: 'noise' });
    expect(namesIn(told())).toHaveLength(11);
  });

  test('of no machine in particular sees the supervisor, and no cell but the first', () => {
    const { told } = watch(null);
    cast.first.send(lost);
    expect(namesIn(told())).toEqual([
      ...['fleet {}', 'guard "watching"', 'session "alive"', 'provisioner-equinix "resting"'],
    ]);
  });

  test('is told who told it', async () => {
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

  test('is told of a burst how much was left out, and where it ended', () => {
    const { told, dropped } = watch(FIRST);
    const before = told().length;
    for (let i = 0; i < 5_000; i += 1) cast.first.send({ type: 'noise' });
    expect(told().length - before).toBe(200);
    clock.increment(100);
    expect(told().at(-1)).toMatchObject({ snapshot: { context: { count: 5_000 } } });
    expect(told().length - before).toBe(201);
    expect(dropped()).toBe(5_000 - 100);
  });

  test('is one of eight', () => {
    const viewers = Array.from({ length: 8 }, () => watch(null));
    expect(watch(null).stop).toBeNull();
    viewers[0]!.stop();
    expect(watch(null).stop).not.toBeNull();
  });

  test('is sent charts by their names, since the page has their drawings', () => {
    const [, , machine] = watch(FIRST).told();
    expect(machine).toMatchObject({ definition: '{"id":"lifecycle","states":{}}' });
  });
});

describe('a recording', () => {
  test('has messages like those of the library', async () => {
    const made: StatelyInspectionEvent[] = [];
    const library = createInspector({ send: (event) => void made.push(event) });
    const ours: StatelyInspectionEvent[] = [];
    const other = startCast(
      {
        inspect: (event: InspectionEvent) => {
          const standIn = standInOf(event, () => true);
          if (standIn === null) return;
          library.inspect.next?.(standIn);
          ours.push(messageOf(standIn, 7));
        },
      },
      clock,
    );
    other.first.send(lost);
    await settled();
    await expect.poll(() => ours.length - made.length).toBe(0);
    expect(new Set(ours.map(({ type }) => type)).size).toBe(3);
    const comparable = ({ createdAt: _, ...message }: StatelyInspectionEvent): object => {
      const plain = JSON.parse(JSON.stringify(message)) as { definition?: string };
      return { ...plain, definition: JSON.parse(plain.definition ?? 'null') as unknown };
    };
    expect(ours.map(comparable)).toEqual(made.map(comparable));
    other.stop();
  });

  test('has the last five minutes of a machine, and who was there before', async () => {
    const { id } = inspection.record(FIRST)!;
    cast.first.send(lost);
    await settled();
    clock.increment(6 * MINUTE);
    cast.first.send({ type: 'noise' });
    const lines = linesOf(inspection.read(id)!);
    expect(namesIn(lines)).toEqual([
      ...['guard "watching"', 'session "alive"', `${FIRST} ${RUNNING}`, `${FIRST} ${RUNNING}`],
      `${FIRST} ${RUNNING}`,
    ]);
    expect(lines.at(-1)).toMatchObject({ snapshot: { context: { count: 1 } } });
    expect(inspection.recordings()).toEqual([
      {
        ...{ id, subject: FIRST, why: 'chosen', beganAtMs: 1_700_000_000_000, messages: 2 },
        bytes: expect.any(Number) as number,
      },
    ]);
  });

  test('is one of eight, each of another machine, until it is removed', () => {
    const ids = Array.from(
      { length: 8 },
      (_, at) => inspection.record(slot('equinix', `${at}`))!.id,
    );
    expect(inspection.record(slot('equinix', '3'))!.id).toBe(ids[3]);
    expect(inspection.record(FIRST)).toBeNull();
    expect(inspection.remove(ids[0]!)).toBe(true);
    expect(inspection.remove(ids[0]!)).toBe(false);
    expect(inspection.read(ids[0]!)).toBeNull();
    expect(inspection.record(FIRST)).not.toBeNull();
  });

  test('is bounded in size, whatever happens', () => {
    const { id } = inspection.record(FIRST)!;
    for (let i = 0; i < 110; i += 1) {
      clock.increment(100);
      for (let j = 0; j < 100; j += 1) cast.first.send({ type: 'noise' });
    }
    const [recording] = inspection.recordings();
    expect(recording!.bytes).toBeGreaterThan(3_900_000);
    expect(recording!.bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(inspection.read(id)!.length).toBeLessThan(4.1 * 1024 * 1024);
  });
});

describe('an actor that crashes', () => {
  test('leaves a recording of what came before, and of its end', async () => {
    cast.first.send(lost);
    await settled();
    cast.first.send({ type: 'mistake' });
    const [recording, ...others] = inspection.recordings();
    expect(others).toEqual([]);
    expect(recording).toMatchObject({ why: 'crashed', subject: FIRST });
    const lines = linesOf(inspection.read(recording!.id)!);
    const events = lines.flatMap((each) =>
      each.type === '@xstate.event' ? [each.event.type] : [],
    );
    expect(events).toEqual(
      expect.arrayContaining(['agent.lost', 'xstate.done.actor.recovery', 'mistake']),
    );
    expect(lines.at(-1)).toMatchObject({
      type: '@xstate.snapshot',
      snapshot: {
        status: 'error',
        value: { alive: { life: { Running: 'resting' } } },
        error: '[hidden]',
      },
    });
    expect(namesIn(lines)).not.toContain(expect.stringContaining(SECOND));
  });

  test('leaves the last one of each machine, and of sixteen in a minute', () => {
    for (let i = 0; i < 20; i += 1) {
      const other = startCast(inspection, clock);
      other.first.send({ type: 'mistake' });
      other.second.send({ type: 'mistake' });
      other.stop();
    }
    const crashed = () => inspection.recordings().map(({ id }) => id);
    expect(crashed()).toEqual(['crashed-15', 'crashed-16']);
    clock.increment(MINUTE);
    cast.second.send({ type: 'mistake' });
    expect(crashed()).toEqual(['crashed-15', 'crashed-17']);
  });
});

test('vector 36: no recording has a secret, whichever way it was known', async () => {
  const { id } = inspection.record(FIRST)!;
  const { texts } = watch(FIRST);
  cast.first.send(lost);
  await settled();
  cast.first.send({ type: 'mistake' });
  const recorded = inspection.recordings().map((each) => inspection.read(each.id)!);
  expect(recorded).toHaveLength(2);
  const all = [...recorded, texts.join('\n')];
  for (const text of all) {
    expect(text).toContain('agent.lost');
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain([...new TextEncoder().encode(CANARY)].join(','));
  }
  expect(inspection.read(id)).toContain('[hidden]');
});

test('a message that is too long goes without what makes it so', () => {
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
