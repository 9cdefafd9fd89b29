import { useEffect, useId, useRef, type ReactNode } from 'react';

export interface DialogProps {
  readonly title: ReactNode;
  /** How much care is asked of whoever answers. */
  readonly care?: string;
  readonly close: () => void;
  /** @param leave closes it, as Escape does. */
  readonly children: (leave: () => void) => ReactNode;
}

/** A question over the page; when it is gone the focus is where it was. */
export function Dialog({ title, care, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // Of itself a dialog gives the focus to its first field.
    dialog.current?.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} className="action" data-care={care} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  );
}
