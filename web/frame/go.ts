import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { MENU } from './navigation.tsx';
import { useKeys } from './keys.ts';

/** How long `g` waits for its letter. */
const PATIENCE_MS = 1_500;

/** `g` and a letter lead to a page, `/` to the filter, `.` to the actions. */
export function useGo(): void {
  const navigate = useNavigate();
  const pressedAt = useRef(-PATIENCE_MS);
  const isGoing = () => performance.now() - pressedAt.current < PATIENCE_MS;
  const go = Object.fromEntries(
    MENU.map(({ to, letter }) => [
      letter,
      () => {
        if (!isGoing()) return;
        pressedAt.current = -PATIENCE_MS;
        void navigate({ to });
      },
    ]),
  );
  useKeys({
    ...go,
    // Without this, the letter of the page would also count as a key of its own.
    g: () => {
      if (isGoing()) go['g']?.();
      else pressedAt.current = performance.now();
    },
    '/': () => {
      const filter = document.querySelector<HTMLInputElement>('#filter');
      if (filter === null) void navigate({ to: '/machines' });
      else filter.select();
    },
    '.': () => document.querySelector<HTMLButtonElement>('.actions button')?.focus(),
  });
}
