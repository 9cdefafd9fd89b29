/** Time limits of the steps over SSH, in milliseconds. */
export interface ShellLimits {
  readonly connectMs: number;
  /** Key exchange and authentication, for all keys together. */
  readonly handshakeMs: number;
  /** Longest time without progress of an upload; the whole upload may take longer. */
  uploadStallMs(sizeBytes: number): number;
  readonly executeMs: number;
}

const stallFloorMs = 60_000;
/** A slow machine hashes and unpacks this much in silence. */
const silentBytesPerSecond = 1_000_000;

/** Limits for a fleet on the open internet: an upload over a slow line still completes. */
export const defaultShellLimits: ShellLimits = {
  connectMs: 2_000,
  handshakeMs: 10_000,
  uploadStallMs: (sizeBytes) => stallFloorMs + (sizeBytes / silentBytesPerSecond) * 1_000,
  executeMs: 60_000,
};

/** Limit for stdout and stderr each. An agent answers with a few hundred bytes. */
export const outputBytesMax = 1024 * 1024;

/** Maximum number of offered keys: servers allow six tries by default. */
export const signersMax = 5;
