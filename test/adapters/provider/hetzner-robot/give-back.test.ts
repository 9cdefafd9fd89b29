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

test('a give-back: leaving, rescue, button; then wiped, free, and the claim is gone', async () => {
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

test('vector 28: what cannot be wiped is never free, whatever its name says, and an alarm says so', async () => {
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
  'a server that has left the account (%s) is out of our hands, and its claim goes',
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

test('that Robot does not find a server by its number is no proof while the list shows it', async () => {
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

test('where nothing is to be wiped the name says free at once, and the system runs on', async () => {
  const { id, giveBack, machine, resets, claim, secret } = await startInstalled({
    settings: { wipe: 'none' },
  });
  await giveBack(id);
  expect([machine().name, resets()]).toEqual(['free-321', ['sw']]);
  expect([await claim(), await secret()]).toEqual([undefined, 's1']);
});

test('a server of which only the name says that it was leaving is wiped too', async () => {
  const stand = await startInstalled();
  await stand.dropClaim();
  stand.fake.rename(321, LEAVING);
  expect(await stand.isReusable()).toBe(false);
  await stand.pass(200_000);
  expect([await stand.isReusable(), isWiped(stand)]).toEqual([true, true]);
});

test('a machine whose claim was lost is shown by its name, without a secret, and can be given back', async () => {
  const { id, dropClaim, machine, list, giveBack } = await startInstalled();
  await dropClaim();
  expect(machine().name).toBe(OUR_NAME);
  const machines = await list();
  expect(machines).toMatchObject([{ id, availability: 'KnownUsed' }]);
  expect(Object.keys(machines[0]!.tags!)).toHaveLength(2);
  await giveBack(id);
  expect(machine().name).toBe(LEAVING);
});

test('a reset that Robot refused is none of the three: the server is wiped once it lets us', async () => {
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

test('a server that somebody named theirs is neither given back nor wiped nor reset', async () => {
  const stand = await startInstalled();
  const { id, giveBack, fake, isReusable, pass, resets, machine, ran, claim } = stand;
  await giveBack(id);
  fake.rename(321, 'mail1');
  await pass(200_000);
  expect(await isReusable()).toBe(true);
  expect([machine().name, resets(), ran]).toEqual(['mail1', ['sw', 'hw'], ['look']]);
  expect([isWiped(stand), await claim()]).toEqual([false, undefined]);
});

test('a machine with a stranger’s name is disputed, and no order about it is carried out', async () => {
  const { id, giveBack, fake, pass, list, forget, count, machine } = await startInstalled();
  fake.rename(321, 'mail1');
  await pass(70_000);
  expect(await list()).toMatchObject([{ id, tags: { [SET_ID_TAG]: DISPUTED } }]);
  forget();
  expect(await failureOf(giveBack(id))).toMatchObject({ kind: 'conflict' });
  expect(count(/^(POST|DELETE)/)).toBe(0);
  // One that was cut, or cleared, is nobody's.
  fake.rename(321, 'shep-pr');
  await pass(70_000);
  await giveBack(id);
  expect(machine().name).toBe(LEAVING);
});

test('what is given back while a round of looks is under way is not named ours again', async () => {
  const { id, provider, daemon, run, fake, giveBack, pass, until, machine, list, forget, count } =
    await startInstalled({ settings: { wipe: 'none' } });
  await run(provider.stop());
  await list(daemon());
  // Between its look at the claims and at the names.
  fake.addFault(at('GET /server', { type: 'latency', ms: 30_000 }));
  forget();
  await until(() => count(/^GET \/server$/) > 0);
  await giveBack(id, daemon());
  expect(machine().name).toBe('free-321');
  await pass(60_000);
  expect(machine().name).toBe('free-321');
});

test('a server that is no more among those that may be touched is left as it is', async () => {
  const stand = await startInstalled();
  await stand.giveBack(stand.id);
  await stand.pass(200_000);
  expect(await stand.isReusable(stand.daemon({ settings: { servers: [322] } }))).toBe(true);
  expect(isWiped(stand)).toBe(false);
});
