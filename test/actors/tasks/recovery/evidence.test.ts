import { describe, expect, test } from 'vitest';
import { TimedOut, Unreachable } from '../../../../src/domain/errors.ts';
import { ERASING_LADDER } from '../../../../src/domain/recovery/ladder.ts';
import { agentStarted, device, ladderRow } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { beat, MINUTE, setStage, stage, stand } from './stage.ts';

setStage();

/** Waits for the evidence of a reboot. @returns the evidence, once known. */
const watch = async () => {
  await stage.claim();
  let hasAsked = false;
  const asking = stage.run('askReboot').finally(() => (hasAsked = true));
  for (await settled(); !hasAsked;) await advance(stand.clock, 1_000);
  await asking;
  const state = { proof: null as string | null, code: null as string | null };
  stage.run('awaitBoot').then(
    () => {
      const told = stand.log.lines.find(({ message }) => message === 'boot proved');
      state.proof = String(told?.fields['proof']);
    },
    (error: unknown) => (state.code = (error as { code: string }).code),
  );
  await settled();
  return state;
};
/** The machine's boot id is known, from its agent or from the machine's answer. */
const known = () => stage.silent(stand.host.bootId, { recovery: ladderRow() });
/** The boot id is unknown: the machine does not answer, and no boot was ever reported. */
const unknown = () => {
  stand.host.unreachable = true;
  stage.silent(null, { recovery: ladderRow() });
};
const wait = (ms = MINUTE) => advance(stand.clock, ms);

/** The same, and connection attempts get no answer. */
const unanswered = () => {
  unknown();
  stand.connecting = new TimedOut('no answer');
};
const power = (is: typeof stand.power) => () => void (stand.power = is);
const isAway = () => void (stand.host.unreachable = true);
const answers = () => {
  stand.connecting = null;
  stand.host.unreachable = false;
};
const boots = () => void (stand.host.bootId = 'another');

/** Observations step by step, and what they prove in the end. */
const TABLE: readonly (readonly [string, () => void, readonly (() => void)[], string | null])[] = [
  ['an accepted request', known, [() => undefined], null],
  ['another boot id', known, [boots], 'boot id changed'],
  ['a port that closes and opens, in the same boot', known, [isAway, answers], null],
  ['power that goes off and on, in the same boot', known, [power('off'), power('on')], null],
  [
    'the port that closes and opens, where no boot was known',
    ...([unknown, [() => undefined, answers], 'port closed and opened'] as const),
  ],
  [
    'power that goes off and on, where no boot was known, and a system that answers',
    ...([unanswered, [power('off'), power('on'), answers], 'power seen off and on'] as const),
  ],
  ['power that is on all the time', unanswered, [power('on')], null],
  ['power of which nobody knows', unanswered, [power('unknown'), power('on')], null],
  [
    'a boot id that changes under our eyes, where none was known',
    ...([unanswered, [answers, boots], 'boot id changed'] as const),
  ],
];

describe('evidence of a boot', () => {
  test.each(TABLE)('%s', async (_, begins, changes, expected) => {
    begins();
    const seen = await watch();
    await wait();
    for (const [at, change] of changes.entries()) {
      expect(seen.proof, `before change ${at + 1}`).toBeNull();
      change();
      await wait();
    }
    expect(seen.proof).toBe(expected);
  });

  test('is power seen off and on when nothing answers at the end of patience', async () => {
    unknown();
    const seen = await watch();
    stand.power = 'off';
    await wait();
    stand.power = 'on';
    await wait(13 * MINUTE);
    expect(seen).toEqual({ proof: null, code: null });
    await wait(2 * MINUTE);
    expect(seen).toEqual({ proof: 'power seen off and on', code: null });
    await stage.run('recordRecovery');
    expect(stand.row().bootTimes.reboot, 'that is no measure of a boot').toEqual([]);
  });

  describe('a heartbeat as evidence', () => {
    test('proves another boot', async () => {
      known();
      const seen = await watch();
      stand.host.unreachable = true;
      await wait();
      await beat('another');
      await wait();
      expect(seen.proof).toBe('boot id changed, according to a heartbeat');
    });

    test('proves nothing in the same boot', async () => {
      known();
      const seen = await watch();
      await wait();
      await beat(stand.host.bootId);
      await wait();
      expect(seen.proof).toBeNull();
    });

    test('proves nothing when it is older than the request', async () => {
      const atMs = stand.clock.now() - 30 * MINUTE;
      stage.silent('older', {
        agentStarted: agentStarted(atMs - MINUTE, 'older'),
        heartbeat: { atMs, bootId: 'older' },
        recovery: ladderRow(),
      });
      const seen = await watch();
      expect(stand.row().recovery?.bootIdBefore).toBe(stand.host.bootId);
      await wait(2 * MINUTE);
      expect(seen.proof).toBeNull();
    });
  });

  const connecting = (error: Error | null) => () => void (stand.connecting = error);
  const shownAt = (address: string | null) => () =>
    void (stand.whereIs = async () => device({ address }));
  const hangs = (step?: 'execute') => () => void (stand.host.hangs = step);
  const refuses = (is: boolean) => () => void (stand.host.refusesKey = is);
  const noProvider = () => Promise.reject(new Unreachable('no provider'));
  test.each<readonly [string, () => void, () => void]>([
    ['a silent provider', () => void (stand.whereIs = noProvider), shownAt('192.0.2.1')],
    ['a machine without an address', shownAt(null), shownAt('192.0.2.1')],
    ['a machine that refuses us', refuses(true), refuses(false)],
    ['a machine that hangs', hangs('execute'), hangs()],
    ['a connection that is reset', connecting(new Unreachable('reset')), connecting(null)],
    ['a connection without an answer', connecting(new TimedOut('no answer')), connecting(null)],
  ])('is not %s for a while', async (_, begins, ends) => {
    stage.silent(null, { recovery: ladderRow() });
    stand.reboot = async () => {
      begins();
      return 'operation-1';
    };
    const seen = await watch();
    await wait(2 * MINUTE);
    ends();
    await wait(5 * MINUTE);
    expect(seen).toEqual({ proof: null, code: null });
  });

  test('fails the attempt when it does not come in time', async () => {
    known();
    const seen = await watch();
    await wait(14 * MINUTE);
    expect(seen.code).toBeNull();
    await wait(2 * MINUTE);
    expect(seen.code).toBe('timed-out');
  });

  test('ends the wait at once when the host is a different one', async () => {
    stand.host.unreachable = true;
    stage.silent('boot-1', { hostKey: 'pinned', recovery: ladderRow() });
    const seen = await watch();
    stand.host.unreachable = false;
    const before = stand.done.length;
    await wait(10_000);
    expect(seen.code).toBe('host-key-rejected');
    expect(stand.done.slice(before), 'nothing is run there').not.toContain(
      expect.stringContaining('execute'),
    );
  });

  test('is not looked for on a device that is no longer ours', async () => {
    known();
    const seen = await watch();
    const { whereIs } = stand;
    stand.whereIs = async () => ({ ...(await whereIs()), ownership: 'foreign' });
    stand.host.bootId = 'another';
    const before = stand.done.length;
    await wait();
    expect({ proof: seen.proof, done: stand.done.slice(before) }).toEqual({
      proof: null,
      done: [],
    });
  });

  test('is no longer awaited when the turn ends', async () => {
    known();
    const seen = await watch();
    await stage.dies();
    expect(seen.code).toBe('cancelled');
  });

  test('is looked for about every five seconds', async () => {
    known();
    await watch();
    const before = stand.done.filter((what) => what === 'connect').length;
    await wait(10 * MINUTE);
    const looks = stand.done.filter((what) => what === 'connect').length - before;
    expect(looks).toBeGreaterThan(100);
    expect(looks).toBeLessThan(140);
  });
});

test('awaits another daemon’s request for as long as it may come true', async () => {
  const askedAtMs = stand.clock.now() - 10 * MINUTE;
  const bootIdBefore = stand.host.bootId;
  const asked = { askedAtMs, askedRung: 'rebooting', bootIdBefore } as const;
  stage.silent(bootIdBefore, { recovery: ladderRow({ attempts: 1, ...asked }) });
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  const waitedMs = stand.clock.now() - askedAtMs;
  expect(waitedMs).toBeGreaterThanOrEqual(ERASING_LADDER.rebooting.patienceMs);
  expect(waitedMs).toBeLessThan(ERASING_LADDER.rebooting.patienceMs + MINUTE);
  expect(stage.deeds()).toEqual([]);
});
