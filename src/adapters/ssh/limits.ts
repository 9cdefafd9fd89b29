/** How long each step over SSH may take, milliseconds. */
export interface ShellLimits {
  readonly connectMs: number;
  /** Key exchange and authentication, all keys together. */
  readonly handshakeMs: number;
  uploadMs(sizeBytes: number): number;
  readonly executeMs: number;
}

const uploadFloorMs = 30_000;
const uploadBytesPerSecond = 256 * 1024;

/** The figures of a fleet on the open internet: a slow line still gets its upload through. */
export const defaultShellLimits: ShellLimits = {
  connectMs: 2_000,
  handshakeMs: 10_000,
  uploadMs: (sizeBytes) => Math.max(uploadFloorMs, (sizeBytes / uploadBytesPerSecond) * 1_000),
  executeMs: 60_000,
};

/** Of stdout and of stderr each. An agent answers in a few hundred bytes. */
export const outputBytesMax = 1024 * 1024;

/** Servers allow six tries by default, so no more keys than this are offered. */
export const signersMax = 5;
