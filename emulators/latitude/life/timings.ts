/** How long things take, milliseconds. */
export interface Timings {
  readonly startingMs: number;
  /** `on` between the two, where the knob says so. */
  readonly flashMs: number;
  readonly deployingMs: number;
  readonly erasingMs: number;
  /** From the request to `failed_deployment`. */
  readonly failMs: number;
  readonly powerOffMs: number;
  readonly powerOnMs: number;
  readonly rebootDownMs: number;
  /** From the request, not from the machine going down. */
  readonly rebootUpMs: number;
}

export const REAL_TIMINGS: Timings = {
  startingMs: 5_000,
  flashMs: 20_000,
  deployingMs: 600_000,
  erasingMs: 60_000,
  failMs: 1_800_000,
  powerOffMs: 5_000,
  powerOnMs: 10_000,
  rebootDownMs: 5_000,
  rebootUpMs: 60_000,
};

/** Of the `fast` profile. */
export const FAST_DIVISOR = 100;

/** The profile's times; `given` ones are taken as they are, not divided. */
export function timingsOf(divisor: number, given: Partial<Timings> = {}): Timings {
  const scaled = Object.entries(REAL_TIMINGS).map(([name, ms]) => [name, Number(ms) / divisor]);
  return { ...(Object.fromEntries(scaled) as unknown as Timings), ...given };
}
