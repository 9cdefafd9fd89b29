import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isAtLeast } from '../../src/domain/access.ts';
import { described, MACHINE_VERBS, type MachineVerb } from '../../src/domain/verbs.ts';
import { offersOf } from '../api/machine.ts';
import { whoami } from '../api/resources.ts';
import { texts } from '../texts.ts';
import { ActionDialog } from './action-dialog.tsx';
import { OnlyLook } from './at-large.tsx';
import type { Checked } from './drift.tsx';
import type { MachineBefore } from './changed.tsx';

/** Verbs for several machines at once. */
export const VERBS_OF_MANY = MACHINE_VERBS.filter((verb) => verb !== 'install');

export interface ActionsProps {
  readonly verbs: readonly MachineVerb[];
  readonly slots: readonly string[];
  readonly etag?: string | undefined;
  /** For several machines: checks whether the selection is still current. */
  readonly checked?: Checked | undefined;
  /** The one machine in the state of the ETag. */
  readonly seen?: MachineBefore | undefined;
}

/** The dialog keeps the state of the machine at the time when it opened. */
type Opened = Pick<ActionsProps, 'etag' | 'seen'> & { readonly verb: MachineVerb };

/** Buttons for the verbs that these machines allow. */
export function Actions({ verbs: all, slots, checked, etag, seen }: ActionsProps) {
  const [open, setOpen] = useState<Opened | null>(null);
  const { data: person } = useQuery(whoami);
  const { data: offers } = useQuery(offersOf(slots));
  const refusals = new Map(offers?.map(({ verb, refusal }) => [verb, refusal]));
  const refusalOf = (verb: MachineVerb) => refusals.get(verb) ?? null;
  const verbs = offers === undefined ? all : all.filter((verb) => refusals.has(verb));
  if (person === undefined) return null;
  if (!isAtLeast(person.role, 'operator')) return <OnlyLook />;
  return (
    <>
      <div className="actions" role="group" aria-label={texts.acts.title}>
        {verbs.map((verb) => (
          <button
            key={verb}
            type="button"
            data-care={described(verb).care}
            aria-haspopup="dialog"
            title={refusalOf(verb) ?? undefined}
            disabled={
              refusalOf(verb) !== null ||
              (person.role !== 'admin' && described(verb).care === 'destroying')
            }
            onClick={() => setOpen({ verb, etag, seen })}
          >
            {described(verb).label}
          </button>
        ))}
        {open !== null && (
          <ActionDialog {...open} {...{ slots, checked }} close={() => setOpen(null)} />
        )}
      </div>
      {[...Map.groupBy(verbs, refusalOf)].map(
        ([why, those]) =>
          why !== null && (
            <p key={why} className="quiet">
              {texts.acts.refused(those.map((verb) => described(verb).label).join(', '), why)}
            </p>
          ),
      )}
    </>
  );
}
