import { useEffect, useId, useRef, type ReactNode } from 'react';

export interface DialogProps {
  readonly title: ReactNode;
  /** How much care the dialog asks for. */
  readonly care?: string;
  readonly close: () => void;
  /** @param leave closes it, as Escape does. */
  readonly children: (leave: () => void) => ReactNode;
}

/** A modal dialog. After it closes, the focus returns to where it was. */
export function Dialog({ title, care, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // By default a dialog focuses its first field.
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
