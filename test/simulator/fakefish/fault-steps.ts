import { expect } from 'vitest';
import { type Fish, ROOT } from './harness.ts';

export const DISC = `${ROOT}/Managers/BMC/VirtualMedia/Cd`;
export const IMAGE = 'https://images.test/installer.iso';
export const insert = ({ ask }: Fish, body: object = {}) =>
  ask('POST', `${DISC}/Actions/VirtualMedia.InsertMedia`, { body: { Image: IMAGE, ...body } });
export const eject = ({ ask }: Fish) => ask('POST', `${DISC}/Actions/VirtualMedia.EjectMedia`);
export const disc = async ({ ask }: Fish) => (await ask('GET', DISC)).body;
export const rename = ({ ask, path }: Fish, tag = 'rack-7', headers = {}) =>
  ask('PATCH', path, { body: { AssetTag: tag }, headers });
export const tagOf = async ({ system }: Fish) => (await system())['AssetTag'];
export const powerOf = ({ fake }: Fish) => fake.bmcs()[0]!.systems[0]!.power;
export const ONCE_PXE = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' };
export const CUT = /socket hang up|ECONNRESET|socket disconnected/;
/** Whether a request is still without an answer after the emulator's `ms`. */
export async function isPending(asked: Promise<unknown>, fish: Fish, ms: number): Promise<boolean> {
  let isOver = false;
  const over = asked.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  await expect.poll(() => fish.fake.requests().some(({ fate }) => fate !== 'replied')).toBe(true);
  await fish.fake.advance(ms);
  const wasPending = !isOver;
  void over;
  return wasPending;
}

export type Proof = (fish: Fish) => Promise<void>;

export type NumberedProof = readonly [number, string, Proof];
