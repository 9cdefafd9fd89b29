/** Time limits of the steps over SSH, in milliseconds. */
export interface ShellLimits {
  readonly connectMs: number;
  /** Key exchange and authentication, for all keys together. */
  readonly handshakeMs: number;
  uploadMs(sizeBytes: number): number;
  readonly executeMs: number;
}

const uploadFloorMs = 30_000;
const uploadBytesPerSecond = 256 * 1024;

/** Limits for a fleet on the open internet: an upload over a slow line still completes. */
export const defaultShellLimits: ShellLimits = {
  connectMs: 2_000,
  handshakeMs: 10_000,
  uploadMs: (sizeBytes) => Math.max(uploadFloorMs, (sizeBytes / uploadBytesPerSecond) * 1_000),
  executeMs: 60_000,
};

/** Limit for stdout and stderr each. An agent answers with a few hundred bytes. */
export const outputBytesMax = 1024 * 1024;

/** Maximum number of offered keys: servers allow six tries by default. */
export const signersMax = 5;
