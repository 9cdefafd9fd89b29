import type { ResetType } from '../../../../src/adapters/provider/hetzner-robot/client.ts';
import type { BootState, Server } from '../../../../src/adapters/provider/hetzner-robot/api.ts';

/** A system on the drives of a machine in memory. */
export interface Disk {
  readonly hostname: string;
  readonly hostKey: string;
  /** What a look prints of who installed it. */
  readonly installed: string | null;
  readonly secret: string | null;
  /** It lets nobody of ours in. */
  readonly isClosed?: boolean;
}
export interface Running {
  readonly kind: 'rescue' | 'disk';
  readonly bootId: string;
  readonly hostKey: string;
  readonly guards: Map<string, { readonly tags: string; ended: string | null }>;
}

/** One machine, and what Robot knows of it. Tests change its fields. */
export interface Machine {
  server: Server;
  types: string[];
  operatingStatus: string | null;
  armed: { readonly keys: readonly string[]; readonly hostKey: string } | null;
  /** Installations of stock systems that somebody ordered by hand. */
  ordered: BootState['others'];
  disk: Disk | null;
  running: Running | null;
  /** What Robot says of host keys of rescue systems. */
  tells: 'right' | 'wrong' | 'nothing';
  /** What resets lead to. */
  boots: 'as armed' | 'disk' | 'nothing';
  /** How an installation ends. */
  installer: 'works' | 'fails' | 'hangs';
  wipes: boolean;
  readonly resets: ResetType[];
  /** Names that it was given by us, in their order. */
  readonly renames: string[];
  installs: number;
  wiped: number;
}
