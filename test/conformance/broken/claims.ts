import type { DriverContext, Provider } from '../../../src/adapters/provider/port.ts';
import { type Broken, fails } from './broken.ts';

/** Mistakes of a driver that records claims. */
export interface ClaimFaults {
  /** Records the claim after the machine exists. */
  readonly late?: true;
  /** Continues although the record failed. */
  readonly careless?: true;
  /** Keeps its record after the machine is gone. */
  readonly kept?: true;
}

/** The driver, with a recorded claim per machine, made before the machine and dropped after it. */
export const claiming =
  ({ late, careless, kept }: ClaimFaults = {}) =>
  (provider: Provider, { records, instanceSetId }: DriverContext): Partial<Provider> => {
    const claim = async (slotId: string, signal: AbortSignal) => {
      const all = await records.all({ signal });
      if (all.some(({ key }) => key === slotId)) return;
      await records.make(slotId, { set: instanceSetId }, { signal });
    };
    const forget = async (slotId: string, signal: AbortSignal) => {
      const found = (await records.all({ signal })).find(({ key }) => key === slotId);
      if (found) await records.drop(slotId, found.version, { signal });
    };
    return {
      async createMachine(request, options) {
        const slotId = request.unused?.reservationId ?? 'none';
        const { signal } = options;
        const early = late ? null : claim(slotId, signal);
        await (careless ? early?.catch(() => undefined) : early);
        const made = await provider.createMachine(request, options);
        if (late) await claim(slotId, signal);
        return made;
      },
      async isReusable(slotId, options) {
        const isFree = (await provider.isReusable?.(slotId, options)) ?? true;
        if (isFree && !kept) await forget(slotId, options.signal);
        return isFree;
      },
    };
  };

export const BROKEN_CLAIMS: readonly Broken[] = [
  fails('claims', 'claims a machine only once it is made', claiming({ late: true })),
  fails(
    'claims',
    'makes a machine though its claim could not be kept',
    claiming({ careless: true }),
  ),
  fails('claims-dropped', 'keeps its claim of a machine that is gone', claiming({ kept: true })),
];
