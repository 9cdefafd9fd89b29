import { useEffect, useRef } from 'react';
import { createStore } from '../live/store.ts';

/** What a key does; its name is that of the event, such as `j` or `Enter`. */
export type Keys = Readonly<Record<string, () => void>>;

/** Keys of the page. Each key can be switched off. */
export const KEY_NAMES = ['/', 'j', 'k', 'x', 'Enter', '.', 'g', '?'] as const;
export type KeyName = (typeof KEY_NAMES)[number];

const KEPT = 'keys-off';
/** Switched off in this browser. */
export const switchedOff = createStore<readonly string[]>(
  localStorage.getItem(KEPT)?.split(' ').filter(Boolean) ?? [],
);
export const isOn = (key: string): boolean => !switchedOff.get().includes(key);
export function setOn(key: KeyName, on: boolean): void {
  const others = switchedOff.get().filter((each) => each !== key);
  switchedOff.set(on ? others : [...others, key]);
  localStorage.setItem(KEPT, switchedOff.get().join(' '));
}

const TEXT = 'input:not([type=checkbox]), textarea, select, [contenteditable]';
const ACTIVE = 'a, button, summary, input';

/** Whether the key is meant for the page, and not for a field or for the focused element. */
export function isForPage(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  if (!isOn(key) || document.querySelector('dialog[open]') !== null) return false;
  if (!(target instanceof Element)) return true;
  if (target.matches(TEXT)) return false;
  return key !== 'Enter' || !target.matches(ACTIVE);
}

/** Handles keys while the component is mounted. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const act = latest.current[event.key];
      if (act === undefined || !isForPage(event)) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
}
