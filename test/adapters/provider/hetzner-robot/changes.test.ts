import { expect, test } from 'vitest';
import type { ProviderError } from '../../../../src/domain/errors.ts';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { testRows } from '../../../support/rows.ts';
import {
  at,
  callOf,
  failureOf,
  hashOf,
  orderOf,
  refusal,
  startInstalled,
  startStand,
} from './stand.ts';

const RESET = 'POST /reset/{n}';
/** An answer that replaces the emulator's own. */
const says = (line: string, body: object) => at(line, { type: 'status', code: 200, body });
const shows = (type: readonly string[], status: string | null = 'running') =>
  says('GET /reset/{n}', { reset: { type, operating_status: status } });
const boots = (kind: 'linux' | 'windows') =>
  says('GET /boot/{n}', { boot: { rescue: null, [kind]: { active: true } } });

async function startMachine() {
  const stand = await startInstalled({
    servers: [{ resetTypes: ['sw', 'hw', 'power', 'power_long', 'man'] }],
  });
  const { id, run, provider } = stand;
  return {
    ...stand,
    /** Resets since that moment. */
    pressed: () => stand.resets().slice(1),
    reboot: (mode: 'graceful' | 'force', by = provider) =>
      run(by.rebootMachine(id, mode, callOf())),
    power: (want: 'on' | 'off') => run(provider.setPower!(id, want, callOf())),
    reinstall: (secret = 's9', by = provider) =>
      run(by.reinstallMachine(id, orderOf(secret), callOf())),
    get: (by = provider) => run(by.getMachine(id, callOf())),
  };
}

testRows([
  ['vector 9', ['sw', 'hw', 'man'], ['sw', 'hw']],
  ['vector 10', ['power', 'power_long', 'hw', 'man'], ['hw', 'hw']],
  ['a technician alone', ['man'], ['not-implemented', 'not-implemented']],
] as const)(
  '%s: reboots a server with the resets %j, and by force, by %j',
  async (_, types, by) => {
    const { fake, reboot, pressed } = await startMachine();
    fake.addFault(shows(types));
    const told: string[] = [];
    for (const mode of ['graceful', 'force'] as const) {
      const kind = await reboot(mode).catch((error: ProviderError) => error.kind);
      told.push(typeof kind === 'string' ? kind : pressed().at(-1)!);
    }
    expect(told).toEqual(by);
  },
);

testRows([
  ['vector 11: a rescue system that is armed and not ours to use', 'rescue', 0],
  ['an installation that was ordered by hand', 'linux', 1],
] as const)('%s is cancelled before the reset', async (_, what, warnings) => {
  const { fake, ask, forget, reboot, sent, log } = await startMachine();
  if (what === 'rescue') await ask('POST', '/boot/321/rescue', 'os=linux');
  else fake.addFault(boots('linux'));
  forget();
  await reboot('force');
  const changes = sent().filter((line) => /^(DELETE|POST)/.test(line));
  expect(changes).toEqual([`DELETE /boot/321/${what}`, 'POST /reset/321 hw']);
  expect(log.lines.filter(({ message }) => message.includes('stock'))).toHaveLength(warnings);
});

test('resets nothing if a boot configuration cannot be cancelled from here', async () => {
  const { fake, reboot, reinstall, count } = await startMachine();
  fake.addFault(boots('windows'));
  for (const change of [() => reboot('graceful'), () => reboot('force'), reinstall]) {
    expect(await failureOf(change())).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  }
  expect(count(/^(POST|DELETE)/)).toBe(0);
});

test('vector 12: sends one request for a reset that may have failed, and reports it as unknown', async () => {
  const { fake, reboot, count } = await startMachine();
  fake.addFault(at(RESET, { type: 'reset', does: 'failsThoughDone' }));
  const error = await failureOf(reboot('graceful'));
  expect(error).toMatchObject({ kind: 'transient', outcome: 'unknown' });
  expect(count(/^POST \/reset/)).toBe(1);
});

testRows([
  ['vector 14: without power_long', ['sw', 'hw', 'power'], 'running', { off: 'not-implemented' }],
  ['vector 15: that runs already', ['power', 'power_long'], 'running', { on: 'done' }],
  ...['not supported', 'starting', 'läuft', null].map(
    (status) =>
      [
        `of which Robot cannot tell whether it runs (${status})`,
        ['power', 'power_long'],
        status,
        { off: 'not-implemented', on: 'not-implemented' },
      ] as const,
  ),
] as const)('presses no button on a server %s', async (_, types, status, ends) => {
  const { fake, power, pressed, list } = await startMachine();
  fake.addFault(shows(types, status));
  for (const [want, end] of Object.entries(ends)) {
    const ended = await power(want as 'on' | 'off').catch((error: ProviderError) => error.kind);
    expect(typeof ended === 'string' ? ended : 'done').toBe(end);
  }
  expect(pressed()).toEqual([]);
  expect((await list())[0]!.power).toBe('unknown');
});

test('shows the power of a machine that it has just switched, as a power cycle needs it', async () => {
  const { power, get } = await startMachine();
  expect((await get()).power).toBe('unknown');
  for (const want of ['off', 'on'] as const) {
    await power(want);
    expect((await get()).power).toBe(want);
  }
});

test('reboots a machine only after its installation, with or without a round in between', async () => {
  const { create, provider, run, until, resets, claim, machine } = await startStand();
  const { id } = await create();
  const reboot = () => run(provider.rebootMachine(id!, 'graceful', callOf()));
  expect(await failureOf(reboot())).toMatchObject({ kind: 'conflict' });
  expect(resets()).toEqual(['sw']);
  await until(() => machine().phase === 'disk');
  expect((await claim())!.phase).toBe('installing');
  await reboot();
  expect([(await claim())!.phase, resets()]).toEqual(['ready', ['sw', 'sw']]);
});

test('replaces our tags, and keeps others', async () => {
  const { id, provider, run, get } = await startMachine();
  const setTags = (tags: object, of = id) => run(provider.setTags(of, { ...tags }, callOf()));
  await setTags({ ...(await get()).tags, mine: 'x' });
  await setTags({ 'shepherd-op': 'y' });
  expect((await get()).tags).toEqual({ mine: 'x', 'shepherd-op': 'y' });
  expect(await failureOf(setTags({}, '322-aaaaaaaa'))).toMatchObject({ kind: 'not-found' });
});

test('reinstalls with the same id, a new secret, and no reset if our own system reboots itself', async () => {
  const { id, reinstall, claim, pressed, ran, pass, machine, secret, get } = await startMachine();
  await reinstall();
  expect(await claim()).toMatchObject({ phase: 'rescue', tags: { [SECRET_TAG]: hashOf('s9') } });
  expect([pressed(), ran.filter((name) => name === 'reboot')]).toEqual([[], ['reboot']]);
  await pass(800_000);
  expect((await claim())!.phase).toBe('ready');
  expect([machine().installs, await secret(), (await get()).id]).toEqual([2, 's9', id]);
});

testRows([
  ['boots its disks in spite of all', { type: 'bootsDisk' }],
  ['is not armed any more, and boots its disks', { type: 'rescueDisarms' }],
] as const)(
  'sends a server that %s to the rescue system again after a minute, and accepts its key',
  async (_, effect) => {
    const { fake, reinstall, pass, pressed, log } = await startMachine();
    fake.addFault({ effect, times: 1 });
    await reinstall();
    await pass(240_000);
    expect(pressed()).toEqual(['hw']);
    expect(log.lines.filter(({ fields }) => fields['alarm'] === 'rescue-host-key')).toEqual([]);
  },
);

test('does not mistake the previous system of the same name for the new one', async () => {
  const { fake, daemon, reinstall, pass, until, claim, machine } = await startMachine();
  const drives = { 321: ['eui.of-no-drive'] };
  await reinstall('s9', daemon({ settings: { drives } }));
  await until(async () => (await claim())!.phase === 'installing');
  fake.press(321, 'hw');
  await pass(200_000);
  expect([machine().phase, (await claim())!.phase]).toEqual(['disk', 'installing']);
});

test('starts a reinstallation anew at the next order if its daemon died', async () => {
  const { reinstall, daemon, pass, provider, run, list, secret } = await startMachine();
  await reinstall('s8', daemon());
  await run(provider.stop());
  await pass(100_000);
  const next = daemon();
  await reinstall('s9', next);
  await list(next);
  await pass(1_500_000);
  expect(await secret()).toBe('s9');
});

test('shows an abandoned reinstallation as unknown, and lets a reboot lead to the disks', async () => {
  const {
    ask,
    reinstall,
    daemon,
    pass,
    provider,
    run,
    list,
    get,
    claim,
    claimRow,
    reboot,
    count,
    secret,
  } = await startMachine();
  await reinstall('s8');
  await run(provider.stop());
  const next = daemon();
  const status = async () => (await get(next)).status;
  await list(next);
  for (const afterMs of [0, 1_000_000]) {
    await pass(afterMs);
    expect(await status()).toBe('Provisioning');
  }
  await pass(400_000);
  expect(await status()).toBe('Unknown');
  const left = await claimRow();
  await pass(600_000);
  expect(await claimRow()).toEqual(left);
  await ask('POST', '/boot/321/rescue', 'os=linux');
  await reboot('graceful', next);
  expect(count(/^DELETE \/boot\/321\/rescue/)).toBe(1);
  await reinstall('s9', next);
  await pass(1_500_000);
  expect([await secret(), (await claim())!.phase]).toEqual(['s9', 'ready']);
});

test('uses the old tags until the rescue system is armed', async () => {
  const { fake, reinstall, get } = await startMachine();
  fake.addFault(at('POST /boot/{n}/rescue', refusal(500, 'BOOT_ACTIVATION_FAILED')));
  expect(await failureOf(reinstall())).toMatchObject({ kind: 'transient' });
  expect((await get()).tags?.[SECRET_TAG]).toBe(hashOf('s1'));
});
