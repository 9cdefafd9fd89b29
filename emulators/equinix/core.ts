import type { Generator } from '../kit/random.ts';
import type { Change } from './options.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { Knobs } from './state/knobs.ts';
import type { Scheduler } from './time/scheduler.ts';
import type { Device, State } from './state/state.ts';
import type { Timings } from './time/timings.ts';

/** What every part of the emulator shares. One per emulator, built by `startEquinixEmulator`. */
export interface Core {
  readonly state: State;
  /** The objects stay the same; what is in them follows the state. */
  readonly knobs: Knobs;
  readonly timings: Timings;
  /** Takes over what the state says about knobs and times. */
  readonly applySettings: () => void;
  /** Ids and secrets. */
  readonly ids: Generator;
  /** Shuffles and probabilities, apart so that they do not change the ids. */
  readonly chance: Generator;
  /** Epoch ms; never goes back. */
  readonly now: () => number;
  readonly scheduler: Scheduler;
  readonly log: EmulatorLog;
  /** Something changed: store it, and tell who listens. */
  readonly changed: (change?: Omit<Change, 'atMs'>) => void;
  /** Grows with every change. */
  readonly revision: () => number;
  /** Asks the faults how a new device's provisioning ends. */
  readonly doomOf: (device: Device) => Device['doom'];
}

/** ISO 8601 in UTC; whole seconds unless time runs a hundred times as fast. */
export function timeText(core: Pick<Core, 'timings'>, atMs: number): string {
  const text = new Date(atMs).toISOString();
  return core.timings.queuedMs >= 1_000 ? text.replace(/\.\d{3}Z$/, 'Z') : text;
}

/** Whether a failed device without reservation is hidden, as the knob may say. */
export const isWithdrawn = ({ knobs }: Pick<Core, 'knobs'>, device: Device): boolean =>
  knobs.onDemandVanish !== null && device.state === 'failed' && device.reservationId === null;

/** Whether the API still shows the device. */
export function isVisible(core: Pick<Core, 'knobs' | 'timings'>, device: Device): boolean {
  if (device.state === 'deleted') {
    return core.timings.tombstoneMs > 0 && core.knobs.deleteVisibility === 'deprovisioning';
  }
  return device.state !== 'deprovisioning' || core.knobs.deleteVisibility === 'deprovisioning';
}
