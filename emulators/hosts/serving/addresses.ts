import { randomInt } from 'node:crypto';
import { isPortFree } from '../../../src/adapters/network/free-port.ts';

const ATTEMPTS = 100;

/** Whether this system allows listening on all of 127.0.0.0/8, as Linux does. */
export const hasLoopbackNetwork = (): Promise<boolean> => isPortFree(0, '127.83.0.1');

/**
 * Finds an address of this computer with a free port, and adds it to `taken`. Serving machines have
 * one port and different addresses. The addresses are far from the busy 127.0.0.1, and not seeded,
 * because two simulators with one seed would choose the same.
 * @throws {Error} none is free: this system has no such addresses.
 */
export async function takeFreeAddress(taken: Set<string>, port: number): Promise<string> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const address = `127.${randomInt(64, 128)}.${randomInt(0, 256)}.${randomInt(1, 255)}`;
    if (taken.has(address)) continue;
    taken.add(address);
    if (await isPortFree(port, address)) return address;
    taken.delete(address);
  }
  throw new Error(`no address of 127.0.0.0/8 is free at port ${port}`);
}
