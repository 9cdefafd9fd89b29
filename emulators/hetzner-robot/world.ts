import type { Generator } from '../kit/random.ts';

export const RESET_TYPES = ['sw', 'hw', 'power', 'power_long', 'man'] as const;
export type ResetType = (typeof RESET_TYPES)[number];

/** A key of the account. Its value is unique, not its name. */
export interface AccountKey {
  readonly name: string;
  /** MD5 of the wire form, lower-case hexadecimal pairs with colons. */
  readonly fingerprint: string;
  /** Such as `ED25519`. */
  readonly type: string;
  readonly sizeBits: number;
  /** As in `authorized_keys`, without a comment. */
  readonly data: string;
  readonly createdMs: number;
}

/** The rescue system that a machine boots from the network, once. */
export interface BootConfig {
  /** `os`. */
  readonly system: string;
  readonly keys: readonly AccountKey[];
  readonly password: string;
  /** OpenSSH PEM of its host key. */
  readonly hostKey: string;
  readonly armedMs: number;
}

export interface DriveSeed {
  /** Such as `nvme0n1`. */
  readonly name: string;
  /** Such as `eui.002538…`. */
  readonly wwn: string;
  readonly sizeGb: number;
}

/** A machine as the account shows it. */
export interface RobotServer {
  readonly number: number;
  name: string;
  /** The same name, except for a while after a delayed change. */
  shownName: string;
  readonly product: string;
  readonly dc: string;
  /** Its addresses. */
  readonly ip: string;
  readonly ipv6Net: string;
  /** Null: it cannot be reset remotely. */
  readonly resetTypes: readonly ResetType[] | null;
  /** Whether a rescue system can be armed. */
  readonly hasRescue: boolean;
  readonly drives: readonly DriveSeed[];
  /** Initial content of its drives. `host`: a system that `hosts` simulate. */
  readonly first: 'stranger' | 'host' | 'nothing';
  /** `authorized_keys` lines of its first system, besides its owner's. */
  readonly keys: readonly string[];
  boot: BootConfig | null;
}

/** A test's changes to the default. */
export type ServerSeed = Partial<
  Pick<RobotServer, 'name' | 'resetTypes' | 'hasRescue' | 'first' | 'keys'>
>;

export const FIRST_NUMBER = 321;
const PLACES = ['FSN1-DC14', 'FSN1-DC15', 'NBG1-DC3', 'HEL1-DC2'];
const PRODUCTS = ['EX44', 'AX41-NVMe', 'Server Auction'];
const DRIVE_GB = 512;

/** The account's n-th server, counted from 0. */
export function createServer(
  n: number,
  { name, ...seed }: ServerSeed & Pick<RobotServer, 'name'>,
  { ip, ids }: { readonly ip: string; readonly ids: Generator },
): RobotServer {
  return {
    number: FIRST_NUMBER + n,
    name,
    shownName: name,
    product: PRODUCTS[n % PRODUCTS.length]!,
    dc: PLACES[n % PLACES.length]!,
    ip,
    ipv6Net: `2a01:4f8:${ids.hex(3)}:${ids.hex(4)}::`,
    resetTypes: ['sw', 'hw', 'man'],
    hasRescue: true,
    drives: [0, 1].map((drive) => ({
      name: `nvme${drive}n1`,
      wwn: `eui.${ids.hex(16)}`,
      sizeGb: DRIVE_GB,
    })),
    first: 'stranger',
    keys: [],
    boot: null,
    ...seed,
  };
}

/** A rescue system expires if nobody boots it in this time. */
const ARMED_MS = 60 * 60_000;

/** What is armed now. */
export function armed(server: RobotServer, nowMs: number): BootConfig | null {
  const { boot } = server;
  if (boot && nowMs - boot.armedMs >= ARMED_MS) server.boot = null;
  return server.boot;
}
