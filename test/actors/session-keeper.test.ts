import { createActor } from 'xstate';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSessionKeeper, type SessionKeeper } from '../../src/actors/session-keeper.ts';
import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import {
  advance,
  createSeededRandom,
  createSimulatedClock,
  settled,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { session } from '../../src/machines/session.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { runService } from '../support/run-service.ts';

const INTERVAL_MS = 10_000;

let clock: VirtualClock;
let bmdb: MemBmdb;
let keeper: SessionKeeper;
let log: RecordingLog;
/** Replacements for the next database calls. */
let broken: { open?: Promise<never>; poke?: Promise<never>; close?: Promise<never> };

beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  broken = {};
  const random = createSeededRandom(1);
  bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const flaky: Bmdb = {
    ...bmdb,
    openSession: async (options) => {
      await broken.open;
      const opened = await bmdb.openSession(options);
      return Object.assign(Object.create(opened) as typeof opened, {
        poke: async () => {
          await broken.poke;
          await opened.poke();
        },
        close: async () => {
          await broken.close;
          await opened.close();
        },
      });
    },
  };
  keeper = createSessionKeeper({ bmdb: flaky, component: 'shepherd', runtimeInfo: 'test', log });
});
afterEach(async () => {
  await keeper.close();
  await settled();
  expect(clock.pending).toBe(0);
  expect(bmdb.tables.sessions.size).toBe(0);
});

const failing = () => {
  const failure = Promise.reject(new Unreachable('no database'));
  failure.catch(() => undefined);
  return failure;
};
const open = () => runService(keeper.services.openSession, { intervalMs: INTERVAL_MS }).result;

describe('the session keeper', () => {
  test('gives the open session to waiting callers and not to those who left', async () => {
    const leaving = new AbortController();
    const left = keeper.whenAlive(leaving.signal);
    const waiting = keeper.whenAlive(new AbortController().signal);
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'cancelled' });
    const id = await open();
    expect((await waiting).sessionId).toBe(id);
    expect(keeper.require().sessionId).toBe(id);
    await expect(keeper.whenAlive(AbortSignal.abort())).resolves.toBe(keeper.require());
  });

  test('treats a session past its local deadline as closed', async () => {
    await open();
    await advance(clock, INTERVAL_MS);
    expect(keeper.current()).toBeNull();
    expect(() => keeper.require()).toThrow('no live session');
  });

  test('closes a session that was opened too late', async () => {
    const run = runService(keeper.services.openSession, { intervalMs: INTERVAL_MS });
    run.stop();
    await settled();
    expect(keeper.current()).toBeNull();
    expect(bmdb.tables.sessions.size).toBe(0);
  });

  test('closes the old session when a new one opens', async () => {
    const first = await open();
    const second = await open();
    await settled();
    expect([...bmdb.tables.sessions.keys()]).toEqual([second]);
    expect(second).not.toBe(first);
  });

  test('only reports an old session that cannot be closed', async () => {
    await open();
    const left = keeper.require();
    broken.close = failing();
    const second = await open();
    await settled();
    expect(keeper.require().sessionId).toBe(second);
    expect(log.count('the previous session could not be closed; it ends at its deadline')).toBe(1);
    delete broken.close;
    await left.close();
  });

  test('ends a watch at once that starts after the deadline', async () => {
    await open();
    await advance(clock, INTERVAL_MS);
    const watching = runService(keeper.services.watchDeadline, undefined).result;
    await expect(watching).rejects.toMatchObject({ code: 'session-expired' });
  });

  test('gives nobody a session that is being closed', async () => {
    await open();
    const { promise, reject } = Promise.withResolvers<never>();
    broken.close = promise;
    const closing = keeper.close();
    expect(keeper.current()).toBeNull();
    expect(() => keeper.require()).toThrow('no live session');
    delete broken.close;
    reject(new Unreachable('no database'));
    await expect(closing).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('repeats a close that failed', async () => {
    const id = await open();
    broken.close = failing();
    await expect(keeper.close()).rejects.toMatchObject({ code: 'unreachable' });
    expect([...bmdb.tables.sessions.keys()]).toEqual([id]);
    delete broken.close;
    await keeper.close();
    expect(bmdb.tables.sessions.size).toBe(0);
  });

  test('neither renews nor watches after its close', async () => {
    await open();
    await keeper.close();
    await expect(runService(keeper.services.poke, undefined).result).rejects.toMatchObject({
      code: 'session-expired',
    });
    await expect(runService(keeper.services.watchDeadline, undefined).result).rejects.toMatchObject(
      { code: 'session-expired' },
    );
  });
});

describe('the session chart with its keeper', () => {
  const start = () => {
    const warned: unknown[] = [];
    const logic = session.provide({
      actors: keeper.services,
      actions: { reportPokeFailure: (_, { error }) => void warned.push(error) },
    });
    const actor = createActor(logic, { clock, input: { intervalMs: INTERVAL_MS } }).start();
    return { actor, warned };
  };

  test('ends at the local deadline without a successful renewal, before the database does', async () => {
    const { actor, warned } = start();
    await settled();
    broken.poke = failing();
    await advance(clock, INTERVAL_MS - 1);
    expect(actor.getSnapshot().status).toBe('active');
    await advance(clock, 1);
    expect(actor.getSnapshot()).toMatchObject({
      status: 'done',
      output: { failure: { code: 'session-expired' } },
    });
    expect(warned.length).toBeGreaterThan(1);
  });

  test('ends at once when the database has forgotten the session', async () => {
    const { actor } = start();
    await settled();
    bmdb.tables.sessions.clear();
    await advance(clock, INTERVAL_MS / 2);
    expect(actor.getSnapshot().output).toMatchObject({ failure: { code: 'session-expired' } });
    expect(keeper.current()).toBeNull();
  });
});
