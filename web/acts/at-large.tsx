import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isAtLeast } from '../../src/domain/access.ts';
import { whoami } from '../api/resources.ts';
import { texts } from '../texts.ts';
import { AskDialog } from './action-dialog.tsx';
import { untilOf } from './details.tsx';

export interface AtLargeProps {
  readonly label: string;
  readonly subject: string;
  readonly wish: { readonly verb: string; readonly [detail: string]: unknown };
  /** The provider of the request. Null: the whole fleet, which a grant for some providers does not include. */
  readonly provider: string | null;
  /** The verb of the request if a person gives an end, and the label of that field. */
  readonly timed?: { readonly verb: string; readonly label: string };
}

/** A button for requests about the guard or a provider. */
export function AskButton({ label, subject, wish, provider, timed }: AtLargeProps) {
  const [open, setOpen] = useState(false);
  const [hours, setHours] = useState('');
  const { data: person } = useQuery(whoami);
  if (person === undefined || !isAtLeast(person.role, 'operator')) return null;
  const { providers } = person;
  const untilMs = untilOf(hours);
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
        <AskDialog
          {...{ label, subject }}
          wish={timed && untilMs !== null ? { ...wish, verb: timed.verb, untilMs } : wish}
          care="careful"
          close={() => setOpen(false)}
        >
          {timed && (
            <label>
              {timed.label}
              <input
                type="number"
                min="0"
                step="any"
                value={hours}
                onChange={({ target }) => setHours(target.value)}
              />
            </label>
          )}
        </AskDialog>
      )}
    </>
  );
}

/** Tells who may not act that acting needs another role. */
export function OnlyLook() {
  const { data: person } = useQuery(whoami);
  if (person === undefined || isAtLeast(person.role, 'operator')) return null;
  return (
    <p className="quiet">
      {texts.acts.onlyLook} <a href="/login">{texts.pages.login}</a>
    </p>
  );
}
