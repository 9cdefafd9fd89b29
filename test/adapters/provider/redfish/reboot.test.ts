import { expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { testRows } from '../../../support/rows.ts';
import { failureOf, IGNORED, refusing, startRack } from './stand.ts';

const USUAL = 'ForceRestart';
const RESET = '/redfish/v1/Systems/{system}/Actions/ComputerSystem.Reset';

type RackFault = Parameters<Awaited<ReturnType<typeof startRack>>['fault']>;
const ofReset = (values: string[] | null): RackFault => [{ type: 'allowableValues', values }];
const NO_INFO: RackFault = [
  { type: 'status', code: 404 },
  { match: { route: '/redfish/v1/Systems/{system}/ResetActionInfo' } },
];
testRows([
  ['vector 8: force where nothing else is allowed', 'idrac9', null, 'graceful', USUAL],
  [
    'vector 10: what an action info allows, and nothing else tells it',
    ...(['openbmc', ofReset(['On', 'ForceOff', 'PowerCycle']), 'force', 'PowerCycle'] as const),
  ],
  ['the usual, where nothing tells what is allowed', 'generic', ofReset(null), 'graceful', USUAL],
  ['the usual, where the list of what is allowed is not there', 'openbmc', NO_INFO, 'force', USUAL],
] as const)('sends %s', async (_, vendor, fault, mode, expected) => {
  const rack = await startRack({ vendor });
  await rack.boot();
  if (fault) await rack.fault(...fault);
  const { operationRef } = await rack.reboot(mode);
  expect(operationRef).toMatch(new RegExp(`^${expected} system-1 2026-`));
  expect(rack.resets()).toEqual([expected]);
  expect(rack.asked).toEqual(['ours system-1', 'before']);
});

test('vector 9: sends nothing if the BMC has no reset that forces a reboot', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault(...ofReset(['On', 'ForceOff']));
  expect(await failureOf(rack.reboot('force'))).toMatchObject({ kind: 'not-implemented' });
  expect(rack.resets()).toEqual([]);
});

test('does not treat a missing reset as a missing machine', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'status', code: 404 }, { match: { route: RESET } });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'transient' });
});

test('does not repeat a listed type that fails, and uses the next one', async () => {
  const rack = await startRack({ vendor: 'idrac9' });
  await rack.boot();
  const values = ['On', 'ForceOff', 'GracefulRestart', 'ForceRestart'];
  await rack.fault({ type: 'allowableValues', values });
  await rack.reboot();
  await rack.after(90_000);
  await rack.reboot();
  expect(rack.resets()).toEqual(['GracefulRestart', 'ForceRestart', 'ForceRestart']);
});

test.each(['graceful', 'force'] as const)(
  'vector 11: sends On for a %s reboot of a machine that is off',
  async (mode) => {
    const rack = await startRack();
    await rack.reboot(mode);
    expect(rack.resets()).toEqual(['On']);
  },
);

testRows([0, -7])(
  'vector 15: succeeds if a reboot with a lost answer happened, by a clock %i h off',
  async (hours) => {
    const rack = await startRack();
    await rack.fault({ type: 'clock', offMs: hours * 3_600_000 });
    await rack.boot();
    await rack.fault({ type: 'drop', phase: 'after' }, { match: { route: RESET } });
    expect((await rack.reboot('force')).operationRef).toMatch(/^ForceRestart/);
    expect(rack.resets()).toEqual(['ForceRestart']);
  },
);

test('vector 15: reports a reboot as unknown if its answer is lost and it did not happen, and sends no other', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'drop', phase: 'before' }, { match: { route: RESET } });
  const failure = await failureOf(rack.reboot('force'));
  expect(failure).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(rack.resets()).toEqual(['ForceRestart']);
});

test('vector 16: changes nothing if another machine is behind the BMC', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'bladeSwapped', serial: 'OTHER', uuid: rack.system().uuid });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'conflict' });
  expect(await failureOf(rack.power('off'))).toMatchObject({ kind: 'conflict' });
  expect(rack.resets()).toEqual([]);
  expect(rack.sent('PATCH')).toEqual([]);
  expect(await rack.get()).toMatchObject({ power: 'unknown' });
});

const PXE = { BootSourceOverrideTarget: 'Pxe' };
const NEVER_CLEARED = [
  ['is refused', { type: 'status', code: 400 }],
  ['is not allowed', { type: 'status', code: 403 }],
  ['changes nothing', IGNORED],
] as const;

test.each(
  NEVER_CLEARED.flatMap(([how, effect]) =>
    (['Once', 'Continuous'] as const).map((enabled) => [enabled, how, effect] as const),
  ),
)(
  'vector 17: after an override (%s) whose clearing %s refuses every reboot and power-on, and no power-off',
  async (enabled, _how, effect) => {
    const rack = await startRack();
    await rack.raw.override({ BootSourceOverrideEnabled: enabled, ...PXE });
    await rack.fault(effect, { match: { method: 'PATCH' } });
    const refused = [await failureOf(rack.power('on'))];
    rack.fake.reset('system-1', 'On');
    rack.clock.increment(5_000);
    await rack.raw.ask('GET', rack.path);
    for (const mode of ['graceful', 'force'] as const)
      refused.push(await failureOf(rack.reboot(mode)));
    for (const { kind, outcome, text } of refused) {
      expect([kind, outcome]).toEqual(['conflict', 'not-done']);
      expect(text).toContain(`Pxe (${enabled})`);
      expect(text).toContain('set it to Disabled at the BMC itself');
    }
    expect(rack.resets()).toEqual([]);
    await rack.power('off');
    expect(rack.resets()).toEqual(['ForceOff']);
  },
);

test('D5: clears an override of sushy-tools by a target before a reboot, and not before a power-off', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault({ type: 'override', does: 'lasting' });
  await rack.raw.override(PXE);
  expect(rack.system().boot).toMatchObject({ enabled: 'Continuous', target: 'Pxe' });
  await rack.reboot('force');
  expect(rack.resets()).toEqual(['ForceRestart']);
  expect(rack.system().boot.target).toBe('Hdd');
  const [, ...patches] = rack.sent('PATCH');
  expect(patches.map(({ status }) => status)).toEqual([400, 200, 400, 200]);
  await rack.raw.override(PXE);
  await rack.power('off');
  expect(rack.resets()).toEqual(['ForceRestart', 'ForceOff']);
  expect(rack.system().boot.target).toBe('Pxe');
});

test('vector 17: clears an override that only the settings for the next boot show', async () => {
  const rack = await startRack({ vendor: 'ami' });
  await rack.boot();
  await rack.fault({ type: 'override', does: 'pending' });
  const boot = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideMode: 'UEFI', ...PXE };
  const settings = `${rack.path}/SD`;
  await rack.raw.ask('PATCH', settings, { body: { Boot: boot } });
  expect(rack.system().boot.enabled).toBe('Disabled');
  await rack.reboot('force');
  expect(rack.resets()).toEqual(['ForceRestart']);
  const { body } = await rack.raw.ask('GET', settings);
  expect(body).toMatchObject({ Boot: { BootSourceOverrideEnabled: 'Disabled' } });

  await rack.raw.ask('PATCH', settings, { body: { Boot: boot } });
  await rack.fault(IGNORED, { match: { method: 'PATCH' } });
  expect(await failureOf(rack.reboot('force'))).toMatchObject({ kind: 'conflict' });
  expect(rack.resets()).toEqual(['ForceRestart']);
});

test('vector 20: retries after 5 s and 10 s on a BMC that changes no override during POST', async () => {
  const rack = await startRack({ vendor: 'ilo5' });
  await rack.boot();
  const boot = { BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Pxe' };
  await rack.raw.ask('PATCH', `${rack.path}/`, { body: { Boot: boot } });
  const inPost = refusing(400, 'UnableToModifyDuringSystemPOST');
  await rack.fault(inPost, { match: { method: 'PATCH' }, times: 2 });
  const startMs = rack.clock.monotonic();
  await rack.reboot();
  const [, ...patches] = rack.sent('PATCH');
  expect(patches.map(({ status }) => status)).toEqual([400, 400, 200]);
  const [first, second, third] = patches.map(({ atMs }) => atMs);
  expect(Math.round((second! - first!) / 1_000)).toBe(5);
  expect(Math.round((third! - second!) / 1_000)).toBe(10);
  expect(rack.clock.monotonic() - startMs).toBeLessThan(20_000);
});

test('vector 28: treats a machine with the mark of another set as foreign, and changes nothing', async () => {
  const rack = await startRack({ settings: { ownerMark: 'assetTag', powerPoll: '1m' } });
  const other = 'zzzzz-yyyyy-xxxxxxxxxxxxxxx';
  const theirs = rack.open({ instanceSetId: other });
  await rack.inTime(theirs.prepare!(rack.call()));
  await rack.after(60_000);
  expect(rack.system().assetTag).toBe(`shep:${other}`);
  const { tags } = await rack.get();
  expect(Object.values(tags!)).toEqual([other]);
  const requireOurs = () => {
    throw new ProviderError('conflict', 'it is not ours');
  };
  expect(await failureOf(rack.reboot('force', rack.call({ requireOurs })))).toMatchObject({
    kind: 'conflict',
  });
  expect(rack.resets()).toEqual([]);
  const [machine] = (await rack.list()).machines;
  expect(Object.values(machine!.tags!)).toEqual([other]);
});

test('sends no request before the effect of the previous one shows', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.reboot('graceful');
  const startMs = rack.clock.monotonic();
  await rack.power('off');
  expect(rack.clock.monotonic() - startMs).toBeGreaterThanOrEqual(20_000);
  expect(rack.resets()).toEqual(['GracefulRestart', 'ForceOff']);
});

test('delays the next request by a minute at most if an effect never shows', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.fault(IGNORED, { match: { route: RESET }, times: 1 });
  await rack.reboot('force');
  const startMs = rack.clock.monotonic();
  await rack.reboot('force');
  expect(rack.resets()).toEqual(['ForceRestart', 'ForceRestart']);
  expect(Math.round((rack.clock.monotonic() - startMs) / 10_000)).toBe(6);
});
