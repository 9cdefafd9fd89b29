import { describe, expect, test } from 'vitest';
import type { WorkNote } from '../../../../src/adapters/bmdb/port.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import {
  AmbiguousCommit,
  NotFound,
  ProviderError,
  Unreachable,
} from '../../../../src/domain/errors.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { ladderRow, PROVIDER, SLOT } from '../../../support/facts.ts';
import {
  anotherStage,
  beat,
  codeOf,
  MINUTE,
  noting,
  onRung,
  permit,
  recovery,
  request,
  setStage,
  stage,
  stand,
} from './stage.ts';

/** Requests to a provider: when they are noted, and when they are sent. */

/** A stage whose provider does this instead. */
const staged = (instead: Partial<FleetProvider>) =>
  anotherStage(({ providers }) => ({
    providers: new Map([
      [PROVIDER, Object.assign(Object.create(providers.get(PROVIDER)!), instead)],
    ]),
  }));

describe('A4: a request that waits for its turn', () => {
  const asked = async (rebootMachine: FleetProvider['rebootMachine']) => {
    await staged({ rebootMachine });
    stand.host.unreachable = true;
    onRung('rebooting');
    await stage.claim();
    return codeOf(stage.run('askReboot'));
  };

  test('has no time limit and is recorded when its turn comes', async () => {
    const noted: unknown[] = [];
    const code = await asked(async (_id, _mode, { timeoutMs, beforeSending }) => {
      noted.push(timeoutMs, recovery()?.attempts);
      stand.clock.increment(2 * MINUTE);
      await beforeSending!();
      noted.push(recovery()?.attempts);
      return { operationRef: 'operation-1' };
    });
    expect([code, noted]).toEqual([null, [undefined, 0, 1]]);
    expect(recovery()).toMatchObject({ attempts: 1, askedAtMs: stand.clock.now() });
  });

  test('is not made to a machine that came back meanwhile, and counts for nothing', async () => {
    const code = await asked(async (_id, _mode, { beforeSending }) => {
      await beat();
      await beforeSending!();
      throw new Error('this was sent');
    });
    expect(code).toBe('nothing-to-do');
    expect(recovery()).toMatchObject({ attempts: 0, askedAtMs: null });
  });

  test('B2: is sent again soon, but never after an old check', async () => {
    const sent: number[] = [];
    const code = await asked(async (_id, _mode, { beforeSending }) => {
      for (const pauseMs of [14_000, 16_000, 0]) {
        await beforeSending!();
        sent.push(stand.clock.now());
        stand.clock.increment(pauseMs);
      }
      throw new Error('this was sent');
    });
    expect([code, sent.length]).toEqual(['transient', 2]);
    expect(recovery(), 'nothing was carried out').toMatchObject({ attempts: 0 });
  });
});

/** A request that its driver refuses before sending does not count. */
test.each([
  ['rebooting', 'askReboot'],
  ['powerCycling', 'switchOff'],
  ['reinstalling', 'askReinstall'],
] as const)('B2: %s: records neither a request nor a refusal', async (rung, slot) => {
  const refuse = () => Promise.reject(new ProviderError('permanent', 'it is never sent'));
  await staged({ rebootMachine: refuse, setPower: refuse, reinstallMachine: refuse });
  stand.host.unreachable = true;
  onRung(rung);
  expect(await stage.claim()).toBe(rung);
  const { work } = stand.taskPool.turn(SLOT).held;
  const { note } = work!;
  const notes: string[] = [];
  Object.assign(work!, {
    note: (what: WorkNote) => {
      notes.push(what.kind);
      return note(what);
    },
  });
  expect(await codeOf(stage.run(slot))).toBe('permanent');
  expect(recovery()).toMatchObject({ attempts: 0, askedAtMs: null });
  expect(stand.metrics.total('shepherd_ladder_attempts_total')).toBe(0);
  // Without a power-off request there is no power-on request either.
  await stage.run('restorePower');
  expect([notes, stage.deeds()]).toEqual([[], []]);
});

/** A short outage of the database does not lose an operator's order. */
describe('an order of recovery', () => {
  const AWAY = new Unreachable('could not note it: Connection terminated unexpectedly');
  const LOST = new AmbiguousCommit('lost the connection while trying to note it');
  let refusal: (note: WorkNote) => void;
  const slowBoot = async () => {
    stand.host.unreachable = true;
    return 'operation-1';
  };
  const isUp = () => Object.assign(stand.host, { unreachable: false, bootId: 'rebooted' });
  setStage(
    noting(async (note, write) => {
      refusal(note);
      await write();
    }),
    () => {
      refusal = () => undefined;
      const { bootId, hostKey } = stand.host;
      stand.host.run = () => ({});
      stage.silent(bootId, { heartbeat: { atMs: stand.clock.now(), bootId }, hostKey });
      stand.reboot = async () => {
        stand.host.bootId = 'rebooted';
        return 'operation-1';
      };
      stand.reinstall = async () => {
        Object.assign(stand.host, { hostKey: 'bmV3IGtleQ==', bootId: 'reinstalled' });
        return 'operation-1';
      };
    },
  );
  const events = () => stand.bmdb.tables.history.map(({ event }) => event);
  /** The first note of this kind fails before its write. */
  const failsOnce = (kind: WorkNote['kind'], error: Error) => {
    refusal = (note) => {
      if (note.kind !== kind) return;
      refusal = () => undefined;
      throw error;
    };
  };

  test.each([
    ['restart-agent', 'stop the agent'],
    ['reboot', 'reboot graceful'],
    ['reinstall', 'reinstall'],
  ] as const)(
    '%s: stays open when it could not be recorded, and is done next',
    async (verb, deed) => {
      failsOnce('recoveryAsked', AWAY);
      await stage.order(verb);
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
      expect([stage.deeds(), events(), permit()]).toEqual([[], ['Started', 'Canceled'], null]);
      expect(await request()).toMatchObject({ state: 'open' });
      expect(stand.row()).toMatchObject({ backoffs: [], recovery: null });
      expect(stand.log.count('recovery attempt failed')).toBe(1);

      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
      expect(stage.deeds()).toEqual([deed]);
      expect(await request()).toMatchObject({ state: 'done' });
    },
  );

  test.each([
    ['reboot', 'recoveryAsked', LOST],
    ['reboot', 'recoveryAccepted', AWAY],
    ['reinstall', 'recoveryAccepted', AWAY],
  ] as const)('%s: is sent once when its record %s was perhaps lost', async (verb, kind, error) => {
    failsOnce(kind, error);
    await stage.order(verb);
    expect(await stage.attempted()).toMatchObject({ failure: { code: error.code } });
    expect(await request()).toMatchObject({ state: 'open' });
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toHaveLength(1);
    expect(await request()).toMatchObject({ state: 'done' });
  });

  test('switches a machine on that is owed power, and stays open', async () => {
    const powerOffAskedAtMs = stand.clock.now() - MINUTE;
    stage.silent('gone', { recovery: ladderRow({ rung: 'powerCycling', powerOffAskedAtMs }) });
    failsOnce('powerOnAccepted', AWAY);
    await stage.order('reboot');
    await stage.attempted();
    expect(stage.deeds()).toEqual(['power on']);
    expect(await request()).toMatchObject({ state: 'open' });
  });

  test('is ended by a lasting failure, with the reason', async () => {
    failsOnce('recoveryAsked', new NotFound('there is no such table'));
    await stage.order('reboot');
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-found' } });
    expect(await request()).toMatchObject({ state: 'refused', outcome: 'there is no such table' });
  });

  test("leaves failures of the ladder's own attempts as before, with their wait", async () => {
    stage.silent('gone', { recovery: ladderRow({ rung: 'rebooting' }) });
    stand.host.unreachable = true;
    failsOnce('recoveryAsked', AWAY);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'unreachable' } });
    expect(events()).toEqual(['Started', 'Failed']);
    expect(stand.row().backoffs).toHaveLength(1);
  });

  test.each([AWAY, LOST])(
    'returns its permit when it takes long, and is done: %s',
    async (error) => {
      failsOnce('permitReturned', error);
      stand.reboot = slowBoot;
      await stage.order('reboot');
      const { result } = stage.attempt();
      await advance(stand.clock, 4 * MINUTE);
      expect(permit()).not.toBeNull();
      await advance(stand.clock, 2 * MINUTE);
      expect(permit()).toBeNull();
      isUp();
      await advance(stand.clock, 2 * MINUTE);
      expect(await result).toMatchObject({ outcome: 'done' });
      expect(await request()).toMatchObject({ state: 'done' });
    },
  );

  test('keeps its permit for a machine with long boots', async () => {
    stand.reboot = slowBoot;
    stage.silent(stand.host.bootId, { bootTimes: { reboot: [480], reinstall: [] } });
    await stage.order('reboot');
    const { result } = stage.attempt();
    await advance(stand.clock, 7 * MINUTE);
    expect(permit()).not.toBeNull();
    await advance(stand.clock, 2 * MINUTE);
    expect(permit()).toBeNull();
    isUp();
    await advance(stand.clock, 2 * MINUTE);
    expect(await result).toMatchObject({ outcome: 'done' });
  });
});
