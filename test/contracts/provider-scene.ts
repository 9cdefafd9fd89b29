import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Capabilities, FleetProvider } from '../../src/adapters/provider/port.ts';
import { ProviderError, type ProviderErrorKind } from '../../src/domain/errors.ts';
import { type Witness, witness } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { NO_SESSION } from '../doubles/scripted-driver.ts';

/** A provider with free capacity and none of ours, or an inventory of ours; and its world. */
export interface ProviderStand {
  readonly provider: FleetProvider;
  readonly instanceSetId: string;
  /** What anybody else with access to the account can do; absent where nobody can. */
  readonly strangers?: Strangers;
  /** Devices that exist, strangers' included. */
  deviceCount(): number;
  /**
   * From now on nothing is answered any more. Resolves with the first call that hangs. Absent where
   * nothing can be made to hang.
   */
  hang?(): { readonly reached: Promise<void> };
  /** Lets some of its time pass; absent where that passes by itself. */
  pass?(): Promise<void>;
  /** Another instance over the same hardware, as a second daemon has it. Closed with the stand. */
  reopen(): FleetProvider;
  close(): Promise<void>;
}
export interface Strangers {
  /** A stranger's device takes the slot. */
  snatch(reservationId: string): void;
  /** Somebody changes the device's owner tag; null takes it away. All other tags stay. */
  setOwner(id: string, owner: string | null): Promise<void>;
  /** Somebody puts a tag of his own on the device. All other tags stay. */
  putTag(id: string, key: string, value: string): Promise<void>;
}

/**
 * What a test asks for: a capability; `making`: machines are made of free capacity, and not there
 * from the start as in an inventory; `strangers`: others can reach the account; `hanging`: it can be
 * made to answer nothing.
 */
export type Need =
  | Exclude<
      keyof Capabilities,
      'create' | 'maxConcurrency' | 'announces' | 'throwAway' | 'resetController'
    >
  | 'making'
  | 'strangers'
  | 'hanging';
/** What a need is that no driver speaks of. */
export type WorldNeed = 'making' | 'strangers' | 'hanging';
export const isOfWorld = (need: Need): need is WorldNeed =>
  need === 'making' || need === 'strangers' || need === 'hanging';

export const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
export const OTHER_WITNESS = witness('0b6e2222-2222-4222-8222-222222222222');
export const OTHER_OWNER = 'shep0-other-000000000000000';
export const UNKNOWN_ID = '00000000-0000-4000-8000-00000000dead';

export interface ContractOptions {
  /** Called before each test. */
  readonly start: () => Promise<ProviderStand>;
  /** What the driver says it cannot, and what its world has not. */
  readonly without?: readonly Need[];
}

/** One test's stand, and the usual ways to handle it. */
export function createScene({ start, without = [] }: ContractOptions) {
  let stand: ProviderStand | undefined;
  const live = { signal: new AbortController().signal };
  const the = () => stand!;
  const provider = () => the().provider;

  beforeEach(async () => {
    stand = await start();
  });
  afterEach(async () => {
    await stand?.close();
    stand = undefined;
  });

  const list = async () => (await provider().listMachines(live)).machines;
  const firstFree = async (): Promise<ProviderMachine> => {
    const free = (await list()).find(({ availability }) => availability === 'KnownUnused');
    expect(free).toBeDefined();
    return free!;
  };
  const orderFor = (unused: ProviderMachine, mark: Witness = WITNESS) => ({
    unused,
    witness: mark,
    hostname: provider().hostnameFor(unused.reservationId ?? unused.id!),
  });
  const create = async (unused: ProviderMachine, mark?: Witness) =>
    provider().createMachine(orderFor(unused, mark), live);
  const eventually = async (look: () => Promise<unknown>, expected: unknown) => {
    const next = async () => {
      await the().pass?.();
      return look();
    };
    await expect.poll(next, { interval: 10 }).toBe(expected);
  };
  const statusOf = async (id: string) => (await provider().getMachine(id, live)).status;
  const untilRunning = (id: string) => eventually(() => statusOf(id), 'Running');

  /** A machine that an inventory has from the start. */
  async function firstOfStock(): Promise<ProviderMachine> {
    const machine = (await list()).find(({ availability }) => availability === 'PossiblyUsed');
    expect(machine?.id).toBeTypeOf('string');
    return machine!;
  }

  /** A machine of ours that is up. */
  async function runningMachine(): Promise<{ id: string; machine: ProviderMachine }> {
    const isMade = !without.includes('making');
    const machine = isMade ? await create(await firstFree()) : await firstOfStock();
    const id = machine.id!;
    if (isMade) await untilRunning(id);
    return { id, machine: await provider().getMachine(id, live) };
  }

  const lacks = (needs: readonly Need[]) => without.find((need) => needs.includes(need));
  const scene = {
    live,
    provider,
    list,
    firstFree,
    orderFor,
    create,
    eventually,
    statusOf,
    untilRunning,
    runningMachine,
    firstOfStock,
    without,
    stand: the,
    strangers: () => the().strangers!,
    hang: () => the().hang!(),
    /**
     * A test of what the driver can. Where it cannot, the test is there all the same, under a name
     * that says so, and proves the refusal.
     */
    test(title: string, needs: readonly Need[], run: () => Promise<void>) {
      const lacking = lacks(needs);
      const prefix = lacking === undefined ? '' : `not asked for, without ${lacking}: `;
      test(`${prefix}${title}`, lacking === undefined ? run : () => proveAbsent(scene, lacking));
    },
  };
  return scene;
}
export type Scene = ReturnType<typeof createScene>;

/** It rejects with a provider's error of one of these kinds. */
export async function refused(
  call: Promise<unknown>,
  ...kinds: readonly ProviderErrorKind[]
): Promise<ProviderError> {
  const error: unknown = await call.then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ProviderError);
  expect(kinds).toContain((error as ProviderError).kind);
  return error as ProviderError;
}

/** All of them do. */
export async function allRefused(
  calls: readonly Promise<unknown>[],
  ...kinds: readonly ProviderErrorKind[]
): Promise<void> {
  expect(calls).not.toEqual([]);
  await Promise.allSettled(calls);
  for (const call of calls) await refused(call, ...kinds);
}

/** What is not there is refused, not attempted. */
async function proveAbsent(scene: Scene, need: Need): Promise<void> {
  if (need === 'strangers') {
    expect(scene.stand().strangers).toBeUndefined();
    return;
  }
  if (need === 'hanging') {
    expect(scene.stand().hang).toBeUndefined();
    return;
  }
  if (need === 'making') return proveInventory(scene);
  expect(scene.provider().capabilities[need]).toBe(false);
  if (need === 'consistentList') return;
  const target = await scene.runningMachine();
  const before = scene.stand().deviceCount();
  await refused(attempt(scene, need, target), 'not-implemented');
  expect(scene.stand().deviceCount()).toBe(before);
}

/** Machines of an inventory are taken in as they are, let go, and taken in again. */
async function proveInventory(scene: Scene): Promise<void> {
  const { live } = scene;
  const provider = scene.provider();
  const unused = await scene.firstOfStock();
  const before = scene.stand().deviceCount();
  for (const mark of [WITNESS, OTHER_WITNESS]) {
    const order = { unused, witness: mark, hostname: 'not-to-be' };
    const taken = await provider.createMachine(order, live);
    expect(taken).toMatchObject({ id: unused.id, tags: { [WITNESS_TAG]: mark } });
    await provider.deprovisionMachine(unused.id!, live);
    // It stays where it is, for whoever takes it in next.
    expect(await provider.getMachine(unused.id!, live)).toMatchObject({ id: unused.id });
  }
  const free: ProviderMachine = { ...unused, id: null, availability: 'KnownUnused' };
  const order = { unused: free, witness: WITNESS, hostname: 'not-to-be' };
  await refused(provider.createMachine(order, live), 'invalid');
  expect(scene.stand().deviceCount()).toBe(before);
}

async function attempt(
  scene: Scene,
  need: Need,
  { id, machine }: { readonly id: string; readonly machine: ProviderMachine },
): Promise<unknown> {
  const { live } = scene;
  const provider = scene.provider();
  const asks: Partial<Record<Need, () => Promise<unknown>>> = {
    deprovision: () => provider.deprovisionMachine(id, live),
    reboot: () => provider.rebootMachine(id, 'force', live),
    reinstall: () => provider.reinstallMachine(id, live),
    power: () => provider.setPower(id, 'off', live),
    tags: () => provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live),
    hostKey: () => provider.verifyHostKey(machine, Buffer.from('a key'), live, NO_SESSION),
  };
  return asks[need]!();
}
