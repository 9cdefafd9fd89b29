import type { Generator } from '../kit/random.ts';
import { hasManySystems, type Vendor } from './vendors.ts';

export type PowerState = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';

/** `Disabled` overrides every target. */
export interface Override {
  enabled: 'Disabled' | 'Once' | 'Continuous';
  target: string;
  mode: 'UEFI' | 'Legacy';
  httpBootUri: string | null;
}

export interface Media {
  readonly id: string;
  readonly types: readonly string[];
  /** Null: empty. */
  image: string | null;
  writeProtected: boolean;
}

export const HEALTHS = ['OK', 'Warning', 'Critical'] as const;
export type Health = (typeof HEALTHS)[number];

export interface LogEntry {
  readonly severity: Health;
  readonly message: string;
  readonly atMs: number;
}

export interface ComputerSystem {
  /** Unique among all BMCs, such as `system-1`. */
  readonly name: string;
  /** Id of its resource. */
  readonly id: string;
  readonly serial: string;
  readonly uuid: string;
  readonly mac: string;
  assetTag: string;
  health: Health;
  /** Entries of its event log, oldest first. */
  readonly log: LogEntry[];
  power: PowerState;
  /** The boot's progress, and its start. */
  progress: { readonly state: string; readonly atMs: number };
  lastResetMs: number;
  readonly boot: Override;
  /** The next boot's override, while the system does not show it yet. */
  pendingBoot: Override | null;
  /** Shared by all systems of a BMC that has its media at the manager. */
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
  /** Not found from this time on. */
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
  /** Counter for ids of sessions and tasks. */
  lastId: number;
  /** Until the first time nobody answers; until the second only the root answers. */
  restart: { readonly deafUntilMs: number; readonly doneAtMs: number } | null;
  /** No reads are answered until it restarts. */
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

/** Distributes the systems evenly. @throws {RangeError} too many systems for the vendor's BMCs. */
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
    ...{ assetTag: '', health: 'OK', log: [] },
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
