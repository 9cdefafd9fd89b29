import { createStore } from '../live/store.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'theme';
const isTheme = (text: string | null): text is Theme => THEMES.some((theme) => theme === text);

const kept = localStorage.getItem(KEY);
export const theme = createStore<Theme>(isTheme(kept) ? kept : 'system');

function show(chosen: Theme): void {
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}

/** The theme stays chosen in this browser. */
export function choose(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  theme.set(chosen);
  show(chosen);
}

show(theme.get());
