import type { EmulatorClock } from '../kit/clock.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { ApiAnswer, Occasion } from '../kit/api.ts';
import type { FaultEffect, RedfishFaultBook } from './faults.ts';
import type { SystemHooks } from './options.ts';
import type { Power, PowerTimings } from './power.ts';
import type { Vendor } from './vendors.ts';
import type { Bmc } from './world.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** What every part of the emulator shares. */
export interface RackCore {
  readonly vendor: Vendor;
  readonly bmcs: readonly Bmc[];
  readonly clock: EmulatorClock;
  readonly timings: PowerTimings;
  readonly faults: RedfishFaultBook;
  readonly credentials: Credentials;
  readonly hooks: SystemHooks | undefined;
  readonly log: EmulatorLog;
}

/** The emulator, with what is behind its BMCs. */
export interface Rack extends RackCore {
  readonly power: Power;
}

/** One request as a handler sees it. */
export interface RedfishCall extends Pick<Occasion<FaultEffect>, 'params' | 'headers' | 'strike'> {
  /** As it came, without query and without a slash at the end. */
  readonly path: string;
  /** Parsed; undefined when nothing was sent. */
  readonly body: unknown;
  readonly bmc: Bmc;
  /** A time, epoch ms, as this BMC's clock has it. */
  time(atMs: number): string;
  /** A path as the vendor writes links. */
  link(path: string): string;
}

export type ResourceView = Readonly<Record<string, unknown>>;
type Handler = (rack: Rack, call: RedfishCall) => ApiAnswer;

/** What can be done with one path. */
export interface Resource {
  /** Placeholders in braces. */
  readonly path: string;
  readonly GET?: (rack: Rack, call: RedfishCall) => ResourceView;
  /** A GET whose status says something. */
  readonly poll?: Handler;
  readonly POST?: Handler;
  readonly PATCH?: Handler;
  readonly DELETE?: Handler;
}
