import type { System } from './client/system.ts';

/** What is compared to tell whether a reset was carried out. */
export type Before = Pick<System, 'power' | 'lastResetMs' | 'progress' | 'readAtMs'>;

const RUNNING = 'OSRunning';
const STAGES = [
  'None',
  'PrimaryProcessorInitializationStarted',
  'BusInitializationStarted',
  'MemoryInitializationStarted',
  'SecondaryProcessorInitializationStarted',
  'PCIResourceConfigStarted',
  'SystemHardwareInitializationComplete',
  'SetupEntered',
  'OSBootStarted',
  RUNNING,
];

/** Whether the system was reset after it was first read; both are times of the BMC's own clock. */
export function wasReset(before: Before, now: Before): boolean {
  const sinceMs = before.lastResetMs ?? before.readAtMs;
  if (now.lastResetMs !== null && sinceMs !== null && now.lastResetMs > sinceMs) return true;
  const [then, since] = [before.progress, now.progress];
  if (!then?.sinceMs || !since?.sinceMs || since.sinceMs <= then.sinceMs) return false;
  // A boot that was under way anyway only goes forward.
  return then.state === RUNNING || STAGES.indexOf(since.state) < STAGES.indexOf(then.state);
}

/** Whether this BMC tells anything by which a reset could be seen. */
const tellsResets = ({ lastResetMs, progress }: Before): boolean =>
  lastResetMs !== null || (progress !== null && progress.sinceMs !== null);

/** Whether what was asked for by this type of reset has come about. */
export function hasHappened(type: string, before: Before, now: Before): boolean {
  if (type === 'ForceOff') return now.power === 'Off';
  if (['On', 'ForceOn', 'PushPowerButton'].includes(type)) return now.power === 'On';
  return wasReset(before, now);
}

/** How long a change may take to show before the next one is sent: then the first one is lost. */
export const patienceOf = (type: string, before: Before): number =>
  SWITCHING.test(type) || tellsResets(before) ? PATIENCE_MS : BLIND_PATIENCE_MS;
/** A button that is pushed once more undoes what the first push did. */
const SWITCHING = /^(On|ForceOn|ForceOff|PushPowerButton)$/;
const PATIENCE_MS = 60_000;
const BLIND_PATIENCE_MS = 10_000;
