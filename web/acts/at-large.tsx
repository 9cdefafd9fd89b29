import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { whoami } from '../api/resources.ts';
import { texts } from '../texts.ts';
import { AskDialog } from './action-dialog.tsx';

export interface AtLargeProps {
  readonly label: string;
  readonly subject: string;
  readonly wish: { readonly verb: string; readonly [detail: string]: unknown };
  /** Where it is done; null: in the whole fleet, which a grant for some providers does not include. */
  readonly provider: string | null;
}

/** A button that asks for something about no machine: the guard, or a provider. */
export function AskButton({ label, subject, wish, provider }: AtLargeProps) {
  const [open, setOpen] = useState(false);
  const { data: person } = useQuery(whoami);
  if (person === undefined || person.role === 'viewer') return null;
  const { providers } = person;
  const mayAct = providers === null || (provider !== null && providers.includes(provider));
  return (
    <>
      <button
        type="button"
        data-care="careful"
        aria-haspopup="dialog"
        disabled={!mayAct}
        aria-label={`${label} ${subject}`}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      {open && (
        <AskDialog {...{ label, subject, wish }} care="careful" close={() => setOpen(false)} />
      )}
    </>
  );
}

/** Told once on a page to whoever may ask for nothing. */
export function OnlyLook() {
  const { data: person } = useQuery(whoami);
  if (person?.role !== 'viewer') return null;
  return (
    <p className="quiet">
      {texts.acts.onlyLook} <a href="/login">{texts.pages.login}</a>
    </p>
  );
}
