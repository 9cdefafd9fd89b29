/** How long things take, milliseconds. */
export interface Timings {
  /** From the reset until the network is asked what to boot. */
  readonly postMs: number;
  /** From the reset until the rescue system answers. */
  readonly rescueBootMs: number;
  /** Of installimage, and of an unattended installation. */
  readonly installMs: number;
  /** From the reset until the system on the drives answers. */
  readonly diskBootMs: number;
  /** From Ctrl+Alt+Del or a press of the button until the system has ended. */
  readonly gracefulMs: number;
}

export const REAL_TIMINGS: Timings = {
  postMs: 60_000,
  rescueBootMs: 180_000,
  installMs: 120_000,
  diskBootMs: 90_000,
  gracefulMs: 20_000,
};
