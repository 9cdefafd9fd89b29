import { beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { hashOf, newSecret } from '../../../../src/adapters/driver-kit/creation.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { device, ladderRow } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE, type RecoveryStage } from './stage.ts';

const NEW_KEY = 'bmV3IGtleQ==';

let stage: RecoveryStage;
let stand: RecoveryStage['stand'];
let oldKey: string;
beforeEach(async () => {
  stage = await createRecoveryStage();
  ({ stand } = stage);
  oldKey = stand.host.hostKey;
});

const onRung = (change: Partial<LadderRow> = {}) =>
  stage.silent(stand.host.bootId, {
    recovery: ladderRow({ rung: 'reinstalling', ...change }),
    hostKey: oldKey,
  });
/** The new system, as it comes up. */
const newSystem = () => {
  stand.host.hostKey = NEW_KEY;
  stand.host.bootId = 'of the new system';
};
const recovery = () => stand.row().recovery;
/** The whole attempt, as far as it gets while the machine does this, minute by minute. */
const during = async (...minutes: (() => void)[]) => {
  const { result, ended } = stage.attempt();
  await settled();
  await advance(stand.clock, 1);
  const proved: boolean[] = [];
  for (const change of minutes) {
    change();
    await advance(stand.clock, MINUTE);
    proved.push(ended());
  }
  if (!ended()) await stage.dies();
  return { proved, result: await result };
};
const nothing = () => undefined;

test('is a process of its own: it is excluded where the machine is to be preserved', async () => {
  onRung();
  stage.hold('preserve');
  expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
  expect(stage.deeds()).toEqual([]);
  expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
  expect(stand.bmdb.tables.history.map(({ process }) => process)).not.toContain(
    'ShepherdReinstall',
  );
});

test('is on record, and the old host key forgotten, before the provider hears of it', async () => {
  let known: unknown;
  onRung();
  stand.reinstall = async () => {
    known = { ...recovery(), hostKey: stand.row().hostKey };
    return 'operation-1';
  };
  const { result } = stage.attempt();
  await settled();
  await settled();
  expect(known).toMatchObject({
    attempts: 1,
    askedRung: 'reinstalling',
    bootIdBefore: stand.host.bootId,
    hostKey: null,
    hostKeyBefore: oldKey,
  });
  await stage.dies();
  void result;
});

describe('it is done', () => {
  test('when a new host answers, in a new boot', async () => {
    onRung();
    const { proved, result } = await during(nothing, newSystem);
    expect(proved).toEqual([false, true]);
    expect(result).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual(['reinstall']);
    expect(stand.row()).toMatchObject({ agentStarted: null, hostKey: null, quarantine: null });
    expect(stand.row().bootTimes.reinstall).toHaveLength(1);
    expect(stand.row().bootTimes.reboot).toEqual([]);
    const process = stand.bmdb.tables.history.at(-1);
    expect(process).toMatchObject({ process: 'ShepherdReinstall', event: 'Finished' });
  });

  test('when the provider was seen at it, and the machine is in a new boot', async () => {
    onRung();
    const { proved } = await during(
      () => (stand.status = 'Provisioning'),
      () => (stand.host.bootId = 'of the new system'),
      () => (stand.status = 'Running'),
    );
    expect(proved).toEqual([false, false, true]);
  });

  test.each<readonly [string, readonly (() => void)[]]>([
    ['the request was accepted', [nothing]],
    ['the old system boots', [() => (stand.host.bootId = 'another')]],
    [
      'a new host answers while it is being installed',
      [() => (stand.status = 'Provisioning'), newSystem],
    ],
    [
      'the provider was seen at it, and the old boot answers',
      [() => (stand.status = 'Provisioning'), () => (stand.status = 'Running')],
    ],
    ['a new host answers in the old boot', [() => (stand.host.hostKey = NEW_KEY)]],
  ])('not when %s', async (_, minutes) => {
    onRung();
    const { proved } = await during(...minutes);
    expect(proved).not.toContain(true);
  });

  test('not within 45 minutes: the attempt failed', async () => {
    onRung();
    const before = stand.clock.now();
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    expect((stand.clock.now() - before) / MINUTE).toBeCloseTo(45, 0);
    expect(recovery()).toMatchObject({ attempts: 1, askedRung: 'reinstalling' });
  });
});

describe('where the provider knows the hash of the secret', () => {
  const SECRET = newSecret(systemRandom);
  const shown = (secret: string | null) => {
    stand.host.secret = secret;
    const tags = { [SECRET_TAG]: hashOf(SECRET) };
    stand.whereIs = async () => device({ address: '192.0.2.1', tags, status: stand.status });
  };

  test('the new system must show it', async () => {
    onRung();
    const { result } = await during(nothing, () => {
      newSystem();
      shown(SECRET);
    });
    expect(result).toMatchObject({ outcome: 'done' });
  });

  test('a new host that shows another one is a stranger', async () => {
    onRung();
    const { result } = await during(nothing, () => {
      newSystem();
      shown(newSecret(systemRandom));
    });
    expect(result).toMatchObject({ failure: { code: 'host-key-rejected' } });
    expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
  });

  test('the old system, which cannot know it, is no stranger', async () => {
    onRung();
    const { proved, result } = await during(
      () => shown(newSecret(systemRandom)),
      () => (stand.status = 'Provisioning'),
      () => (stand.status = 'Running'),
      () => {
        newSystem();
        shown(SECRET);
      },
    );
    expect(proved).toEqual([false, false, false, true]);
    expect(result).toMatchObject({ outcome: 'done' });
  });

  test('a system with the old host key must show it all the same', async () => {
    onRung();
    shown(SECRET);
    const { proved } = await during(
      () => (stand.status = 'Provisioning'),
      () => {
        stand.status = 'Running';
        stand.host.bootId = 'of the new system';
        shown(newSecret(systemRandom));
      },
      () => shown(SECRET),
    );
    expect(proved).toEqual([false, false, true]);
  });

  describe('and no key was pinned before', () => {
    const unpinned = () =>
      stage.silent(stand.host.bootId, { recovery: ladderRow({ rung: 'reinstalling' }) });

    test('a system in a new boot that shows it is the new one', async () => {
      unpinned();
      const { proved, result } = await during(nothing, () => {
        newSystem();
        shown(SECRET);
      });
      expect(proved).toEqual([false, true]);
      expect(result).toMatchObject({ outcome: 'done' });
    });

    test('the old system, which cannot know it, is no stranger, and no proof', async () => {
      unpinned();
      const { proved } = await during(() => shown(newSecret(systemRandom)), nothing);
      expect(proved).toEqual([false, false]);
      expect(stand.row().quarantine).toBeNull();
    });

    test('one that shows it in the old boot is no proof', async () => {
      unpinned();
      const { proved } = await during(() => shown(SECRET), nothing);
      expect(proved).toEqual([false, false]);
    });

    test('and it came true after it was given up: it is not repeated', async () => {
      unpinned();
      expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
      await advance(stand.clock, 10 * MINUTE);
      newSystem();
      shown(SECRET);
      expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
      expect(stage.deeds().filter((what) => what === 'reinstall')).toHaveLength(1);
    });
  });

  test('and no key was pinned, a new boot without a secret is no proof', async () => {
    stage.silent(stand.host.bootId, { recovery: ladderRow({ rung: 'reinstalling' }) });
    const { proved } = await during(nothing, newSystem);
    expect(proved).toEqual([false, false]);
  });

  test('a system whose first boot has not ended is waited for', async () => {
    onRung();
    const { proved } = await during(
      () => {
        newSystem();
        shown(null);
      },
      () => shown(SECRET),
    );
    expect(proved).toEqual([false, true]);
  });
});

describe('one that somebody asked for who is gone', () => {
  const begun = () =>
    stage.silent(stand.host.bootId, {
      recovery: ladderRow({
        rung: 'reinstalling',
        attempts: 1,
        askedRung: 'reinstalling',
        askedAtMs: stand.clock.now() - 10 * MINUTE,
        bootIdBefore: stand.host.bootId,
        hostKeyBefore: oldKey,
      }),
    });

  test('is waited for', async () => {
    begun();
    const { result } = await during(nothing, newSystem);
    expect(result).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual([]);
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test('and is no longer measured when it was over at the first look', async () => {
    begun();
    newSystem();
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.row().bootTimes.reinstall).toEqual([]);
  });
});

test('one that came true after it was given up is not repeated', async () => {
  onRung();
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  await advance(stand.clock, 10 * MINUTE);
  newSystem();
  expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reinstall']);
  expect(stand.row().bootTimes.reinstall, 'nobody saw when').toEqual([]);
});

test('a provider that refuses it leaves the machine and its host key as they are', async () => {
  onRung();
  stand.reinstall = () => Promise.reject(new ProviderError('not-implemented', 'no such thing'));
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-implemented' } });
  expect(stand.row()).toMatchObject({ hostKey: oldKey, quarantine: null });
});
