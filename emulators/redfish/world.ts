import type { Generator } from '../kit/random.ts';
import { hasManySystems, type Vendor } from './vendors.ts';

export type PowerState = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';

/** `Disabled` counts whatever the target says. */
export interface Override {
  enabled: 'Disabled' | 'Once' | 'Continuous';
  target: string;
  mode: 'UEFI' | 'Legacy';
  httpBootUri: string | null;
}

export interface Media {
  readonly id: string;
  readonly types: readonly string[];
  /** Null: it is empty. */
  image: string | null;
  writeProtected: boolean;
}

export interface ComputerSystem {
  /** Unique among all BMCs, such as `system-1`. */
  readonly name: string;
  /** Of its resource. */
  readonly id: string;
  readonly serial: string;
  readonly uuid: string;
  readonly mac: string;
  assetTag: string;
  power: PowerState;
  /** How far the boot came, and since when. */
  progress: { readonly state: string; readonly atMs: number };
  lastResetMs: number;
  readonly boot: Override;
  /** What the next boot takes on, where the system itself does not show it yet. */
  pendingBoot: Override | null;
  /** The same object in all systems of a BMC that has its media at the manager. */
  readonly media: readonly Media[];
}

export interface BmcSession {
  readonly id: string;
  readonly token: string;
  readonly createdMs: number;
  usedMs: number;
}

export interface Task {
  readonly id: string;
  readonly startedMs: number;
  /** Infinity: never. */
  readonly endsMs: number;
  /** It is not found any more from then on. */
  readonly vanishesMs: number;
  readonly retryAfterS: number;
}

export interface Bmc {
  /** Such as `bmc-1`. */
  readonly name: string;
  readonly uuid: string;
  readonly systems: readonly ComputerSystem[];
  readonly sessions: Map<string, BmcSession>;
  readonly tasks: Map<string, Task>;
  /** Counts up; ids of sessions and tasks come from it. */
  lastId: number;
  /** Until the first time nobody answers, until the second only the root does. */
  restart: { readonly deafUntilMs: number; readonly doneAtMs: number } | null;
  /** Nothing can be read of it until it restarts. */
  isHanging: boolean;
  inFlight: number;
  inFlightMax: number;
  sessionsMost: number;
}

export interface Genesis {
  readonly vendor: Vendor;
  readonly systems: number;
  readonly bmcs: number;
  readonly ids: Generator;
  readonly nowMs: number;
}

/** The systems are dealt out evenly. @throws {RangeError} the vendor cannot have so many on a BMC. */
export function createWorld({ vendor, systems, bmcs, ids, nowMs }: Genesis): readonly Bmc[] {
  if (bmcs > systems) throw new RangeError('there cannot be more BMCs than systems');
  if (bmcs < systems && !hasManySystems(vendor)) {
    throw new RangeError('a BMC of this vendor has one system: leave --bmcs out');
  }
  let dealt = 0;
  return Array.from({ length: bmcs }, (_, n) => {
    const share = Math.floor(((n + 1) * systems) / bmcs) - Math.floor((n * systems) / bmcs);
    const media = vendor.mediaAt === 'Managers' ? mediaOf(vendor) : null;
    const own = Array.from({ length: share }, (_none, k) =>
      systemOf({ vendor, ids, nowMs, media, name: `system-${++dealt}`, number: k + 1 }),
    );
    return {
      name: `bmc-${n + 1}`,
      uuid: ids.uuid(),
      systems: own,
      sessions: new Map(),
      tasks: new Map(),
      lastId: 0,
      restart: null,
      isHanging: false,
      inFlight: 0,
      inFlightMax: 0,
      sessionsMost: 0,
    };
  });
}

interface NewSystem extends Pick<Genesis, 'vendor' | 'ids' | 'nowMs'> {
  readonly media: readonly Media[] | null;
  readonly name: string;
  readonly number: number;
}

function systemOf({ vendor, ids, nowMs, media, name, number }: NewSystem): ComputerSystem {
  return {
    name,
    id: vendor.systemId.replace('%', String(number)),
    serial: ids.hex(10).toUpperCase(),
    uuid: ids.uuid(),
    mac: `02:${ids.hex(10).match(/../g)!.join(':')}`,
    assetTag: '',
    power: 'Off',
    progress: { state: 'None', atMs: nowMs },
    lastResetMs: nowMs,
    boot: { enabled: 'Disabled', target: 'None', mode: 'UEFI', httpBootUri: null },
    pendingBoot: null,
    media: media ?? mediaOf(vendor),
  };
}

const mediaOf = ({ mediaDevices }: Vendor): Media[] =>
  mediaDevices.map((device) => ({ ...device, ...EMPTY_MEDIA }));

const EMPTY_MEDIA = { image: null, writeProtected: true };

export function eject(media: Media): void {
  Object.assign(media, EMPTY_MEDIA);
}
