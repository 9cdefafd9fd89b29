import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { commandLine } from './command.ts';
import { AsCommand } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';

export interface ConfirmButtonProps {
  readonly label: string;
  /** The whole question, such as "Revoke the token ci". */
  readonly title: string;
  /** The consequence. */
  readonly why: string;
  /** The words after `shepherd` that do the same. */
  readonly command: readonly string[];
  readonly act: () => Promise<void>;
  /** The list that is loaded again afterwards. */
  readonly of: 'logins' | 'tokens' | 'rolls';
}

/** A button for a small change that needs a confirmation and no reason. */
export function ConfirmButton({ title, ...form }: ConfirmButtonProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" aria-haspopup="dialog" aria-label={title} onClick={() => setOpen(true)}>
        {form.label}
      </button>
      {open && (
        <Dialog title={title} close={() => setOpen(false)}>
          {(leave) => <ConfirmForm {...form} leave={leave} />}
        </Dialog>
      )}
    </>
  );
}

interface ConfirmFormProps extends Omit<ConfirmButtonProps, 'title'> {
  readonly leave: () => void;
}

function ConfirmForm({ label, why, command, act, of, leave }: ConfirmFormProps) {
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: act,
    onSuccess: async () => {
      leave();
      await queries.invalidateQueries({ queryKey: [of] });
    },
  });
  return (
    <>
      <p>{why}</p>
      <AsCommand text={commandLine(command)} />
      {acting.error !== null && (
        <Notice tone="bad" title={texts.failed}>
          <p role="alert">{acting.error.message}</p>
        </Notice>
      )}
      <footer>
        <button type="button" onClick={leave} data-first>
          {texts.acts.cancel}
        </button>
        <button
          type="button"
          className="act"
          disabled={acting.isPending}
          onClick={() => acting.mutate()}
        >
          {label}
        </button>
      </footer>
    </>
  );
}
