/** What strikes one life of a daemon. */
export interface Life {
  /** The operation at which it dies, from 1; 0: never. */
  killAt: number;
  when: 'before' | 'after';
  /** Operations so far. */
  count: number;
  isDead: boolean;
}
export const immortal = (): Life => ({ killAt: 0, when: 'before', count: 0, isDead: false });
export const dyingAt = (killAt: number, when: Life['when']): Life => ({
  ...immortal(),
  killAt,
  when,
});

/** What a dead daemon hears. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
