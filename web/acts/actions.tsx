import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { MachineVerb } from '../../src/domain/filing/verbs.ts';
import { offersOf } from '../api/machine.ts';
import { whoami } from '../api/resources.ts';
import { texts } from '../texts.ts';
import { ActionDialog } from './action-dialog.tsx';
import { OnlyLook } from './at-large.tsx';
import type { Seen } from './changed.tsx';
import { CARE } from './verbs.ts';

export interface ActionsProps {
  readonly verbs: readonly MachineVerb[];
  readonly slots: readonly string[];
  readonly etag?: string | undefined;
  /** The one machine as it is shown beside the etag. */
  readonly seen?: Seen | undefined;
}

/** A machine is acted on as it was seen when the dialog was opened. */
type Opened = Pick<ActionsProps, 'etag' | 'seen'> & { readonly verb: MachineVerb };

/** What may be asked of these machines, for whoever may ask. */
export function Actions({ verbs: all, slots, etag, seen }: ActionsProps) {
  const [open, setOpen] = useState<Opened | null>(null);
  const { data: person } = useQuery(whoami);
  const { data: offers } = useQuery(offersOf(slots));
  const refusals = new Map(offers?.map(({ verb, refusal }) => [verb, refusal]));
  const refusalOf = (verb: MachineVerb) => refusals.get(verb) ?? null;
  const verbs = offers === undefined ? all : all.filter((verb) => refusals.has(verb));
  if (person === undefined) return null;
  if (person.role === 'viewer') return <OnlyLook />;
  return (
    <>
      <div className="actions" role="group" aria-label={texts.acts.title}>
        {verbs.map((verb) => (
          <button
            key={verb}
            type="button"
            data-care={CARE[verb]}
            aria-haspopup="dialog"
            title={refusalOf(verb) ?? undefined}
            disabled={
              refusalOf(verb) !== null || (person.role !== 'admin' && CARE[verb] === 'destroying')
            }
            onClick={() => setOpen({ verb, etag, seen })}
          >
            {texts.verbs[verb]}
          </button>
        ))}
        {open !== null && <ActionDialog {...open} slots={slots} close={() => setOpen(null)} />}
      </div>
      {[...Map.groupBy(verbs, refusalOf)].map(
        ([why, those]) =>
          why !== null && (
            <p key={why} className="quiet">
              {texts.acts.refused(those.map((verb) => texts.verbs[verb]).join(', '), why)}
            </p>
          ),
      )}
    </>
  );
}
