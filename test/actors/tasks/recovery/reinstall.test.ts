import { beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { hashOf, newSecret } from '../../../../src/adapters/driver-kit/creation.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import type { LadderRow } from '../../../../src/domain/machine.ts';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { device } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { MINUTE, onRung, recovery, setStage, stage, stand } from './stage.ts';

let oldKey: string;
setStage();
beforeEach(() => void (oldKey = stand.host.hostKey));

const reinstalling = (change: Partial<LadderRow> = {}, hostKey: string | null = oldKey) =>
  onRung('reinstalling', change, { hostKey });

/** Possible events of the machine within a minute. */
const nothing = () => undefined;
const isInstalled = () => void (stand.status = 'Provisioning');
const runs = () => void (stand.status = 'Running');
const boots = () => void (stand.host.bootId = 'of the new system');
const hasNewKey = () => void (stand.host.hostKey = 'bmV3IGtleQ==');
const newSystem = () => (boots(), hasNewKey());
const SECRET = newSecret(systemRandom);
/** The provider knows the secret's hash, and the system shows this secret. */
const shows = (secret: string | null) => () => {
  stand.host.secret = secret;
  const tags = { [SECRET_TAG]: hashOf(SECRET) };
  stand.whereIs = async () => device({ address: '192.0.2.1', tags, status: stand.status });
};
const showsIt = shows(SECRET);
const showsAnother = shows(newSecret(systemRandom));
const both =
  (...changes: (() => void)[]) =>
  () =>
    changes.forEach((change) => change());

/** The attempt's progress while the machine does this, minute by minute. */
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

test('is its own process, excluded while the machine is preserved', async () => {
  reinstalling();
  stage.hold('preserve');
  expect(await stage.attempted()).toMatchObject({ outcome: 'refused' });
  expect(stage.deeds()).toEqual([]);
  expect(stand.row().quarantine).toMatchObject({ kind: 'needsHuman' });
  const processes = stand.bmdb.tables.history.map(({ process }) => process);
  expect(processes).not.toContain('ShepherdReinstall');
});

test('is done when a new host answers in a new boot', async () => {
  reinstalling();
  const { proved, result } = await during(nothing, newSystem);
  expect(proved).toEqual([false, true]);
  expect(result).toMatchObject({ outcome: 'done' });
  expect(stage.deeds()).toEqual(['reinstall']);
  expect(stand.row()).toMatchObject({ agentStarted: null, hostKey: null, quarantine: null });
  expect(stand.row().bootTimes).toMatchObject({ reboot: [], reinstall: [expect.any(Number)] });
  const process = stand.bmdb.tables.history.at(-1);
  expect(process).toMatchObject({ process: 'ShepherdReinstall', event: 'Finished' });
});

/**
 * Events minute by minute, and whether they are proof at the end of the last minute, not earlier.
 */
type MinuteRow = readonly [string, readonly (() => void)[], boolean];
const PINNED: readonly MinuteRow[] = [
  ['seen at work by the provider, in a new boot', [isInstalled, boots, runs], true],
  ['accepted only', [nothing], false],
  ['the old system boots', [boots], false],
  ['a new host answers while it is installed', [isInstalled, newSystem], false],
  ['seen at work by the provider, in the old boot', [isInstalled, runs], false],
  ['a new host answers in the old boot', [hasNewKey], false],
  ['the new system shows the secret', [nothing, both(newSystem, showsIt)], true],
  [
    'the old system shows another secret, which is no stranger',
    [showsAnother, isInstalled, runs, both(newSystem, showsIt)],
    true,
  ],
  [
    'a system with the old host key must show the secret all the same',
    [both(showsIt, isInstalled), both(runs, boots, showsAnother), showsIt],
    true,
  ],
  ['a system whose first boot has not ended', [both(newSystem, shows(null)), showsIt], true],
];
const UNPINNED: readonly MinuteRow[] = [
  ['shows the secret in a new boot', [nothing, both(newSystem, showsIt)], true],
  ['the old system shows another secret', [showsAnother, nothing], false],
  ['shows the secret in the old boot', [showsIt, nothing], false],
  ['a new boot without a secret', [nothing, newSystem], false],
];
test.each([
  ...PINNED.map((row) => ['its key was pinned', ...row] as const),
  ...UNPINNED.map((row) => ['no key was pinned', ...row] as const),
])('judges evidence where %s: %s', async (pin, _, minutes, isProved) => {
  reinstalling({}, pin === 'no key was pinned' ? null : oldKey);
  const { proved, result } = await during(...minutes);
  expect(proved).toEqual(minutes.map((_, at) => isProved && at === minutes.length - 1));
  expect(result).toMatchObject({ outcome: isProved ? 'done' : 'failed' });
  expect(stand.row().quarantine).toBeNull();
});

test('ends at once when the provider says that the installation failed', async () => {
  reinstalling();
  const fails = () => void (stand.status = 'ProvisioningFailedPermanent');
  // A failure from before the request says nothing of it.
  const { proved, result } = await during(fails, isInstalled, fails);
  expect(proved).toEqual([false, false, true]);
  expect(result).toMatchObject({ outcome: 'failed', failure: { code: 'permanent' } });
  expect(recovery()).toMatchObject({ attempts: 1 });
});

test('treats a new host with another secret as a stranger', async () => {
  reinstalling();
  const { result } = await during(nothing, both(newSystem, showsAnother));
  expect(result).toMatchObject({ failure: { code: 'host-key-rejected' } });
  expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
});

test('fails without evidence within 45 minutes', async () => {
  reinstalling();
  const before = stand.clock.now();
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
  expect((stand.clock.now() - before) / MINUTE).toBeCloseTo(45, 0);
  expect(recovery()).toMatchObject({ attempts: 1, askedRung: 'reinstalling' });
});

describe('a reinstallation that another daemon requested', () => {
  const begun = () =>
    reinstalling(
      {
        ...{ attempts: 1, askedRung: 'reinstalling', bootIdBefore: stand.host.bootId },
        ...{ askedAtMs: stand.clock.now() - 10 * MINUTE, hostKeyBefore: oldKey },
      },
      null,
    );

  test('is awaited', async () => {
    begun();
    const { result } = await during(nothing, newSystem);
    expect(result).toMatchObject({ outcome: 'done' });
    expect(stage.deeds()).toEqual([]);
    expect(recovery()).toMatchObject({ attempts: 1 });
  });

  test('is not measured when it was over at the first look', async () => {
    begun();
    newSystem();
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stand.row().bootTimes.reinstall).toEqual([]);
  });
});

test.each(['pinned', 'proved by its secret'])(
  'is not repeated when it came true after it was given up: %s',
  async (how) => {
    reinstalling({}, how === 'pinned' ? oldKey : null);
    expect(await stage.attempted()).toMatchObject({ failure: { code: 'timed-out' } });
    await advance(stand.clock, 10 * MINUTE);
    newSystem();
    if (how !== 'pinned') showsIt();
    expect(await stage.attempted()).toMatchObject({ outcome: 'done' });
    expect(stage.deeds().filter((what) => what === 'reinstall')).toHaveLength(1);
    expect(stand.row().bootTimes.reinstall, 'nobody saw when').toEqual([]);
  },
);

test('leaves machine and host key unchanged when the provider refuses', async () => {
  reinstalling();
  stand.reinstall = () => Promise.reject(new ProviderError('not-implemented', 'no such thing'));
  expect(await stage.attempted()).toMatchObject({ failure: { code: 'not-implemented' } });
  expect(stand.row()).toMatchObject({ hostKey: oldKey, quarantine: null });
});
