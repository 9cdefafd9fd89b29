/** What is wanted of a machine. */
export type Want =
  | { readonly reboot: 'graceful' | 'force' }
  | {
      readonly power: 'on' | 'off';
      /** The boot override is ours, and stays. */
      readonly isInstalling?: true;
    };

export interface Chance {
  readonly want: Want;
  /** As the BMC says it. */
  readonly power: string | null;
  readonly allowed: readonly string[];
  readonly allowFullPowerCycle: boolean;
}

/** Whether it is so already, and nothing need be sent. */
export const isThere = (want: Want, power: string | null): boolean =>
  'power' in want && power === (want.power === 'on' ? 'On' : 'Off');

/**
 * The type of reset to ask for; null: this BMC has none that would do. A graceful shutdown followed by
 * On is not among them: a daemon that dies in between would leave the machine off.
 */
export function resetFor({ want, power, allowed, allowFullPowerCycle }: Chance): string | null {
  return (
    candidates(want, power, allowFullPowerCycle).find((type) => allowed.includes(type)) ?? null
  );
}

function candidates(want: Want, power: string | null, mayCycleAll: boolean): readonly string[] {
  const isOff = power === 'Off';
  if ('power' in want && want.power === 'off') return ['ForceOff'];
  if ('power' in want) return ['On', 'ForceOn', ...(isOff ? ['PushPowerButton'] : [])];
  if (isOff) return ['On', 'ForceOn', 'PushPowerButton'];
  if (want.reboot === 'graceful') return ['GracefulRestart', 'ForceRestart'];
  return ['ForceRestart', 'PowerCycle', ...(mayCycleAll ? ['FullPowerCycle'] : [])];
}
