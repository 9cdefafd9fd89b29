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

/** What all parts of the emulator share. */
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

/** The emulator, with the parts behind its BMCs. */
export interface Rack extends RackCore {
  readonly power: Power;
}

/** One request as a handler sees it. */
export interface RedfishCall extends Pick<Occasion<FaultEffect>, 'params' | 'headers' | 'strike'> {
  /** As received, without query and trailing slash. */
  readonly path: string;
  /** Parsed; undefined for an empty body. */
  readonly body: unknown;
  readonly bmc: Bmc;
  /** A time, epoch ms, by this BMC's clock. */
  time(atMs: number): string;
  /** A path in the vendor's form of links. */
  link(path: string): string;
}

export type ResourceView = Readonly<Record<string, unknown>>;
type Handler = (rack: Rack, call: RedfishCall) => ApiAnswer;

/** The operations of one path. */
export interface Resource {
  /** Placeholders in braces. */
  readonly path: string;
  readonly GET?: (rack: Rack, call: RedfishCall) => ResourceView;
  /** A GET whose status has a meaning. */
  readonly poll?: Handler;
  readonly POST?: Handler;
  readonly PATCH?: Handler;
  readonly DELETE?: Handler;
}
