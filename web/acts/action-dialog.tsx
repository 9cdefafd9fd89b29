import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { described, type MachineVerb } from '../../src/domain/verbs.ts';
import { RequestRefusal } from '../api/ask.ts';
import { Dialog } from '../parts/dialog.tsx';
import { shortName } from '../../src/domain/ids.ts';
import { AsCommand } from '../parts/copy.tsx';
import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';
import { commandLine, commandOf, type Ask } from './command.ts';
import { Changed, type ChangedProps, type MachineBefore } from './changed.tsx';
import { Confirmation, isConfirmed, type Care } from './confirmation.tsx';
import { Details, isComplete, wishOf, type DetailValues } from './details.tsx';
import { Drifted, type Checked } from './drift.tsx';
import { submit, makeKey, preview } from './submit.ts';
import { Outcome } from './outcome.tsx';
import { Prospect } from './prospect.tsx';

export interface ActionProps {
  readonly verb: MachineVerb;
  readonly slots: readonly string[];
  /** ETag of the one machine as it was seen. Absent for several machines. */
  readonly checked?: Checked | undefined;
  readonly etag?: string | undefined;
  readonly seen?: MachineBefore | undefined;
  readonly close: () => void;
}

/** The dialog that files a request for machines. */
export function ActionDialog({ verb, slots, checked, etag, seen, close }: ActionProps) {
  const [wanted, setWanted] = useState<DetailValues>({});
  const { label = verb, care, reason } = described(verb);
  return (
    <AskDialog
      label={label}
      subject={slots.length === 1 ? shortName(slots[0]!) : texts.machineCount(slots.length)}
      wish={{
        ...wishOf(verb, wanted),
        slots,
        ...(slots.length > 1 && { expectCount: slots.length }),
      }}
      care={care}
      reason={reason}
      isComplete={isComplete(verb, wanted)}
      {...{ slots, checked, etag, seen, close }}
    >
      <Details verb={verb} wanted={wanted} change={setWanted} />
    </AskDialog>
  );
}

export interface AskProps {
  readonly label: string;
  /** The target of the request. */
  readonly subject: string;
  /** The request without its reason. */
  readonly wish: { readonly verb: string; readonly [detail: string]: unknown };
  readonly care: Care;
  /** The proposed reason. */
  readonly reason?: string | undefined;
  readonly close: () => void;
  /** False: a required detail is missing. */
  readonly isComplete?: boolean;
  /** The target machines. Empty: the request is about no machine. */
  readonly slots?: readonly string[];
  readonly checked?: Checked | undefined;
  readonly etag?: string | undefined;
  /** The one machine as it was seen with this etag. */
  readonly seen?: MachineBefore | undefined;
  /** Fields for the details of the request. */
  readonly children?: ReactNode;
}

/** The dialog of a request: effect, target, blockers, loss and reason. */
export function AskDialog(props: AskProps) {
  const { label, subject, care, close } = props;
  const title = (
    <>
      {label} <span className="slot">{subject}</span>
    </>
  );
  return (
    <Dialog title={title} care={care} close={close}>
      {(leave) => <AskForm {...props} close={leave} />}
    </Dialog>
  );
}

const NO_SLOTS: readonly string[] = [];
/** After a submission, all cached data may be outdated, except previews. */
const isNoPreview = ({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean =>
  queryKey[0] !== 'preview';

function AskForm(props: AskProps) {
  const {
    label,
    wish,
    isComplete: complete = true,
    slots = NO_SLOTS,
    checked,
    etag,
    close,
  } = props;
  const [key, setKey] = useState(makeKey);
  const [seen, setSeen] = useState(etag);
  const [reason, setReason] = useState(props.reason ?? '');
  const [typed, setTyped] = useState('');
  const queries = useQueryClient();
  const ask: Ask = { ...wish, reason: reason.trim() };
  const look = (signal?: AbortSignal) =>
    preview(
      { ...ask, reason: texts.acts.noReasonYet },
      { key, etag: seen, ...(signal && { signal }) },
    );
  const foreseen = useQuery({
    // The key is part of the query, so that "Show the current state" reads again.
    queryKey: ['preview', { ...ask, reason: '' }, seen, key],
    queryFn: ({ signal }) => look(signal),
    enabled: complete,
    retry: false,
    gcTime: 0,
  });
  const drift = useQuery({
    queryKey: ['drift', slots, key],
    queryFn: () => checked!.drift(look),
    enabled: checked !== undefined && complete,
    ...{ retry: false, gcTime: 0 },
  });
  const submission = useMutation({
    async mutationFn() {
      const now = await checked?.drift(look);
      if (JSON.stringify(now) !== JSON.stringify(drift.data)) {
        const { title, meanwhile } = texts.acts.drift;
        throw new RequestRefusal({ code: 'changed', title, detail: meanwhile, status: 412 });
      }
      return submit(ask, { key, etag: seen });
    },
    onSuccess: () => queries.invalidateQueries({ predicate: isNoPreview }),
  });
  const care = foreseen.data?.isDestroying === true ? 'destroying' : props.care;
  const maySubmit =
    complete &&
    ask.reason !== '' &&
    foreseen.isSuccess &&
    (checked === undefined || drift.isSuccess) &&
    isConfirmed({ care, slots, typed }) &&
    !submission.isPending;
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (maySubmit) submission.mutate();
  };
  const lookAgain = (etagNow: string | undefined) => {
    submission.reset();
    setSeen(etagNow);
    setKey(makeKey());
    setTyped('');
  };
  if (submission.isSuccess) return <Outcome submitted={submission.data} close={close} />;
  // A reason has to be given before the command can be copied.
  const command = complete
    ? commandOf({ ...ask, reason: ask.reason || texts.acts.noReason })
    : null;
  const refusal = submission.error ?? foreseen.error ?? drift.error;
  return (
    <form onSubmit={onSubmit}>
      {props.children}
      {foreseen.data !== undefined && <Prospect preview={foreseen.data} />}
      {drift.data !== undefined && (
        <Drifted drift={drift.data} selectAgain={checked?.selectAgain} />
      )}
      {refusal !== null && <Refused error={refusal} seen={props.seen} lookAgain={lookAgain} />}
      <label>
        {texts.acts.reason}
        <textarea
          required
          rows={2}
          maxLength={2000}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          data-first={care === 'plain' || undefined}
        />
      </label>
      {command !== null && <AsCommand text={commandLine(command)} disabled={ask.reason === ''} />}
      <Confirmation {...{ care, slots, typed }} type={setTyped} />
      <footer>
        <button type="button" onClick={close} data-first={care !== 'plain' || undefined}>
          {texts.acts.cancel}
        </button>
        <button type="submit" className="act" disabled={!maySubmit}>
          {label}
        </button>
      </footer>
    </form>
  );
}

interface RefusedProps {
  readonly error: Error;
  readonly seen: MachineBefore | undefined;
  readonly lookAgain: (etag: string | undefined) => void;
}

/** Why nothing was submitted. After a change, the reader must look at the current state before submitting again. */
function Refused({ error, seen, lookAgain }: RefusedProps) {
  const problem = error instanceof RequestRefusal ? error.problem : null;
  const current = problem?.current as
    | (ChangedProps['now'] & { readonly etag?: string })
    | undefined;
  return (
    <Notice tone="bad" title={problem?.title ?? texts.failed}>
      <p role="alert">{error.message}</p>
      {problem?.code === 'changed' && seen !== undefined && current?.state !== undefined && (
        <Changed seen={seen} now={current} />
      )}
      {problem?.code === 'changed' && (
        <button type="button" onClick={() => lookAgain(current?.etag)}>
          {texts.acts.lookAgain}
        </button>
      )}
    </Notice>
  );
}
