import { expect, test } from 'vitest';
import { SECRET_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { sleep } from '../../../../src/adapters/clock/port.ts';
import { isProviderError } from '../../../../src/domain/errors.ts';
import { callOf, createStand, hashOf, orderOf, OUR_NAME, type Stand } from './setup.ts';
import { dyingAt, immortal, type Life } from './life.ts';

/**
 * A daemon is dropped, never stopped, before and after each thing that it asks: of Robot, of a machine, of
 * the records. Another one takes over with the same records.
 */
const SIDES = ['before', 'after'] as const;

/** Counts what one undisturbed run asks. */
async function countOf(work: (stand: Stand, life: Life) => Promise<void>): Promise<number> {
  const stand = createStand();
  const life = immortal();
  await work(stand, life);
  return life.count;
}

async function until(stand: Stand, isOver: () => boolean, ms = 5_000): Promise<void> {
  for (let n = 0; n < 400 && !isOver(); n++) await stand.pass(ms);
  expect(isOver()).toBe(true);
}

/** What a daemon does about an unfinished creation: asks again, as long as it may have worked. */
async function createAgain(stand: Stand, secret: string): Promise<string> {
  const provider = stand.daemon();
  for (let attempt = 1; attempt < 5; attempt++) {
    const listed = (await stand.run(provider.listMachines({}, callOf()))).machines;
    const made = listed.find(({ availability }) => availability === 'KnownUsed');
    if (made) return made.id!;
    expect(listed, 'the server is neither free nor a machine').toHaveLength(1);
    const order = orderOf(`${secret}-${attempt}`, { resumed: true });
    try {
      return (await stand.run(provider.createMachine(order, callOf()))).id!;
    } catch (error) {
      if (!isProviderError(error) || error.outcome !== 'unknown') throw error;
    }
  }
  throw new Error('the creation never ended');
}

async function expectOneMachine(stand: Stand, id: string): Promise<void> {
  await stand.pass(700_000);
  const one = stand.world.machine(321);
  const claim = (await stand.claim())!;
  expect(claim).toMatchObject({ phase: 'ready' });
  expect(one.server.name).toBe(OUR_NAME);
  expect(one.installs).toBe(1);
  const tags = claim['tags'] as Record<string, string>;
  expect(tags[SECRET_TAG]).toBe(hashOf(one.disk!.secret!));
  const watcher = stand.daemon();
  const { machines } = await stand.run(watcher.listMachines({}, callOf()));
  expect(machines.map((each) => each.id)).toEqual([id]);
  expect(stand.world.count(/^record make/)).toBe(1);
}

test('a creation, killed at every step: taken once, installed once, never forgotten', async () => {
  const steps = await countOf(async (stand, life) => {
    await stand.run(stand.daemon(life).createMachine(orderOf('s1'), callOf()));
  });
  expect(steps).toBeGreaterThan(12);
  for (let at = 1; at <= steps; at++) {
    for (const side of SIDES) {
      const stand = createStand();
      const life = dyingAt(at, side);
      void stand
        .daemon(life)
        .createMachine(orderOf('s1'), callOf())
        .catch(() => undefined);
      await until(stand, () => life.isDead);
      await expectOneMachine(stand, await createAgain(stand, `s${at}`));
    }
  }
});

test('the same, when nobody comes for ten minutes: what was installed meanwhile is the machine', async () => {
  const steps = await countOf(async (stand, life) => {
    await stand.run(stand.daemon(life).createMachine(orderOf('s1'), callOf()));
  });
  for (let at = steps - 3; at <= steps; at++) {
    for (const side of SIDES) {
      const stand = createStand();
      const life = dyingAt(at, side);
      void stand
        .daemon(life)
        .createMachine(orderOf('s1'), callOf())
        .catch(() => undefined);
      await until(stand, () => life.isDead);
      await stand.pass(600_000);
      await expectOneMachine(stand, await createAgain(stand, `s${at}`));
    }
  }
});

test('a give-back, killed at every step: never free unwiped, and free in the end', async () => {
  const giveBack = async (stand: Stand, life: Life, id: string, task?: Promise<unknown>) => {
    const provider = stand.daemon(life);
    const asked = task ?? provider.deprovisionMachine(id, callOf());
    const over = asked.then(
      () => 'done',
      (error: unknown) => (isProviderError(error, 'not-found') ? 'done' : error),
    );
    expect(await stand.run(Promise.race([over, whenDead(stand, life)]))).toBe('done');
    for (let n = 0; n < 20 && !life.isDead; n++) {
      const free = provider.isReusable!('321', callOf());
      if (await stand.run(Promise.race([free, whenDead(stand, life)]))) return;
      expectNotFreeUnwiped(stand);
      await stand.pass(100_000);
    }
  };
  const first = createStand();
  const counting = immortal();
  await giveBack(first, counting, await first.installed());
  expect(counting.count).toBeGreaterThan(10);
  for (let at = 1; at <= counting.count; at++) {
    for (const side of SIDES) {
      const stand = createStand();
      const id = await stand.installed();
      const life = dyingAt(at, side);
      await giveBack(stand, life, id);
      expectNotFreeUnwiped(stand);
      await giveBack(stand, immortal(), id);
      const one = stand.world.machine(321);
      expect([one.server.name, await stand.claim()], `${at} ${side}`).toEqual([
        'free-321',
        undefined,
      ]);
      expect(one.wiped).toBeGreaterThan(0);
    }
  }
});

/** Resolves as if all were well when the daemon is dead: it says nothing more. */
async function whenDead(stand: Stand, life: Life): Promise<string> {
  while (!life.isDead) {
    await sleep(stand.clock, 1_000);
  }
  return 'done';
}

function expectNotFreeUnwiped({ world }: Stand): void {
  const one = world.machine(321);
  if (one.server.name.startsWith('free-')) expect(one.disk).toBeNull();
}
