/** What a driver is asked for, as metrics name it. */
export const OPERATIONS = [
  'List',
  'Get',
  'Create',
  'Find',
  'Destroy',
  'Reboot',
  'Reinstall',
  'Power',
  'ResetController',
  'SetTags',
  'VerifyHostKey',
  'Reusable',
  'Prepare',
  'Sweep',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const READING: readonly Operation[] = ['List', 'Get', 'Find', 'VerifyHostKey', 'Reusable'];
/** Whether it leaves everything as it is, however it ends. */
export const isReading = (operation: Operation): boolean => READING.includes(operation);

/** Longest time of an operation with all its attempts and waits, unless the caller says less. */
const TIMEOUT_MS: Readonly<Partial<Record<Operation, number>>> = {
  List: 15 * 60_000,
  Create: 15 * 60_000,
};
const USUAL_TIMEOUT_MS = 5 * 60_000;

export const timeoutOf = (operation: Operation): number =>
  TIMEOUT_MS[operation] ?? USUAL_TIMEOUT_MS;
