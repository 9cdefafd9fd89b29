import { expect, test } from 'vitest';
import { CommandFailed } from '../../../../src/domain/errors.ts';
import { DISPUTED, SET_ID_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import {
  at,
  failureOf,
  LEAVING,
  OUR_NAME,
  refusal,
  startInstalled,
  type RobotStand,
} from './stand.ts';

const END = {
  exitCode: 1,
  signalName: undefined,
  stdout: Buffer.alloc(0),
  stderr: Buffer.alloc(0),
};
/** From now on no drive can be wiped. */
function keepDrives({ hooks }: RobotStand): void {
  hooks.script = (name) => {
    if (name === 'wipe') throw new CommandFailed('sh', END);
  };
}
const isWiped = ({ machine }: RobotStand) =>
  Object.values(machine().drives).every((holds) => holds === 'nothing');

test('gives back by leaving, rescue and button, then wipes, frees, and removes the claim', async () => {
  const stand = await startInstalled();
  const { id, giveBack, machine, list, isReusable, pass, claim } = stand;
  await giveBack(id);
  expect(machine().name).toBe(LEAVING);
  expect([await list(), await isReusable()]).toEqual([[], false]);
  await pass(200_000);
  expect(await isReusable()).toBe(true);
  expect([isWiped(stand), machine().name, await claim()]).toEqual([true, 'free-321', undefined]);
  expect(await list()).toMatchObject([{ id: null, availability: 'KnownUnused' }]);
});

test('vector 28: never frees a server that cannot be wiped, whatever its name, and raises an alarm', async () => {
  const stand = await startInstalled();
  const { id, giveBack, isReusable, pass, resets, machine, list, log, fake } = stand;
  keepDrives(stand);
  await giveBack(id);
  for (let n = 0; n < 40; n++) {
    expect(await isReusable()).toBe(false);
    await pass(60_000);
  }
  expect(resets().filter((type) => type === 'hw')).toHaveLength(3);
  expect([machine().name, await list()]).toEqual([LEAVING, []]);
  const alarms = log.lines.filter(({ fields }) => fields['alarm'] === 'unwiped-server');
  expect(alarms).toHaveLength(1);
  fake.rename(321, 'free-321');
  await pass(70_000);
  expect([await list(), await isReusable()]).toEqual([[], false]);
});

test.each(['leaving', 'renamed back', 'ready'])(
  'gives up control of a server that has left the account (%s), and removes its claim',
  async (when) => {
    const stand = await startInstalled();
    const { id, giveBack, fake, pass, isReusable, claim } = stand;
    if (when === 'renamed back') keepDrives(stand);
    if (when !== 'ready') await giveBack(id);
    fake.addFault({ effect: { type: 'serverGone', from: 'account' } });
    await pass(700_000);
    await isReusable();
    await pass(61_000);
    expect([await isReusable(), await claim(), await isReusable()]).toEqual([
      true,
      undefined,
      true,
    ]);
  },
);

test('does not treat a server as gone that Robot cannot find by number, and lists', async () => {
  const { id, giveBack, fake, isReusable, pass, claim, count } = await startInstalled();
  await giveBack(id);
  fake.addFault(at('GET /server/{n}', refusal(404, 'SERVER_NOT_FOUND')));
  for (let n = 0; n < 6; n++) {
    expect(await isReusable()).toBe(false);
    await pass(70_000);
  }
  expect(count(/^GET \/server\/321/)).toBeGreaterThan(0);
  expect(await claim()).toMatchObject({ phase: 'leaving' });
});

test('frees the name at once if nothing has to be wiped, and the system runs on', async () => {
  const { id, giveBack, machine, resets, claim, secret } = await startInstalled({
    settings: { wipe: 'none' },
  });
  await giveBack(id);
  expect([machine().name, resets()]).toEqual(['free-321', ['sw']]);
  expect([await claim(), await secret()]).toEqual([undefined, 's1']);
});

test('wipes a server that only its name marks as leaving', async () => {
  const stand = await startInstalled();
  await stand.dropClaim();
  stand.fake.rename(321, LEAVING);
  expect(await stand.isReusable()).toBe(false);
  await stand.pass(200_000);
  expect([await stand.isReusable(), isWiped(stand)]).toEqual([true, true]);
});

test('shows a machine without its claim by its name, without a secret, and can give it back', async () => {
  const { id, dropClaim, machine, list, giveBack } = await startInstalled();
  await dropClaim();
  expect(machine().name).toBe(OUR_NAME);
  const machines = await list();
  expect(machines).toMatchObject([{ id, availability: 'KnownUsed' }]);
  expect(Object.keys(machines[0]!.tags!)).toHaveLength(2);
  await giveBack(id);
  expect(machine().name).toBe(LEAVING);
});

test('wipes a server once Robot allows it after a refused reset', async () => {
  const stand = await startInstalled();
  const { id, giveBack, fake, claim, isReusable, pass, resets, machine, log } = stand;
  const { id: busy } = fake.addFault(at('POST /reset/{n}', refusal(409, 'RESET_MANUAL_ACTIVE')));
  expect(await failureOf(giveBack(id))).toMatchObject({ kind: 'transient' });
  expect(await claim()).toMatchObject({ phase: 'leaving', resetAtMs: null, hardResets: 0 });
  for (let n = 0; n < 4; n++) {
    await isReusable().catch(() => false);
    await pass(700_000);
  }
  fake.removeFault(busy);
  expect(await isReusable()).toBe(false);
  await pass(200_000);
  expect([await isReusable(), isWiped(stand), machine().name]).toEqual([true, true, 'free-321']);
  expect(resets()).toEqual(['sw', 'hw']);
  expect(log.lines.some(({ fields }) => fields['alarm'] === 'unwiped-server')).toBe(false);
});

test('neither gives back, wipes nor resets a server that others have renamed', async () => {
  const stand = await startInstalled();
  const { id, giveBack, fake, isReusable, pass, resets, machine, ran, claim } = stand;
  await giveBack(id);
  fake.rename(321, 'mail1');
  await pass(200_000);
  expect(await isReusable()).toBe(true);
  expect([machine().name, resets(), ran]).toEqual(['mail1', ['sw', 'hw'], ['look']]);
  expect([isWiped(stand), await claim()]).toEqual([false, undefined]);
});

test('treats a machine with a foreign name as disputed, and executes no order about it', async () => {
  const { id, giveBack, fake, pass, list, forget, count, machine } = await startInstalled();
  fake.rename(321, 'mail1');
  await pass(70_000);
  expect(await list()).toMatchObject([{ id, tags: { [SET_ID_TAG]: DISPUTED } }]);
  forget();
  expect(await failureOf(giveBack(id))).toMatchObject({ kind: 'conflict' });
  expect(count(/^(POST|DELETE)/)).toBe(0);
  // A name that was cut or cleared is nobody's.
  fake.rename(321, 'shep-pr');
  await pass(70_000);
  await giveBack(id);
  expect(machine().name).toBe(LEAVING);
});

test('does not rename a machine to ours if it is given back during a round of looks', async () => {
  const { id, provider, daemon, run, fake, giveBack, pass, until, machine, list, forget, count } =
    await startInstalled({ settings: { wipe: 'none' } });
  await run(provider.stop());
  await list(daemon());
  // Between the driver's read of the claims and its read of the names.
  fake.addFault(at('GET /server', { type: 'latency', ms: 30_000 }));
  forget();
  await until(() => count(/^GET \/server$/) > 0);
  await giveBack(id, daemon());
  expect(machine().name).toBe('free-321');
  await pass(60_000);
  expect(machine().name).toBe('free-321');
});

test('leaves a server alone that is no longer among the permitted ones', async () => {
  const stand = await startInstalled();
  await stand.giveBack(stand.id);
  await stand.pass(200_000);
  expect(await stand.isReusable(stand.daemon({ settings: { servers: [322] } }))).toBe(true);
  expect(isWiped(stand)).toBe(false);
});
